package ratelimit

import "time"

// eachKeys bounds what an [Each] remembers.
const eachKeys = 1 << 14

// Each counts by key per minute, like [PerMinute], but allows keys that it
// cannot remember: a flood of keys must not keep everybody else out. It is not
// safe for concurrent use. The zero value allows nothing.
type Each[K comparable] struct {
	Most int // per key and minute

	began time.Time
	count map[K]int
}

// Take counts one for a key, and reports whether it is allowed.
func (e *Each[K]) Take(k K, now time.Time) bool {
	if e.count == nil || now.Sub(e.began) >= time.Minute {
		e.began, e.count = now, map[K]int{}
	}
	n := e.count[k]
	if n >= e.Most {
		return false
	}
	if n > 0 || len(e.count) < eachKeys {
		e.count[k] = n + 1
	}
	return true
}
