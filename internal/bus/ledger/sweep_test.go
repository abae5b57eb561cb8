package ledger_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// TestBrokersThatDifferDoNotRewriteEachOthersAsks: what a broker wrote to say who is
// on call is news only to brokers that have learnt something since.
func TestBrokersThatDifferDoNotRewriteEachOthersAsks(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 1})
	k := key("s1", "deploy")
	b.store(t, k, func(a *ask.Ask) { a.Audience = []string{"schedule:sre"} })
	earlier, later := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	returned := func(what string, want, turn int, turned time.Time) {
		t.Helper()
		due, err := b.led.Overdue(t.Context(), time.Now(), 1000, uint64(turn), turned)
		if err != nil || len(due) != want {
			t.Errorf("%s: %+v, %v", what, due, err)
		}
	}
	rewrite := func(by func(lifecycle.State) lifecycle.Event) {
		t.Helper()
		s, err := b.led.Read(t.Context(), k)
		if err == nil {
			err = b.led.Rewrite(t.Context(), s, by(s))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	relieve := func(s lifecycle.State) lifecycle.Event {
		return lifecycle.Relieved{Ask: s.Ask.OnDuty([]ask.Duty{{Schedule: "sre", People: []string{"os:mei"}}})}
	}
	returned("a new ask", 1, 1, earlier)
	rewrite(relieve)
	returned("what another broker says", 0, 1, earlier)
	returned("a change since", 1, 2, later)
	rewrite(relieve)
	returned("what another broker said before the change", 1, 2, later)
	rewrite(func(lifecycle.State) lifecycle.Event { return lifecycle.Looked{Seen: ask.Seen{N: 1, At: time.Now()}} })
	returned("something else has happened", 1, 2, earlier)
}
