package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/telemetry"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/term"
)

// ReadFile reads a file of at most so many bytes; - is standard input.
func ReadFile(name string, stdin io.Reader, most int) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, &ExitError{Code: ExitUsage, Err: err}
		}
		defer f.Close() //nolint:errcheck // read-only
		stdin = f
	}
	data, err := io.ReadAll(io.LimitReader(stdin, int64(most)+1))
	if err != nil {
		if name == "-" {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return nil, &ExitError{Code: ExitUsage, Err: err} // names the file
	}
	if len(data) > most {
		return nil, ask.Refuse(ask.CodeTooLarge, "%s has more than %d bytes", name, most)
	}
	return data, nil
}

// Interactive reports whether this process can prompt a person.
func (a *App) Interactive() bool { return IsTerminal(os.Stdin) && IsTerminal(a.Stderr) }

// HostSettings are the settings of commands that an agent's host starts.
type HostSettings struct {
	Agent     string `desc:"who asks, below the agents that started it: planner/a-1/builder"`
	HostCreds string `split_words:"true" desc:"credential with which the host's own dialog answers; default: one made with the directory's keys"`

	// Hosts of the dialect interact set these, under their own names.
	ProjectSession string `envconfig:"__VF_PROJECT_AI_SESSION_ID__" desc:"session of askbus mcp, hook and acp, if neither --session nor ASKBUS_SESSION is given; set by hosts of the dialect interact (CLI to web)"`
	ProjectTask    string `envconfig:"__VF_PROJECT_AI_TASK_ID__" desc:"task for which askbus mcp asks, in the ask's metadata as task; set by the same hosts"`
}

// App is shared by all commands: settings from the environment, which flags override, and the
// output streams.
type App struct {
	config.Common
	config.Reach
	config.Log
	config.Telemetry
	Host     HostSettings
	Terminal TerminalSettings
	Quiet    bool        // log nothing, because a screen is drawn
	Session  string      // --session or ASKBUS_SESSION; empty: neither
	away     atomic.Bool // a connection of this command is interrupted, and the person was told
	Stdout   io.Writer
	Stderr   io.Writer

	traceOnce sync.Once
	traces    trace.TracerProvider  // nil: no tracing
	flush     func(context.Context) // sends the last spans

	asPerson bool        // this command runs as the person signed in at this terminal
	dirNamed bool        // the directory comes from a flag or the environment
	Wanted   string      // the tenant from a flag or the environment; empty: none
	login    *ask.By     // the signed-in person, if the command runs as them
	ended    atomic.Bool // their sign-in has ended

	AnswerIn *dialect.Dialect // dialect of printed outcomes; nil: native JSON

	Moved []string // which listeners could not have their previous port
}

// SessionSetting is the session from the environment.
type SessionSetting struct {
	Session string `desc:"session; default: one per terminal, else cli"`
}

// Complain prints an error for a person.
func (a *App) Complain(err error) {
	if e, ok := errors.AsType[*ExitError](err); ok && e.Err == nil {
		return
	}
	a.Note("askbus: %s", err)
}

// prepare validates the shared settings.
func (a *App) prepare(cmd *cobra.Command, known []any) error {
	a.personalAs(cmd)
	if a.Output == "" {
		a.Output = "json"
		if IsTerminal(a.Stdout) {
			a.Output = "text"
		}
	}
	if a.Output != "text" && a.Output != "json" {
		return Usage("invalid --output %q: use text or json", a.Output)
	}
	if a.Dir == "" {
		return Usage("you have no home directory, where askbus keeps its files: give --dir, or set ASKBUS_DIR")
	}
	if !ask.ValidToken(a.Tenant) {
		return Usage("invalid --tenant %q: use A-Z a-z 0-9 _ -", a.Tenant)
	}
	if _, err := a.newLogger(); err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	if a.Creds == "" && !cmd.Flags().Changed("creds") {
		a.Creds = os.Getenv(config.Prefix + "_CREDS")
	}
	if unknown := config.Unknown(known...); len(known) > 0 && len(unknown) > 0 { // askbus-lab has no settings of its own
		a.Note("askbus: warning: unknown setting %s; see \"%s\"", strings.Join(unknown, ", "), a.Hint("settings"))
	}
	return nil
}

func (a *App) newLogger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.LogLevel)); err != nil {
		return nil, fmt.Errorf("invalid --log-level %q: use debug, info, warn or error", a.LogLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch a.LogFormat {
	case "text":
		return slog.New(telemetry.Handler(telemetry.Bounded(slog.NewTextHandler(a.Stderr, opts)))), nil
	case "json":
		return slog.New(telemetry.Handler(telemetry.Bounded(slog.NewJSONHandler(CleanJSON{Writer: a.Stderr}, opts)))), nil
	}
	return nil, fmt.Errorf("invalid --log-format %q: use text or json", a.LogFormat)
}

// Logger returns the logger; prepare has validated its settings.
func (a *App) Logger() *slog.Logger {
	l, err := a.newLogger()
	if err != nil || a.Quiet {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// JSON reports whether results are printed as JSON.
func (a *App) JSON() bool { return a.Output == "json" }

// Note writes a line for a person to standard error, at a terminal with breaks between words. It strips control
// characters, because the text may be anybody's.
func (a *App) Note(format string, args ...any) {
	width, _ := Size(a.Stderr)
	fmt.Fprintln(a.Stderr, Wrap(ask.CleanText(fmt.Sprintf(format, args...)), width))
}

// PrintJSON writes a document to standard output, without control characters that a terminal would
// interpret.
func (a *App) PrintJSON(doc []byte) {
	fmt.Fprintln(a.Stdout, string(ask.CleanJSON(doc)))
}

// TellJSON writes a value to standard output as JSON, like printJSON.
func (a *App) TellJSON(v any) error { return json.NewEncoder(CleanJSON{Writer: a.Stdout}).Encode(v) }

// CleanJSON writes whole JSON documents, such as log lines, without control characters.
type CleanJSON struct{ io.Writer }

func (w CleanJSON) Write(doc []byte) (int, error) {
	if _, err := w.Writer.Write(ask.CleanJSON(doc)); err != nil {
		return 0, err
	}
	return len(doc), nil
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Load reads settings from the environment. An invalid variable is reported when the command runs,
// so that help always works.
func Load(into any, cmd *cobra.Command) {
	if err := config.Load(into); err != nil {
		cmd.PreRunE = func(*cobra.Command, []string) error { return &ExitError{Code: ExitUsage, Err: err} }
	}
}
