package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// checkLog is a log handler that signals each failed check of a wait.
type checkLog struct {
	slog.Handler
	away chan struct{}
}

func (c checkLog) Enabled(context.Context, slog.Level) bool { return true }

func (c checkLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "no broker answered; still waiting" {
		select {
		case c.away <- struct{}{}:
		default:
		}
	}
	return nil
}

// A check takes up to 30 s, then the wait pauses for a second. Both are
// shortened here, so that many fit: as if the broker were gone for minutes.
func TestABrokerThatIsGoneForMinutesIsWaitedFor(t *testing.T) {
	t.Parallel()
	const waits, failed = 100, 2 * client.MaxChecks
	silence := func(t *testing.T, f *fixture) (end func()) { // a broker that receives but does not answer
		t.Helper()
		sub, err := f.Admin().QueueSubscribe("askv1.>", "q", func(*nats.Msg) {})
		if err != nil {
			t.Fatal(err)
		}
		return func() { _ = sub.Unsubscribe() }
	}
	for name, gone := range map[string]func(t *testing.T, f *fixture, stop func()) (back func()){
		"the broker is gone": func(t *testing.T, f *fixture, stop func()) func() {
			t.Helper()
			stop()
			return func() { f.Broker(broker.Options{}) }
		},
		"the broker hangs": func(t *testing.T, f *fixture, stop func()) func() {
			t.Helper()
			stop()
			end := silence(t, f)
			return func() { f.Broker(broker.Options{}); end() }
		},
		"the server is gone": func(t *testing.T, f *fixture, stop func()) func() {
			t.Helper()
			stop()
			addr := f.Addr()
			f.Close()
			return func() { f.Server = natstest.Serve(t, f.Dir, addr, 0); f.Broker(broker.Options{}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, natstest.Options{NoBroker: true})
			stop := f.Broker(broker.Options{})
			log := checkLog{slog.DiscardHandler, make(chan struct{}, failed)}
			shared := clientOn(t, f.Agent("acme", "s1"), client.Options{Logger: slog.New(log)})
			shared.CheckEvery(time.Hour)
			shared.ShortenChecks(time.Second, time.Millisecond)
			c := shared.Session("acme", "s1")
			f.ask(t, "a1", time.Hour) // asked by another client: the waits have to check
			back := gone(t, f, stop)
			var all []<-chan waited
			for range waits {
				all = append(all, wait(t.Context(), c, "a1"))
			}
			for range failed {
				<-log.away
			}
			back()
			f.answer(t, "a1")
			expectOutcomes(t, all...)
		})
	}
}

// outside reports whether a time of the ledger's clock is outside of the test's
// interval. A broker knows that clock to within a second (docs/guarantees.md).
func outside(at, from, to time.Time) bool {
	return at.Before(from.Add(-time.Second)) || at.After(to.Add(time.Second))
}

// The broker's clock counts, not the agent's.
func TestAClockThatIsWrongByAnHour(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Duration{"late": -time.Hour, "early": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, natstest.Options{})
			f.Mute()
			f.client.Clock(func() time.Time { return time.Now().Add(wrong) })
			before := time.Now()
			s, err := f.agent.Ask(t.Context(), textual("by-itself", time.Second))
			if err != nil || outside(s.Deadline.Add(-time.Second), before, time.Now()) {
				t.Fatalf("deadline %s, asked at %s: %v", s.Deadline, before, err)
			}
			f.ask(t, "by-mei", time.Hour)
			if rec, err := f.agent.Get(t.Context(), "by-mei"); err != nil || outside(rec.AskedAt, before, time.Now()) {
				t.Errorf("asked at %s, at %s: %v", rec.AskedAt, before, err)
			}
			// No outcome is republished, and the deadline does not help with a
			// wrong clock: the regular check finds them.
			f.client.CheckEvery(200 * time.Millisecond)
			one, two := wait(t.Context(), f.agent, "by-itself"), wait(t.Context(), f.agent, "by-mei")
			f.answer(t, "by-mei")
			expectOutcomes(t, two)
			if w := <-one; w.err != nil || w.o.Status != ask.StatusExpired || w.o.At.Before(s.Deadline) {
				t.Errorf("%s at %s: %v", w.o.Status, w.o.At, w.err)
			}
		})
	}
}

// Closing the connection for good ends the waits.
func TestAClosedConnectionEndsWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, natstest.Options{})
	nc := f.Agent("acme", "s1")
	shared := clientOn(t, nc, client.Options{})
	shared.CheckEvery(time.Hour)
	c := shared.Session("acme", "s1")
	var all []<-chan waited
	for i := range 10 {
		if _, err := c.Ask(t.Context(), textual(fmt.Sprint("a", i), time.Hour)); err != nil {
			t.Fatal(err)
		}
		all = append(all, wait(t.Context(), c, fmt.Sprint("a", i)))
	}
	nc.Close()
	for _, got := range all {
		if w := <-got; w.err == nil {
			t.Error("the wait ended without an error")
		}
	}
	shared.Close()
}

// Thousands of concurrent calls take turns, and none waits for ever for a
// broker that does not answer.
func TestCallsTakeTurns(t *testing.T) {
	t.Parallel()
	const n = 3 * client.MaxCalls
	f := newFixture(t, natstest.Options{NoBroker: true})
	heard := make(chan *nats.Msg, 100*n)
	admin := f.Admin()
	if _, err := admin.ChanSubscribe("askv1.>", heard); err != nil {
		t.Fatal(err)
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
	f.client.ShortenChecks(200*time.Millisecond, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, n)
	for range n {
		go func() {
			_, err := f.agent.Get(ctx, "a1")
			done <- err
		}()
	}
	for range n - client.MaxCalls {
		if err := <-done; !errors.Is(err, ask.ErrUnavailable) {
			t.Error(err)
		}
	}
	cancel()
	for range client.MaxCalls {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	// With a broker every call gets a turn, however slow the machine is.
	f.client.ShortenChecks(waittest.Limit, time.Millisecond)
	f.Broker(broker.Options{})
	for range n {
		go func() {
			_, err := f.agent.Get(t.Context(), "a1")
			done <- err
		}()
	}
	for range n {
		if err := <-done; !errors.Is(err, ask.ErrNotFound) {
			t.Error(err)
		}
	}
}
