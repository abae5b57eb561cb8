package client

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// asked is an ask of this client that nobody waits for yet. The client has
// listened since before it was asked and has heard no outcome, so a Wait that
// follows need not ask the broker first.
type asked struct {
	pending  bool // the broker has said so
	deadline time.Time
}

// maxAsked bounds what is remembered for a Wait that may never come; beyond,
// Wait asks the broker.
const maxAsked = 1024

// asking begins to listen for the outcome of an ask that is about to be sent.
// Failing to is no reason not to ask.
func (c *Client) asking(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.asked) >= maxAsked && c.asked[id] == nil || c.subscribe() != nil {
		return
	}
	c.asked[id] = &asked{}
}

// wasAsked notes what the broker said of it; a nil status means that it failed.
func (c *Client) wasAsked(id string, s *Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.asked[id]
	switch {
	case a == nil:
	case s == nil || s.State != ask.StatePending:
		delete(c.asked, id)
	default:
		a.pending, a.deadline = true, s.Deadline
	}
}

// takeAsked gives what is known of an ask to its Wait: pending until deadline.
// It is not ok when the broker must be asked.
func (c *Client) takeAsked(id string) (deadline time.Time, ok bool) {
	a := c.asked[id]
	delete(c.asked, id)
	if a == nil || !a.pending {
		return time.Time{}, false
	}
	return a.deadline, true
}

// forgetAsked makes every Wait to come ask the broker: something may have been
// missed. The caller holds mu.
func (c *Client) forgetAsked() { clear(c.asked) }
