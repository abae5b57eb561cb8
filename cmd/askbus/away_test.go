package main

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

// TestAwayAtTheCommandLine: the user of this machine names another one, sees it, and
// ends it.
func TestAwayAtTheCommandLine(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	for _, args := range [][]string{
		{"away", "--until", "someday", "--for-me", "ana"}, {"away", "--until", "friday"}, {"away", "--end", "--for-me", "ana"}, {"away", "--of", "os:ana"},
	} {
		if _, said, code := pl.run(args...); code != 2 {
			t.Errorf("%v exits %d: %s", args, code, said)
		}
	}
	if _, said, code := pl.run("away", "--until", "72h", "--for-me", "os:ana", "--tenant", "acme"); code != 0 {
		t.Fatalf("%d %s", code, said)
	}
	if _, said, code := pl.run("away", "--until", "72h", "--for-me", "Meii"); code != cli.ExitRefused || !strings.Contains(said, `"Meii" cannot stand in for you; give another person's principal, such as os:ana`) {
		t.Errorf("a name that nobody has: %d %s", code, said)
	}
	out, said, code := pl.run("away")
	if code != 0 || !strings.Contains(out, `"stand_in":"os:ana"`) || !strings.Contains(out, `"tenant":"acme"`) {
		t.Fatalf("%d %s %s", code, out, said)
	}
	if _, said, code := pl.run("away", "--end"); code != 0 {
		t.Fatalf("%d %s", code, said)
	}
	if out, said, code := pl.run("away"); code != 0 || strings.Contains(out, "os:ana") {
		t.Errorf("%d %s %s", code, out, said)
	}
	if _, said, code := pl.run("away", "--until", "72h", "--for-me", "os:ana"); code != 0 {
		t.Fatalf("%d %s", code, said)
	}
	_, absent, _ := strings.Cut(out, `"absent":"`)
	absent, _, _ = strings.Cut(absent, `"`)
	if _, said, code := pl.run("away", "--end", "--of", absent); code != 0 || !strings.Contains(said, "os:ana no longer stands in for "+absent) {
		t.Errorf("where the keys are, as the operator: %d %s", code, said)
	}
}
