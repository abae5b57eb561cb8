package responder

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A clicked card goes first, then the newest; Retry-After pauses the queue; a cancelled call takes
// no turn.
func TestLimiterOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(nil, func(string) Pace { return Pace{Every: 1250 * time.Millisecond, Burst: 20} })
		ctx := t.Context()
		asked := time.Now()
		began := time.Now()
		for range 20 {
			if err := l.Wait(ctx, "edit", "", Rank{}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("the burst took %s", d)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		queue := func(name string, r Rank) {
			all.Go(func() {
				if err := l.Wait(ctx, "edit", "", r); err == nil {
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		queue("old", Rank{At: asked})
		queue("new", Rank{At: asked.Add(time.Minute)})
		gone, cancel := context.WithCancel(ctx)
		all.Go(func() { _ = l.Wait(gone, "edit", "", Rank{Urgent: true, At: asked.Add(time.Hour)}) })
		synctest.Wait()
		queue("clicked", Rank{Urgent: true, At: asked})
		cancel()
		all.Wait()
		if s := strings.Join(order, " "); s != "clicked new old" {
			t.Errorf("the order was %s", s)
		}
		order = nil
		for _, name := range []string{"first", "second", "third"} {
			queue(name, Rank{At: asked})
		}
		time.Sleep(3 * time.Second) // the first two get their turns
		queue("last", Rank{At: asked})
		all.Wait()
		if s := strings.Join(order, " "); s != "first second third last" {
			t.Errorf("equal ranks went in the order %s", s)
		}
		refused := time.Now()
		l.Pause("edit", "", 30*time.Second)
		if err := l.Wait(ctx, "edit", "", Rank{Urgent: true}); err != nil || time.Since(refused) < 30*time.Second {
			t.Errorf("after Retry-After: %s, %v", time.Since(refused), err)
		}
		if n := l.Waiting(); n != 0 {
			t.Errorf("%d wait still", n)
		}
		for range 100 { // nothing stays behind
			if err := l.Wait(ctx, "look", "", Rank{}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
	})
}

// More places than the limiter has queues neither forget a Retry-After nor a spent burst, and the
// queues stay bounded.
func TestLimiterKeepsRetryAfterAtOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(nil, func(string) Pace { return Pace{Every: time.Second, Burst: 3} })
		const post = "post"
		began := time.Now()
		l.Pause(post, "C0", time.Hour)
		for i := range maxQueues / 2 {
			l.Pause(post, fmt.Sprint("P", i), time.Minute)
		}
		take := func(place string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			q := l.queue(post, place)
			q.free = later(q.free, time.Now()).Add(q.Every)
			if n := len(l.queues); n > maxQueues+1 {
				t.Fatalf("%d queues", n)
			}
		}
		for i := range 2 * maxQueues { // at the same moment: none is idle
			take(fmt.Sprint("C", i+1))
		}
		if err := l.Wait(t.Context(), post, "P0", Rank{}); err != nil || time.Since(began) < time.Minute {
			t.Errorf("a place with Retry-After 1 m waited for %s, %v", time.Since(began), err)
		}
		for i := 0; time.Since(began) < 50*time.Minute; i++ { // by now idle ones are dropped
			time.Sleep(10 * time.Second)
			take(fmt.Sprint("D", i))
		}
		if err := l.Wait(t.Context(), post, "C0", Rank{Urgent: true}); err != nil || time.Since(began) < time.Hour {
			t.Errorf("a place with Retry-After 1 h waited for %s, %v", time.Since(began), err)
		}
	})
}

// However many replicas live, together they make as many calls as one alone may; and a call that
// waits is made earlier when the others have gone.
func TestReplicasShareAPace(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var all sync.WaitGroup
			var calls atomic.Int64
			for range n {
				l := NewLimiter(nil, func(string) Pace { return Pace{Every: time.Second, Burst: 6} })
				l.SetReplicas(n)
				all.Go(func() {
					for l.Wait(ctx, "post", "", Rank{}) == nil {
						calls.Add(1)
					}
				})
			}
			all.Wait()
			if got := calls.Load(); got < 600 || got > 610 {
				t.Errorf("%d replicas made %d calls in 600 s, want 600 and the burst of 6", n, got)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(nil, func(string) Pace { return Pace{Every: time.Minute} })
		l.SetReplicas(3)
		if err := l.Wait(t.Context(), "post", "", Rank{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var waits sync.WaitGroup
		waits.Go(func() {
			if err := l.Wait(t.Context(), "post", "", Rank{}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // it sleeps
		l.SetReplicas(1)
		if err := l.Wait(t.Context(), "other", "", Rank{}); err != nil { // and another queue is not in the way
			t.Error(err)
		}
		waits.Wait()
		if d := time.Since(began); d != time.Minute {
			t.Errorf("the call that was due after 3 minutes, and alone after one, was made after %s", d)
		}
	})
}

// Calls that are made alone follow each other in the order of their ranks, wait for a pause that the one before
// demanded, and leave nothing when they fail.
func TestCallsMadeAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(nil, func(string) Pace { return Pace{Every: 50 * time.Millisecond, Burst: 1} })
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		began := time.Now()
		call := func(ctx context.Context, name string, r Rank, place string, f func()) {
			all.Go(func() {
				_ = l.Alone(ctx, "edit", place, r, func(ctx context.Context) error {
					f()
					mu.Lock()
					defer mu.Unlock()
					order = append(order, fmt.Sprint(name, " ", time.Since(began)))
					return ctx.Err()
				})
			})
			synctest.Wait()
		}
		second := func() { time.Sleep(time.Second) }
		call(t.Context(), "first", Rank{}, "a", second)
		call(t.Context(), "old", Rank{At: began}, "a", second)
		gone, cancel := context.WithCancel(t.Context())
		call(gone, "gone", Rank{Urgent: true, At: began.Add(time.Hour)}, "a", second)
		call(t.Context(), "clicked", Rank{Urgent: true}, "a", func() { l.Pause("edit", "a", 5*time.Second) })
		time.Sleep(500 * time.Millisecond)
		call(t.Context(), "elsewhere", Rank{}, "b", func() {})
		cancel()
		all.Wait()
		if s := strings.Join(order, ", "); s != "elsewhere 500ms, first 1s, clicked 1s, old 7s" {
			t.Errorf("the calls were %s", s)
		}
		if n := l.Waiting(); n != 0 {
			t.Errorf("%d wait still", n)
		}
	})
}
