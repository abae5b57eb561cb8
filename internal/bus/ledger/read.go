package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// ReadToWrite reads only what the compare-and-set of a write does not check
// itself: an existing question is taken as pending, and a write that meets an
// outcome loses its race; then [Ledger.Read] reads the rest. For the same
// reason the question may come from any replica. It saves each answer a round
// trip to the leader. One difference shows: an invalid answer to an ask whose
// outcome exists beside its question, which a crash left, is refused as invalid
// and not as late.
func (l *Ledger) ReadToWrite(ctx context.Context, k ask.Key) (lifecycle.State, error) {
	if s, ok := l.fresh.get(ctx, k); ok {
		return s, nil
	}
	return l.ReadAny(ctx, k)
}

// ReadAny reads one ask from any replica, which may lag: an ask that it reports
// as pending may have just ended.
func (l *Ledger) ReadAny(ctx context.Context, k ask.Key) (lifecycle.State, error) {
	p, stream := l.place(k)
	q, err := l.direct(ctx, stream, subject.LedgerQuestion(p, k)) // the last one
	if err == nil {
		return pending(q, k)
	}
	if !errors.Is(err, errNone) {
		return lifecycle.State{}, err
	}
	o, err := l.outcome(ctx, k)
	if errors.Is(err, errNone) {
		return l.Read(ctx, k) // just asked, or never
	}
	if err != nil {
		return lifecycle.State{}, err
	}
	return ended(o, k)
}

func pending(m message, k ask.Key) (lifecycle.State, error) {
	s, err := cloudevent.ReadQuestion(m.Msg, k)
	if err != nil {
		return lifecycle.State{}, fmt.Errorf("ledger: %w", err)
	}
	s.Version = m.Seq
	if s.Versioned() {
		s.Asker = m.Header.Get(audit.HeaderAsker) // it is written again with each vote
		if left := m.Header.Get(audit.HeaderLeft); left != "" {
			if s.Left, err = time.Parse(time.RFC3339Nano, left); err != nil {
				return lifecycle.State{}, fmt.Errorf("ledger: question %s: %w", k, err)
			}
		}
	}
	return s, nil
}

func ended(m message, k ask.Key) (lifecycle.State, error) {
	s, err := cloudevent.ReadOutcome(m.Msg, k)
	if err != nil {
		return lifecycle.State{}, fmt.Errorf("ledger: %w", err)
	}
	return s, nil
}

// Read reads one ask from the leader. A question whose outcome exists is a
// ghost; Read removes it.
func (l *Ledger) Read(ctx context.Context, k ask.Key) (lifecycle.State, error) {
	// The question first, then the outcome: if the question is gone, its
	// outcome exists by the second read.
	q, qErr := l.question(ctx, k)
	if qErr != nil && !errors.Is(qErr, errNone) {
		return lifecycle.State{}, qErr
	}
	o, oErr := l.outcome(ctx, k)
	switch {
	case oErr == nil:
		if qErr == nil && (q.Seq < o.Seq || sameLife(q, o)) { // a vote may have been written beside the outcome
			if err := l.removeGhost(ctx, k, q.Seq); err != nil {
				l.opts.Logger.WarnContext(ctx, "cannot remove a ghost", slog.String("ask_id", k.ID), slog.Any("error", err))
			}
		}
		return ended(o, k)
	case !errors.Is(oErr, errNone):
		return lifecycle.State{}, oErr
	}
	p, _ := l.place(k)
	if err := l.confirmLeader(ctx, p); err != nil { // to rely on an outcome or an ask that is missing
		return lifecycle.State{}, err
	}
	if qErr == nil {
		return pending(q, k)
	}
	return lifecycle.State{}, nil
}

func sameLife(q, o message) bool {
	life := q.Header.Get(cloudevent.HeaderLife)
	return life != "" && life == o.Header.Get(cloudevent.HeaderLife)
}

// Receipts reads the receipts of one life of an ask.
func (l *Ledger) Receipts(ctx context.Context, k ask.Key, life string) ([]ask.Receipt, error) {
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
		if r, ok := readReceipt(m, k); ok && r.Life == life {
			receipts = append(receipts, r)
		}
		next = m.Seq + 1
	}
	return receipts, nil
}

// maxReceipts bounds the receipts that are read of one ask: one per type.
const maxReceipts = 64

func readReceipt(m message, k ask.Key) (ask.Receipt, bool) {
	got, kind, typ, ok := subject.ParseLedger(m.Subject)
	if !ok || kind != subject.Receipt || got != k {
		return ask.Receipt{}, false
	}
	r, err := wire.ReadReceipt(m.Data)
	if err != nil {
		return ask.Receipt{}, false
	}
	r.Type = typ
	if r.At.IsZero() {
		r.At = m.Time
	}
	return r, true
}
