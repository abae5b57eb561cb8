package board

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of snoozes.
const (
	maxSnoozers = 10_000
	maxSnoozes  = 1000                // of one person
	longestOff  = 29 * 24 * time.Hour // shared state keeps them for 30 days
	// lastCall is how long before its deadline a snoozed ask comes back at the
	// latest.
	lastCall = 2 * time.Minute
)

// Snooze puts an ask off for a viewer until a time; the zero time takes it
// back. Other viewers still see the ask. It comes back two minutes before its
// deadline, and after 29 days at the latest. The error is [ask.ErrNotFound] if
// the ask is not pending here, [ask.ErrInvalid] if it ends too soon to be put
// off, [ask.ErrQuota] if this person put off more than 1,000 asks or more than
// 10,000 people put off any, or, with [Options.Shared], what the broker refuses.
func (b *Board) Snooze(ctx context.Context, v Viewer, k ask.Key, until time.Time) error {
	b.mu.Lock()
	h := b.held[k.String()]
	b.mu.Unlock()
	if h == nil || !v.Sees(k, h.named()) {
		return ask.Refusal(ask.CodeNotFound, ask.FaultNotPending, k)
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
	if err := b.putOff(ctx, v.By, snooze{Key: k, Life: h.life, Until: until.Round(0)}); err != nil {
		return err
	}
	b.changed(k)
	return nil
}

// putOff stores a snooze of a person, or takes it back if Until is zero.
func (b *Board) putOff(ctx context.Context, by ask.By, s snooze) error {
	who := subject.SnoozerToken(by.Principal)
	if !s.Until.IsZero() {
		if err := b.snoozes.checkQuota(who, s.Key); err != nil {
			return err
		}
	}
	if b.opts.Shared {
		if err := b.r.note(ctx, s.Key, subject.VerbSnooze, wire.Snooze{By: by, Life: s.Life, Until: s.Until, ID: cloudevent.NewID()}); err != nil {
			return err
		}
	}
	if s.Until.IsZero() {
		b.snoozes.remove(who, s.Key)
	} else {
		b.snoozes.set(who, s)
	}
	return nil
}

// Snoozed returns the pending asks that a viewer put off, by key. Use it as
// [Filter.Without] to see the rest, or as [Filter.Only] to see these.
func (b *Board) Snoozed(_ context.Context, v Viewer) (map[ask.Key]time.Time, error) {
	all := b.snoozes.of(subject.SnoozerToken(v.By.Principal))
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
