package fakeslack

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
)

// Clock is the time source of a workspace. [Wall] is the real one.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Wall is the machine's clock. With a Speed of 60 a minute of Slack passes in a second; zero means
// 1.
type Wall struct{ Speed float64 }

func (w Wall) speed() float64 {
	if w.Speed <= 0 {
		return 1
	}
	return w.Speed
}

// Now returns the time since 1970 at the clock's speed.
func (w Wall) Now() time.Time {
	now := time.Now()
	if w.speed() == 1 {
		return now
	}
	return wallStart.Add(time.Duration(float64(now.Sub(wallStart)) * w.speed()))
}

// Sleep returns after d at the clock's speed, or with the error of ctx if it ends first.
func (w Wall) Sleep(ctx context.Context, d time.Duration) error {
	return backoff.Sleep(ctx, time.Duration(float64(d)/w.speed()))
}

// AfterFunc is [time.AfterFunc] at the clock's speed.
func (w Wall) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(time.Duration(float64(d)/w.speed()), f).Stop
}

var wallStart = time.Now() //nolint:gochecknoglobals // the moment from which a faster clock counts

// Hand is a clock that moves only by [Hand.Advance].
type Hand struct {
	mu     sync.Mutex
	now    time.Time
	timers []*handTimer
}

type handTimer struct {
	at time.Time
	f  func()
}

// NewHand returns a clock that shows at.
func NewHand(at time.Time) *Hand { return &Hand{now: at} }

// Now returns the clock's time.
func (h *Hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// AfterFunc calls f during [Hand.Advance].
func (h *Hand) AfterFunc(d time.Duration, f func()) func() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &handTimer{h.now.Add(d), f}
	h.timers = append(h.timers, t)
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		before := len(h.timers)
		h.timers = slices.DeleteFunc(h.timers, func(other *handTimer) bool { return other == t })
		return len(h.timers) < before
	}
}

// Advance moves the clock and calls the functions that are due, the earliest first. It returns when
// all have returned.
func (h *Hand) Advance(d time.Duration) {
	h.mu.Lock()
	until := h.now.Add(d)
	h.mu.Unlock()
	for {
		h.mu.Lock()
		slices.SortStableFunc(h.timers, func(a, b *handTimer) int { return a.at.Compare(b.at) })
		if len(h.timers) == 0 || h.timers[0].at.After(until) {
			h.now = until
			h.mu.Unlock()
			return
		}
		next := h.timers[0]
		h.timers, h.now = h.timers[1:], next.at
		h.mu.Unlock()
		next.f()
	}
}
