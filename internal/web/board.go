package web

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// board is what this process knows of the bus: all that waits, and the last
// asks that ended. It is filled by Watch and read by pages.
type board struct {
	mu      sync.Mutex
	pending map[ask.Key]*posted
	ended   []ask.Record // newest last
	synced  bool
	offline bool
	more    bool
	changed map[chan struct{}]struct{} // who wants to hear of changes
}

// posted is one pending ask and when its record was last read in full.
type posted struct {
	record ask.Record
	read   time.Time
}

func newBoard() *board {
	return &board{pending: make(map[ask.Key]*posted), changed: make(map[chan struct{}]struct{})}
}

// handle takes one event of Watch.
func (b *board) handle(e responder.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := e.Record.Ask.Key()
	switch e.Kind {
	case responder.Pending:
		b.pending[k] = &posted{record: e.Record}
		b.ended = slices.DeleteFunc(b.ended, func(r ask.Record) bool { return r.Ask.Key() == k })
	case responder.Resolved:
		b.end(k, e.Record)
	case responder.Synced:
		b.synced, b.offline, b.more = true, false, e.More
	case responder.Offline:
		b.offline = true
	}
	b.tell()
}

// settle takes an outcome that this process learnt by itself, before Watch
// tells it, so that the next page is already right.
func (b *board) settle(k ask.Key, o ask.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.pending[k]; ok {
		record := p.record
		record.State, record.Outcome = ask.StateResolved, &o
		b.end(k, record)
		b.tell()
	}
}

func (b *board) end(k ask.Key, record ask.Record) {
	if p, ok := b.pending[k]; ok && len(record.Ask.Questions) == 0 {
		outcome := record.Outcome
		record = p.record
		record.State, record.Outcome = ask.StateResolved, outcome
	}
	if o := record.Outcome; o != nil && len(record.Ask.Questions) == 0 && o.Ask != nil {
		record.Ask = *o.Ask
		record.Ask.Tenant, record.Ask.Session, record.Ask.ID = k.Tenant, k.Session, k.ID
	}
	delete(b.pending, k)
	b.ended = slices.DeleteFunc(b.ended, func(r ask.Record) bool { return r.Ask.Key() == k })
	if record.Outcome == nil {
		return // it ended so long ago that nobody knows how
	}
	b.ended = append(b.ended, record)
	if over := len(b.ended) - maxEnded; over > 0 {
		b.ended = slices.Delete(b.ended, 0, over)
	}
}

// keep remembers a record that was read in full.
func (b *board) keep(k ask.Key, record ask.Record, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.pending[k]; ok && record.State == ask.StatePending {
		p.record, p.read = record, now
	}
}

// fresh gives what the board holds of an ask, and whether that needs no
// reading: it ended, or was read since, or cannot be read while the bus is gone.
func (b *board) fresh(k ask.Key, since time.Time) (ask.Record, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.pending[k]; ok {
		return p.record, b.offline || p.read.After(since)
	}
	for _, r := range b.ended {
		if r.Ask.Key() == k {
			return r, true
		}
	}
	return ask.Record{}, false
}

// snapshot is the board at one moment, the oldest first.
type snapshot struct {
	pending []ask.Record
	ended   []ask.Record // newest first
	synced  bool
	offline bool
	more    bool
}

func (b *board) snapshot() snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := snapshot{synced: b.synced, offline: b.offline, more: b.more, ended: slices.Clone(b.ended)}
	s.pending = make([]ask.Record, 0, len(b.pending))
	for _, p := range b.pending {
		s.pending = append(s.pending, p.record)
	}
	slices.SortFunc(s.pending, func(x, y ask.Record) int {
		return cmp.Or(x.AskedAt.Compare(y.AskedAt), cmp.Compare(x.Ask.Key().String(), y.Ask.Key().String()))
	})
	slices.Reverse(s.ended)
	return s
}

// subscribe gives a channel that holds a signal whenever something changed
// since it was last received from.
func (b *board) subscribe() (signal <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed[ch] = struct{}{}
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.changed, ch)
	}
}

func (b *board) tell() {
	for ch := range b.changed {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
