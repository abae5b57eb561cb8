package board

import (
	"context"
	"slices"
	"sync"

	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of what waits for a slow subscriber of a board.
const (
	maxBehind  = 1024 // events
	maxTouched = 256  // keys; beyond that, only Any is set
)

// subscriber receives the events of a board.
type subscriber struct {
	filter Filter
	bare   bool // only signals, no events

	mu      sync.Mutex
	queue   []Event
	lost    bool // more events came than are kept: everything is told again
	stirred chan struct{}
	touched *Touched // nil: changes are not recorded
}

// Touched says what changed on a board since the last call.
type Touched struct {
	Keys []ask.Key // of asks that came, changed or ended; at most 256
	// Any says that more than Keys may have changed: the board's status, or
	// more asks than Keys holds.
	Any bool
}

// has searches linearly, because there are few keys.
func (t *Touched) has(k ask.Key) bool { return slices.Contains(t.Keys, k) }

// Subscribe calls handle with one event at a time: [Reset], every pending ask
// that f selects as a head (its Ask has no questions; [Board.Get] has them),
// [Synced] once the board is complete, and then every change. A slow subscriber
// does not block others: after it missed events it gets Reset, every pending
// ask and Synced again. It blocks until ctx ends.
func (b *Board) Subscribe(ctx context.Context, f Filter, handle func(Event)) {
	s := &subscriber{filter: f, lost: true, stirred: make(chan struct{}, 1)}
	s.stir()
	defer b.subscribe(s)()
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

// Changes returns a channel that holds a signal if an ask that f selects, or
// the board's status, changed since the last receive. It is for screens that
// redraw everything, and costs less than [Board.Subscribe].
func (b *Board) Changes(f Filter) (changed <-chan struct{}, stop func()) {
	s := &subscriber{filter: f, bare: true, stirred: make(chan struct{}, 1)}
	return s.stirred, b.subscribe(s)
}

// Follow is [Board.Changes] for screens that redraw only what changed: touched
// returns the changes since its last call.
func (b *Board) Follow(f Filter) (changed <-chan struct{}, touched func() Touched, stop func()) {
	s := &subscriber{filter: f, bare: true, stirred: make(chan struct{}, 1), touched: &Touched{}}
	return s.stirred, s.drain, b.subscribe(s)
}

// subscribe adds a subscriber until stop is called.
func (b *Board) subscribe(s *subscriber) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[s] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, s)
	}
}

func (s *subscriber) drain() Touched {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := *s.touched
	*s.touched = Touched{}
	return t
}

// touch records the ask that changed; nil: any ask may have changed.
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

// due takes the events to deliver to a subscriber.
func (b *Board) due(s *subscriber) []Event {
	b.mu.Lock() // before the subscriber's lock, as in tell
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
	pick := s.filter.picker()
	for _, h := range b.order.heads {
		if pick.takes(h) {
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

// notify queues an event for the subscribers whose filter takes h, or for all if
// h is nil. The caller holds the board's lock.
func (b *Board) notify(e Event, h *head) { b.notifyOthers("", e, h) }

// notifyOthers is notify without the subscribers of principal, whose screens do not
// change with the event.
func (b *Board) notifyOthers(principal string, e Event, h *head) {
	if e.Kind == Pending && len(b.subs) > 0 {
		e.Record = h.record()
	}
	for s := range b.subs {
		if h != nil && !s.filter.takes(h) || principal != "" && s.touched != nil && s.filter.Viewer.By.Principal == principal {
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
