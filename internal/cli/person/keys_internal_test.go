package person

import (
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/internal/cli"
)

// The help names the actions of a key file, which the refusal of an unknown one names, too.
func TestTheHelpNamesEveryAction(t *testing.T) {
	t.Parallel()
	_, err := tui.Run(t.Context(), tui.Terminal{}, tui.Options{Keys: map[string][]string{"no-action": {"b"}}}, nil)
	if err == nil {
		t.Fatal("an unknown action is accepted")
	}
	_, names, _ := strings.Cut(err.Error(), "use one of ")
	_, said, _ := strings.Cut(TUICmd(&cli.App{}).Long, "The actions: ")
	said, _, _ = strings.Cut(said, ".")
	listed := strings.Fields(strings.ReplaceAll(said, ",", " "))
	slices.Sort(listed)
	if known := strings.Split(names, ", "); !slices.Equal(listed, known) {
		t.Errorf("the help lists %q, and the actions are %q", listed, known)
	}
}
