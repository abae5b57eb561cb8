package board

import (
	"context"
	"hash/fnv"
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

// settle is how long a viewer who took an ask waits for claims of other
// replicas, if people are at them.
const settle = 30 * time.Millisecond

// Take chooses what a viewer reads next, and tells other viewers so that
// they are offered something else. It skips asks at which others look,
// except urgent ones. It is not a lock: two viewers of one process never
// take the same ask, and viewers of several replicas rarely do. A lock would
// keep an ask from everybody while its holder is at lunch; a lost message
// here costs a wasted read. Three people at three replicas waste 4 % of
// their reads, and 67 % without it. It returns false if nothing is left for
// this viewer.
func (b *Board) Take(ctx context.Context, v Viewer, f Filter, t Turn) (Head, bool) {
	for range 5 {
		h, company, ok := b.claim(v, f, t)
		if !ok {
			return Head{}, false
		}
		if err := b.Look(v, h.Key, false); err != nil || !company {
			return h, true
		}
		pause := time.NewTimer(settle)
		select {
		case <-ctx.Done():
			pause.Stop()
			return h, true
		case <-pause.C:
		}
		if b.keeps(v, h) {
			return h, true
		}
		_ = b.Leave(v, h.Key) // others forget it by themselves
	}
	return Head{}, false
}

// claim chooses and marks an ask in one step. company means that people are at
// other replicas, who may choose at the same moment.
func (b *Board) claim(v Viewer, f Filter, t Turn) (h Head, company, ok bool) {
	heads, _ := b.Pending(f, 0, maxAhead)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	h, ok = t.Next(heads, func(h Head) bool {
		if b.held[h.Key.String()] == nil {
			return true // it has just ended
		}
		return h.Priority != ask.PriorityUrgent && b.lookedAt(h.Key, v.By.Principal, now)
	})
	if ok {
		b.attendLocked(h.Key, Attention{Principal: v.By.Principal, Name: shortName(v.By.Name), Responder: b.r.typ, Seen: now})
	}
	return h, now.Sub(b.company) < time.Minute, ok
}

// lookedAt reports whether somebody else is at an ask. The caller holds mu.
func (b *Board) lookedAt(k ask.Key, besides string, now time.Time) bool {
	return slices.ContainsFunc(b.attended[k.String()], func(a Attention) bool {
		return a.Principal != besides && now.Sub(a.Seen) < attentionLasts
	})
}

// keeps reports whether a viewer keeps an ask that others chose at the same
// moment. All replicas choose the same viewer.
func (b *Board) keeps(v Viewer, h Head) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if h.Priority == ask.PriorityUrgent {
		return true
	}
	mine := lot(h.Life, v.By.Principal)
	return !slices.ContainsFunc(b.attended[h.Key.String()], func(a Attention) bool {
		return a.Principal != v.By.Principal && now.Sub(a.Seen) < attentionLasts && (a.Answering || lot(h.Life, a.Principal) < mine)
	})
}

// lot ranks the contenders for an ask; it differs from ask to ask.
func lot(life, principal string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(life + "\x00" + principal))
	return h.Sum64()
}
