package board_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
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
	events chan board.Event
	seen   []string
}

func watch(t *testing.T, r *responder.Responder) *screen {
	t.Helper()
	s := &screen{t: t, events: make(chan board.Event, 10_000)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- board.Watch(ctx, r, func(e board.Event) { s.events <- e }) }()
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
func (s *screen) until(want string) board.Event {
	s.t.Helper()
	for {
		if e, name := s.next(); name == want {
			return e
		}
	}
}

// next reads one event and its name.
func (s *screen) next() (e board.Event, name string) {
	s.t.Helper()
	select {
	case e = <-s.events:
		name = map[board.EventKind]string{board.Pending: "pending ", board.Resolved: "resolved ", board.Synced: "synced", board.Offline: "offline"}[e.Kind] + e.Record.Ask.ID
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
		done <- board.Watch(t.Context(), r, func(e board.Event) {
			if e.Kind == board.Synced {
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
			done <- board.Watch(ctx, r, func(e board.Event) {
				if e.Kind == board.Synced {
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

// TestAWatchWithMoreLearnsAMissedEnd: also while more asks are pending than it tracks.
func TestAWatchWithMoreLearnsAMissedEnd(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, line := agent(t, b, "acme", "s1"), b.Line()
	for i := range 4 {
		ask1(t, c, fmt.Sprint("a", i))
	}
	r, err := responder.New(line.Connect(rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{Limit: 2, Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	s := watch(t, r)
	s.until("synced")
	mend := line.Block()
	s.until("offline")
	if _, err := c.Withdraw(t.Context(), "a0", ""); err != nil {
		t.Fatal(err)
	}
	mend()
	s.until("synced")
	if want := []string{"pending a0", "pending a1", "synced", "offline", "resolved a0", "pending a2", "synced"}; !slices.Equal(s.seen, want) {
		t.Errorf("seen %v, want %v", s.seen, want)
	}
}
