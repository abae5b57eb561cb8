package responder

import (
	"context"
	"slices"
	"sync"

	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of what waits for a slow subscriber of a board.
const (
	maxBehind  = 1024 // events
	maxTouched = 256  // keys; of more only that there were more is told
)

// subscriber hears what happens on a board.
type subscriber struct {
	filter Filter
	bare   bool // only that something happened

	mu      sync.Mutex
	queue   []Event
	lost    bool // more came than is kept: everything is told again
	stirred chan struct{}
	touched *Touched // nil: nobody wants to know what changed
}

// Touched says what changed on a board since it was last asked for.
type Touched struct {
	Keys []ask.Key // of asks that came, changed or ended; at most 256
	// Any says that more than Keys may have changed: the board's status, or more
	// asks than are named.
	Any bool
}

// has reports whether a key is named. There are few: they are looked through.
func (t *Touched) has(k ask.Key) bool { return slices.Contains(t.Keys, k) }

// Subscribe tells handle what f selects, one event at a time: [Reset], every
// pending ask as a head (its Ask has no questions; [Board.Get] has them) and
// [Synced] when the board is, then what happens. A subscriber that is slow does
// not hold up others: when it missed something it is told Reset, everything
// pending and Synced again. It ends, and returns, with ctx.
func (b *Board) Subscribe(ctx context.Context, f Filter, handle func(Event)) {
	s := &subscriber{filter: f, lost: true, stirred: make(chan struct{}, 1)}
	s.stir()
	b.mu.Lock()
	b.subs[s] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, s)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stirred:
		}
		for _, e := range b.due(s) {
			if ctx.Err() != nil {
				return
			}
			handle(e)
		}
	}
}

// Changes returns a channel that holds a signal when something that f selects
// changed, or the board's status did, since it was last received from. It is for
// screens that draw themselves again, and costs less than [Board.Subscribe].
func (b *Board) Changes(f Filter) (changed <-chan struct{}, stop func()) {
	s := &subscriber{filter: f, bare: true, stirred: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[s] = struct{}{}
	return s.stirred, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, s)
	}
}

// Follow is [Board.Changes] for screens that draw only what changed: touched
// returns what that is, and forgets it.
func (b *Board) Follow(f Filter) (changed <-chan struct{}, touched func() Touched, stop func()) {
	s := &subscriber{filter: f, bare: true, stirred: make(chan struct{}, 1), touched: &Touched{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[s] = struct{}{}
	return s.stirred, s.take, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, s)
	}
}

func (s *subscriber) take() Touched {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := *s.touched
	*s.touched = Touched{}
	return t
}

// touch notes which ask changed; none: anything may have.
func (s *subscriber) touch(h *head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case h == nil || len(s.touched.Keys) >= maxTouched:
		s.touched.Any = true
	case !s.touched.has(h.id()):
		s.touched.Keys = append(s.touched.Keys, h.id())
	}
}

// due takes what a subscriber is to be told.
func (b *Board) due(s *subscriber) []Event {
	b.mu.Lock() // before the subscriber's, as in tell
	defer b.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lost {
		events := s.queue
		s.queue = nil
		return events
	}
	s.lost, s.queue = false, nil
	events := []Event{{Kind: Reset}}
	for _, h := range b.order {
		if s.filter.takes(h) {
			events = append(events, Event{Kind: Pending, Record: h.record()})
		}
	}
	if b.status.Synced {
		events = append(events, Event{Kind: Synced, More: b.status.More})
	}
	if b.status.Offline {
		events = append(events, Event{Kind: Offline})
	}
	return events
}

// tell hands an event to those whose filter takes h; without h to all. The
// caller holds the board's lock.
func (b *Board) tell(e Event, h *head) {
	if e.Kind == Pending && len(b.subs) > 0 {
		e.Record = h.record()
	}
	for s := range b.subs {
		if h != nil && !s.filter.takes(h) {
			continue
		}
		if s.touched != nil {
			s.touch(h)
		}
		s.push(e)
	}
}

func (s *subscriber) push(e Event) {
	if s.bare {
		s.stir()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return
	}
	if len(s.queue) >= maxBehind {
		s.lost, s.queue = true, nil
	} else {
		s.queue = append(s.queue, e)
	}
	s.stir()
}

func (s *subscriber) stir() {
	select {
	case s.stirred <- struct{}{}:
	default:
	}
}
