// Package ratelimit counts callers' actions per minute. It remembers a bounded
// number of callers.
package ratelimit

import (
	"sync"
	"time"
)

// maxKeys bounds the remembered keys; beyond it, all are forgotten once a
// minute, as usual.
const maxKeys = 1 << 14

// PerMinute counts by key. It is safe for concurrent use.
type PerMinute struct {
	most int
	open bool // keys that cannot be remembered are allowed

	mu    sync.Mutex
	began time.Time
	count map[string]int
}

// New makes a counter that allows each key this many per minute.
func New(most int) *PerMinute { return &PerMinute{most: most} }

// NewOpen makes a counter that allows keys that it cannot remember: a flood of
// keys must not keep everybody else out. Something else has to bound them all.
func NewOpen(most int) *PerMinute { return &PerMinute{most: most, open: true} }

// Take counts one for a key, and reports whether it is allowed.
func (l *PerMinute) Take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	if l.full(key) {
		return false
	}
	if l.count[key] > 0 || len(l.count) < maxKeys {
		l.count[key]++
	}
	return true
}

// Full reports whether a key has used up its minute, without counting.
func (l *PerMinute) Full(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	return l.full(key)
}

func (l *PerMinute) turn(now time.Time) {
	if l.count == nil || now.Sub(l.began).Abs() >= time.Minute {
		l.began, l.count = now, map[string]int{}
	}
}

func (l *PerMinute) full(key string) bool {
	return l.count[key] >= l.most || !l.open && l.count[key] == 0 && len(l.count) >= maxKeys
}
