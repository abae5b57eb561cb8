package fakeslack

import (
	"math"
	"time"
)

// bucket is a token bucket.
type bucket struct {
	left  float64
	burst float64
	rate  float64 // per second
	at    time.Time
}

// take uses one token, or returns how long to wait for the next.
func (b *bucket) take(now time.Time) time.Duration {
	b.left = min(b.burst, b.left+now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	if b.left >= 1 {
		b.left--
		return 0
	}
	return time.Duration(math.Ceil((1 - b.left) / b.rate * float64(time.Second)))
}

// overLimit returns how long a call must wait: one message per second per channel with a small
// burst and some hundreds per minute for the workspace, and for every other method its tier. The
// caller holds the lock.
func (s *Server) overLimit(name string, m method, a args) time.Duration {
	now := s.opts.Clock.Now()
	if until := s.throttled[name]; now.Before(until) {
		return until.Sub(now)
	}
	switch {
	case s.opts.NoLimits:
		return 0
	case name == "chat.postMessage":
		return max(s.take(name+" "+a.text("channel"), 5, 1, now), s.take(name, 100, 300.0/60, now))
	case m.perM > 0:
		return s.take(name, float64(m.perM), float64(m.perM)/60, now)
	}
	return 0
}

func (s *Server) take(key string, burst, rate float64, now time.Time) time.Duration {
	b, ok := s.buckets[key]
	if !ok {
		b = &bucket{burst, burst, rate, now}
		s.buckets[key] = b
	}
	return b.take(now)
}

// Throttle refuses a method with 429 for d, whatever its tier.
func (s *Server) Throttle(method string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.throttled[method] = s.opts.Clock.Now().Add(d)
}
