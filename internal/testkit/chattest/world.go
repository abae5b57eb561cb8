// Package chattest is what the tests of every chat share: a bus with an agent and another surface, the replicas that a
// platform reaches, and the calls of a fake as the suite of surfaces counts them.
package chattest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// World is a bus, an agent, and another surface that answers.
type World struct {
	T     *testing.T
	Bus   *natstest.Bus
	Agent client.Session // acme/s1
	Other *responder.Responder
}

// New starts a world.
func New(t *testing.T) *World {
	t.Helper()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: waittest.Limit / 24}})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &World{T: t, Bus: b, Agent: c.Session("acme", "s1")}
	w.Other = w.Responder("web")
	return w
}

// Responder connects as a surface of a type.
func (w *World) Responder(typ string) *responder.Responder {
	w.T.Helper()
	r, err := responder.New(w.Bus.Connect(rights.Role{Name: rights.RoleResponder, Type: typ}), typ, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

// Start runs a replica until stop is called, or the test ends.
func (w *World) Start(s respondertest.Surface, clock responder.Clock) (stop func()) {
	w.T.Helper()
	r := w.Responder(s.Type())
	return w.Run(func(ctx context.Context) error { return s.Serve(ctx, r, responder.ServeOptions{Clock: clock}) })
}

// Run runs the parts of a replica until stop is called, or the test ends.
func (w *World) Run(parts ...func(context.Context) error) (stop func()) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, len(parts))
	for _, part := range parts {
		go func() { done <- part(ctx) }()
	}
	over := false
	stop = func() {
		if over {
			return
		}
		over = true
		cancel()
		for range parts {
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				w.T.Errorf("a replica ends with %v", err)
			}
		}
	}
	w.T.Cleanup(stop)
	return stop
}

// Key returns the key of an ask of the agent.
func Key(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }

// Choice returns an ask with one question: PostgreSQL (pg), which is recommended, or SQLite (lite).
func Choice(id, text string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: text, Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Recommended: true}, {ID: "lite", Label: "SQLite"}}}}}
}

// Ask asks.
func (w *World) Ask(a ask.Ask) ask.Key {
	w.T.Helper()
	if _, err := w.Agent.Ask(w.T.Context(), a); err != nil {
		w.T.Fatal(err)
	}
	return Key(a.ID)
}

// Get returns an ask.
func (w *World) Get(id string) ask.Record {
	w.T.Helper()
	rec, err := w.Other.Get(w.T.Context(), Key(id))
	if err != nil {
		w.T.Fatal(err)
	}
	return rec
}

// Wait waits for the outcome of an ask.
func (w *World) Wait(id string) ask.Outcome {
	w.T.Helper()
	var o *ask.Outcome
	natstest.Eventually(w.T, "an outcome of "+id, func() bool {
		rec, err := w.Other.Get(w.T.Context(), Key(id))
		o = rec.Outcome
		return err == nil && o != nil
	})
	return *o
}

// Receipt waits for the receipt of a type that an ask is posted, at a step of its ladder.
func (w *World) Receipt(id, typ string, step int) (found ask.Receipt) {
	w.T.Helper()
	natstest.Eventually(w.T, id+" has a receipt", func() bool {
		rec, err := w.Other.Get(w.T.Context(), Key(id))
		return err == nil && slices.ContainsFunc(rec.Receipts, func(r ask.Receipt) bool {
			found = r
			return r.Type == typ && r.State == ask.ReceiptPosted && r.Step == step
		})
	})
	return found
}

// Newest waits for the newest message of a fake that holds.
func Newest[M any](t *testing.T, what string, all func() []M, holds func(*M) bool) *M {
	t.Helper()
	var found *M
	natstest.Eventually(t, what, func() bool {
		list := all()
		for i := range list {
			if holds(&list[i]) {
				found = &list[i]
			}
		}
		return found != nil
	})
	return found
}

// Once waits for a message that holds, stops what could send another, and fails the test if there is more than one.
func Once[M any](t *testing.T, what string, all func() []M, holds func(*M) bool, stops ...func()) *M {
	t.Helper()
	found := Newest(t, what, all, holds)
	for _, stop := range stops {
		stop()
	}
	n, list := 0, all()
	for i := range list {
		if holds(&list[i]) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%s: %d times", what, n)
	}
	return found
}

// Intercept returns what a fake calls for f: ops says which of its calls the suite counts.
func Intercept(ops map[string]respondertest.Op, f func(respondertest.Call) error) func(method, key string, done bool) (time.Duration, error) {
	return func(method, key string, done bool) (time.Duration, error) {
		op, ok := ops[method]
		if !ok || f == nil {
			return 0, nil
		}
		err := f(respondertest.Call{Op: op, Key: key, Done: done})
		if retry, ok := errors.AsType[*responder.RetryError](err); ok {
			return retry.After, err
		}
		return 0, err
	}
}

// Answer returns the words of the suite that are an answer wherever people write, without "answer:". Platforms that
// tell an app only words that are meant for it never tell it others.
func Answer(words string) (answer string, ok bool) {
	before, answer, ok := strings.Cut(words, ": ")
	return answer, ok && strings.EqualFold(before, "answer")
}
