// Package backoff waits between attempts at something: longer after each
// attempt, with jitter, so that many callers do not retry at the same time. It
// does not decide whether to retry.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// doublings bounds the wait: 32 times the first.
const doublings = 5

// Wait waits about first after attempt 0 and twice as long after each further
// one, up to 32 times first. It returns the error of ctx if that ends first.
func Wait(ctx context.Context, first time.Duration, try int) error {
	return Sleep(ctx, Delay(first, try))
}

// Sleep returns after d, or with the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Delay returns how long [Wait] waits: between half and one and a half times
// the doubled first.
func Delay(first time.Duration, try int) time.Duration {
	d := first << min(max(try, 0), doublings)
	return d/2 + rand.N(d) //nolint:gosec // jitter
}
