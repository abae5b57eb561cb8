package httpserver

// Connections returns how many connections are open, and how many of them are unidentified.
func (s *Server) Connections() (open, unidentified int) {
	s.ln.mu.Lock()
	defer s.ln.mu.Unlock()
	return s.ln.total, s.ln.unknown.Len()
}
