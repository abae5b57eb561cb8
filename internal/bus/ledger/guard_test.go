package ledger_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// What a cluster is storing cannot be read yet: an expiry, a step, an outcome. Whatever comes second of them
// loses its race, in each order: so an ask with a ladder has one outcome, and none passes what it has not seen.
func TestTheEndOfAnAskWithALadderSeesWhatIsBeingStored(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers")
	}
	for range 3 {
		if c := newCut(t); c.try() {
			return
		}
	}
	t.Error("the leader stepped down three times while its peers were away")
}

// cut is a cluster whose leader gets no majority: what it is sent stays in flight.
type cut struct {
	t     *testing.T
	led   *ledger.Ledger
	admin *nats.Conn
	peers []interface{ Close() }
}

func newCut(t *testing.T) *cut {
	t.Helper()
	servers := natstest.Cluster(t)
	c := &cut{t: t, admin: natstest.Plain(t, servers[0], rights.Role{Name: rights.RoleLedgerAdmin}), peers: []interface{ Close() }{servers[1], servers[2]}}
	var err error
	c.led, err = ledger.Open(t.Context(), natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger}), ledger.Options{Partitions: 1, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	lead(t, c.admin)
	return c
}

func (c *cut) store(id string, timeout time.Duration) lifecycle.State {
	c.t.Helper()
	s, err := c.led.Store(c.t.Context(), question(c.t, key("s1", id), time.Now(), func(a *ask.Ask) {
		a.Timeout, a.Escalate = timeout, []ask.Escalation{{After: ask.MinAfter, Tell: []string{"group:oncall"}}}
	}))
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// step and end write what happens to an ask, and report whether that lost its race.
func (c *cut) step(s lifecycle.State) bool {
	return ledger.IsRace(c.led.Rewrite(c.t.Context(), s, lifecycle.Stepped{Step: ask.Step{N: 1, At: time.Now()}}))
}

func (c *cut) end(s lifecycle.State) bool {
	_, err := c.led.Resolve(c.t.Context(), s, answered(s, "w1"), "", time.Now())
	return ledger.IsRace(err)
}

// stores waits until the leader is storing something on a subject: then it refuses a comparison with any
// sequence. It reports false if it leads no more.
func (c *cut) stores(subj string) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), waittest.Limit)
	defer cancel()
	for ctx.Err() == nil {
		msg := nats.NewMsg(subj)
		msg.Header.Set("Nats-Expected-Last-Subject-Sequence", "1000000000")
		reply, err := c.admin.RequestMsg(msg, time.Second)
		if err != nil {
			return false
		}
		var got struct {
			Error struct {
				Code int `json:"err_code"`
			} `json:"error"`
		}
		if err := json.Unmarshal(reply.Data, &got); err != nil {
			c.t.Fatal(err)
		}
		if got.Error.Code == 10164 {
			return true
		}
	}
	return false
}

// try reports whether the leader led to the end.
func (c *cut) try() bool {
	c.t.Helper()
	ended, stepped := c.store("ended", time.Hour), c.store("stepped", time.Hour)
	if c.end(ended) || c.step(stepped) {
		c.t.Fatal("with a majority, and nobody else, a write lost its race")
	}
	if !c.end(ended) || !c.step(ended) {
		c.t.Error("an ask that has ended was written again")
	}
	if !c.end(stepped) {
		c.t.Error("an outcome passed a step that it had not seen")
	}

	due, steps, ends := c.store("due", 3*time.Second), c.store("steps", time.Hour), c.store("ends", time.Hour)
	for _, p := range c.peers {
		p.Close()
	}
	sent := make(chan bool, 2)
	go func() { sent <- c.step(steps) }()
	go func() { sent <- c.end(ends) }()
	defer func() { <-sent; <-sent }()
	for _, tt := range []struct {
		what, subject string
		lost          func() bool
	}{
		{"an answer beside an expiry", subject.LedgerOutcome(0, due.Ask.Key()), func() bool { return c.end(due) }},
		{"an answer beside a step", subject.LedgerQuestion(0, steps.Ask.Key()), func() bool { return c.end(steps) }},
		{"a step beside an answer", subject.LedgerOutcome(0, ends.Ask.Key()), func() bool { return c.step(ends) }},
		{"an answer beside an answer", subject.LedgerOutcome(0, ends.Ask.Key()), func() bool { return c.end(ends) }},
	} {
		if !c.stores(tt.subject) {
			return false
		}
		if lost := tt.lost(); !lost && c.stores(tt.subject) {
			c.t.Errorf("%s was taken", tt.what)
		}
	}
	return true
}

// A ledger that was made before its streams allowed batches allows them after any change of its settings.
func TestAnEarlierLedgerAllowsBatchesOnceItsSettingsChange(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 2})
	allowed := func() bool {
		s, err := b.js.Stream(t.Context(), subject.Stream(1))
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		was := cfg.AllowAtomicPublish
		cfg.AllowAtomicPublish = false
		if _, err := b.js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		return was
	}
	if !allowed() || allowed() {
		t.Fatal("the stream is not as it is meant to be")
	}
	if _, _, err := ledger.Set(t.Context(), b.admin, ledger.Settings{Retention: 1000 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if !allowed() {
		t.Error("batches are still not allowed")
	}
}
