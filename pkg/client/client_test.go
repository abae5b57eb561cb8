package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

func question(id string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "P"}, {ID: "lite", Label: "L"}}}}}
}

func pick() ask.Reply {
	return ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: ask.By{Principal: "os:mei"}}
}

func key(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }

func clientOn(t testing.TB, nc *nats.Conn, opts client.Options) *client.Client {
	t.Helper()
	c, err := client.New(nc, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func newSession(t testing.TB, b *natstest.Bus) client.Session {
	t.Helper()
	return clientOn(t, b.Agent("acme", "s1"), client.Options{Logger: natstest.Logger()}).Session("acme", "s1")
}

func newResponder(t testing.TB, b *natstest.Bus) *responder.Responder {
	t.Helper()
	r, err := responder.New(b.Responder("web"), "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type waited struct {
	o   ask.Outcome
	err error
}

func wait(ctx context.Context, c client.Session, id string) <-chan waited {
	got := make(chan waited, 1)
	go func() {
		o, err := c.Wait(ctx, id)
		got <- waited{o, err}
	}()
	return got
}

func TestAnOutcomeThatCameWhileTheLineWasCutIsFound(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	line := b.Line()
	f := fixtureOn(t, b, line.Agent("acme", "s1"))
	c, r := f.agent, f.web
	const n = 20
	var all []<-chan waited
	for i := range n {
		if _, err := c.Ask(t.Context(), question(fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
		all = append(all, wait(t.Context(), c, fmt.Sprint("a", i)))
	}
	mend := line.Block()
	for i := range n {
		if _, err := r.Answer(t.Context(), key(fmt.Sprint("a", i)), pick()); err != nil {
			t.Fatal(err)
		}
	}
	mend()
	for i, got := range all {
		if w := <-got; w.err != nil || w.o.Status != ask.StatusAnswered || w.o.AskID != fmt.Sprint("a", i) {
			t.Errorf("a%d: %+v", i, w)
		}
	}
}

func TestWaitGoesOnWhenTheServerComesBack(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newSession(t, b), newResponder(t, b)
	addr := b.Addr()
	for _, id := range []string{"a1", "a2"} {
		if _, err := c.Ask(t.Context(), question(id)); err != nil {
			t.Fatal(err)
		}
	}
	one := wait(t.Context(), c, "a1")
	b.Close()
	two := wait(t.Context(), c, "a2") // begun while the server is down
	asked := make(chan error, 1)
	go func() {
		_, err := c.Ask(t.Context(), question("a3"))
		asked <- err
	}()
	b.Server = natstest.Serve(t, b.Dir, addr, 0)
	if err := <-asked; err != nil {
		t.Errorf("an ask while the server was down: %v", err)
	}
	for _, id := range []string{"a1", "a2"} {
		if _, err := r.Answer(t.Context(), key(id), pick()); err != nil {
			t.Fatal(err)
		}
	}
	for _, got := range []<-chan waited{one, two} {
		if w := <-got; w.err != nil || w.o.Status != ask.StatusAnswered {
			t.Errorf("%+v", w)
		}
	}
}

func TestWaitGoesOnWhenTheBrokerComesBack(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(broker.Options{})
	c := newSession(t, b)
	if _, err := c.Ask(t.Context(), question("a1")); err != nil {
		t.Fatal(err)
	}
	one := wait(t.Context(), c, "a1")
	stop()
	two := wait(t.Context(), c, "a1")
	b.Broker(broker.Options{})
	if _, err := newResponder(t, b).Answer(t.Context(), key("a1"), pick()); err != nil {
		t.Fatal(err)
	}
	for _, got := range []<-chan waited{one, two} {
		if w := <-got; w.err != nil || w.o.Status != ask.StatusAnswered {
			t.Errorf("%+v", w)
		}
	}
}

func TestManyWaitsOfOneAskAreAllTold(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newSession(t, b), newResponder(t, b)
	if _, err := c.Ask(t.Context(), question("a1")); err != nil {
		t.Fatal(err)
	}
	var all []<-chan waited
	for range 50 {
		all = append(all, wait(t.Context(), c, "a1"))
	}
	if _, err := r.Answer(t.Context(), key("a1"), pick()); err != nil {
		t.Fatal(err)
	}
	for _, got := range all {
		if w := <-got; w.err != nil || w.o.Status != ask.StatusAnswered {
			t.Errorf("%+v", w)
		}
	}
	o, err := c.Wait(t.Context(), "a1")
	if err != nil || o.Ask == nil || o.Ask.Questions[0].Text != "Which?" {
		t.Errorf("a wait afterwards: %+v, %v", o, err)
	}
}

func TestAContextThatEndsLeavesTheAskPending(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newSession(t, b)
	if _, err := c.Ask(t.Context(), question("a1")); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	got := wait(over, c, "a1")
	cancel()
	if w := <-got; !errors.Is(w.err, context.Canceled) {
		t.Errorf("%+v", w)
	}
	if _, err := c.Wait(over, "a1"); !errors.Is(err, context.Canceled) {
		t.Errorf("begun afterwards: %v", err)
	}
	if _, err := c.Ask(over, question("a2")); !errors.Is(err, context.Canceled) {
		t.Errorf("asked afterwards: %v", err)
	}
	if rec, err := c.Get(t.Context(), "a1"); err != nil || rec.State != ask.StatePending {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestCloseEndsEveryWait(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(broker.Options{})
	shared := clientOn(t, b.Agent("acme", "s1"), client.Options{})
	c := shared.Session("acme", "s1")
	if _, err := c.Ask(t.Context(), question("a1")); err != nil {
		t.Fatal(err)
	}
	one := wait(t.Context(), c, "a1")
	stop()
	two := wait(t.Context(), c, "a1") // in the middle of an unanswered check
	shared.Close()
	for _, got := range []<-chan waited{one, two} {
		if w := <-got; !errors.Is(w.err, client.ErrClosed) {
			t.Errorf("%+v", w)
		}
	}
	if _, err := c.Wait(t.Context(), "a1"); !errors.Is(err, client.ErrClosed) {
		t.Errorf("a wait afterwards: %v", err)
	}
	shared.Close() // again
}

// TestNothingIsLeftBehind is not parallel: it counts goroutines.
func TestNothingIsLeftBehind(t *testing.T) {
	b := natstest.Start(t, natstest.Options{})
	nc := b.Agent("acme", "s1")
	r := newResponder(t, b)
	ask1 := func(c client.Session, id string) {
		t.Helper()
		if _, err := c.Ask(t.Context(), question(id)); err != nil {
			t.Fatal(err)
		}
		got := wait(t.Context(), c, id)
		if _, err := r.Answer(t.Context(), key(id), pick()); err != nil {
			t.Fatal(err)
		}
		if w := <-got; w.err != nil {
			t.Fatal(w.err)
		}
	}
	warm := clientOn(t, nc, client.Options{})
	ask1(warm.Session("acme", "s1"), "warm")
	warm.Close()
	subs := nc.NumSubscriptions()
	verify := natstest.NoGoroutines(t)
	shared := clientOn(t, nc, client.Options{})
	c := shared.Session("acme", "s1")
	var all []<-chan waited
	for i := range 200 {
		if i%2 == 0 {
			ask1(c, fmt.Sprint("a", i))
			continue
		}
		if _, err := c.Ask(t.Context(), question(fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		all = append(all, wait(ctx, c, fmt.Sprint("a", i)))
		if i%3 == 0 {
			cancel()
		}
		defer cancel()
	}
	shared.Close()
	for _, got := range all {
		if w := <-got; w.err == nil {
			t.Error("a wait returned no result")
		}
	}
	verify()
	if n := nc.NumSubscriptions(); n != subs {
		t.Errorf("%d subscriptions, before %d", n, subs)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newSession(t, b)
	nc := b.Agent("acme", "s1")
	for _, v := range []struct{ tenant, session string }{{"", "s"}, {"a.b", "s"}, {"a", ""}, {"a", "*"}} {
		wrong := clientOn(t, nc, client.Options{}).Session(v.tenant, v.session)
		for name, call := range map[string]func() error{
			"ask":          func() error { _, err := wrong.Ask(t.Context(), question("a1")); return err },
			"ask and wait": func() error { _, err := wrong.AskAndWait(t.Context(), question("a1")); return err },
			"wait":         func() error { _, err := wrong.Wait(t.Context(), "a1"); return err },
			"get":          func() error { _, err := wrong.Get(t.Context(), "a1"); return err },
			"withdraw":     func() error { _, err := wrong.Withdraw(t.Context(), "a1", ""); return err },
			"abort":        func() error { _, err := wrong.Abort(t.Context(), "a1", ""); return err },
			"page":         func() error { _, err := wrong.Page(t.Context(), client.Query{}); return err },
		} {
			if err := call(); !errors.Is(err, ask.ErrInvalid) {
				t.Errorf("%s in session %q of tenant %q: %v", name, v.session, v.tenant, err)
			}
		}
	}
	if _, err := client.New(nil, client.Options{}); err == nil {
		t.Error("a nil connection was accepted")
	}
	if _, err := (client.Session{}).Get(t.Context(), "a1"); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a session without a client: %v", err)
	}
	for _, id := range []string{"a b", "*", ">", "a.b", strings.Repeat("x", 65)} {
		if _, err := c.Ask(t.Context(), question(id)); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("ask %q: %v", id, err)
		}
		if _, err := c.Wait(t.Context(), id); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("wait %q: %v", id, err)
		}
		if _, err := c.Get(t.Context(), id); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("get %q: %v", id, err)
		}
		if _, err := c.Withdraw(t.Context(), id, ""); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("withdraw %q: %v", id, err)
		}
	}
	if _, err := c.Wait(t.Context(), "nobody"); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("wait for an unknown ask: %v", err)
	}
	if _, err := c.Withdraw(t.Context(), "nobody", ""); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("withdraw an unknown ask: %v", err)
	}
	bad := question("bad")
	bad.Questions[0].Text = " "
	_, err := c.Ask(t.Context(), bad)
	if e, ok := errors.AsType[*ask.Error](err); !ok || !errors.Is(err, ask.ErrInvalid) || e.Faults[0].Pointer != "/questions/0/text" {
		t.Errorf("an invalid ask: %v", err)
	}
	bad.ID = "b a d" // which cannot be sent
	if _, err = c.AskToWait(t.Context(), bad); !strings.Contains(fmt.Sprint(err), "/id: ") || !strings.Contains(fmt.Sprint(err), "/questions/0/text: ") {
		t.Errorf("an invalid ask with an invalid id: %v", err)
	}
	big := question("big")
	big.Context = strings.Repeat("x", ask.MaxLong)
	for range 4 {
		big.Questions = append(big.Questions, ask.Question{Text: "?", Options: []ask.Option{{Label: "a", Preview: &ask.Preview{Body: strings.Repeat("y", ask.MaxLong)}}}})
	}
	if _, err := c.Ask(t.Context(), big); !errors.Is(err, ask.ErrTooLarge) {
		t.Errorf("a large ask: %v", err)
	}
	// A credential for another session fails at once.
	other := clientOn(t, nc, client.Options{}).Session("acme", "s2")
	if _, err := other.Get(t.Context(), "a1"); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("another session: %v", err)
	}
}

func TestWithdrawAndList(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newSession(t, b)
	st, err := c.Ask(t.Context(), question(""))
	if err != nil || len(st.ID) != 26 || !st.Deadline.After(time.Now().Add(ask.MaxTimeout-time.Hour)) {
		t.Fatalf("%+v, %v", st, err)
	}
	for i := range 5 {
		if _, err := c.Ask(t.Context(), question(fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
	}
	o, err := c.Withdraw(t.Context(), "a0", "moot")
	if err != nil || o.Status != ask.StatusWithdrawn || o.Reason != "moot" {
		t.Errorf("%+v, %v", o, err)
	}
	if again, err := c.Withdraw(t.Context(), "a0", "other"); err != nil || again.Reason != "moot" {
		t.Errorf("again: %+v, %v", again, err)
	}
	n := 0
	for rec, err := range c.All(t.Context(), client.Query{State: ask.StatePending, PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; rec.State != ask.StatePending || rec.Ask.Session != "s1" {
			t.Errorf("%+v", rec)
		}
	}
	if n != 5 {
		t.Errorf("%d pending", n)
	}
	if p, err := c.Page(t.Context(), client.Query{State: ask.StateResolved, Question: "db"}); err != nil || len(p.Items) != 1 || p.Items[0].Outcome.Reason != "moot" || p.Next != "" {
		t.Errorf("%+v, %v", p, err)
	}
}
