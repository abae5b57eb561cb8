package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"go.uber.org/goleak"
)

func question(id string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "P"}, {ID: "lite", Label: "L"}}}}}
}

func pick() ask.Reply {
	return ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: ask.By{Principal: "os:mei"}}
}

func key(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }

func newClient(t testing.TB, b *natstest.Bus) *client.Client {
	t.Helper()
	c, err := client.New(b.Agent("acme", "s1"), "acme", "s1", client.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
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

func wait(ctx context.Context, c *client.Client, id string) <-chan waited {
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
	f := fireOn(t, b, line.Agent("acme", "s1"))
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
	c, r := newClient(t, b), newResponder(t, b)
	addr := b.Addr()
	for _, id := range []string{"a1", "a2"} {
		if _, err := c.Ask(t.Context(), question(id)); err != nil {
			t.Fatal(err)
		}
	}
	one := wait(t.Context(), c, "a1")
	b.Close()
	two := wait(t.Context(), c, "a2") // begun while nobody is there
	asked := make(chan error, 1)
	go func() {
		_, err := c.Ask(t.Context(), question("a3"))
		asked <- err
	}()
	b.Server = natstest.Serve(t, b.Dir, addr, 0)
	if err := <-asked; err != nil {
		t.Errorf("an ask while the server was away: %v", err)
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
	c := newClient(t, b)
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
	c, r := newClient(t, b), newResponder(t, b)
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
	c := newClient(t, b)
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
	c := newClient(t, b)
	if _, err := c.Ask(t.Context(), question("a1")); err != nil {
		t.Fatal(err)
	}
	one := wait(t.Context(), c, "a1")
	stop()
	two := wait(t.Context(), c, "a1") // in the middle of asking nobody
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, got := range []<-chan waited{one, two} {
		if w := <-got; !errors.Is(w.err, client.ErrClosed) {
			t.Errorf("%+v", w)
		}
	}
	if _, err := c.Wait(t.Context(), "a1"); !errors.Is(err, client.ErrClosed) {
		t.Errorf("a wait afterwards: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// TestNothingIsLeftBehind is not parallel: it counts goroutines.
func TestNothingIsLeftBehind(t *testing.T) {
	b := natstest.Start(t, natstest.Options{})
	nc := b.Agent("acme", "s1")
	r := newResponder(t, b)
	warm, err := client.New(nc, "acme", "s1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ask1 := func(c *client.Client, id string) {
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
	ask1(warm, "warm")
	if err := warm.Close(); err != nil {
		t.Fatal(err)
	}
	subs := nc.NumSubscriptions()
	ignored := []goleak.Option{goleak.IgnoreCurrent()}
	c, err := client.New(nc, "acme", "s1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, got := range all {
		if w := <-got; w.err == nil {
			t.Error("a wait ended without an end")
		}
	}
	// The server's and the broker's own come and go.
	for _, f := range []string{
		"github.com/nats-io/nats-server/v2/server.(*Server).startGoRoutine.func1",
		"github.com/nats-io/nats-server/v2/server.(*consumer).loopAndGatherMsgs",
		"github.com/nats-io/nats-server/v2/server.(*consumer).processInboundAcks",
		"github.com/nats-io/nats-server/v2/server.(*consumer).processInboundNextMsgReqs",
		"github.com/askbus/askbus/internal/broker.(*Broker).receive.func1", "github.com/askbus/askbus/internal/broker.(*crew).work",
	} {
		ignored = append(ignored, goleak.IgnoreAnyFunction(f))
	}
	goleak.VerifyNone(t, ignored...)
	if n := nc.NumSubscriptions(); n != subs {
		t.Errorf("%d subscriptions, before %d", n, subs)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newClient(t, b)
	nc := b.Agent("acme", "s1")
	for _, v := range []struct{ tenant, session string }{{"", "s"}, {"a.b", "s"}, {"a", ""}, {"a", "*"}} {
		if _, err := client.New(nc, v.tenant, v.session, client.Options{}); err == nil {
			t.Errorf("%q %q is accepted", v.tenant, v.session)
		}
	}
	if _, err := client.New(nil, "a", "s", client.Options{}); err == nil {
		t.Error("no connection is accepted")
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
		t.Errorf("wait for nothing: %v", err)
	}
	if _, err := c.Withdraw(t.Context(), "nobody", ""); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("withdraw nothing: %v", err)
	}
	bad := question("bad")
	bad.Questions[0].Text = " "
	_, err := c.Ask(t.Context(), bad)
	if e, ok := errors.AsType[*ask.Error](err); !ok || !errors.Is(err, ask.ErrInvalid) || e.Faults[0].Pointer != "/questions/0/text" {
		t.Errorf("a bad ask: %v", err)
	}
	// A credential of another session: said, not waited for.
	other, err := client.New(nc, "acme", "s2", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get(t.Context(), "a1"); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("another session: %v", err)
	}
}

func TestWithdrawAndList(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newClient(t, b)
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
	for rec, err := range c.All(t.Context(), client.Query{State: ask.StatePending, Limit: 2}) {
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
	if p, err := c.List(t.Context(), client.Query{State: ask.StateResolved, Question: "db"}); err != nil || len(p.Items) != 1 || p.Items[0].Outcome.Reason != "moot" || p.Next != "" {
		t.Errorf("%+v, %v", p, err)
	}
}
