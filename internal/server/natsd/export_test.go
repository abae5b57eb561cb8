package natsd

import (
	"time"

	"github.com/askbus/askbus/internal/bus/servertime"
)

// SetClock makes one of the nodes n1, n2 and n3 find from now on that its clock is
// this far ahead of the others'.
func (s *Server) SetClock(ahead time.Duration) {
	w := s.clock
	w.end()
	now := time.Now()
	for _, node := range []string{"n1", "n2", "n3"} {
		off := time.Duration(0)
		if node == w.node {
			off = ahead
		}
		w.servers.Note(node, servertime.Between(now, now, now.Add(off)))
	}
	w.compare = func() {}
	w.end = startLoop(w.run)
}

// ClockErr says that a node's clock is wrong.
func (s *Server) ClockErr() error { return s.clock.err() }

// Refused returns how many connections were counted that the server refused.
func (s *Server) Refused() int64 { return s.guard.full.total.Load() }
