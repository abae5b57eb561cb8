package ratelimit_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
)

func TestASteadyRateRefills(t *testing.T) {
	t.Parallel()
	l, now := ratelimit.NewSteady(10, 10), time.Unix(0, 0)
	take := func(after time.Duration, want int) {
		t.Helper()
		now = now.Add(after)
		got := 0
		for range 100 {
			if l.Take(now) {
				got++
			}
		}
		if got != want {
			t.Errorf("after %s: %d allowed, want %d", after, got, want)
		}
	}
	take(0, 10)
	take(0, 0)
	take(300*time.Millisecond, 3)
	take(time.Hour, 10)          // never more than a second's
	take(-30*time.Minute, 0)     // a clock that goes back allows nothing
	take(29*time.Minute, 0)      // nor does the way back
	take(2*time.Minute, 10)      // and it goes on afterwards
	take(50*time.Millisecond, 0) // half of one is none
	take(50*time.Millisecond, 1) // and is kept
}
