package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// maxCalls is how many calls of a client are under way at a time. Of ten
// thousand at once on a busy machine nearly all ran out of time, and were
// repeated meanwhile; one after the other all were answered.
const maxCalls = 128

// turn waits until there is a place for a call, for as long as others get
// replies. The caller that got it calls done.
func (c *Client) turn(ctx context.Context) error {
	select {
	case c.calls <- struct{}{}:
		return nil
	default:
	}
	for {
		answered := c.answered.Load()
		t := time.NewTimer(c.pace.limit)
		select {
		case c.calls <- struct{}{}:
			t.Stop()
			return nil
		case <-ctx.Done():
			t.Stop()
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return context.Canceled
			}
			return fmt.Errorf("%d calls are under way: %w: %w", maxCalls, ask.ErrUnavailable, ctx.Err())
		case <-t.C:
			if c.answered.Load() == answered {
				return fmt.Errorf("none of %d calls is answered: %w", maxCalls, ask.ErrUnavailable)
			}
		}
	}
}

// done gives a place back.
func (c *Client) done(err error) {
	if _, refused := errors.AsType[*ask.Error](err); err == nil || refused && !errors.Is(err, ask.ErrUnavailable) {
		c.answered.Add(1)
	}
	<-c.calls
}
