package responder

import "time"

// Beat sets how often a server says that it lives, before it runs.
func (s *Server) Beat(every time.Duration) { s.beat = every }
