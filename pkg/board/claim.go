package board

import (
	"context"
	"crypto/rand"
	"hash/fnv"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// claim is an ask that a viewer has chosen, until it is known whether others
// were at it before.
type claim struct {
	h       Head
	by      string
	decided chan bool // holds one value: whether the viewer keeps it
}

// echoLimit is how long [Board.Take] waits for the bus in all.
const echoLimit = 2 * time.Second

// Take chooses what a viewer reads next, and tells other viewers so that
// they are offered something else. It skips asks at which others look,
// except urgent ones, and returns false if nothing is left for this viewer.
//
// Two viewers of one process never take the same ask, and neither do viewers of
// several processes at one server: each publishes its claim and then a mark, and
// keeps the ask if it hears its mark before a claim of anybody else. A server
// passes a publisher's messages on one after the other, to everybody, so of two
// claims at least one is heard in front of the other's mark. Sometimes both are;
// then both viewers leave the ask, which offers it again.
//
// It is not a lock: that would keep an ask from everybody while its holder is at
// lunch. Servers of a cluster do not order the messages of each other's clients:
// there a viewer also waits 30 ms for claims that are under way, and a lot decides
// between them, so that two people rarely read the same ask. And if the bus is
// slower than 2 s, a viewer keeps what nobody else is known to read.
func (b *Board) Take(ctx context.Context, v Viewer, f Filter, t Turn) (Head, bool) {
	waiting, cancel := context.WithTimeout(ctx, b.echoLimit)
	defer cancel()
	for range maxAttentive {
		c, mark, ok := b.claim(v, f, t)
		if !ok {
			return Head{}, false
		}
		kept := b.settle(waiting, v, c, mark)
		if kept && ctx.Err() == nil {
			return c.h, true
		}
		_ = b.Leave(v, c.h.Key) // others forget it by themselves
		if ctx.Err() != nil {
			return Head{}, false
		}
	}
	return Head{}, false
}

// claim chooses and marks an ask in one step, so that no other viewer of this
// board chooses it.
func (b *Board) claim(v Viewer, f Filter, t Turn) (c *claim, mark string, ok bool) {
	heads, _ := b.Pending(f, 0, maxAhead)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	h, ok := t.Next(heads, func(h Head) bool {
		if b.held[h.Key.String()] == nil {
			return true // it has just ended
		}
		return h.Priority != ask.PriorityUrgent && b.lookedAt(h.Key, v.By.Principal, now)
	})
	if !ok {
		return nil, "", false
	}
	b.attendLocked(h.Key, Attention{Principal: v.By.Principal, Name: shortName(v.By.Name), From: b.id, Responder: b.r.typ, Seen: now})
	c, mark = &claim{h, v.By.Principal, make(chan bool, 1)}, rand.Text()[:10]
	b.claims[mark] = c
	return c, mark, true
}

// settle tells others of a claim and reports whether the viewer keeps it.
func (b *Board) settle(ctx context.Context, v Viewer, c *claim, mark string) bool {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.claims, mark)
	}()
	err := b.Look(v, c.h.Key, false)
	if c.h.Priority == ask.PriorityUrgent {
		return true // it is offered to everybody
	}
	if err == nil {
		err = b.attention(c.h.Key, Attention{Principal: v.By.Principal, Name: shortName(v.By.Name), Mark: mark})
	}
	if err == nil && b.r.nc.IsConnected() {
		select {
		case kept := <-c.decided:
			if b.r.nc.ConnectedClusterName() == "" {
				return kept
			}
			return b.outrank(ctx, c)
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alone(c)
}

// routed is how long a claim may take from one server of a cluster to another, and another claim back.
const routed = 30 * time.Millisecond

// outrank decides a claim in a cluster, whose servers do not order each other's messages: two people who choose at the
// same moment hear each other's claim after their own marks, and the one with the lower lot keeps the ask.
func (b *Board) outrank(ctx context.Context, c *claim) bool {
	pause := time.NewTimer(routed)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-pause.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first(c)
}

// first reports whether the ask of a claim is pending, and everybody else at it has a higher lot and has not begun to
// answer. The caller holds mu.
func (b *Board) first(c *claim) bool {
	h, now, mine := b.held[c.h.Key.String()], time.Now(), lot(c.h.Life, c.by)
	return h != nil && h.life == c.h.Life && !slices.ContainsFunc(b.attended[h.key], func(a Attention) bool {
		return a.Principal != c.by && now.Sub(a.Seen) < attentionLasts && (a.Answering || lot(h.life, a.Principal) < mine)
	})
}

// lot ranks the contenders for an ask; it differs from ask to ask.
func lot(life, principal string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(life + "\x00" + principal))
	return h.Sum64()
}

// echoed decides a claim when its mark is heard.
func (b *Board) echoed(k ask.Key, mark string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.claims[mark]; c != nil && c.h.Key == k {
		delete(b.claims, mark)
		c.decided <- b.alone(c)
	}
}

// alone reports whether the ask of a claim is pending and nobody else is known
// to be at it. The caller holds mu.
func (b *Board) alone(c *claim) bool {
	h := b.held[c.h.Key.String()]
	return h != nil && h.life == c.h.Life && !b.lookedAt(c.h.Key, c.by, time.Now())
}

// lookedAt reports whether somebody else is at an ask, or is expected to read it in a chat. The caller holds mu.
func (b *Board) lookedAt(k ask.Key, besides string, now time.Time) bool {
	return b.readers.expected(k.String(), besides, now) || slices.ContainsFunc(b.attended[k.String()], func(a Attention) bool {
		return a.Principal != besides && now.Sub(a.Seen) < attentionLasts
	})
}
