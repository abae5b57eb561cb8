package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// held is a bus whose brokers share one clock that the test moves, and look for
// lapsed leases when the test says so.
type held struct {
	*natstest.Bus
	t       *testing.T
	ahead   atomic.Int64
	brokers []*broker.Broker
	leases  *state.Bucket // as a responder reads them; lease opens it
}

func newHeld(t *testing.T, brokers int) *held {
	t.Helper()
	h := &held{Bus: natstest.Start(t, natstest.Options{NoBroker: true}), t: t}
	for range brokers {
		h.start()
	}
	return h
}

func (h *held) start() (stop func()) {
	h.t.Helper()
	br, stop := h.BrokerAhead(func() time.Duration { return time.Duration(h.ahead.Load()) }, broker.Options{Sweep: time.Hour})
	h.brokers = append(h.brokers, br)
	return stop
}

// pass lets time pass, in steps in which every broker looks.
func (h *held) pass(d time.Duration, brokers ...*broker.Broker) {
	h.t.Helper()
	if len(brokers) == 0 {
		brokers = h.brokers
	}
	for ; d > 0; d -= 30 * time.Second {
		h.ahead.Add(int64(min(d, 30*time.Second)))
		var all sync.WaitGroup
		for _, br := range brokers {
			all.Go(func() { br.LookForLapsedLeases(h.t.Context()) })
		}
		all.Wait()
	}
}

// sign is one sign that an agent waits.
func (h *held) sign(session, id string, hold time.Duration) {
	h.t.Helper()
	nc := h.Agent("acme", session)
	msg := &nats.Msg{Subject: subject.Agent(ask.Key{Tenant: "acme", Session: session, ID: id}, subject.VerbWait)}
	if hold > 0 {
		msg.Header = nats.Header{"Askbus-Wait": []string{hold.String()}}
		if err := nc.PublishMsg(msg); err != nil { // without waiting for the reply
			h.t.Fatal(err)
		}
	} else if _, err := nc.RequestMsgWithContext(h.t.Context(), msg); err != nil {
		h.t.Fatal(err)
	}
	natstest.Eventually(h.t, "the lease is renewed", func() bool {
		e, ok := h.lease(session)
		return ok && time.Until(e.Until) > time.Duration(h.ahead.Load())+max(time.Minute, hold-time.Minute) && e.Lapsed.IsZero()
	})
}

type leaseValue struct {
	Until  time.Time `json:"until"`
	Lapsed time.Time `json:"lapsed"`
}

func openLeases(nc *nats.Conn) *state.Bucket {
	return state.Open(nc, state.Responder("web", ""), state.Leases)
}

// lease reads a session's lease as a responder does.
func (h *held) lease(session string) (v leaseValue, ok bool) {
	h.t.Helper()
	if h.leases == nil {
		h.leases = openLeases(h.Responder("web"))
	}
	e, err := h.leases.Get(h.t.Context(), state.Key{Tenant: "acme", Name: session})
	if err != nil {
		return v, false
	}
	return v, json.Unmarshal(e.Value, &v) == nil
}

func (h *held) asked(session, id string) client.Session {
	h.t.Helper()
	c := newClient(h.t, h.Bus, session)
	a := storage()
	a.ID, a.WhileWaiting, a.Timeout = id, true, 24*time.Hour
	if st, err := c.Ask(h.t.Context(), a); err != nil || len(st.Warnings) > 0 {
		h.t.Fatal(st, err)
	}
	return c
}

func (h *held) outcome(c client.Session, id string) *ask.Outcome {
	h.t.Helper()
	rec, err := c.Get(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return rec.Outcome
}

func TestAnAgentThatIsGoneGivesUp(t *testing.T) {
	t.Parallel()
	h := newHeld(t, 2)
	c := h.asked("s1", "gone")
	other := h.asked("s2", "waits")
	durable := storage()
	durable.ID = "durable"
	if _, err := c.Ask(t.Context(), durable); err != nil {
		t.Fatal(err)
	}
	for range 7 { // the second agent continues to wait
		h.pass(time.Minute)
		h.sign("s2", "waits", 0)
	}
	if o := h.outcome(c, "gone"); o != nil {
		t.Fatalf("ended after 7 minutes: %s", o.Ending())
	}
	h.pass(3 * time.Minute)
	h.sign("s2", "waits", 0)
	h.pass(time.Minute)
	o := h.outcome(c, "gone")
	if o == nil || !o.GaveUp() || !strings.HasPrefix(o.Ending(), "given up: its agent no longer waits") {
		t.Fatalf("after 11 minutes: %+v", o)
	}
	if h.outcome(other, "waits") != nil || h.outcome(c, "durable") != nil {
		t.Error("an ask that is waited for, or needs no agent, has ended")
	}
	if _, ok := h.lease("s1"); ok {
		t.Error("the lease is still there")
	}
	if got, err := c.Wait(t.Context(), "gone"); err != nil || !got.GaveUp() {
		t.Errorf("the agent comes back: %+v, %v", got, err)
	}
}

// An agent that comes back before the grace is over finds its ask, even if its
// lease was recorded as lapsed.
func TestAnAgentThatRestartsKeepsItsAsks(t *testing.T) {
	t.Parallel()
	h := newHeld(t, 1)
	c := h.asked("s1", "kept")
	for range 4 {
		h.pass(7 * time.Minute)
		if v, ok := h.lease("s1"); !ok || v.Lapsed.IsZero() {
			t.Fatalf("the lease after 7 minutes: %+v", v)
		}
		h.sign("s1", "kept", 0)
	}
	if o := h.outcome(c, "kept"); o != nil {
		t.Errorf("ended: %s", o.Ending())
	}
}

// A request that is held for ten minutes renews the lease for that long.
func TestAHeldRequestHoldsTheLease(t *testing.T) {
	t.Parallel()
	h := newHeld(t, 1)
	c := h.asked("s1", "kept")
	h.sign("s1", "kept", 10*time.Minute)
	h.pass(10 * time.Minute)
	if v, ok := h.lease("s1"); !ok || !v.Lapsed.IsZero() {
		t.Errorf("the lease while the request is held: %+v", v)
	}
	h.pass(10 * time.Minute)
	if o := h.outcome(c, "kept"); o == nil || !o.GaveUp() {
		t.Errorf("nobody came back: %+v", o)
	}
}

// Brokers that did not look for a while (frozen, disconnected, just started)
// may have missed renewals, so they start the grace again.
func TestABrokerThatWasAwayWithdrawsNothing(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(h *held){
		"frozen for ten minutes":          func(h *held) { h.ahead.Add(int64(10 * time.Minute)); h.pass(30 * time.Second) },
		"frozen when the lease was noted": func(h *held) { h.pass(4 * time.Minute); h.ahead.Add(int64(10 * time.Minute)); h.pass(4 * time.Minute) },
		"restarted after all were away": func(h *held) {
			h.pass(4 * time.Minute)
			h.ahead.Add(int64(time.Hour))
			h.start()
			h.pass(4 * time.Minute)
		},
		"frozen again and again": func(h *held) {
			for range 5 {
				h.pass(4 * time.Minute)
				h.ahead.Add(int64(3 * time.Minute))
			}
		},
		"two, one of which was frozen the day": func(h *held) {
			h.start()
			h.pass(4*time.Minute, h.brokers[0])
			h.sign("s1", "kept", 0)
			h.pass(4*time.Minute, h.brokers[0])
			h.sign("s1", "kept", 0)
			h.pass(30*time.Second, h.brokers[1])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHeld(t, 1)
			c := h.asked("s1", "kept")
			h.pass(30 * time.Second)
			away(h)
			if o := h.outcome(c, "kept"); o != nil {
				t.Fatalf("ended: %s", o.Ending())
			}
			h.pass(11 * time.Minute) // and the agent does not come back
			if o := h.outcome(c, "kept"); o == nil || !o.GaveUp() {
				t.Errorf("nobody came back: %+v", o)
			}
		})
	}
}

// A broker restarts the grace after its connection was cut.
func TestABrokerThatWasCutOffBeginsAgain(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	h := &held{Bus: b, t: t}
	line := b.Line()
	led := b.LedgerAhead(func() time.Duration { return time.Duration(h.ahead.Load()) })
	br := broker.New(line.Connect(rights.Role{Name: rights.RoleBroker}), led, broker.Options{Sweep: time.Hour, Verifier: b.Verifier()})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- br.Run(ctx) }()
	defer func() { cancel(); <-done }()
	natstest.Eventually(t, "the broker is ready", br.Ready)
	h.brokers = []*broker.Broker{br}
	c := h.asked("s1", "kept")
	h.pass(7 * time.Minute)
	line.Cut()
	natstest.Eventually(t, "the broker is back", func() bool {
		_, err := c.Get(t.Context(), "kept")
		return err == nil && br.BeganAgain()
	})
	h.pass(4 * time.Minute)
	if o := h.outcome(c, "kept"); o != nil {
		t.Fatalf("ended: %s", o.Ending())
	}
	h.pass(2 * time.Minute)
	if o := h.outcome(c, "kept"); o == nil || !o.GaveUp() {
		t.Errorf("nobody came back: %+v", o)
	}
}

// The clock of an agent's machine neither keeps nor ends an ask.
func TestAnAgentsClockRenewsNothing(t *testing.T) {
	t.Parallel()
	h := newHeld(t, 1)
	for name, wrong := range map[string]time.Duration{"ahead": 48 * time.Hour, "behind": -48 * time.Hour} {
		c, err := client.New(h.Agent("acme", name), client.Options{Now: func() time.Time { return time.Now().Add(wrong) }})
		if err != nil {
			t.Fatal(err)
		}
		a := storage()
		a.ID, a.WhileWaiting = "a", true
		if _, err := c.Session("acme", name).Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	h.pass(7 * time.Minute)
	for _, name := range []string{"ahead", "behind"} {
		if o := h.outcome(newClient(t, h.Bus, name), "a"); o != nil {
			t.Errorf("%s, after 7 minutes: %s", name, o.Ending())
		}
	}
	h.pass(4 * time.Minute)
	for _, name := range []string{"ahead", "behind"} {
		if o := h.outcome(newClient(t, h.Bus, name), "a"); o == nil {
			t.Errorf("%s, after 11 minutes: still there", name)
		}
	}
}

// No agent can renew the lease of another session: NATS refuses both ways.
func TestTheLeaseOfAnotherSessionIsNotRenewed(t *testing.T) {
	t.Parallel()
	h := newHeld(t, 1)
	c := h.asked("s1", "gone")
	mallory := h.Agent("acme", "s2")
	for range 11 {
		for _, s := range []string{"askv1.acme.s1.wait.gone", "kvv1.agent.acme.s1.leases.put"} {
			if err := mallory.PublishRequest(s, "_INBOX.a.acme.s2.x", []byte(`{"value":{},"ttl":"1h"}`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := mallory.Flush(); err != nil {
			t.Fatal(err)
		}
		h.pass(time.Minute)
	}
	if o := h.outcome(c, "gone"); o == nil || !o.GaveUp() {
		t.Errorf("after 11 minutes: %+v", o)
	}
}

// An agent's own write of its lease is a renewal and nothing more, whatever the
// value.
func TestAnAgentMayWriteItsLeaseItself(t *testing.T) {
	t.Parallel()
	h := newHeld(t, 1)
	c := h.asked("s1", "a")
	put := subject.StateRequest{Role: subject.StateAgent, Tenant: "acme", Session: "s1", Bucket: subject.BucketLeases, Verb: subject.VerbPut}
	for _, v := range []string{`{}`, `{"until":"2099-01-01T00:00:00Z"}`, `{"until":7}`} {
		body, err := wire.Marshal(wire.StatePut{Value: []byte(v), TTL: wire.Duration(time.Hour), ID: cloudevent.NewID()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Do(t.Context(), connection.On(h.Agent("acme", "s1")), &nats.Msg{Subject: put.String(), Data: body}, 0); err != nil {
			t.Fatal(err)
		}
		h.pass(time.Minute)
	}
	if o := h.outcome(c, "a"); o != nil {
		t.Errorf("ended: %s", o.Ending())
	}
}

// Thousands of sessions that are gone leave no lease and no ask, however many
// brokers look, and do not delay waiting sessions.
func TestManyLeasesLeaveNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("2,000 sessions")
	}
	h := newHeld(t, 2)
	const n = natstest.Uses
	nc := h.Connect(rights.Role{Name: rights.RoleGateway})
	c, err := client.New(nc, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 32)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			a := storage()
			a.ID, a.WhileWaiting = "a", true
			if _, err := c.Session("acme", fmt.Sprintf("s%d", i)).Ask(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	count := func() (leases, asks int) {
		page, err := openLeases(h.Responder("web")).List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		items, err := newResponder(t, h.Bus, "web").List(t.Context(), responder.Query{State: ask.StatePending})
		if err != nil {
			t.Fatal(err)
		}
		return len(page), len(items.Items)
	}
	if leases, _ := count(); leases != n {
		t.Fatalf("%d leases of %d sessions", leases, n)
	}
	h.pass(18 * time.Minute)
	if leases, asks := count(); leases != 0 || asks != 0 {
		t.Errorf("%d leases and %d asks are left", leases, asks)
	}
}

// A client renews the lease by waiting, without another call.
func TestAClientThatWaitsHoldsTheLease(t *testing.T) {
	t.Parallel()
	h := newHeld(t, 1)
	c := h.asked("s1", "waits")
	for range 4 {
		h.pass(6 * time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.Wait(ctx, "waits")
			done <- err
		}()
		natstest.Eventually(t, "the lease is renewed", func() bool {
			v, ok := h.lease("s1")
			return ok && v.Lapsed.IsZero()
		})
		cancel()
		<-done
	}
	if o := h.outcome(c, "waits"); o != nil {
		t.Errorf("ended: %s", o.Ending())
	}
}
