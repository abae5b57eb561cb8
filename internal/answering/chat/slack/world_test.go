package slack_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// world is a bus, a workspace and an agent.
type world struct {
	t     *testing.T
	bus   *natstest.Bus
	fake  *fakeslack.Server
	agent client.Session
	other *responder.Responder // answers on the web
	typ   string               // of the surface
}

func newWorld(t *testing.T, opts fakeslack.Options) *world {
	t.Helper()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: waittest.Limit / 24}})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &world{t: t, bus: b, fake: home(t, opts), agent: c.Session("acme", "s1"), typ: slack.Type}
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

// replica is one process of the surface.
type replica struct {
	*slack.App
	log  *logs
	stop func()
}

// logs collects log output.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logs) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), s)
}

// start runs a replica: over Socket Mode, or over HTTP as the target of Slack's deliveries.
func (w *world) start(http bool, change func(*slack.Options)) *replica {
	w.t.Helper()
	o := w.fake.Settings()
	log := &logs{}
	opts := slack.Options{BotToken: o.BotToken, APIURL: w.fake.URL(), Options: chat.Options{Routes: routes(), Logger: slog.New(slog.NewTextHandler(log, nil))}}
	if http {
		opts.SigningSecret = o.SigningSecret
	} else {
		opts.AppToken = o.AppToken
	}
	if change != nil {
		change(&opts)
	}
	app, err := slack.New(w.responder(w.typ), opts)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := app.Connect(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := app.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 32, Grace: 5 * time.Second}}); err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
	r := &replica{App: app, log: log}
	closeHTTP := func() {}
	if http {
		web := httptest.NewServer(app.Handler())
		closeHTTP = web.Close
		w.fake.DeliverTo(web.URL+slack.PathEvents, web.URL+slack.PathInteractions, web.URL+slack.PathCommands)
	} else {
		parts.Go(func() { _ = app.Listen(ctx) })
		natstest.Eventually(w.t, "a connection is there", func() bool { return app.Ready() == nil })
	}
	r.stop = sync.OnceFunc(func() { cancel(); parts.Wait(); closeHTTP(); app.Drain() })
	w.t.Cleanup(r.stop)
	return r
}

// database returns the question of most tests.
func database() []ask.Question {
	return []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}
}

func (w *world) ask(a ask.Ask) ask.Key {
	w.t.Helper()
	if a.Questions == nil {
		a.Questions = database()
	}
	if _, err := w.agent.Ask(w.t.Context(), a); err != nil {
		w.t.Fatal(err)
	}
	return ask.Key{Tenant: "acme", Session: "s1", ID: a.ID}
}

// card waits for the card of an ask.
func (w *world) card(id string) fakeslack.Message {
	w.t.Helper()
	var card fakeslack.Message
	natstest.Eventually(w.t, "the card of "+id, func() bool {
		for _, m := range w.fake.Messages("") {
			if payload, ok := m.Metadata["event_payload"].(map[string]any); ok && payload["ask"] == "acme/s1/"+id && payload["draft"] == nil {
				card = m
				return true
			}
		}
		return false
	})
	return card
}

// posted waits for the receipt of an ask's card, and returns the card.
func (w *world) posted(id string) fakeslack.Message {
	w.t.Helper()
	natstest.Eventually(w.t, id+" has a receipt", func() bool {
		rec, err := w.other.Get(w.t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id})
		return err == nil && slices.ContainsFunc(rec.Receipts, func(r ask.Receipt) bool { return r.Type == w.typ && r.State == ask.ReceiptPosted })
	})
	return w.card(id)
}

// dead waits until a card has no active elements, and returns its text.
func (w *world) dead(id string) string {
	w.t.Helper()
	natstest.Eventually(w.t, id+" is edited", func() bool { m := w.card(id); return !m.Live() })
	m := w.card(id)
	return m.Shown()
}

func (w *world) outcome(k ask.Key) *ask.Outcome {
	w.t.Helper()
	rec, err := w.other.Get(w.t.Context(), k)
	if err != nil {
		w.t.Fatal(err)
	}
	return rec.Outcome
}

// told waits until only they see these words, as Slack shows them: without the spaces of no width that make them literal.
func (w *world) told(user, says string) {
	w.t.Helper()
	natstest.Eventually(w.t, fmt.Sprintf("%s is told %q (%v)", user, says, w.fake.Ephemerals()), func() bool {
		for _, m := range w.fake.Ephemerals() {
			if m.For == user && strings.Contains(strings.ReplaceAll(m.Text, "\u200b", ""), says) {
				return true
			}
		}
		return false
	})
}

func acked(t *testing.T, d fakeslack.Delivery) {
	t.Helper()
	if !d.Acked {
		t.Errorf("not acknowledged: %+v", d)
	}
}
