package board

import (
	"context"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Snooze is an ask that a person put off.
type Snooze struct {
	Key   ask.Key   `json:"key"`
	Life  string    `json:"life"` // another life is not put off
	Until time.Time `json:"until"`
}

// SnoozeStore stores what each person put off, for all surfaces.
// Implementations are safe for concurrent use.
type SnoozeStore interface {
	// Put stores a snooze of a person, or removes it if Until is zero.
	Put(ctx context.Context, by ask.By, s Snooze) error
	// Of returns the current snoozes of a principal.
	Of(ctx context.Context, principal string) ([]Snooze, error)
	// Run calls changed with each ask whose snooze was added or removed
	// elsewhere, or has ended, until ctx ends. The board runs it.
	Run(ctx context.Context, changed func(ask.Key)) error
}

// Bounds of snoozes.
const (
	maxSnoozers = 10_000
	maxSnoozes  = 1000                // of one person
	longestOff  = 29 * 24 * time.Hour // shared state keeps them for 30 days
	// lastCall is how long before its deadline a snoozed ask comes back at the
	// latest.
	lastCall = 2 * time.Minute
)

// MemorySnoozes stores snoozes in this process. The zero value is ready to use.
type MemorySnoozes struct{ book snoozeBook }

// Put implements [SnoozeStore]. The error is [ask.ErrQuota] if a person put off
// more than 1,000 asks, or more than 10,000 people put off any.
func (m *MemorySnoozes) Put(_ context.Context, by ask.By, s Snooze) error {
	principal := by.Principal
	if s.Until.IsZero() {
		m.book.remove(principal, s.Key)
		return nil
	}
	if err := m.book.checkQuota(principal, s.Key); err != nil {
		return err
	}
	m.book.set(principal, s)
	return nil
}

// Of implements [SnoozeStore].
func (m *MemorySnoozes) Of(_ context.Context, principal string) ([]Snooze, error) {
	return m.book.of(principal), nil
}

// Run implements [SnoozeStore]. It returns nil.
func (m *MemorySnoozes) Run(ctx context.Context, changed func(ask.Key)) error {
	m.book.run(ctx, changed)
	return nil
}

// Snooze puts an ask off for a viewer until a time; the zero time takes it
// back. Other viewers still see the ask. It comes back two minutes before its
// deadline, and after 29 days at the latest. The error is [ask.ErrNotFound] if
// the ask is not pending here, [ask.ErrInvalid] if it ends too soon to be put
// off, or that of the [SnoozeStore].
func (b *Board) Snooze(ctx context.Context, v Viewer, k ask.Key, until time.Time) error {
	b.mu.Lock()
	h := b.held[k.String()]
	b.mu.Unlock()
	if h == nil || !v.Sees(k, h.named()) {
		return ask.Refuse(ask.CodeNotFound, "ask %s is not pending", k)
	}
	if !until.IsZero() {
		now := time.Now()
		for _, latest := range []time.Time{time.Unix(0, h.deadline).Add(-lastCall), now.Add(longestOff)} {
			if until.After(latest) {
				until = latest
			}
		}
		if !until.After(now) {
			return ask.InvalidError("snooze", []ask.Fault{ask.NewFault("/until", ask.FaultEndsTooSoon)})
		}
	}
	if err := b.opts.Snoozes.Put(ctx, v.By, Snooze{Key: k, Life: h.life, Until: until.Round(0)}); err != nil {
		return err
	}
	b.changed(k)
	return nil
}

// Snoozed returns the pending asks that a viewer put off, by key. Use it as
// [Filter.Without] to see the rest, or as [Filter.Only] to see these.
func (b *Board) Snoozed(ctx context.Context, v Viewer) (map[ask.Key]time.Time, error) {
	all, err := b.opts.Snoozes.Of(ctx, v.By.Principal)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	off := map[ask.Key]time.Time{}
	for _, s := range all {
		if h := b.held[s.Key.String()]; h != nil && h.life == s.Life {
			off[s.Key] = s.Until
		}
	}
	return off, nil
}

// changed tells subscribers that a pending ask changed.
func (b *Board) changed(k ask.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.held[k.String()]; h != nil {
		b.notify(Event{Kind: Changed, Record: h.record()}, h)
	}
}
