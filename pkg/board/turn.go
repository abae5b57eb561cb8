package board

import (
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Turn is a viewer's position in a queue.
type Turn struct {
	// After is the ask that was in focus: the next one below it is wanted, and
	// none at the end. Zero: from the top.
	After ask.Key
	// Since is when that ask was put in focus: urgent asks that came since then
	// go first. From the top, only asks since then are wanted.
	Since time.Time
}

// Next chooses the next ask to read from heads in queue order, skipping those
// that busy reports.
func (t Turn) Next(heads []Head, busy func(Head) bool) (Head, bool) {
	free := func(h Head) bool { return h.Key != t.After && !busy(h) }
	if t.After == (ask.Key{}) {
		at := slices.IndexFunc(heads, func(h Head) bool { return h.AskedAt.After(t.Since) && free(h) })
		return pick(heads, at)
	}
	if !t.Since.IsZero() {
		if at := slices.IndexFunc(heads, func(h Head) bool {
			return h.Priority == ask.PriorityUrgent && h.AskedAt.After(t.Since) && free(h)
		}); at >= 0 {
			return heads[at], true
		}
	}
	from := slices.IndexFunc(heads, func(h Head) bool { return h.Key == t.After }) + 1
	at := slices.IndexFunc(heads[from:], free)
	if at >= 0 {
		at += from
	}
	return pick(heads, at)
}

func pick(heads []Head, at int) (Head, bool) {
	if at < 0 {
		return Head{}, false
	}
	return heads[at], true
}

// maxAhead bounds how far down the queue the next ask is searched.
const maxAhead = 10_000
