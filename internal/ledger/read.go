package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// Pending is a question that the ledger holds.
type Pending struct {
	cloudevent.Question
	Seq uint64
}

// Entry is all that the ledger holds of one ask. At most one of its fields is set.
type Entry struct {
	Pending  *Pending
	Resolved *cloudevent.End
}

// Held is what lifecycle needs to know of the entry.
func (e Entry) Held() (lifecycle.Held, error) {
	switch {
	case e.Resolved != nil:
		digest := e.Resolved.Digest
		if digest == "" {
			var err error
			if digest, err = cloudevent.Digest(e.Resolved.Outcome.Ask); err != nil {
				return lifecycle.Held{}, err
			}
		}
		return lifecycle.Held{Resolved: &e.Resolved.Outcome, Digest: digest}, nil
	case e.Pending != nil:
		q := &lifecycle.Question{Ask: &e.Pending.Ask, Will: e.Pending.OnDeadline, AskedAt: e.Pending.AskedAt}
		q.Will.Ask = &e.Pending.Ask
		return lifecycle.Held{Pending: q, Digest: e.Pending.Digest}, nil
	}
	return lifecycle.Held{}, nil
}

// ReadToWrite reads as much of one ask as the compare-and-set of a write does
// not see for itself: a question that is there is taken as pending, and a write
// that meets an outcome after all loses its race; then [Ledger.Read] says more.
// For the same reason the question may come from any replica.
func (l *Ledger) ReadToWrite(ctx context.Context, k ask.Key) (Entry, error) {
	if q, ok := l.fresh.get(k); ok {
		return Entry{Pending: &q}, nil
	}
	return l.ReadAny(ctx, k)
}

// ReadAny reads one ask from any replica, which may be behind: what it takes as
// pending may have ended a moment ago.
func (l *Ledger) ReadAny(ctx context.Context, k ask.Key) (Entry, error) {
	p, stream := l.place(k)
	q, err := l.direct(ctx, stream, subject.LedgerQuestion(p, k))
	if err == nil {
		return pending(q, k)
	}
	if !errors.Is(err, errNone) {
		return Entry{}, err
	}
	o, err := l.first(ctx, stream, subject.LedgerOutcome(p, k), 1)
	if errors.Is(err, errNone) {
		return l.Read(ctx, k) // asked just now, or never
	}
	if err != nil {
		return Entry{}, err
	}
	end, err := cloudevent.ReadOutcome(o.Msg, k)
	if err != nil {
		return Entry{}, fmt.Errorf("ledger: %s: %w", k, err)
	}
	return Entry{Resolved: &end}, nil
}

func pending(m message, k ask.Key) (Entry, error) {
	question, err := cloudevent.ReadQuestion(m.Msg, k)
	if err != nil {
		return Entry{}, fmt.Errorf("ledger: %s: %w", k, err)
	}
	return Entry{Pending: &Pending{question, m.Seq}}, nil
}

// Read reads one ask from the leader. A question whose outcome exists is a
// ghost; it is removed on the way.
func (l *Ledger) Read(ctx context.Context, k ask.Key) (Entry, error) {
	p, stream := l.place(k)
	// The question first, then the outcome: a question that is gone by the
	// time of the second look has an outcome by then.
	q, qErr := l.first(ctx, stream, subject.LedgerQuestion(p, k), 1)
	if qErr != nil && !errors.Is(qErr, errNone) {
		return Entry{}, qErr
	}
	o, oErr := l.first(ctx, stream, subject.LedgerOutcome(p, k), 1)
	switch {
	case oErr == nil:
		if qErr == nil && q.Seq < o.Seq {
			if err := l.removeGhost(ctx, k, q.Seq); err != nil {
				l.opts.Logger.WarnContext(ctx, "could not remove a ghost", slog.String("ask_id", k.ID), slog.Any("error", err))
			}
		}
		end, err := cloudevent.ReadOutcome(o.Msg, k)
		if err != nil {
			return Entry{}, fmt.Errorf("ledger: %s: %w", k, err)
		}
		return Entry{Resolved: &end}, nil
	case !errors.Is(oErr, errNone):
		return Entry{}, oErr
	}
	if err := l.sure(ctx, p); err != nil { // that it has not ended, or was never asked
		return Entry{}, err
	}
	if qErr == nil {
		return pending(q, k)
	}
	return Entry{}, nil
}

// Receipts reads the receipts of an ask's life that began at seq; with 0, those
// of any life.
func (l *Ledger) Receipts(ctx context.Context, k ask.Key, seq uint64) ([]ask.Receipt, error) {
	p, stream := l.place(k)
	var receipts []ask.Receipt
	for next := uint64(1); len(receipts) < maxReceipts; {
		m, err := l.first(ctx, stream, subject.LedgerReceipt(p, k, ""), next)
		if errors.Is(err, errNone) {
			return receipts, nil
		}
		if err != nil {
			return nil, err
		}
		if r, ok := readReceipt(m, k); ok && (seq == 0 || r.Seq == seq) {
			receipts = append(receipts, r)
		}
		next = m.Seq + 1
	}
	return receipts, nil
}

// maxReceipts bounds the receipts that are read of one ask: one a type.
const maxReceipts = 64

func readReceipt(m message, k ask.Key) (ask.Receipt, bool) {
	got, kind, typ, ok := subject.ParseLedger(m.Subject)
	if !ok || kind != subject.Receipt || got != k {
		return ask.Receipt{}, false
	}
	r, err := cloudevent.ReadReceipt(m.Data)
	if err != nil {
		return ask.Receipt{}, false
	}
	r.Type = typ
	if r.At.IsZero() {
		r.At = m.Time
	}
	return r, true
}
