package main

import (
	"os"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/internal/programstatus"
	"github.com/askbus/askbus/pkg/ask"
)

// terminalSettings are the settings of programs in a terminal.
type terminalSettings struct {
	Lang    string `desc:"language of questions and of the terminal's inbox, such as en or zh; default: as LC_ALL, LC_MESSAGES and LANG say. Help and errors are English"`
	OSC7501 bool   `default:"true" desc:"tell the terminal that a person is needed, while a command, a hook or \"askbus mcp\" waits in it (Program Status Protocol)"`
}

// needed returns a reporter that tells the terminal that a person is needed. A nil reporter does
// nothing.
func (a *app) needed() *programstatus.Reporter {
	if !a.tty.OSC7501 {
		return nil
	}
	return programstatus.New(programstatus.Options{
		Term: os.Getenv("TERM"), Tmux: os.Getenv("TMUX") != "", Screen: os.Getenv("STY") != "",
	})
}

// neededFor is [app.needed] for callers that have the ask.
func (a *app) neededFor() func(*ask.Ask) (done func()) {
	r := a.needed()
	return func(q *ask.Ask) func() { return r.Waiting(present.Heading(q)) }
}
