package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// Labels with commas can be selected, alone and beside others.
func TestALabelWithACommaIsSelected(t *testing.T) {
	t.Parallel()
	q := &ask.Question{Options: []ask.Option{{ID: "o1", Label: "Yes, please"}, {ID: "o2", Label: "Yes"}, {ID: "o3", Label: "No, not now, later"}, {ID: "a,b", Label: "Ids too"}}}
	for value, want := range map[string][]string{
		"Yes, please": {"o1"}, "Yes, please,Yes": {"o1", "o2"}, "Yes,No, not now, later": {"o2", "o3"}, "o3, Yes, please , a,b": {"o3", "o1", "a,b"},
		"o1,o2": {"o1", "o2"}, "Yes,please": {"o2", "please"}, "x": {"x"},
	} {
		if got := cli.OptionIDs(q, value); !slices.Equal(got, want) {
			t.Errorf("%q selects %q, want %q", value, got, want)
		}
	}
}

// Every --question is asked.
func TestEveryQuestionIsAsked(t *testing.T) {
	t.Parallel()
	build := func(args ...string) (ask.Ask, error) {
		var built ask.Ask
		var failed error
		cmd := AskCmd((&cli.App{}))
		f := askFlags{}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error {
			f.questions, _ = cmd.Flags().GetStringArray("question")
			f.options, _ = cmd.Flags().GetStringArray("option")
			built, failed = f.build(cmd)
			return nil
		}
		cmd.SetArgs(args)
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		return built, failed
	}
	a, err := build("--question", "Which name?", "--question", "Which port?")
	if err != nil || len(a.Questions) != 2 || a.Questions[0].Text != "Which name?" || a.Questions[1].Text != "Which port?" || a.Questions[0].ID == a.Questions[1].ID {
		t.Errorf("%+v, %v", a.Questions, err)
	}
	if _, err := build("--question", "a", "--question", "b", "--option", "x"); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("an option for two questions: %v", err)
	}
}

// A host's own variable names the session where no setting of ours does.
func TestTheHostsVariableNamesTheSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ours, hosts, want string }{{"", "", "fallback"}, {"", "hosts", "hosts"}, {"ours", "hosts", "ours"}} {
		a := &cli.App{Session: c.ours}
		a.Tenant, a.Host.ProjectSession = "acme", c.hosts
		if _, got, err := hostHome(a, func() string { return "fallback" }); err != nil || got != c.want {
			t.Errorf("%+v: session %q, %v", c, got, err)
		}
	}
}

// Each client has a session of its own in each directory, also in two of the same name.
func TestAClientHasASessionInEachDirectory(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range []string{"codex", "gemini"} {
		for _, dir := range []string{"/work/shop", "/home/mei/shop", "/"} {
			session := clientSession(name, dir)
			if seen[session] || session != clientSession(name, dir+"/") || !strings.HasPrefix(session, name+"-") {
				t.Errorf("%s in %s: %s", name, dir, session)
			}
			seen[session] = true
		}
	}
}
