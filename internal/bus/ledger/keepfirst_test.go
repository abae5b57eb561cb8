package ledger_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// Two asks are with replicas that died when one that was handed out after them ends, and the next one
// is settled. The server forgot both, as if they had been settled too.
func TestAnEndBetweenHandedOutAsksLosesNoWork(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Lease: time.Second})
	work, group := ledger.NewWork(b.led), ledger.Group{Type: "slack"}
	b.store(t, key("s1", "a1"))
	b.store(t, key("s1", "a2"))
	third := b.store(t, key("s1", "a3"))
	b.store(t, key("s1", "a4"))
	items, err := work.Next(t.Context(), group, subject.Question, 10)
	if err != nil || len(items) != 4 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if _, err := b.led.Resolve(t.Context(), third, answered(third, "w1"), "", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := work.Settle(t.Context(), group, items[3].Token, subject.VerbDone, 0); err != nil {
		t.Fatal(err)
	}
	again := map[string]bool{}
	natstest.Eventually(t, "what died is handed out again", func() bool {
		items, err := work.Next(t.Context(), group, subject.Question, 10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range items {
			again[items[i].State.Ask.ID] = true
			if err := work.Settle(t.Context(), group, items[i].Token, subject.VerbDone, 0); err != nil {
				t.Fatal(err)
			}
		}
		return again["a1"] && again["a2"]
	})
	if len(again) != 2 {
		t.Errorf("handed out again: %v", again)
	}
}
