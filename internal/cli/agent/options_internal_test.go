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

// build returns the ask of these flags.
func build(t *testing.T, args ...string) (ask.Ask, error) {
	t.Helper()
	var built ask.Ask
	var failed error
	cmd := AskCmd((&cli.App{}))
	f := askFlags{}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f.questions, _ = cmd.Flags().GetStringArray("question")
		f.options, _ = cmd.Flags().GetStringArray("option")
		f.multiple, _ = cmd.Flags().GetBool("multiple")
		f.defaultValue, _ = cmd.Flags().GetString("default")
		built, failed = f.build(cmd)
		return nil
	}
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return built, failed
}

// A --default that names no option is refused with the label and the options.
func TestADefaultNamesAnOption(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"nope": `--default: "nope" is not one of the options; type a number from 1 to 2. The options are "A", "B".`,
		"A, C": `--default: "C" is not one of the options; type a number from 1 to 2. The options are "A", "B".`,
		"7":    `--default: "7" is not one of the options; type a number from 1 to 2. The options are "A", "B".`,
	} {
		if _, err := build(t, "--question", "x?", "--option", "A", "--option", "B|the second", "--multiple", "--default", value); cli.ExitCode(err) != cli.ExitUsage || err.Error() != want {
			t.Errorf("%s: %v", value, err)
		}
	}
	a, err := build(t, "--question", "x?", "--option", "A", "--option", "B", "--default", "b")
	if err != nil || !slices.Equal(a.Questions[0].Default.Selected, []string{"o2"}) || a.Questions[0].NoOther {
		t.Errorf("%+v, %v", a.Questions, err)
	}
	if a, err := build(t, "--question", "x?", "--default", "any words"); err != nil || a.Questions[0].Default.Text != "any words" {
		t.Errorf("%+v, %v", a.Questions, err)
	}
}

// Every --question is asked.
func TestEveryQuestionIsAsked(t *testing.T) {
	t.Parallel()
	a, err := build(t, "--question", "Which name?", "--question", "Which port?")
	if err != nil || len(a.Questions) != 2 || a.Questions[0].Text != "Which name?" || a.Questions[1].Text != "Which port?" || a.Questions[0].ID == a.Questions[1].ID {
		t.Errorf("%+v, %v", a.Questions, err)
	}
	if _, err := build(t, "--question", "a", "--question", "b", "--option", "x"); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("an option for two questions: %v", err)
	}
}

// A host's own variable names the session where no setting of ours does.
func TestTheHostsVariableNamesTheSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ours, hosts, want string }{{"", "", "fallback"}, {"", "hosts", "hosts"}, {"ours", "hosts", "ours"}} {
		a := &cli.App{Session: c.ours}
		a.Tenant, a.Host.ProjectSession = "acme", c.hosts
		if _, got, err := hostHome(a, "fallback"); err != nil || got != c.want {
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
