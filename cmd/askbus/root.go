package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/telemetry"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/term"
)

// app is shared by all commands: settings from the environment, which flags override, and the
// output streams.
type app struct {
	config.Common
	config.Reach
	config.Log
	config.Telemetry
	host    hostSettings
	tty     terminalSettings
	quiet   bool   // log nothing, because a screen is drawn
	session string // --session or ASKBUS_SESSION; empty: neither
	out     io.Writer
	err     io.Writer

	traceOnce sync.Once
	traces    trace.TracerProvider  // nil: no tracing
	flush     func(context.Context) // sends the last spans

	asPerson bool    // this command runs as the person signed in at this terminal
	dirNamed bool    // the directory comes from a flag or the environment
	wanted   string  // the tenant from a flag or the environment; empty: none
	login    *ask.By // the signed-in person, if the command runs as them

	answerIn *dialect.Dialect // dialect of printed outcomes; nil: native JSON

	moved []string // which listeners could not have their previous port
}

// sessionSetting is the session from the environment.
type sessionSetting struct {
	Session string `desc:"session; default: one per terminal, else cli"`
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string) int {
	a := &app{out: os.Stdout, err: os.Stderr}
	root, err := a.root() //nolint:contextcheck // a command has its own context
	if err == nil {
		root.SetArgs(args)
		root.SetOut(a.out)
		root.SetErr(a.err)
		err = root.ExecuteContext(ctx)
		a.stopTracing(ctx)
	}
	if err != nil {
		a.complain(err)
	}
	return hostSafe(args, exitCode(err))
}

// complain prints an error for a person.
func (a *app) complain(err error) {
	if e, ok := errors.AsType[*exitError](err); ok && e.err == nil {
		return
	}
	fmt.Fprintln(a.err, "askbus: "+ask.CleanText(err.Error()))
}

func (a *app) root() (*cobra.Command, error) {
	var s sessionSetting
	for _, into := range []any{&a.Common, &a.Reach, &a.Log, &a.Telemetry, &a.host, &a.tty, &s} {
		if err := config.Load(into); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	a.session = s.Session
	if a.Dir == "" {
		a.Dir = config.DefaultDir()
	}
	root := &cobra.Command{
		Use:   "askbus",
		Short: "The ask-a-human bus for AI agents",
		Long: `askbus lets AI agents ask people, wherever the people are, and keeps every
question and its answer through restarts of anything.

Start everything with "askbus up", ask from a second terminal with "askbus ask".

` + exitCodes,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
		Args:              noCommand,
		Version:           buildVersion(),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("askbus {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
	f := root.PersistentFlags()
	f.StringVar(&a.Dir, "dir", a.Dir, "directory of keys, store and context.json")
	f.StringVar(&a.Tenant, "tenant", a.Tenant, "tenant")
	f.StringVar(&a.session, "session", a.session, "session (default: one per terminal, else cli)")
	f.StringVar(&a.Output, "output", a.Output, "text or json (default: text on a terminal, else json)")
	f.StringVar(&a.NATS.URL, "nats-url", a.NATS.URL, "NATS server (default: the one in context.json)")
	f.StringVar(&a.Creds, "creds", "", "file with a credential: NATS .creds, or JSON as \"askbus auth\" prints it (default: ASKBUS_CREDS, else the one in context.json)")
	f.StringVar(&a.LogLevel, "log-level", a.LogLevel, "debug, info, warn or error")
	f.StringVar(&a.LogFormat, "log-format", a.LogFormat, "text or json")
	f.StringVar(&a.tty.Lang, "lang", a.tty.Lang, "language of questions, such as en or zh (default: from LC_ALL, LC_MESSAGES and LANG)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w; see \"%s --help\"", err, cmd.CommandPath())
	})
	_ = root.RegisterFlagCompletionFunc("session", a.completeSessions) // as in fixed
	fixed(root, "output", "text", "json")
	fixed(root, "log-level", "debug", "info", "warn", "error")
	fixed(root, "log-format", "text", "json")
	fixed(root, "lang", languages()...)
	a.addCommands(root)
	asUsage(root)
	return root, nil
}

// asUsage turns argument errors into usage errors, for their exit code.
func asUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				if _, ok := errors.AsType[*exitError](err); ok {
					return err
				}
				return usage("%s; see \"%s --help\"", argumentError(c, args, check, err), c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		asUsage(sub)
	}
}

// argumentError says what is wrong with the arguments of a command: cobra only counts them, and
// takes every argument of a command without any for the name of another command.
func argumentError(cmd *cobra.Command, args []string, check cobra.PositionalArgs, err error) string {
	line := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	switch {
	case !cmd.HasSubCommands() && len(args) > 0 && check(cmd, args[:0]) == nil && strings.HasPrefix(err.Error(), "unknown command"):
		return fmt.Sprintf("unexpected argument %q", args[0])
	case !strings.Contains(err.Error(), "arg(s)"):
		return err.Error()
	case check(cmd, append(slices.Clone(args), "x")) == nil || len(args) == 0:
		return "missing argument: " + line
	}
	return fmt.Sprintf("unexpected argument %q: %s", args[len(args)-1], line)
}

// prepare validates the shared settings.
func (a *app) prepare(cmd *cobra.Command) error {
	a.personalAs(cmd)
	if a.Output == "" {
		a.Output = "json"
		if isTerminal(a.out) {
			a.Output = "text"
		}
	}
	if a.Output != "text" && a.Output != "json" {
		return usage("invalid --output %q: use text or json", a.Output)
	}
	if !ask.ValidToken(a.Tenant) {
		return usage("invalid --tenant %q: use A-Z a-z 0-9 _ -", a.Tenant)
	}
	if _, err := a.logger(); err != nil {
		return &exitError{exitUsage, err}
	}
	if a.Creds == "" && !cmd.Flags().Changed("creds") {
		a.Creds = os.Getenv(config.Prefix + "_CREDS")
	}
	if unknown := config.Unknown(settings()...); len(unknown) > 0 {
		fmt.Fprintf(a.err, "askbus: warning: unknown setting %s; see \"%s\"\n", ask.CleanText(strings.Join(unknown, ", ")), a.hint("settings"))
	}
	return nil
}

// settings returns the settings of all commands.
func settings() []any {
	return []any{config.Common{}, config.Reach{}, config.Log{}, config.Telemetry{}, config.Listen{}, config.Ledger{}, config.Types{}, config.Issuer{}, config.Web{}, config.Gateway{}, config.Slack{}, config.Push{}, sessionSetting{}, hostSettings{}, terminalSettings{}, config.SSH{}}
}

func (a *app) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.LogLevel)); err != nil {
		return nil, fmt.Errorf("invalid --log-level %q: use debug, info, warn or error", a.LogLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch a.LogFormat {
	case "text":
		return slog.New(telemetry.Handler(slog.NewTextHandler(a.err, opts))), nil
	case "json":
		return slog.New(telemetry.Handler(slog.NewJSONHandler(cleanJSON{a.err}, opts))), nil
	}
	return nil, fmt.Errorf("invalid --log-format %q: use text or json", a.LogFormat)
}

// log returns the logger; prepare has validated its settings.
func (a *app) log() *slog.Logger {
	l, err := a.logger()
	if err != nil || a.quiet {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

func (a *app) json() bool { return a.Output == "json" }

// say writes a line for a person to standard error. It strips control characters, because the text
// may be anybody's.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.err, ask.CleanText(fmt.Sprintf(format, args...)))
}

// printJSON writes a document to standard output, without control characters that a terminal would
// interpret.
func (a *app) printJSON(doc []byte) {
	fmt.Fprintln(a.out, string(ask.CleanJSON(doc)))
}

// tellJSON writes a value to standard output as JSON, like printJSON.
func (a *app) tellJSON(v any) error { return json.NewEncoder(cleanJSON{a.out}).Encode(v) }

// cleanJSON writes whole JSON documents, such as log lines, without control characters.
type cleanJSON struct{ io.Writer }

func (w cleanJSON) Write(doc []byte) (int, error) {
	if _, err := w.Writer.Write(ask.CleanJSON(doc)); err != nil {
		return 0, err
	}
	return len(doc), nil
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
