package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

func textual(id string, timeout time.Duration) ask.Ask {
	return ask.Ask{ID: id, Timeout: timeout, Questions: []ask.Question{{ID: "q", Kind: ask.KindText, Text: "What now?"}}}
}

// fixture is a bus with an agent and a responder.
type fixture struct {
	*natstest.Bus
	client    *client.Client
	agent     client.Session
	agentConn *nats.Conn
	web       *responder.Responder
}

func newFixture(t *testing.T, opts natstest.Options) *fixture {
	t.Helper()
	b := natstest.Start(t, opts)
	return fixtureOn(t, b, b.Agent("acme", "s1"))
}

// newCuttableFixture connects the agent through a line that can be cut.
func newCuttableFixture(t *testing.T, opts natstest.Options) (*fixture, *natstest.Line) {
	t.Helper()
	b := natstest.Start(t, opts)
	line := b.Line()
	return fixtureOn(t, b, line.Agent("acme", "s1")), line
}

func fixtureOn(t *testing.T, b *natstest.Bus, conn *nats.Conn) *fixture {
	t.Helper()
	c := clientOn(t, conn, client.Options{Logger: natstest.Logger()})
	return &fixture{b, c, c.Session("acme", "s1"), conn, newResponder(t, b)}
}

func (f *fixture) ask(t *testing.T, id string, timeout time.Duration) {
	t.Helper()
	if _, err := f.agent.Ask(t.Context(), textual(id, timeout)); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) answer(t *testing.T, id string) {
	t.Helper()
	_, err := f.web.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id}, ask.Reply{
		By: ask.By{Principal: "os:mei"}, Answers: []ask.Answer{{QuestionID: "q", Text: "this"}},
	})
	if err != nil {
		t.Errorf("answer %s: %v", id, err)
	}
}

// ours returns the stacks of the goroutines that run the client, a call, or a
// NATS connection.
func ours() (stacks []string) {
	buf := make([]byte, 64<<20)
	for one := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, of := range []string{"/pkg/client.", "/internal/bus/connection.", "/nats.go."} {
			if strings.Contains(one, of) && !strings.Contains(one, "/internal/bus/broker.") {
				stacks = append(stacks, one)
				break
			}
		}
	}
	return stacks
}

// settles waits until at most as many of these goroutines are left as before.
func settles(t *testing.T, before int) {
	t.Helper()
	var now []string
	t.Cleanup(func() {
		if t.Failed() && len(now) > before {
			t.Logf("%d goroutines, before %d:\n%s", len(now), before, strings.Join(now[:min(len(now), 20)], "\n\n"))
		}
	})
	natstest.Eventually(t, "as many goroutines as before", func() bool {
		now = ours()
		return len(now) <= before
	})
}

func TestTenThousandWaitsInAReconnectStorm(t *testing.T) {
	const asks = 100
	waits := 100
	if raced {
		waits = 10
	}
	f, line := newCuttableFixture(t, natstest.Options{})
	for i := range asks {
		f.ask(t, fmt.Sprintf("a%d", i), time.Hour)
	}
	before := len(ours())
	var all sync.WaitGroup
	for i := range asks * waits {
		all.Go(func() {
			o, err := f.agent.Wait(t.Context(), fmt.Sprintf("a%d", i%asks))
			if err != nil || o.Status != ask.StatusAnswered {
				t.Errorf("wait %d: %v %v", i, o.Status, err)
			}
		})
	}
	for range 10 { // it is cut again as soon as it is back
		line.Cut()
		<-line.Back()
	}
	for i := range asks {
		f.answer(t, fmt.Sprintf("a%d", i))
		if i%20 == 19 {
			line.Cut()
			<-line.Back()
		}
	}
	all.Wait()
	settles(t, before)
	if waits, sessions, calls := f.client.Held(); waits+sessions+calls != 0 {
		t.Errorf("%d waits, %d sessions and %d calls remain", waits, sessions, calls)
	}
}

func TestABrokerThatIsGoneIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{NoBroker: true})
	stop := f.Broker(broker.Options{})
	f.ask(t, "by-the-server", time.Second)
	f.ask(t, "later", time.Hour)
	stop()
	// Only the server is running at the deadline.
	if o, err := f.agent.Wait(t.Context(), "by-the-server"); err != nil || o.Status != ask.StatusExpired {
		t.Fatalf("%v %v", o.Status, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.agent.Wait(t.Context(), "later")
		done <- err
	}()
	f.Broker(broker.Options{})
	f.answer(t, "later")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestAContextEndsEveryPhase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	gone := newFixture(t, natstest.Options{NoBroker: true})
	f.ask(t, "a1", time.Hour)
	phases := map[string]func(ctx context.Context) error{
		"asking, no broker":      func(ctx context.Context) error { _, err := gone.agent.Ask(ctx, textual("x", time.Hour)); return err },
		"reading, no broker":     func(ctx context.Context) error { _, err := gone.agent.Get(ctx, "x"); return err },
		"withdrawing, no broker": func(ctx context.Context) error { _, err := gone.agent.Withdraw(ctx, "x", ""); return err },
		"listing, no broker":     func(ctx context.Context) error { _, err := gone.agent.Page(ctx, client.Query{}); return err },
		"waiting, no broker":     func(ctx context.Context) error { _, err := gone.agent.Wait(ctx, "x"); return err },
		"waiting for an outcome": func(ctx context.Context) error { _, err := f.agent.Wait(ctx, "a1"); return err },
	}
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, early := range []bool{true, false} {
				ctx, cancel := context.WithCancel(t.Context())
				if early {
					cancel()
				} else {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				if err := phase(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("early %t: %v", early, err)
				}
				cancel()
			}
		})
	}
	// An abandoned ask is still pending and can be picked up.
	t.Cleanup(func() {
		if rec, err := f.agent.Get(context.WithoutCancel(t.Context()), "a1"); err != nil || rec.State != ask.StatePending {
			t.Errorf("%s %v", rec.State, err)
		}
	})
}

func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	f.ask(t, "a1", time.Hour)
	done := make(chan error, 1)
	go func() {
		_, err := f.agent.Wait(t.Context(), "a1")
		done <- err
	}()
	f.client.Close()
	if err := <-done; !errors.Is(err, client.ErrClosed) {
		t.Fatal(err)
	}
}

// An outcome whose republished message is lost is found by a check, soon after
// the deadline at the latest.
func TestAnOutcomeMissedOnTheWireIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	f.Mute()
	f.ask(t, "a1", 2*time.Second)
	done := make(chan error, 1)
	go func() {
		o, err := f.agent.Wait(t.Context(), "a1")
		if err == nil && o.Status != ask.StatusAnswered {
			err = fmt.Errorf("status %s", o.Status)
		}
		done <- err
	}()
	f.answer(t, "a1")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
