package cli

import (
	"os"

	"github.com/askbus/askbus/internal/answering/programstatus"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// TerminalSettings are the settings of programs in a terminal.
type TerminalSettings struct {
	Lang    string `desc:"language of questions and of the terminal's inbox, such as en or zh; default: as LC_ALL, LC_MESSAGES and LANG say. Help and errors are English"`
	Theme   string `default:"auto" desc:"colors of the terminal's inbox: light, dark, or auto, as the terminal or COLORFGBG says"`
	OSC7501 bool   `default:"true" desc:"tell the terminal that a person is needed, while a command, a hook or \"askbus mcp\" waits in it (Program Status Protocol)"`
}

// Needed returns a reporter that tells the terminal that a person is needed. A nil reporter does
// nothing.
func (a *App) Needed() *programstatus.Reporter {
	if !a.Terminal.OSC7501 {
		return nil
	}
	return programstatus.New(programstatus.Options{
		Term: os.Getenv("TERM"), Tmux: os.Getenv("TMUX") != "", Screen: os.Getenv("STY") != "",
	})
}

// NeededFor is [App.Needed] for callers that have the ask.
func (a *App) NeededFor() func(*ask.Ask) (done func()) {
	r := a.Needed()
	return func(q *ask.Ask) func() { return r.Waiting(card.Heading(q)) }
}

// Notification returns what a terminal is sent when an ask arrives: a bell, and the two escape
// sequences that terminals show as a notification.
func Notification(tag string, n int) string {
	words := lang.Of(tag).Say("%d waiting for you", n)
	return "\a\x1b]9;askbus: " + words + "\x1b\\\x1b]777;notify;askbus;" + words + "\x1b\\"
}

// Stopping returns what a terminal of others is told when its server stops.
func Stopping(tag string) string {
	return lang.Of(tag).Say("askbus is stopping; please connect again in a moment.")
}
