package web

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// lookedWithin is how long a person counts as present after looking at a tab
// that is now hidden and may not notify.
const lookedWithin = 15 * time.Minute

// staying returns how long a stream counts as a present person: always while
// its tab is visible, or hidden with notifications allowed; else for 15 minutes
// after the person last looked at it. A tab sends its state when it connects
// and reconnects when the state changes, so that any replica knows it.
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
