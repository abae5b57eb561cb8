package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/asking/install"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// installFlags are the flags of all installers.
type installFlags struct {
	write, remove bool
	file          string
}

func (f *installFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.write, "write", false, "change the file and keep a backup next to it")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "with --write remove the entry again; without, print what would be left")
	cmd.Flags().StringVar(&f.file, "file", "", "the file, if not at its default path")
}

func mcpInstallCmd(a *cli.App) *cobra.Command {
	var f installFlags
	var elicit, trust bool
	var scope string
	cmd := &cobra.Command{
		Use:   "install [" + strings.Join(install.Names(), " | ") + "]",
		Short: "Print or write the configuration of an MCP client",
		Long: `Prints what to put into the configuration of an MCP client, and where. --write changes
the file and keeps everything else in it, comments included; a second run changes nothing.
Without a client it lists the known ones.

With --trust the client runs askbus's tools without a permission prompt. For claude-code
this is a second file, .claude/settings.local.json (with --scope project settings.json),
which also denies its model the native AskUserQuestion.`,
		Args: cobra.MaximumNArgs(1), ValidArgs: install.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			place, err := herePlace()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				var known []installTarget
				for _, c := range install.Clients() {
					known = append(known, installTarget{Name: c.Name, Title: c.Title, File: c.File(place)})
				}
				return listTargets(a, f, "client", known)
			}
			c, ok := install.Lookup(args[0])
			if !ok {
				return cli.Usage("unknown client %q; use one of: %s", args[0], strings.Join(install.Names(), ", "))
			}
			path := f.file
			if path == "" {
				path = c.File(place)
			}
			if c.Printed() && (f.write || f.remove) {
				return cli.Usage("%s is configured in YAML, which askbus only prints: leave out --write and --remove, and edit %s yourself", c.Title, path)
			}
			note := c.Note
			claude := c.Name == "claude-code"
			if trust {
				if c, ok = c.Trusted(); !ok && !claude {
					return cli.Usage("%s has no entry that trusts a server; leave out --trust", c.Title)
				}
				note, _, _ = strings.Cut(note, " Each question")
			}
			self, err := mcpSelf(a, c, scope, place)
			if err != nil {
				return err
			}
			if elicit {
				self.Args = append(self.Args, "--elicit")
			}
			if c.Printed() {
				text, err := c.Set("", self)
				if err == nil {
					fmt.Fprint(a.Stdout, text)
					a.Note("For %s: put this into %s. %s", c.Title, path, note)
				}
				return err
			}
			if err := installClient(a, f, c.Title, path, note, func(text string) (string, error) { return c.Set(text, self) }, c.Remove); err != nil || !claude || !trust && !f.remove {
				return err
			}
			settings := install.ClaudeSettings(place, scope == scopeProject)
			if f.file != "" { // beside it
				settings = filepath.Join(filepath.Dir(path), ".claude", filepath.Base(settings))
			}
			if _, err := os.Stat(settings); f.remove && err != nil {
				return nil //nolint:nilerr // nothing to remove
			}
			return installClient(a, f, c.Title, settings, "Its own AskUserQuestion is denied, and askbus's tools run without a prompt.", install.SetClaudeTools, install.RemoveClaudeTools)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&elicit, "elicit", false, "also show each ask as a form in the client")
	cmd.Flags().BoolVar(&trust, "trust", false, "let the client run askbus's tools without a permission prompt (claude-code, gemini, qwen)")
	cmd.Flags().StringVar(&scope, "scope", scopeUser, "user: for this machine; project: without local paths, to be shared with others (claude-code, vscode)")
	return cmd
}

// The scopes of an MCP client's entry.
const (
	scopeUser    = "user"
	scopeProject = "project"
)

// mcpSelf returns the command with which an MCP client starts askbus. For this machine it names the
// client, whose session in each directory a restarted client finds again.
func mcpSelf(a *cli.App, c install.Client, scope string, place install.Place) (install.Command, error) {
	inProject := strings.HasPrefix(c.File(place), place.Dir+string(filepath.Separator)) && (c.Name == "claude-code" || c.Name == "vscode")
	switch scope {
	case scopeProject:
		if !inProject {
			return install.Command{}, cli.Usage("%s has no project configuration; use --scope user, or claude-code or vscode", c.Title)
		}
		cmd := install.Command{Path: "askbus", Args: []string{"mcp"}}
		if a.Session != "" {
			cmd.Args = append(cmd.Args, "--session", a.Session)
		}
		return cmd, nil
	case scopeUser:
	default:
		return install.Command{}, cli.Usage("invalid --scope %q: use user or project", scope)
	}
	self, err := self(a, "mcp")
	if err == nil && a.Session == "" {
		self.Args = append(self.Args, "--client", c.Name)
	}
	return self, err
}

// installTarget is a program whose configuration askbus can print or write.
type installTarget struct{ Name, Title, File string }

// listTargets prints the known programs of a kind: clients or editors.
func listTargets(a *cli.App, f installFlags, kind string, known []installTarget) error {
	if f.write || f.remove {
		var names []string
		for _, t := range known {
			names = append(names, t.Name)
		}
		return cli.Usage("name the %s: %s", kind, strings.Join(names, ", "))
	}
	if a.JSON() {
		rows := make([]map[string]string, 0, len(known))
		for _, t := range known {
			rows = append(rows, map[string]string{kind: t.Name, "title": t.Title, "file": t.File})
		}
		return a.TellJSON(rows)
	}
	for _, t := range known {
		fmt.Fprintf(a.Stdout, "%-15s %s\n", t.Name, t.File)
	}
	return nil
}

func hookInstallCmd(a *cli.App) *cobra.Command {
	var f installFlags
	var mode, permissions, minProof string
	var project, forms bool
	cmd := &cobra.Command{
		Use:   "install [" + strings.Join(hostcall.Hosts(), " | ") + "]",
		Short: "Print or write the settings that make a coding agent's CLI call the hook",
		Long: `Prints what to put into the settings of Claude Code, and where. --write changes the
file and keeps everything else in it; a second run changes nothing.

With --mode race, the default here, the terminal's dialog opens as always and the
first answer wins. Use wait for runs without a terminal, and defer for jobs that must
not wait.

With --permissions the hook also asks for the permission of every tool call that the CLI
would ask for, or of the tools that a matcher names ("Bash|mcp__.*"). Others may then permit a
call once or for the session; with --min-proof os, also in the settings.

For codex, qwen and copilot it writes the hook of their permission prompts.`,
		Args: cobra.MaximumNArgs(1), ValidArgs: hostcall.Hosts(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && !slices.Contains(hostcall.Hosts(), args[0]) {
				return cli.Usage("unknown coding agent %q; use one of: %s", args[0], strings.Join(hostcall.Hosts(), ", "))
			}
			if m := hook.Mode(mode); m != hook.Wait && m != hook.Race && m != hook.Defer {
				return cli.Usage("invalid --mode %q: use wait, race or defer", mode)
			}
			place, err := herePlace()
			if err != nil {
				return err
			}
			arguments := []string{"hook", "--mode", mode}
			other := slices.IndexFunc(install.HookHosts(), func(h install.HookHost) bool { return len(args) == 1 && h.Name == args[0] })
			path := f.file
			switch {
			case other >= 0 && (project || forms || cmd.Flags().Changed("mode")):
				return cli.Usage("--mode, --forms and --project are for claude-code only")
			case other >= 0:
				permissions = cmp.Or(permissions, "*")
				arguments = []string{"hook", "--host", args[0]}
				path = cmp.Or(path, install.HookHosts()[other].File(place))
			case path == "" && project:
				path = filepath.Join(place.Dir, ".claude", "settings.json")
			case path == "":
				path = filepath.Join(place.Home, ".claude", "settings.json")
			}
			if minProof != "" {
				if !slices.Contains(ask.MinProofs(), minProof) {
					return cli.Usage("invalid --min-proof %q: use %s", minProof, strings.Join(ask.MinProofs(), ", "))
				}
				arguments = append(arguments, "--min-proof", minProof)
			}
			self, err := self(a, arguments...)
			if err != nil {
				return err
			}
			words := []string{cli.Quote(self.Path)}
			for _, arg := range self.Args {
				words = append(words, cli.Quote(arg))
			}
			line := strings.Join(words, " ")
			set := func(text string) (string, error) {
				return install.SetHook(text, install.Hook{First: other >= 0, Command: line, Seconds: int(hostLimit / time.Second), Permissions: permissions, Forms: forms})
			}
			if other >= 0 {
				host := install.HookHosts()[other]
				return installClient(a, f, host.Title, path, host.Note, set, install.RemoveHook)
			}
			if err := installClient(a, f, "Claude Code", path, `"/hooks" shows it.`, set, install.RemoveHook); err != nil || f.remove {
				return err
			}
			how, err := ClaudeP(a)
			a.Note("%s", how)
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&mode, "mode", string(hook.Race), "race, wait or defer")
	cmd.Flags().StringVar(&permissions, "permissions", "", "ask for permissions too: of all tools, or of those that a matcher names")
	cmd.Flags().Lookup("permissions").NoOptDefVal = "*"
	cmd.Flags().BoolVar(&forms, "forms", false, "ask the forms of MCP servers too: for 30 s on other screens only, then at the terminal; see askbus hook")
	cmd.Flags().StringVar(&minProof, "min-proof", "", "the weakest proof of who answers a permission; see askbus hook")
	cli.Fixed(cmd, "min-proof", ask.MinProofs()...)
	cmd.Flags().BoolVar(&project, "project", false, "the settings of this directory instead of the user's")
	return cmd
}

// install prints the entry for an empty file, or changes the file.
func installClient(a *cli.App, f installFlags, title, path, note string, set, remove func(string) (string, error)) error {
	change := set
	if f.remove {
		change = remove
	}
	if !f.write && f.remove {
		return printRemoved(a, path, remove)
	}
	if !f.write {
		text, err := set("")
		if err != nil {
			return err
		}
		fmt.Fprint(a.Stdout, text)
		a.Note("For %s: put this into %s, or add --write.", title, path)
		return nil
	}
	changed, err := install.Edit(path, change)
	switch {
	case err != nil:
		return err
	case !changed && f.remove:
		a.Note("%s has no askbus entry.", path)
	case !changed:
		a.Note("%s is already up to date for %s.", path, title)
	case f.remove:
		a.Note("Removed from %s for %s.", path, title)
	default:
		a.Note("Written to %s for %s. %s", path, title, note)
	}
	return nil
}

// printRemoved prints the file without the askbus entry.
func printRemoved(a *cli.App, path string, remove func(string) (string, error)) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read configuration: %w", err)
	}
	after, err := remove(string(before))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case after == string(before):
		a.Note("%s has no askbus entry.", path)
	default:
		fmt.Fprint(a.Stdout, after)
		a.Note("This is what would be left of %s; add --write to change it.", path)
	}
	return nil
}

// errGoRun rejects a program path that "go run" deletes on exit.
var errGoRun = errors.New(`this is the temporary program of "go run"; install it with "go install ./cmd/askbus" and run that one`)

// self returns the command with which another program starts askbus on the same bus.
func self(a *cli.App, args ...string) (install.Command, error) {
	path, err := os.Executable()
	if err != nil {
		return install.Command{}, fmt.Errorf("find the path of this program: %w", err)
	}
	if Temporary(path) {
		return install.Command{}, &cli.ExitError{Code: cli.ExitUsage, Err: errGoRun}
	}
	if a.Dir != config.DefaultDir() {
		abs, err := filepath.Abs(a.Dir)
		if err != nil {
			return install.Command{}, fmt.Errorf("directory: %w", err)
		}
		args = append(args, "--dir", abs)
	}
	if a.Session != "" {
		args = append(args, "--session", a.Session)
	}
	return install.Command{Path: path, Args: args}, nil
}

// Temporary reports whether the go command deletes this program when it exits.
func Temporary(path string) bool {
	dir := filepath.Dir(path)
	return filepath.Base(dir) == "exe" && strings.HasPrefix(filepath.Base(filepath.Dir(filepath.Dir(dir))), "go-build")
}

func herePlace() (install.Place, error) {
	home, err1 := os.UserHomeDir()
	dir, err2 := os.Getwd()
	conf, err3 := os.UserConfigDir()
	if runtime.GOOS == "darwin" { // where command line tools use this directory as well
		conf = filepath.Join(home, ".config")
	}
	return install.Place{Home: home, Dir: dir, Config: conf, OS: runtime.GOOS}, errors.Join(err1, err2, err3)
}
