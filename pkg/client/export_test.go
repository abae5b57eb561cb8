package client

import "time"

// CheckEvery changes how often a wait asks the broker.
func (c *Client) CheckEvery(d time.Duration) { c.pace.every = d }

// Hurry shortens how long a check goes on, and how soon one follows that failed.
func (c *Client) Hurry(limit, retry time.Duration) { c.pace.limit, c.pace.retry = limit, retry }

// AliveEvery changes how often brokers are asked whether they run.
func (c *Client) AliveEvery(d time.Duration) { c.pace.alive = d }

// Clock replaces the client's clock.
func (c *Client) Clock(now func() time.Time) { c.pace.now = now }

// Held is how many waits, watched sessions, and checks and calls under way the client has.
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

// How many are under way at most.
const (
	MaxChecks = maxChecks
	MaxCalls  = maxCalls
)
