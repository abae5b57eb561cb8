package client

import "time"

// CheckEvery changes how often a wait asks the broker.
func (c *Client) CheckEvery(d time.Duration) { c.pace.every = d }

// Hurry shortens how long a check goes on, and how soon one follows that failed.
func (c *Client) Hurry(limit, retry time.Duration) { c.pace.limit, c.pace.retry = limit, retry }

// Clock replaces the client's clock.
func (c *Client) Clock(now func() time.Time) { c.pace.now = now }

// Held is how many waits, remembered asks, and checks and calls under way the client has.
func (c *Client) Held() (waits, asked, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range c.waits {
		waits += len(set)
	}
	return waits, len(c.asked), len(c.checks) + len(c.calls)
}

// How many are under way at most.
const (
	MaxChecks = maxChecks
	MaxCalls  = maxCalls
)
