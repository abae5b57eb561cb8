// Package ratelimit counts callers' actions per minute. It remembers a bounded
// number of callers.
package ratelimit

import (
	"sync"
	"time"
)

// maxKeys bounds the remembered keys; beyond it, all are forgotten once a
// minute, as usual.
const maxKeys = 4096

// PerMinute counts by key. It is safe for concurrent use.
type PerMinute struct {
	most int

	mu    sync.Mutex
	began time.Time
	count map[string]int
}

// New makes a counter that allows each key this many per minute.
func New(most int) *PerMinute { return &PerMinute{most: most} }

// Take counts one for a key, and reports whether it is allowed.
func (l *PerMinute) Take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	if l.full(key) {
		return false
	}
	l.count[key]++
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
	if l.count == nil || now.Sub(l.began) >= time.Minute {
		l.began, l.count = now, map[string]int{}
	}
}

func (l *PerMinute) full(key string) bool {
	return l.count[key] >= l.most || l.count[key] == 0 && len(l.count) >= maxKeys
}
