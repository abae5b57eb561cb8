package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// sweepCursor is where the sweep of a partition goes on.
type sweepCursor struct{ next uint64 }

// sweepBatch is how many questions a sweep looks at in a go.
const sweepBatch = 1000

// Overdue walks at most most questions of every partition, from where it
// stopped last time, and reports those that the server's timer forgot. It is
// for one caller at a time.
func (l *Ledger) Overdue(ctx context.Context, now time.Time, most int) ([]ask.Key, error) {
	var keys []ask.Key
	for p := range l.n {
		for looked := 0; looked < most; {
			batch, end, err := l.consume(ctx, subject.Stream(p), subject.LedgerAll(p, subject.Key{}, subject.Question), l.cursors[p].next, sweepBatch, true)
			if err != nil {
				return keys, err
			}
			for _, m := range batch {
				l.cursors[p].next = m.Seq + 1
				due, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(m.Header.Get(hdrSchedule), "@at "))
				k, _, _, ok := subject.ParseLedger(m.Subject)
				if ok && err == nil && now.After(due.Add(lifecycle.Overdue)) {
					keys = append(keys, k)
				}
			}
			looked += len(batch)
			if end {
				l.cursors[p].next = 0
				break
			}
		}
	}
	return keys, nil
}

// tail is how far back a look for ghosts goes: a crash leaves them behind the
// very last outcomes.
const tail = 256

// RemoveGhosts looks at the last outcomes of each stream and removes questions
// that a crash left behind them. It belongs after every start and reconnect.
func (l *Ledger) RemoveGhosts(ctx context.Context) error {
	for p := range l.n {
		var info struct {
			State struct {
				LastSeq uint64 `json:"last_seq"`
			} `json:"state"`
		}
		if err := l.api(ctx, "STREAM.INFO."+subject.Stream(p), nil, &info); err != nil {
			return err
		}
		from := uint64(1)
		if info.State.LastSeq > 4*tail {
			from = info.State.LastSeq - 4*tail
		}
		outcomes, _, err := l.consume(ctx, subject.Stream(p), subject.LedgerAll(p, subject.Key{}, subject.Outcome), from, 4*tail, true)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			k, _, _, ok := subject.ParseLedger(o.Subject)
			if !ok {
				continue
			}
			q, err := l.first(ctx, subject.Stream(p), subject.LedgerQuestion(p, k), 1)
			if errors.Is(err, errNone) {
				continue
			}
			if err == nil && q.Seq < o.Seq {
				err = l.removeGhost(ctx, k, q.Seq)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
