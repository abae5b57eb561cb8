package chattest

import (
	"context"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/responder"
)

// Clock is a time that only the test moves: a sleep ends when that time has come. It is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	moved chan struct{}
	slept map[time.Duration]int
}

// NewClock returns a clock that shows a time.
func NewClock(now time.Time) *Clock {
	return &Clock{now: now, moved: make(chan struct{}), slept: map[time.Duration]int{}}
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	close(c.moved)
	c.moved = make(chan struct{})
}

// Slept returns how many sleeps of a length have begun.
func (c *Clock) Slept(d time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slept[d]
}

// Sleep waits until the time has moved by d.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.slept[d]++
	until := c.now.Add(d)
	for c.now.Before(until) {
		moved := c.moved
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
		c.mu.Lock()
	}
	c.mu.Unlock()
	return ctx.Err()
}

// ahead is the system's clock, some minutes ahead.
type ahead struct{ responder.Clock }

func (a ahead) Now() time.Time { return a.Clock.Now().Add(2 * time.Minute) }

// DigestDue returns the setting of a weekly digest that counts what has happened until now, and a clock by which it is due.
func DigestDue() (setting string, clock responder.Clock) {
	return time.Now().UTC().Add(time.Minute).Format("Monday 15:04"), ahead{responder.WallClock()}
}

// Marked is the name of an agent that chats must show as text.
const Marked = "<!channel> @everyone **b** <@U0TOM>"

// AskMarked makes an ask of an agent with this name.
func (w *World) AskMarked(id string) {
	w.T.Helper()
	a := Choice(id, "Which database?")
	a.Agent.Name = Marked
	w.Ask(a)
}
