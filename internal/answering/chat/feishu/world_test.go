package feishu_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// world is a bus, a Feishu and an agent.
type world struct {
	t     *testing.T
	bus   *natstest.Bus
	fake  *fakefeishu.Server
	agent client.Session
	other *responder.Responder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: waittest.Limit / 24}})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &world{t: t, bus: b, fake: home(t), agent: c.Session("acme", "s1")}
	w.other = w.responder("web")
	return w
}

func (w *world) responder(typ string) *responder.Responder {
	w.t.Helper()
	r, err := responder.New(w.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: typ}), typ, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// start runs a replica; stop ends it.
func (w *world) start(s surface) (stop func()) {
	w.t.Helper()
	s.fake = w.fake
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	r := w.responder(feishu.Type)
	go func() { done <- s.Serve(ctx, r, responder.ServeOptions{Clock: responder.WallClock()}) }()
	over := false
	stop = func() {
		if over {
			return
		}
		over = true
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Errorf("Serve: %v", err)
		}
	}
	w.t.Cleanup(stop)
	if !s.webhook {
		natstest.Eventually(w.t, "it is connected", func() bool { return w.fake.Connections() > 0 })
	}
	return stop
}

func (w *world) ask(a ask.Ask) {
	w.t.Helper()
	if _, err := w.agent.Ask(w.t.Context(), a); err != nil {
		w.t.Fatal(err)
	}
}

// message waits for the newest message that holds.
func (w *world) message(what string, holds func(m *fakefeishu.Message) bool) (found fakefeishu.Message) {
	w.t.Helper()
	natstest.Eventually(w.t, what, func() bool {
		for _, m := range w.fake.Messages() {
			if holds(&m) {
				found = m
			}
		}
		return found.ID != ""
	})
	return found
}

func (w *world) open(words string) fakefeishu.Message {
	w.t.Helper()
	return w.message("an open card with "+words, func(m *fakefeishu.Message) bool { return m.Open() && strings.Contains(m.Shown(), words) })
}

func (w *world) click(user string, m fakefeishu.Message, label string, form map[string]any) string {
	w.t.Helper()
	r := w.fake.Click(w.t.Context(), m, fakefeishu.Click{User: user, Label: label, Form: form})
	if r.Err != nil {
		w.t.Fatalf("pressing %q: %v", label, r.Err)
	}
	return r.Told
}

func (w *world) write(user, in, text, replyTo string, mention bool) {
	w.t.Helper()
	if err := w.fake.Write(w.t.Context(), user, in, text, replyTo, mention); err != nil {
		w.t.Fatal(err)
	}
}

// told waits for a text of the bot.
func (w *world) told(words string) {
	w.t.Helper()
	w.message("a text with "+words, func(m *fakefeishu.Message) bool {
		return m.From == "" && m.Kind == "text" && strings.Contains(m.Text, words)
	})
}

func (w *world) wait(id string) ask.Outcome {
	w.t.Helper()
	var o *ask.Outcome
	natstest.Eventually(w.t, "an outcome", func() bool {
		rec, err := w.other.Get(w.t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id})
		o = rec.Outcome
		return err == nil && o != nil
	})
	return *o
}
