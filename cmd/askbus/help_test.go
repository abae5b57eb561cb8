package main

import (
	"io"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/spf13/cobra"
)

func TestEveryCommandHasAGroupAndAnExample(t *testing.T) {
	t.Parallel()
	a := &cli.App{Stdout: io.Discard, Stderr: io.Discard}
	root, err := program().Root(a)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		seen[cmd.Name()] = true
		if cmd.GroupID == "" || cmd.Short == "" || !strings.Contains(cmd.Example, "askbus "+cmd.Name()) {
			t.Errorf("%s: group %q, short %q, example %q", cmd.Name(), cmd.GroupID, cmd.Short, cmd.Example)
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented", cmd.Name(), line)
			}
		}
	}
	for _, g := range program().Groups {
		for _, c := range g.Commands {
			if cmd := c.New(a); cmd.Name() != c.Name {
				t.Errorf("%q builds the command %q", c.Name, cmd.Name())
			}
		}
	}
	for _, name := range []string{"completion", "health", "status", "help"} {
		if !seen[name] {
			t.Errorf("%s is not in the help", name)
		}
	}
}

// Every flag with a completion exists: cobra reports an unknown one only in an error.
func TestCompletionsBelongToFlags(t *testing.T) {
	t.Parallel()
	a := &cli.App{Stdout: io.Discard, Stderr: io.Discard}
	root, err := program().Root(a)
	if err != nil {
		t.Fatal(err)
	}
	for path, flags := range map[string][]string{
		"": {"session", "output", "log-level", "log-format"}, "ask": {"kind", "priority", "at-deadline"}, "list": {"state"}, "status": {"format"},
		"hook": {"mode"}, "answer": {"select", "reply", "other", "text", "number", "boolean", "date", "note"},
	} {
		cmd := root
		if path != "" {
			if cmd, _, err = root.Find([]string{path}); err != nil {
				t.Fatal(err)
			}
		}
		for _, flag := range flags {
			nothing := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) { return nil, 0 }
			if err := cmd.RegisterFlagCompletionFunc(flag, nothing); err == nil || !strings.Contains(err.Error(), "already registered") {
				t.Errorf("%s --%s is not completed: %v", path, flag, err)
			}
		}
	}
}

func TestUnknownCommandsAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"help", "nonsense"}, `askbus: unknown command "nonsense" for "askbus"; see "askbus --help"`},
		{[]string{"nonsense"}, `askbus: unknown command "nonsense" for "askbus"; see "askbus --help"`},
		{[]string{"lst"}, `askbus: unknown command "lst" for "askbus" (did you mean list?); see "askbus --help"`},
		{[]string{"install"}, `askbus: unknown command "install" for "askbus" (did you mean acp install or hook install or mcp install?); see "askbus --help"`},
		{[]string{"help", "token", "nonsense"}, `askbus: unknown command "token nonsense"`},
		{[]string{"token", "nonsense"}, `askbus: unknown command "nonsense" for "askbus token"`},
		{[]string{"completion", "tcsh"}, `askbus: unknown command "tcsh" for "askbus completion"`},
		{[]string{"list", "--nonsense"}, `askbus: unknown flag: --nonsense; see "askbus list --help"`},
	} {
		p := start(t, "", c.args...)
		if code := p.wait(); code != cli.ExitUsage || !strings.HasPrefix(p.err.String(), c.says) || p.out.String() != "" {
			t.Errorf("%q: exit %d, %s%s", c.args, code, p.out, p.err)
		}
	}
	if p := start(t, "", "--version"); p.wait() != 0 || !strings.HasPrefix(p.out.String(), "askbus ") || strings.Count(p.out.String(), "\n") != 1 {
		t.Errorf("--version: %s%s", p.out, p.err)
	}
	p := start(t, "", "help", "token", "issue")
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "askbus token issue") {
		t.Errorf("help token issue: exit %d, %s%s", code, p.out, p.err)
	}
}
