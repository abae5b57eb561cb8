package responder_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/responder"
)

// Of three replicas one is alone at any time, and another one follows when it stops, and when it dies without a word.
// Those of another account do not wait for them.
func TestOneReplicaIsAlone(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	var inside, most, turns atomic.Int32
	start := func(account string) (stop, kill func(), entered <-chan struct{}) {
		nc := b.Connect(rights.Role{Name: rights.RoleResponder, Type: "chat"})
		r, err := responder.New(nc, "chat", responder.Options{Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		in := make(chan struct{}, 9)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			r.AloneAt(ctx, account, 300*time.Millisecond, func(ctx context.Context) {
				if account == "a" {
					turns.Add(1)
					if n := inside.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer inside.Add(-1)
				}
				in <- struct{}{}
				<-ctx.Done()
			})
		})
		stop = func() { cancel(); all.Wait() }
		t.Cleanup(stop)
		return stop, nc.Close, in
	}
	stop, _, in := start("a")
	<-in
	_, kill, second := start("a")
	_, _, other := start("b")
	<-other
	stop()
	<-second
	kill()
	_, _, third := start("a")
	<-third
	if most.Load() != 1 || turns.Load() != 3 {
		t.Errorf("%d were in at once, in %d turns", most.Load(), turns.Load())
	}
}
