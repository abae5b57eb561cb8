// Package backoff waits between the tries of something that may succeed later:
// longer with every try, with jitter, so that many who wait do not come back at
// once. It decides nothing about whether to try again.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// doublings bounds how long a wait gets: 32 times the first.
const doublings = 5

// Wait waits about first after try 0, twice as long after each further one, up
// to 32 times as long. It returns the error of ctx when that ends first.
func Wait(ctx context.Context, first time.Duration, try int) error {
	t := time.NewTimer(Delay(first, try))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Delay is how long [Wait] waits: from half to one and a half of the doubled
// first.
func Delay(first time.Duration, try int) time.Duration {
	d := first << min(max(try, 0), doublings)
	return d/2 + rand.N(d) //nolint:gosec // jitter
}
