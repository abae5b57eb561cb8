package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// TestNothingIsLeftOfAnyPhase is not parallel: it counts goroutines. When a
// context ends in any phase of a call, its goroutines end as well and the
// client keeps nothing.
func TestNothingIsLeftOfAnyPhase(t *testing.T) {
	f, line := newCuttableFixture(t, natstest.Options{NoBroker: true})
	conn := f.Agent("acme", "s2") // its broker answers; the one of s1 hangs
	alive := clientOn(t, conn, client.Options{})
	live := alive.Session("acme", "s2")
	asked := make(chan struct{}, 1024)
	silent := f.Admin()
	if _, err := silent.Subscribe("askv1.acme.s1.>", func(*nats.Msg) { asked <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	if err := silent.Flush(); err != nil {
		t.Fatal(err)
	}
	c := f.agent
	nothing := func() {}
	arrived := func() { <-asked }
	calls := map[string]func(ctx context.Context) error{
		"ask":      func(ctx context.Context) error { _, err := c.Ask(ctx, textual("a1", time.Hour)); return err },
		"get":      func(ctx context.Context) error { _, err := c.Get(ctx, "a1"); return err },
		"withdraw": func(ctx context.Context) error { _, err := c.Withdraw(ctx, "a1", ""); return err },
		"list":     func(ctx context.Context) error { _, err := c.Page(ctx, client.Query{}); return err },
		"both":     func(ctx context.Context) error { _, err := c.AskAndWait(ctx, textual("a1", time.Hour)); return err },
		"wait":     func(ctx context.Context) error { _, err := c.Wait(ctx, "a1"); return err },
	}
	end := func(t *testing.T, name string, n int, call func(ctx context.Context) error, reached func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, n)
		if reached == nil {
			cancel()
		}
		for range n {
			go func() { done <- call(ctx) }()
		}
		if reached != nil {
			reached()
		}
		cancel()
		for range n {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// A first call, because a connection keeps some goroutines.
	end(t, "warm", 1, calls["wait"], arrived)
	held := func(t *testing.T) {
		t.Helper()
		for _, c := range []*client.Client{f.client, alive} {
			natstest.Eventually(t, "nothing is held", func() bool { waits, sessions, calls := c.Held(); return waits+sessions+calls == 0 })
		}
	}
	held(t)
	before, subs := len(ours()), f.agentConn.NumSubscriptions()
	settled := func(t *testing.T) {
		t.Helper()
		settles(t, before)
		held(t)
		natstest.Eventually(t, "no subscription is left", func() bool { return f.agentConn.NumSubscriptions() == subs })
		for len(asked) > 0 {
			<-asked
		}
	}
	for name, call := range calls {
		t.Run(name+" with a context that has ended", func(t *testing.T) { end(t, name, 10, call, nil); settled(t) })
		t.Run(name+" while the broker is silent", func(t *testing.T) { end(t, name, 1, call, arrived); settled(t) })
		t.Run(name+" while the connection is away", func(t *testing.T) {
			mend := line.Block()
			natstest.Eventually(t, "the connection is lost", f.agentConn.IsReconnecting)
			end(t, name, 10, call, nothing)
			mend()
			<-line.Back()
			natstest.Eventually(t, "the connection is back", f.agentConn.IsConnected)
			settled(t)
		})
		t.Run(name+" when the connection is lost during the call", func(t *testing.T) {
			end(t, name, 1, call, func() {
				arrived()
				line.Cut()
				<-line.Back()
				arrived() // it asks again at once
			})
			settled(t)
		})
	}
	t.Run("more waits than concurrent checks", func(t *testing.T) {
		const n = 10 * client.MaxChecks
		sent := 0
		end(t, "wait", n, calls["wait"], func() {
			for range client.MaxChecks {
				<-asked
			}
			natstest.Eventually(t, "all wait", func() bool { waits, _, _ := f.client.Held(); return waits == n })
			if err := errors.Join(f.agentConn.Flush(), silent.Flush()); err != nil {
				t.Fatal(err)
			}
			sent = client.MaxChecks + len(asked)
		})
		if sent > 2*client.MaxChecks { // a machine that stalls for 2 s repeats them
			t.Errorf("%d checks at a time", sent)
		}
		settled(t)
	})
	t.Run("waiting for an outcome", func(t *testing.T) {
		stop := f.Broker(broker.Options{})
		if _, err := live.Ask(t.Context(), textual("a1", time.Hour)); err != nil {
			t.Fatal(err)
		}
		before = len(ours()) // the broker is subscribed from now on
		end(t, "wait", 100, func(ctx context.Context) error { _, err := live.Wait(ctx, "a1"); return err }, func() {
			natstest.Eventually(t, "all wait", func() bool { waits, _, calls := alive.Held(); return waits == 100 && calls == 0 })
		})
		settled(t)
		stop()
	})
	t.Run("after Close", func(t *testing.T) {
		f.client.Close()
		alive.Close()
		if _, err := c.Wait(t.Context(), "a1"); !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
		end(t, "ask", 1, calls["ask"], arrived)
		settled(t)
	})
}

// heapTolerance allows for sampling noise.
const heapTolerance = 3 << 20

// TestMemoryReturns is not parallel: it measures the heap. Ten thousand waits
// in a reconnect storm leave as much as a hundred.
func TestMemoryReturns(t *testing.T) {
	f, line := newCuttableFixture(t, natstest.Options{})
	const asks = 50
	life := 0
	round := func(waits int) {
		life++
		id := func(i int) string { return fmt.Sprintf("r%d-%d", life, i%asks) }
		for i := range asks {
			f.ask(t, id(i), time.Hour)
		}
		var all sync.WaitGroup
		for i := range waits {
			all.Go(func() {
				if o, err := f.agent.Wait(t.Context(), id(i)); err != nil || o.Status != ask.StatusAnswered {
					t.Errorf("wait %d: %v %v", i, o.Status, err)
				}
			})
		}
		for range 5 {
			line.Cut()
			<-line.Back()
		}
		for i := range asks {
			f.answer(t, id(i))
		}
		all.Wait()
	}
	many := 10_000
	if raced {
		many = 1000
	}
	round(many) // fills pools and caches of the server and of Go
	before := natstest.Heap()
	round(many)
	// Ten thousand leaked waits would take more than twice this.
	if after := natstest.Heap(); after > before+heapTolerance {
		t.Errorf("heap %d KiB, before %d KiB", after>>10, before>>10)
	} else {
		t.Logf("heap %d KiB, before %d KiB", after>>10, before>>10)
	}
	natstest.Eventually(t, "nothing is held", func() bool { waits, sessions, calls := f.client.Held(); return waits+sessions+calls == 0 })
}
