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

// TestAMissedStepIsLeftAloneUntilTheOpening: a sweep of the night does not return, or read
// again, what waits for open hours.
func TestAMissedStepIsLeftAloneUntilTheOpening(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 1})
	now := time.Now().Truncate(time.Second)
	open := &ask.OpenHours{Name: "office", Spans: []ask.Span{{From: now, To: now.Add(time.Hour)}, {From: now.Add(10 * time.Hour), To: now.Add(12 * time.Hour)}}}
	b.store(t, key("s1", "deploy"), func(a *ask.Ask) {
		a.Escalate, a.OpenHours, a.Deadline = []ask.Escalation{{After: 30 * time.Minute}}, open, now.Add(20*time.Hour)
	})
	for _, c := range []struct {
		after time.Duration
		due   bool
		next  time.Duration
	}{
		{0, false, 30 * time.Minute},
		{45 * time.Minute, true, 30 * time.Minute},
		{2 * time.Hour, false, 10 * time.Hour},
		{9 * time.Hour, false, 10 * time.Hour},
		{11 * time.Hour, true, 30 * time.Minute},
		{13 * time.Hour, false, 0},
	} {
		due, err := b.led.Overdue(t.Context(), now.Add(c.after), 1000, 1, now)
		if err != nil || (len(due) == 1 && due[0].Step) != c.due || len(due) > 1 {
			t.Errorf("after %s: %+v, %v", c.after, due, err)
		}
		if at := b.led.NextStep(); c.next == 0 != at.IsZero() || c.next > 0 && (at.Before(now.Add(c.next)) || at.After(now.Add(c.next+time.Minute))) {
			t.Errorf("after %s: the next is at %s", c.after, at)
		}
	}
}
