package lifecycle_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// properties runs any sequence of commands, with time passing in between, and
// late events of a server's timer. Replaying the stored events gives the state; a
// repeated command ends in Tell or in the same refusal; an ended ask never
// changes.
func properties(t testing.TB, all []lifecycle.Command) func(*rapid.T) {
	t.Helper()
	return func(r *rapid.T) {
		w := &world{now: now}
		var end *ask.Outcome
		for range rapid.IntRange(1, 20).Draw(r, "commands") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 3600).Draw(r, "seconds")) * time.Second / 4)
			if w.held.Known() && rapid.IntRange(0, 9).Draw(r, "timer") == 0 { // it fires late, and stores without a check
				w.store(lifecycle.Ended{Outcome: w.held.Will, Timed: true})
			}
			c := all[rapid.IntRange(0, len(all)-1).Draw(r, "command")]
			_, err := w.do(t, c)
			effect, again := lifecycle.Decide(w.held, c, w.now)
			switch {
			case err == nil && (again != nil || effect != (lifecycle.Tell{})):
				t.Fatalf("%T carried out again: %v, %v", c, effect, again)
			case err != nil && (again == nil || again.Error() != err.Error()):
				t.Fatalf("%T refused with %v, then %v", c, err, again)
			}
			if end != nil && w.held.End != end {
				t.Fatalf("%T changed the end", c)
			}
			end = w.held.End
		}
		var replayed lifecycle.State
		for _, e := range w.events {
			replayed = lifecycle.Apply(replayed, e)
		}
		if diff := cmp.Diff(w.held, replayed); diff != "" {
			t.Fatalf("replayed (-stored +replayed):\n%s", diff)
		}
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, properties(t, commands()))
}

func TestPropertiesOfLadders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, properties(t, climbing()))
}

func FuzzDecide(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		rapid.MakeFuzz(properties(t, append(commands(), lifecycle.Climb{})))(t, input)
	})
}

// TestApplyIsTotal applies events in orders that no ledger has.
func TestApplyIsTotal(t *testing.T) {
	t.Parallel()
	asked, other := asking("d").State, asking("e").State
	ended := lifecycle.Ended{Outcome: ask.Outcome{Status: ask.StatusWithdrawn}}
	if s := lifecycle.Apply(lifecycle.State{}, ended); s.Known() {
		t.Errorf("an end of nothing: %+v", s)
	}
	s := lifecycle.Apply(lifecycle.Apply(lifecycle.State{}, lifecycle.Asked{State: asked}), lifecycle.Asked{State: other})
	if s.Digests[0] != "d" || !s.Pending() {
		t.Errorf("asked twice: %+v", s)
	}
	s = lifecycle.Apply(lifecycle.Apply(s, ended), lifecycle.Ended{Outcome: s.Will, Timed: true})
	if s.End.Status != ask.StatusWithdrawn || s.Timed || s.Pending() || s.End.Ask != s.Ask {
		t.Errorf("ended twice: %+v", s)
	}
}
