package responder

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A process that was stopped for longer than its lease, and goes on before the
// timer of the extension fires, posts nothing.
func TestALeaseEndsBeforeAnotherReplicaHasIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLease(time.Minute)
		for range 5 {
			time.Sleep(40 * time.Second)
			if l.over() {
				t.Fatal("over while it is extended")
			}
			l.extended(time.Now(), time.Minute)
		}
		time.Sleep(49 * time.Second)
		if l.over() {
			t.Error("over after 49 s of 60")
		}
		time.Sleep(time.Second)
		if !l.over() {
			t.Error("not over after 50 s of 60")
		}
	})
}

// A replica whose extensions fail gives its item up while a sixth of the lease
// is left: its successor searches when the lease has ended.
func TestAContextEndsWithItsLease(t *testing.T) {
	t.Parallel()
	for name, extend := range map[string]func(context.Context) error{
		"extensions fail at once": func(context.Context) error { return errors.New("the connection is closed") },
		"nobody replies":          func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var fails atomic.Bool
				held, stop := newLease(time.Minute).keep(t.Context(), time.Minute, func(ctx context.Context) error {
					if fails.Load() {
						return extend(ctx)
					}
					return nil
				})
				defer stop()
				time.Sleep(10*time.Minute + time.Second)
				if held.Err() != nil {
					t.Fatal("over while it is extended")
				}
				fails.Store(true)
				<-held.Done()
				if took := time.Since(began); took != 10*time.Minute+50*time.Second || !errors.Is(context.Cause(held), ErrLeaseLost) {
					t.Errorf("it ended after %s: %v", took, context.Cause(held))
				}
			})
		})
	}
}

// The context of a post has ended when its lease is over, even if nothing has
// cancelled it yet.
func TestAPostIsNotMadeAfterItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := leased{t.Context(), newLease(time.Minute)}
		time.Sleep(49 * time.Second)
		if err := ctx.Err(); err != nil {
			t.Errorf("after 49 s of 60: %v", err)
		}
		time.Sleep(time.Second)
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error("not over after 50 s of 60")
		}
	})
}
