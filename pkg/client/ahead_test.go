package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

func waitAsked(ctx context.Context, a client.Asked) <-chan waited {
	got := make(chan waited, 1)
	go func() {
		o, err := a.Wait(ctx)
		got <- waited{o, err}
	}()
	return got
}

func (f *fixture) askToWait(t *testing.T, id string) client.Asked {
	t.Helper()
	a, err := f.agent.AskToWait(t.Context(), textual(id, time.Hour))
	if err != nil || a.ID != id || a.Outcome != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	return a
}

// One request asks and waits, also if the answer comes before the wait.
func TestAWaitThatWasAskedForSendsNoRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	sent := f.Requests()
	for i, early := range []bool{false, true} {
		id := fmt.Sprint("a", i)
		a := f.askToWait(t, id)
		if early {
			f.answer(t, id)
		}
		got := waitAsked(t.Context(), a)
		if !early {
			f.answer(t, id)
		}
		if w := <-got; w.err != nil || w.o.Status != ask.StatusAnswered || w.o.Ask == nil {
			t.Errorf("early %t: %+v", early, w)
		}
	}
	if asks, waits := sent(subject.VerbAsk), sent(subject.VerbWait); asks != 2 || waits != 0 {
		t.Errorf("%d asks and %d waits were sent, want 2 and none", asks, waits)
	}
	// Any further wait is one of [client.Session.Wait]; the same ask has its outcome.
	again, err := f.agent.AskToWait(t.Context(), textual("a0", time.Hour))
	if err != nil || again.Outcome == nil {
		t.Fatalf("%+v, %v", again, err)
	}
	if o, err := again.Wait(t.Context()); err != nil || o.Status != ask.StatusAnswered || o.Ask == nil {
		t.Errorf("the same ask again: %+v %v", o, err)
	}
	expired := textual("a2", time.Second)
	if _, err := f.agent.AskAndWait(t.Context(), expired); err != nil {
		t.Fatal(err)
	}
	if again, err = f.agent.AskToWait(t.Context(), expired); err != nil || again.Outcome == nil {
		t.Fatalf("%+v, %v", again, err)
	}
	if o, err := again.Wait(t.Context()); err != nil || o.Status != ask.StatusExpired || o.Ask == nil {
		t.Errorf("the same expired ask again: %+v %v", o, err)
	}
	if n := sent(subject.VerbWait); n != 0 {
		t.Errorf("%d waits were sent for known outcomes", n)
	}
}

// A wait that nobody begins ends by itself, and a late one asks the broker.
func TestAWaitThatNobodyBeginsHoldsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	sent := f.Requests()
	before := f.agentConn.NumSubscriptions()
	f.client.Linger(0)
	f.client.Unused(time.Millisecond)
	var all []client.Asked
	for i := range 20 {
		all = append(all, f.askToWait(t, fmt.Sprint("a", i)))
	}
	natstest.Eventually(t, "nothing is held", func() bool { waits, sessions, _ := f.client.Held(); return waits+sessions == 0 })
	natstest.Eventually(t, "no subscription is left", func() bool { return f.agentConn.NumSubscriptions() <= before+1 }) // that of replies
	got := []<-chan waited{waitAsked(t.Context(), all[3]), waitAsked(t.Context(), all[3])}
	f.answer(t, "a3")
	for _, one := range got {
		if w := <-one; w.err != nil || w.o.AskID != "a3" {
			t.Errorf("late: %+v", w)
		}
	}
	if sent(subject.VerbWait) == 0 {
		t.Error("a late wait did not ask")
	}
}

func TestSeveralWaitForOneAskedAsk(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	a, twin := f.askToWait(t, "a1"), f.askToWait(t, "a1")
	if !a.Created || twin.Created {
		t.Errorf("created %t and %t", a.Created, twin.Created)
	}
	ctx, cancel := context.WithCancel(t.Context())
	given := waitAsked(ctx, a)
	all := []<-chan waited{waitAsked(t.Context(), a), waitAsked(t.Context(), a), waitAsked(t.Context(), twin)}
	cancel()
	if w := <-given; !errors.Is(w.err, context.Canceled) {
		t.Errorf("given up: %+v", w)
	}
	f.answer(t, "a1")
	for i, one := range all {
		if w := <-one; w.err != nil || w.o.AskID != "a1" {
			t.Errorf("wait %d: %+v", i, w)
		}
	}
	natstest.Eventually(t, "nothing waits", func() bool { waits, _, _ := f.client.Held(); return waits == 0 })
}

// The connection is cut between the ask and the wait, and the answer comes
// meanwhile.
func TestAnOutcomeBetweenAskAndWaitIsFound(t *testing.T) {
	t.Parallel()
	f, line := newCuttableFixture(t, natstest.Options{})
	a := f.askToWait(t, "a1")
	mend := line.Block()
	f.answer(t, "a1")
	mend()
	<-line.Back()
	if o, err := a.Wait(t.Context()); err != nil || o.Status != ask.StatusAnswered {
		t.Errorf("%s %v", o.Status, err)
	}
}

// The ask is stored, but its reply is lost with the connection.
func TestAReplyThatIsLostWithTheConnection(t *testing.T) {
	t.Parallel()
	f, line := newCuttableFixture(t, natstest.Options{})
	f.ask(t, "warm", time.Hour)
	mend := line.Stall()
	asked := make(chan waited, 1)
	go func() {
		a, err := f.agent.AskToWait(t.Context(), textual("a1", time.Hour))
		if err != nil {
			asked <- waited{err: err}
			return
		}
		o, err := a.Wait(t.Context())
		asked <- waited{o, err}
	}()
	natstest.Eventually(t, "the ask is stored", func() bool { _, err := f.web.Get(t.Context(), key("a1")); return err == nil })
	line.Cut()
	mend()
	f.answer(t, "a1")
	if w := <-asked; w.err != nil || w.o.Status != ask.StatusAnswered {
		t.Errorf("%+v", w)
	}
}

// The broker that stored an ask dies, and the answer comes through another one.
func TestABrokerThatDiesAfterItStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{NoBroker: true})
	stop := f.Broker(broker.Options{})
	a := f.askToWait(t, "a1")
	got := waitAsked(t.Context(), a)
	stop()
	f.Broker(broker.Options{})
	f.answer(t, "a1")
	if w := <-got; w.err != nil || w.o.Status != ask.StatusAnswered {
		t.Errorf("%+v", w)
	}
}

// An ask is stored even if the client cannot listen for its outcome.
func TestAskToWaitOfAClientThatCannotWait(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := clientOn(t, b.Agent("acme", ""), client.Options{})
	c.Sessions(1)
	if _, err := c.Session("acme", "s1").AskToWait(t.Context(), question("a1")); err != nil {
		t.Fatal(err)
	}
	full, err := c.Session("acme", "s2").AskToWait(t.Context(), question("a1"))
	if err != nil || !full.Created {
		t.Fatalf("%+v, %v", full, err)
	}
	if _, err := full.Wait(t.Context()); !errors.Is(err, ask.ErrQuota) {
		t.Errorf("a session too many: %v", err)
	}
	held, err := c.Session("acme", "s1").AskToWait(t.Context(), question("a2"))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	closed, err := c.Session("acme", "s1").AskToWait(t.Context(), question("a3"))
	if err != nil || !closed.Created {
		t.Fatalf("%+v, %v", closed, err)
	}
	for _, one := range []client.Asked{held, closed} {
		if _, err := one.Wait(t.Context()); !errors.Is(err, client.ErrClosed) {
			t.Errorf("%s: %v", one.ID, err)
		}
	}
	if _, err := (client.Asked{}).Wait(t.Context()); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("an ask of no session: %v", err)
	}
}
