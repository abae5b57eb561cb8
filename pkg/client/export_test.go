package client

import "time"

// CheckEvery changes how often a wait checks with the broker.
func (c *Client) CheckEvery(d time.Duration) { c.pace.every = d }

// ShortenChecks shortens the timeout of a check and the delay after a failed one.
func (c *Client) ShortenChecks(limit, retry time.Duration) { c.pace.limit, c.pace.retry = limit, retry }

// AliveEvery changes how often the client checks that the brokers run.
func (c *Client) AliveEvery(d time.Duration) { c.pace.alive = d }

// Linger changes how long the subscription of a session stays that nothing needs.
func (c *Client) Linger(d time.Duration) { c.pace.linger = d }

// Unused changes for how long AskToWait listens for a Wait.
func (c *Client) Unused(d time.Duration) { c.pace.unused = d }

// Sessions changes how many sessions may have open waits.
func (c *Client) Sessions(n int) { c.pace.sessions = n }

// Clock replaces the client's clock.
func (c *Client) Clock(now func() time.Time) { c.pace.now = now }

// Held returns how many waits, watched sessions, and running checks and calls
// the client has.
func (c *Client) Held() (waits, sessions, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watchers {
		for _, set := range w.waits {
			waits += len(set)
		}
	}
	return waits, len(c.watchers), len(c.checks) + len(c.calls)
}

// The bounds of running checks and calls.
const (
	MaxChecks = maxChecks
	MaxCalls  = maxCalls
)
