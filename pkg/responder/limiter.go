package responder

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/backoff"
)

// Clock is the clock of a [Server]. Tests replace it.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the error of ctx if it ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

// wallClock is the real time.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error { return backoff.Sleep(ctx, d) }

// limiter spaces out calls, separately for each place. Of the callers that wait
// for one place, urgent ones go first, and then the newest.
type limiter struct {
	clock Clock
	every time.Duration
	burst int

	mu     sync.Mutex
	places map[string]*bucket
	paused time.Time // the whole service refuses until then
	turn   uint64
}

// bucket limits the calls to one place.
type bucket struct {
	free    time.Time // when the next call may start, minus the burst
	waiting waiters
}

// waiter is a caller that waits for its turn at one place.
type waiter struct {
	urgent bool
	turn   uint64
	at     int           // index in the heap
	wake   chan struct{} // holds a signal when it may be first
}

// maxBuckets bounds the remembered places; beyond it idle ones are forgotten.
const maxBuckets = 1000

func newLimiter(clock Clock, every time.Duration, burst int) *limiter {
	return &limiter{clock: clock, every: every, burst: max(burst, 1), places: map[string]*bucket{}}
}

// wait returns when a call to place may start.
func (l *limiter) wait(ctx context.Context, place string, urgent bool) error {
	l.mu.Lock()
	b := l.bucket(place)
	l.turn++
	w := &waiter{urgent: urgent, turn: l.turn, wake: make(chan struct{}, 1)}
	heap.Push(&b.waiting, w)
	defer func() {
		if w.at >= 0 {
			heap.Remove(&b.waiting, w.at)
		}
		if len(b.waiting) > 0 {
			b.waiting[0].signal()
		}
		l.mu.Unlock()
	}()
	for {
		now := l.clock.Now()
		due := b.free.Add(-time.Duration(l.burst-1) * l.every)
		if due.Before(l.paused) {
			due = l.paused
		}
		first := b.waiting[0] == w
		if first && !now.Before(due) {
			if b.free.Before(now) {
				b.free = now
			}
			b.free = b.free.Add(l.every)
			return ctx.Err()
		}
		l.mu.Unlock()
		var err error
		if first {
			err = l.clock.Sleep(ctx, due.Sub(now))
		} else {
			select {
			case <-w.wake:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		l.mu.Lock()
		if err != nil {
			return err
		}
		if b.waiting[0] != w { // a more urgent one came in between
			b.waiting[0].signal()
		}
	}
}

// pause stops calls to a place, or to all if it is empty, for d.
func (l *limiter) pause(place string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.clock.Now().Add(d)
	if place == "" {
		if l.paused.Before(until) {
			l.paused = until
		}
		return
	}
	b := l.bucket(place)
	if until = until.Add(time.Duration(l.burst-1) * l.every); b.free.Before(until) {
		b.free = until
	}
}

// bucket returns the bucket of a place. The caller holds mu.
func (l *limiter) bucket(place string) *bucket {
	b := l.places[place]
	if b == nil {
		l.tidy()
		b = &bucket{}
		l.places[place] = b
	}
	return b
}

// tidy forgets idle places.
func (l *limiter) tidy() {
	if len(l.places) < maxBuckets {
		return
	}
	now := l.clock.Now()
	for name, b := range l.places {
		if len(b.waiting) == 0 && b.free.Before(now) {
			delete(l.places, name)
		}
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// waiters is the heap of callers that wait for one place.
type waiters []*waiter //nolint:recvcheck // required by container/heap

func (h waiters) Len() int { return len(h) }

func (h waiters) Less(i, j int) bool {
	if h[i].urgent != h[j].urgent {
		return h[i].urgent
	}
	return h[i].turn > h[j].turn
}

func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push and Pop implement [container/heap.Interface].
func (h *waiters) Push(x any) {
	w := x.(*waiter) //nolint:errcheck // it holds nothing else
	w.at = len(*h)
	*h = append(*h, w)
}

func (h *waiters) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.at = -1
	return w
}
