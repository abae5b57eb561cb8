package client

import (
	"testing"
	"time"
)

// A clock that is an hour off makes a wait neither spin nor sleep long.
func TestNextCheckWithAWrongClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	p := pace{every: checkEvery, now: func() time.Time { return now }}
	for name, deadline := range map[string]time.Time{
		"right": now.Add(time.Minute), "the clock is an hour slow": now.Add(time.Hour), "the clock is an hour fast": now.Add(-time.Hour),
		"an unknown deadline": {}, "just past": now.Add(-time.Second),
	} {
		if d := p.next(deadline); d < checkEvery || d > checkEvery*5/4 {
			t.Errorf("%s: checks in %s", name, d)
		}
	}
	if d := p.next(now.Add(2 * time.Second)); d != 3*time.Second {
		t.Errorf("near its deadline: checks in %s", d)
	}
}
