package ratelimit_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/ratelimit"
)

func TestEachKeyHasItsMinuteHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	e, now := ratelimit.Each[int]{Most: 2}, time.Unix(0, 0)
	for i, want := range []bool{true, true, false, false} {
		if got := e.Take(7, now.Add(time.Duration(i)*time.Second)); got != want {
			t.Errorf("use %d: %v, want %v", i, got, want)
		}
	}
	for k := range 100_000 {
		if !e.Take(100+k, now) {
			t.Fatalf("key %d is refused because of others", k)
		}
	}
	if e.Take(7, now) {
		t.Error("many keys made it forget one")
	}
	if !e.Take(7, now.Add(time.Minute)) {
		t.Error("it is refused in the next minute")
	}
}
