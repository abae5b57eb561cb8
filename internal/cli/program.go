package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/config"
	"github.com/spf13/cobra"
)

// Program is a binary whose subcommands share an [App].
type Program struct {
	Name, Short, Long string
	Groups            []Group // its commands, in the order of the help
	Settings          []any   // those of all commands, to find misspelt variables
}

// Group is a section of the help.
type Group struct {
	ID, Title string
	Commands  []Command
}

// Command is a command of the program that is built when it is needed: to build
// all of them, with all of their settings, costs more than most commands do.
type Command struct {
	Name string // the first word of Use
	New  func(*App) *cobra.Command
}

// Execute runs one command line, prints its error, and returns its exit code.
func (p Program) Execute(ctx context.Context, args []string) int {
	a := &App{Stdout: os.Stdout, Stderr: os.Stderr}
	root, err := p.tree(a, args)
	if err == nil {
		root.SetArgs(args)
		root.SetOut(a.Stdout)
		root.SetErr(a.Stderr)
		err = root.ExecuteContext(ctx)
		a.stopTracing(ctx)
	}
	if err != nil {
		a.Complain(err)
	}
	return ExitCode(err)
}

// Root returns the tree of commands.
func (p Program) Root(a *App) (*cobra.Command, error) { return p.tree(a, nil) }

// tree returns the tree of commands, with only the one that the command line
// begins with if it begins with the name of one.
func (p Program) tree(a *App, args []string) (*cobra.Command, error) {
	var s SessionSetting
	for _, into := range []any{&a.Common, &a.Reach, &a.Log, &a.Telemetry, &a.Host, &a.Terminal, &s} {
		if err := config.Load(into); err != nil {
			return nil, &ExitError{ExitUsage, err}
		}
	}
	a.Session = s.Session
	if a.Dir == "" {
		a.Dir = config.DefaultDir()
	}
	version := false
	root := &cobra.Command{
		Use: p.Name, Short: p.Short, Long: p.Long,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if version { // needs no settings
				return nil
			}
			return a.prepare(cmd, p.Settings)
		},
		Args: NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version { // Cobra's own has its words in a text/template
				fmt.Fprintln(cmd.OutOrStdout(), p.Name, BuildVersion())
				return nil
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	f := root.PersistentFlags()
	f.StringVar(&a.Dir, "dir", a.Dir, "directory of keys, store and context.json")
	f.StringVar(&a.Tenant, "tenant", a.Tenant, "tenant")
	f.StringVar(&a.Session, "session", a.Session, "session (default: one per terminal, else cli)")
	f.StringVar(&a.Output, "output", a.Output, "text or json (default: text on a terminal, else json)")
	f.StringVar(&a.NATS.URL, "nats-url", a.NATS.URL, "NATS server (default: the one in context.json)")
	f.StringVar(&a.Creds, "creds", "", "file with a credential: NATS .creds, or JSON as \"askbus auth\" prints it (default: ASKBUS_CREDS, else the one in context.json)")
	f.StringVar(&a.LogLevel, "log-level", a.LogLevel, "debug, info, warn or error")
	f.StringVar(&a.LogFormat, "log-format", a.LogFormat, "text or json")
	f.StringVar(&a.Terminal.Lang, "lang", a.Terminal.Lang, "language of questions, such as en or zh (default: from LC_ALL, LC_MESSAGES and LANG)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usage("%w; see \"%s --help\"", err, cmd.CommandPath())
	})
	_ = root.RegisterFlagCompletionFunc("session", a.CompleteSessions) // as in fixed
	Fixed(root, "output", "text", "json")
	Fixed(root, "log-level", "debug", "info", "warn", "error")
	Fixed(root, "log-format", "text", "json")
	_ = root.RegisterFlagCompletionFunc("lang", completeLanguages)
	p.addCommands(root, a, args)
	asUsage(root)
	return root, nil
}

// addCommands gives the root its commands, in groups.
func (p Program) addCommands(root *cobra.Command, a *App, args []string) {
	named := func(c Command) bool { return len(args) > 0 && c.Name == args[0] }
	one := slices.ContainsFunc(p.Groups, func(g Group) bool { return slices.ContainsFunc(g.Commands, named) })
	for _, g := range p.Groups {
		root.AddGroup(&cobra.Group{ID: g.ID, Title: g.Title})
		for _, c := range g.Commands {
			if !one || named(c) {
				cmd := c.New(a)
				cmd.GroupID = g.ID
				root.AddCommand(cmd)
			}
		}
	}
	root.SetCompletionCommandGroupID("operate")
	root.SetHelpCommand(helpCmd(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd() // now, so that its arguments are checked like all others
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.RunE = nil
			cmd.Short = "Print the completion script of a shell: bash, zsh, fish or powershell"
			cmd.Example = strings.ReplaceAll(`  source <(NAME completion bash)
  NAME completion zsh > "${fpath[1]}/_NAME"
  NAME completion fish > ~/.config/fish/completions/NAME.fish`, "NAME", p.Name)
		}
	}
}

// asUsage turns argument errors into usage errors, for their exit code. What only groups other commands prints its help, and
// rejects unknown ones.
func asUsage(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.RunE = NoCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				if _, ok := errors.AsType[*ExitError](err); ok {
					return err
				}
				return Usage("%s; see \"%s --help\"", argumentError(c, args, check, err), c.CommandPath())
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
