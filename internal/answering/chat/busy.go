package chat

import "net/http"

// Busy bounds what a surface handles at once. Make it with that number of places.
type Busy chan struct{}

// Begin takes a place, which [Busy.End] gives back; ok is false if there is none.
func (b Busy) Begin() (ok bool) {
	select {
	case b <- struct{}{}:
		return true
	default:
		return false
	}
}

// Admit is Begin for a call, which it answers if there is no place: the platform sends it again.
func (b Busy) Admit(w http.ResponseWriter) (ok bool) {
	if ok = b.Begin(); !ok {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many at once", http.StatusServiceUnavailable)
	}
	return ok
}

// End gives a place back.
func (b Busy) End() { <-b }
