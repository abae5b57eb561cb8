package broker

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// A held request has one next check, however often the broker reconnects, and
// whatever the request is doing then: waiting, being checked, or being read for
// the first time.
func TestReconnectsStartNoSecondChainOfChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &Broker{opts: Options{Limit: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)}, base: t.Context()}
		b.subscriptions = &subscriptions{b: b, subs: map[string]*nats.Subscription{subject.Outcome: {}}}
		var looks atomic.Int32
		w := &waits{b: b, now: time.Now, byKey: map[subject.Key]*waited{}, checks: make(chan struct{}, maxChecks), look: func(context.Context, ask.Key) (lifecycle.State, error) {
			looks.Add(1)
			time.Sleep(500 * time.Millisecond)
			return lifecycle.State{Ask: &ask.Ask{ID: "a1"}}, nil
		}}
		b.waits = w
		b.ready.Store(true)
		h, err := w.hold(&request{Request: subject.Request{Tenant: "acme", Session: "s1", ID: "a1"}, hold: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		w.recheck() // its ask is being read
		h.pending(time.Now().Add(24 * time.Hour))
		for range 200 {
			w.recheck()
			time.Sleep(50 * time.Millisecond) // some of them during a check
		}
		time.Sleep(2 * time.Second)
		if n := looks.Load(); n < 1 { // each reconnect begins the jitter again
			t.Errorf("%d checks during 200 reconnects in 10 s", n)
		}
		looks.Store(0)
		time.Sleep(30 * time.Minute)
		if n := looks.Load(); n < 40 || n > 60 { // one in 30 to 37.5 s
			t.Errorf("%d checks in 30 minutes", n)
		}
		if !h.cancel() {
			t.Error("it is not held any more")
		}
		b.running.Wait()
	})
}
