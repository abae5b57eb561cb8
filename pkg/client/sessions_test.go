package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// One client on an operator's connection serves many sessions, with one
// subscription for each session with open waits, and none afterwards.
func TestManySessionsShareOneConnection(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := newResponder(t, b)
	nc := b.Connect(rights.Role{Name: rights.RoleOperator})
	c := clientOn(t, nc, client.Options{})
	if _, err := c.Session("acme", "s0").Get(t.Context(), "none"); !errors.Is(err, ask.ErrNotFound) {
		t.Fatal(err)
	}
	before := nc.NumSubscriptions()
	const sessions, waits = 20, 5
	var all []<-chan waited
	for i := range sessions {
		for j := range waits {
			s := c.Session("acme", fmt.Sprint("s", i))
			if _, err := s.Ask(t.Context(), question(fmt.Sprint("a", j))); err != nil {
				t.Fatal(err)
			}
			all = append(all, wait(t.Context(), s, fmt.Sprint("a", j)))
		}
	}
	natstest.Eventually(t, "all wait", func() bool { waiting, _, calls := c.Held(); return waiting == sessions*waits && calls == 0 })
	if _, watched, _ := c.Held(); watched != sessions {
		t.Errorf("%d sessions are watched, want %d", watched, sessions)
	}
	if n := nc.NumSubscriptions(); n != before+sessions {
		t.Errorf("%d subscriptions, before %d; want one for each of %d sessions", n, before, sessions)
	}
	for i := range sessions {
		for j := range waits {
			k := ask.Key{Tenant: "acme", Session: fmt.Sprint("s", i), ID: fmt.Sprint("a", j)}
			if _, err := r.Answer(t.Context(), k, pick()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, got := range all {
		w := <-got
		if want := fmt.Sprint("s", i/waits); w.err != nil || w.o.Session != want || w.o.AskID != fmt.Sprint("a", i%waits) {
			t.Errorf("wait %d: %s %v", i, w.o.Key(), w.err)
		}
	}
	natstest.Eventually(t, "nothing is held", func() bool { waiting, watched, calls := c.Held(); return waiting+watched+calls == 0 })
	natstest.Eventually(t, "no subscription is left", func() bool { return nc.NumSubscriptions() == before })
}

// The subscription of a session serves the next wait, too, and makes room for
// another session.
func TestASubscriptionStaysForTheNextWait(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	b.AnswerAll("web")
	nc := b.Connect(rights.Role{Name: rights.RoleOperator})
	c := clientOn(t, nc, client.Options{})
	c.Sessions(1)
	c.Linger(time.Hour)
	cycle := func(session string) {
		t.Helper()
		if _, err := c.Session("acme", session).AskAndWait(t.Context(), question(cloudevent.NewID())); err != nil {
			t.Fatal(err)
		}
	}
	cycle("s1")
	held := nc.NumSubscriptions()
	for _, session := range []string{"s1", "s1", "s2", "s1"} {
		cycle(session)
		if n := nc.NumSubscriptions(); n != held {
			t.Errorf("%d subscriptions after a wait in %s, want %d", n, session, held)
		}
	}
	c.Close()
	if n := nc.NumSubscriptions(); n != held-1 {
		t.Errorf("%d subscriptions after Close, want %d", n, held-1)
	}
}

// An ask without a wait needs no subscription.
func TestAnAskThatNobodyWaitsForHoldsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	f.ask(t, "a0", time.Hour)
	before := f.agentConn.NumSubscriptions()
	for i := range 50 {
		f.ask(t, fmt.Sprint("a", i), time.Hour)
	}
	if n := f.agentConn.NumSubscriptions(); n != before {
		t.Errorf("%d subscriptions, before %d", n, before)
	}
}

func TestAskAndWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	got := make(chan waited, 1)
	go func() {
		o, err := f.agent.AskAndWait(t.Context(), textual("a1", time.Hour))
		got <- waited{o, err}
	}()
	natstest.Eventually(t, "the ask is stored", func() bool { _, err := f.agent.Get(t.Context(), "a1"); return err == nil })
	f.answer(t, "a1")
	expectOutcomes(t, got)
	if o, err := f.agent.AskAndWait(t.Context(), textual("a1", time.Hour)); err != nil || o.Status != ask.StatusAnswered {
		t.Errorf("again: %s %v", o.Status, err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		o, err := f.agent.AskAndWait(ctx, textual("", time.Hour))
		got <- waited{o, err}
	}()
	natstest.Eventually(t, "the second ask is stored", func() bool {
		p, err := f.agent.Page(t.Context(), client.Query{State: ask.StatePending})
		return err == nil && len(p.Items) == 1
	})
	giveUp()
	w := <-got
	if !errors.Is(w.err, context.Canceled) || w.o.Key().Session != "s1" || len(w.o.AskID) != 26 {
		t.Fatalf("given up: %s %v", w.o.Key(), w.err)
	}
	if rec, err := f.agent.Get(t.Context(), w.o.AskID); err != nil || rec.State != ask.StatePending {
		t.Errorf("the abandoned ask: %s %v", rec.State, err)
	}
}

func TestTheBoundOfSessions(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := clientOn(t, b.Connect(rights.Role{Name: rights.RoleOperator}), client.Options{})
	c.Sessions(2)
	for _, s := range []string{"s1", "s2", "s3"} {
		if _, err := c.Session("acme", s).Ask(t.Context(), question("a1")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	one, two := wait(ctx, c.Session("acme", "s1"), "a1"), wait(ctx, c.Session("acme", "s2"), "a1")
	natstest.Eventually(t, "two wait", func() bool { waits, _, _ := c.Held(); return waits == 2 })
	if _, err := c.Session("acme", "s3").Wait(t.Context(), "a1"); !errors.Is(err, ask.ErrQuota) {
		t.Errorf("a third: %v", err)
	}
	cancel()
	<-one
	<-two
	if _, err := c.Session("acme", "s3").Withdraw(t.Context(), "a1", ""); err != nil {
		t.Fatal(err)
	}
	if o, err := c.Session("acme", "s3").Wait(t.Context(), "a1"); err != nil || o.Status != ask.StatusWithdrawn {
		t.Errorf("afterwards: %s %v", o.Status, err)
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	f.ask(t, "a1", time.Hour)
	if _, err := f.agent.Abort(t.Context(), "a1", "enough"); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("an agent: %v", err)
	}
	operator := clientOn(t, f.Connect(rights.Role{Name: rights.RoleOperator}), client.Options{}).Session("acme", "s1")
	if o, err := operator.Abort(t.Context(), "a1", "enough"); err != nil || o.Status != ask.StatusAborted || o.Reason != "enough" {
		t.Errorf("an operator: %s %q %v", o.Status, o.Reason, err)
	}
	if _, err := operator.Abort(t.Context(), "none", ""); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("an unknown ask: %v", err)
	}
	if _, err := f.agent.Withdraw(t.Context(), "a1", ""); !errors.Is(err, ask.ErrResolved) {
		t.Errorf("withdrawn afterwards: %v", err)
	}
}

// The trace comes from the context.
func TestTrace(t *testing.T) {
	t.Parallel()
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, one := range map[string]struct {
		ctx  context.Context //nolint:containedctx // of a test case
		want string
	}{
		"none":         {t.Context(), ""},
		"of a context": {client.WithTrace(t.Context(), trace), trace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := natstest.Start(t, natstest.Options{})
			admin := b.Admin()
			heard := make(chan *nats.Msg, 16)
			if _, err := admin.ChanSubscribe("askv1.acme.s1.ask.a1", heard); err != nil {
				t.Fatal(err)
			}
			if err := admin.Flush(); err != nil {
				t.Fatal(err)
			}
			s := clientOn(t, b.Agent("acme", "s1"), client.Options{}).Session("acme", "s1")
			var calls sync.WaitGroup
			calls.Go(func() {
				if _, err := s.Ask(one.ctx, question("a1")); err != nil {
					t.Error(err)
				}
			})
			m := <-heard
			calls.Wait()
			if got := m.Header.Get("ce-traceparent"); got != one.want {
				t.Errorf("traceparent %q, want %q; header %v", got, one.want, m.Header)
			}
		})
	}
}
