package board

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of what a board knows of the readers of chats.
const (
	readsFor    = time.Minute      // after something that they did there
	readsWithin = 15 * time.Second // of when they were expected to begin
	maxReaders  = 200
	maxPosting  = 10_000 // sessions whose place is known, and places
	maxSpots    = 4      // chats that show one session
	maxNewest   = 32     // asks of a place that are remembered
)

// PostedAt tells boards once that a chat shows an ask at a place, such as a channel, of which they learn a hash. Who
// decides an ask there is expected to read the newest one at the same place next.
func PostedAt(r *responder.Responder, k ask.Key, place string) error {
	sum := sha256.Sum256([]byte(r.Type() + "\x00" + place))
	return tell(r, k, Attention{Posted: hex.EncodeToString(sum[:8])})
}

// spot is where a chat shows asks.
type spot struct{ typ, place string }

// readers is who is active in chats, and what they are expected to read there: a chat does not say who reads. A person who
// wrote or decided something there within a minute is expected at the newest ask of that place, for 15 s at most. Nobody
// is shown this, and anybody can still open the ask: [Board.Take] only offers them something else. The asks of a session
// are expected where its last one was posted, so that others are not offered one before its card is there. The board's
// lock guards it.
type readers struct {
	spots  map[string][]spot // by tenant/session
	newest map[spot][]string // keys of asks, the newest last
	all    map[reading]*reader
}

// reading is a person at a place.
type reading struct {
	at        spot
	principal string
}

// reader is what a person is expected to do there.
type reader struct {
	acted time.Time
	on    string    // the ask that they act on; empty, or ended: none
	next  string    // the ask that they are expected to read
	until time.Time // of next
}

func newReaders() *readers {
	return &readers{spots: map[string][]spot{}, newest: map[spot][]string{}, all: map[reading]*reader{}}
}

func sessionOf(key string) string { return key[:max(0, strings.LastIndexByte(key, '/'))] }

// posted notes where a chat shows an ask.
func (b *Board) posted(k ask.Key, a Attention) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, key := b.readers, k.String()
	session, at := sessionOf(key), spot{a.Responder, a.Posted}
	if len(r.spots) >= maxPosting || len(r.newest) >= maxPosting {
		clear(r.spots)
		clear(r.newest)
	}
	others := slices.DeleteFunc(slices.Clone(r.spots[session]), func(s spot) bool { return s.typ == at.typ })
	r.spots[session] = append(others[max(0, len(others)-maxSpots+1):], at)
	r.shows(b, at, key, a.Seen)
}

// asked notes a new ask where its session's last one was posted.
func (r *readers) asked(b *Board, h *head, now time.Time) {
	for _, at := range r.spots[sessionOf(h.key)] {
		r.shows(b, at, h.key, now)
	}
}

// shows has the idle readers of a place expected at an ask that is new there.
func (r *readers) shows(b *Board, at spot, key string, now time.Time) {
	list := r.newest[at]
	if slices.Contains(list, key) {
		return
	}
	r.newest[at] = append(slices.Clone(list[max(0, len(list)-maxNewest+1):]), key)
	for who, one := range r.all {
		if who.at == at && b.held[one.on] == nil && b.held[one.next] == nil {
			r.expect(b, who, one, now)
		}
	}
}

// acted notes that somebody did something with a pending ask in a chat.
func (r *readers) acted(b *Board, h *head, typ, principal string, now time.Time) {
	for _, at := range r.spots[sessionOf(h.key)] {
		if at.typ == typ {
			one := r.reader(reading{at, principal})
			one.acted, one.on = now, h.key
			if one.next != h.key {
				r.release(b, one)
			}
		}
	}
}

// ended has who decided an ask in a chat, and who was expected to read it, expected at the next one.
func (r *readers) ended(b *Board, h *head, o *ask.Outcome, now time.Time) {
	if o != nil && o.By != nil && now.Sub(o.At) < readsFor {
		for _, at := range r.spots[sessionOf(h.key)] {
			if at.typ == o.By.Responder {
				one := r.reader(reading{at, o.By.Principal})
				one.acted, one.on = now, h.key
			}
		}
	}
	for who, one := range r.all {
		if one.on == h.key || one.next == h.key {
			r.expect(b, who, one, now)
		}
	}
}

func (r *readers) reader(who reading) *reader {
	one := r.all[who]
	if one == nil {
		if len(r.all) >= maxReaders {
			clear(r.all)
		}
		one = &reader{}
		r.all[who] = one
	}
	return one
}

// expect has a reader expected at the newest ask of their place at which nobody else is.
func (r *readers) expect(b *Board, who reading, one *reader, now time.Time) {
	one.next = ""
	if now.Sub(one.acted) >= readsFor {
		return
	}
	for _, key := range slices.Backward(r.newest[who.at]) {
		h := b.held[key]
		if h == nil || h.rank == 0 || b.lookedAt(h.id(), who.principal, now) {
			continue
		}
		one.next, one.until = key, now.Add(readsWithin)
		return
	}
}

// expected reports whether somebody else is expected to read an ask.
func (r *readers) expected(key, besides string, now time.Time) bool {
	for who, one := range r.all {
		if one.next == key && who.principal != besides && now.Before(one.until) {
			return true
		}
	}
	return false
}

// fade forgets who did not do what was expected, and who did nothing for a while.
func (r *readers) fade(b *Board, now time.Time) {
	for who, one := range r.all {
		if idle := now.Sub(one.acted) >= readsFor; idle || one.next != "" && !now.Before(one.until) {
			delete(r.all, who)
			r.release(b, one)
		}
	}
}

// release has an ask offered to others again.
func (r *readers) release(b *Board, one *reader) {
	if h := b.held[one.next]; h != nil {
		b.notify(Event{Kind: Changed, Record: h.record()}, h)
	}
	one.next = ""
}
