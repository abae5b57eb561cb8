package web

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// lookedWithin is for how long somebody counts as present at a hidden tab that
// may not notify them.
const lookedWithin = 15 * time.Minute

// staying is for how long a stream counts as somebody who is present: always
// while its tab is shown, or is hidden and may notify; else for 15 minutes after
// it was last looked at. A tab says so when it connects, and connects again when
// that changes, so that any replica knows.
func staying(r *http.Request, now time.Time) time.Duration {
	q := r.URL.Query()
	if q.Get("hidden") != "1" || q.Get("notify") == "1" {
		return math.MaxInt64
	}
	looked, err := strconv.ParseInt(q.Get("looked"), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(time.Unix(looked, 0).Add(lookedWithin).Sub(now), 0), lookedWithin)
}
