package ratelimit

import (
	"sync"
	"time"
)

// Steady counts what all callers together do. Unlike [PerMinute] it refills
// steadily: the first callers of a minute do not use up the rest of it. Unlike
// golang.org/x/time/rate it allows nothing for a time that passes twice, after
// the clock was set back. It is safe for concurrent use.
type Steady struct {
	rate, most float64

	mu   sync.Mutex
	left float64
	at   time.Time
}

// NewSteady makes a counter that allows rate per second, and atOnce after a
// pause.
func NewSteady(rate float64, atOnce int) *Steady {
	return &Steady{rate: rate, most: float64(atOnce), left: float64(atOnce)}
}

// Take counts one, and reports whether it is allowed.
func (l *Steady) Take(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if passed := now.Sub(l.at); !l.at.IsZero() && passed > 0 {
		l.left = min(l.most, l.left+passed.Seconds()*l.rate)
	}
	if now.After(l.at) {
		l.at = now
	}
	if l.left < 1 {
		return false
	}
	l.left--
	return true
}
