package responder

import "time"

// tryOutFor is how long an ask that tries out a place waits for a server that posts there: it may only be starting, with
// the settings that say so.
const tryOutFor = 20 * time.Second

// elsewhere reports whether an ask tries out another surface or another place ([ask.TryOut]), so that this server must not
// post it. The error puts it off for a server with the same type that may yet post there.
func (s *Server) elsewhere(it *Item) (bool, error) {
	typ, place, ok := it.Ask.TriesOut()
	switch {
	case !ok || it.Receipt != nil: // posted, or being posted
		return false, nil
	case typ != s.r.typ:
		return true, nil
	case s.opts.Default != nil && s.opts.Default() == place:
		return false, nil
	case s.opts.Clock.Now().Sub(it.AskedAt) < tryOutFor:
		return false, &LaterError{After: time.Second}
	}
	return true, nil
}
