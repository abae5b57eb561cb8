package responder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

func question(id string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "P"}, {ID: "lite", Label: "L"}}}}}
}

func mei() ask.By { return ask.By{Principal: "os:mei", Name: "Mei"} }

func pick() ask.Reply {
	return ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: mei()}
}

func agent(t testing.TB, b *natstest.Bus, tenant, session string) client.Session {
	t.Helper()
	c, err := client.New(b.Agent(tenant, session), client.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	return c.Session(tenant, session)
}

func surface(t testing.TB, b *natstest.Bus, opts responder.Options) *responder.Responder {
	t.Helper()
	nc := b.Connect(rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: opts.Tenant, Session: opts.Session})
	opts.Logger = natstest.Logger()
	r, err := responder.New(nc, "web", opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ask1(t testing.TB, c client.Session, id string) {
	t.Helper()
	if _, err := c.Ask(t.Context(), question(id)); err != nil {
		t.Fatalf("ask %s: %v", id, err)
	}
}

// screen collects the events of a watch.
type screen struct {
	t      *testing.T
	events chan responder.Event
	seen   []string
}

func watch(t *testing.T, r *responder.Responder) *screen {
	t.Helper()
	s := &screen{t: t, events: make(chan responder.Event, 10_000)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx, func(e responder.Event) { s.events <- e }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	return s
}

// until reads events up to one with this name: "pending a1", "resolved a1",
// "synced", "offline".
func (s *screen) until(want string) responder.Event {
	s.t.Helper()
	for {
		if e, name := s.next(); name == want {
			return e
		}
	}
}

// next reads one event and its name.
func (s *screen) next() (e responder.Event, name string) {
	s.t.Helper()
	select {
	case e = <-s.events:
		name = map[responder.EventKind]string{responder.Pending: "pending ", responder.Resolved: "resolved ", responder.Synced: "synced", responder.Offline: "offline"}[e.Kind] + e.Record.Ask.ID
		s.seen = append(s.seen, name)
	case <-time.After(waittest.Limit):
		s.t.Fatalf("nothing more came; seen %v", s.seen)
	}
	return e, name
}

func (s *screen) count(name string) int {
	n := 0
	for _, e := range s.seen {
		if e == name {
			n++
		}
	}
	return n
}

func TestWatchGoesOnWhenTheServerComesBack(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := agent(t, b, "acme", "s1"), surface(t, b, responder.Options{})
	s := watch(t, r)
	s.until("synced")
	ask1(t, c, "a1")
	if e := s.until("pending a1"); e.Record.Seq == 0 || e.Record.Ask.Session != "s1" {
		t.Errorf("%+v", e.Record)
	}
	addr := b.Addr()
	b.Close()
	s.until("offline")
	b.Server = natstest.Serve(t, b.Dir, addr, 0)
	s.until("synced")
	ask1(t, c, "a2")
	s.until("pending a2")
	if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, pick()); err != nil {
		t.Fatal(err)
	}
	if e := s.until("resolved a1"); e.Record.Outcome.Status != ask.StatusAnswered || e.Record.Outcome.By.Name != "Mei" {
		t.Errorf("%+v", e.Record.Outcome)
	}
	for _, name := range []string{"pending a1", "pending a2", "resolved a1"} {
		if s.count(name) != 1 {
			t.Errorf("%s was told %d times: %v", name, s.count(name), s.seen)
		}
	}
}

func TestWatchStartsBeforeTheBroker(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(broker.Options{})
	c := agent(t, b, "acme", "s1")
	ask1(t, c, "a1")
	stop()
	s := watch(t, surface(t, b, responder.Options{}))
	b.Broker(broker.Options{})
	s.until("pending a1")
	s.until("synced")
}

func TestAWatchSeesItsScopeOnly(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	for _, k := range []ask.Key{{Tenant: "acme", Session: "s1", ID: "one"}, {Tenant: "acme", Session: "s2", ID: "two"}, {Tenant: "other", Session: "s1", ID: "three"}} {
		ask1(t, agent(t, b, k.Tenant, k.Session), k.ID)
	}
	for _, v := range []struct {
		opts responder.Options
		want []string
	}{
		{responder.Options{}, []string{"pending one", "pending two", "pending three", "synced"}},
		{responder.Options{Tenant: "acme"}, []string{"pending one", "pending two", "synced"}},
		{responder.Options{Tenant: "acme", Session: "s2"}, []string{"pending two", "synced"}},
	} {
		r := surface(t, b, v.opts)
		s := watch(t, r)
		s.until("synced")
		if !slices.Equal(s.seen, v.want) {
			t.Errorf("%+v sees %v, want %v", v.opts, s.seen, v.want)
		}
		if p, err := r.List(t.Context(), responder.Query{}); err != nil || len(p.Items) != len(v.want)-1 {
			t.Errorf("%+v lists %+v, %v", v.opts, p.Items, err)
		}
	}
	narrow := surface(t, b, responder.Options{Tenant: "acme", Session: "s2"})
	if _, err := narrow.Get(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "one"}); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("another session: %v", err)
	}
	if _, err := narrow.List(t.Context(), responder.Query{Tenant: "other"}); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("another tenant: %v", err)
	}
}

func TestAWatchSaysWhenThereIsMore(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	for i := range 5 {
		ask1(t, c, fmt.Sprint("a", i))
	}
	s := watch(t, surface(t, b, responder.Options{Limit: 3}))
	if e := s.until("synced"); !e.More || !slices.Equal(s.seen, []string{"pending a0", "pending a1", "pending a2", "synced"}) {
		t.Errorf("more %v, seen %v", e.More, s.seen)
	}
}

func TestAnIDAskedAgainIsANewAskToAWatch(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := agent(t, b, "acme", "s1"), surface(t, b, responder.Options{})
	s := watch(t, r)
	s.until("synced")
	for _, id := range []string{"a1", "a2", "a3"} {
		ask1(t, c, id)
		if _, err := c.Withdraw(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.until("resolved a3")
	if want := []string{"synced", "pending a1", "resolved a1", "pending a2", "resolved a2", "pending a3", "resolved a3"}; !slices.Equal(s.seen, want) {
		t.Errorf("seen %v", s.seen)
	}
}

func TestAnswerCancelAndReceipt(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := agent(t, b, "acme", "s1"), surface(t, b, responder.Options{})
	key := func(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }
	ask1(t, c, "a1")
	ask1(t, c, "a2")
	rec, err := r.Get(t.Context(), key("a1"))
	if err != nil || rec.State != ask.StatePending || rec.Seq == 0 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if err := r.Receipt(t.Context(), key("a1"), ask.Receipt{Type: "forged", State: ask.ReceiptPosted, Life: rec.Life, Places: []ask.Place{{Where: "https://x/y"}}, At: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if rec, err = r.Get(t.Context(), key("a1")); err != nil || len(rec.Receipts) != 1 || rec.Receipts[0].Type != "web" || rec.Receipts[0].Words() != "https://x/y" || rec.Receipts[0].At.Year() < 2020 {
		t.Errorf("%+v, %v", rec.Receipts, err)
	}
	if err := r.Receipt(t.Context(), key("a1"), ask.Receipt{State: ask.ReceiptPosted, Life: rec.Life + "x"}); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a receipt of another life: %v", err)
	}
	o, err := r.Cancel(t.Context(), key("a1"), responder.Decline{Reason: "not now", By: mei()})
	if err != nil || o.Status != ask.StatusCancelled || o.Reason != "not now" || len(o.AnswerID) != 26 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := r.Cancel(t.Context(), key("a1"), responder.Decline{By: mei()}); !errors.Is(err, ask.ErrResolved) {
		t.Errorf("declined again: %v", err)
	}
	if again, err := r.Cancel(t.Context(), key("a1"), responder.Decline{AnswerID: o.AnswerID, By: mei()}); err != nil || again.Reason != "not now" {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	wrong := pick()
	wrong.Answers[0].Selected = []string{"oracle"}
	_, err = r.Answer(t.Context(), key("a2"), wrong)
	if e, ok := errors.AsType[*ask.Error](err); !ok || !errors.Is(err, ask.ErrInvalid) || e.Faults[0].QuestionID != "db" {
		t.Errorf("a wrong answer: %v", err)
	}
	if _, err := r.Answer(t.Context(), key("a2"), pick()); err != nil {
		t.Error(err)
	}
	for _, k := range []ask.Key{{}, {Tenant: "*", Session: "s1", ID: "a"}, {Tenant: "acme", Session: "s1", ID: "a.b"}} {
		if _, err := r.Answer(t.Context(), k, pick()); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%v: %v", k, err)
		}
		if _, err := r.Get(t.Context(), k); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%v: %v", k, err)
		}
		if err := r.Receipt(t.Context(), k, ask.Receipt{}); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%v: %v", k, err)
		}
	}
	if _, err := r.Get(t.Context(), key("nobody")); !errors.Is(err, ask.ErrNotFound) {
		t.Error(err)
	}
	n := 0
	for _, err := range r.All(t.Context(), responder.Query{State: ask.StateResolved, PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d have ended", n)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	nc := b.Responder("web")
	for name, v := range map[string]struct {
		typ  string
		opts responder.Options
	}{
		"no type": {"", responder.Options{}}, "a type with a dot": {"a.b", responder.Options{}}, "a wildcard": {"*", responder.Options{}},
		"a tenant with a dot": {"web", responder.Options{Tenant: "a.b"}}, "a session alone": {"web", responder.Options{Session: "s1"}},
		"a session too long": {"web", responder.Options{Tenant: "acme", Session: strings.Repeat("x", 65)}},
	} {
		if _, err := responder.New(nc, v.typ, v.opts); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := responder.New(nil, "web", responder.Options{}); err == nil {
		t.Error("a nil connection was accepted")
	}
}

func TestAWatchOverAClosedConnectionEndsWithAnError(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc := b.Responder("web")
	r, err := responder.New(nc, "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	synced, done := make(chan struct{}, 10), make(chan error, 1)
	go func() {
		done <- r.Watch(t.Context(), func(e responder.Event) {
			if e.Kind == responder.Synced {
				synced <- struct{}{}
			}
		})
	}()
	<-synced
	nc.Close()
	if err := <-done; err == nil {
		t.Error("the watch ended without an error")
	}
}

// TestNothingIsLeftBehind is not parallel: it counts goroutines.
func TestNothingIsLeftBehind(t *testing.T) {
	b := natstest.Start(t, natstest.Options{})
	c, r := agent(t, b, "acme", "s1"), surface(t, b, responder.Options{})
	once := func(id string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		synced, done := make(chan struct{}, 10), make(chan error, 1)
		go func() {
			done <- r.Watch(ctx, func(e responder.Event) {
				if e.Kind == responder.Synced {
					synced <- struct{}{}
				}
			})
		}()
		<-synced
		leave, err := r.Present("acme", "")
		if err != nil {
			t.Fatal(err)
		}
		a := question(id)
		a.RequireResponder = true
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		leave()
		leave()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	once("warm")
	verify := natstest.NoGoroutines(t)
	for i := range 20 {
		once(fmt.Sprint("a", i))
	}
	verify()
}
