package web

import (
	"math"
	"net/http/httptest"
	"testing"
	"time"
)

func TestAHiddenTabStaysForAWhile(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for query, want := range map[string]time.Duration{
		"":                                  math.MaxInt64,
		"?hidden=0":                         math.MaxInt64,
		"?hidden=1&notify=1":                math.MaxInt64,
		"?hidden=1&notify=0&looked=1000000": 15 * time.Minute,
		"?hidden=1&notify=0&looked=999400":  5 * time.Minute,
		"?hidden=1&notify=0&looked=1":       0,
		"?hidden=1&notify=0&looked=2000000": 15 * time.Minute, // its clock is wrong
		"?hidden=1":                         0,
		"?hidden=1&looked=x":                0,
	} {
		if got := staying(httptest.NewRequest("GET", "/events"+query, nil), now); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}
