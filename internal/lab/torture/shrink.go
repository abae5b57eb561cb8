package torture

import (
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Shrink returns a shorter history that breaks the same promise for the same ask: first only the
// events of that id, and what was said about who stands in if that matters, then ever fewer of them. It stops at the deadline.
func Shrink(events []Event, v Violation, lim Limits, until time.Time) []Event {
	left := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Key != v.Key && (e.Away == nil || v.Rule != StandIn) })
	broken := func(h []Event) bool {
		return slices.ContainsFunc(Check(h, lim), func(w Violation) bool {
			return w.Rule == v.Rule && w.Key == v.Key && w.Life == v.Life && w.Text == v.Text
		})
	}
	if !broken(left) {
		return v.Events
	}
	// Try to remove halves, quarters, … single events.
	for size := max(1, len(left)/2); ; size /= 2 {
		for at := len(left) - size; at >= 0 && time.Now().Before(until); at -= size {
			if h := slices.Delete(slices.Clone(left), at, at+size); keepsAsk(h, v) && broken(h) {
				left = h
			}
			at = min(at, len(left))
		}
		if size == 1 {
			break
		}
	}
	if v.Rule == StandIn { // without what was said about them nobody can tell why
		for _, e := range events {
			if a := e.Away; a != nil && strings.Contains(v.Text, a.By) && strings.Contains(v.Text, a.Absent) {
				left = append(left, e)
			}
		}
	}
	slices.SortStableFunc(left, func(a, b Event) int { return int(a.Told - b.Told) })
	return left
}

// keepsAsk checks that a shorter history still contains the ask: otherwise every outcome would
// belong to an unknown question.
func keepsAsk(h []Event, v Violation) bool {
	return slices.ContainsFunc(h, func(e Event) bool { return (e.Op == OpAsk || e.Op == OpBegun) && e.Life == v.Life }) ||
		v.Key == (ask.Key{})
}
