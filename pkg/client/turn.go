package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// maxCalls bounds the concurrent calls of a client. Of ten thousand at once on
// a busy machine nearly all timed out and were repeated; with this bound all
// were answered.
const maxCalls = 128

// turn waits for a slot, for as long as other calls get replies. On success the
// caller must call done.
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
				return fmt.Errorf("none of %d calls was answered: %w", maxCalls, ask.ErrUnavailable)
			}
		}
	}
}

// done releases the slot.
func (c *Client) done(err error) {
	if _, refused := errors.AsType[*ask.Error](err); err == nil || refused && !errors.Is(err, ask.ErrUnavailable) {
		c.answered.Add(1)
	}
	<-c.calls
}
