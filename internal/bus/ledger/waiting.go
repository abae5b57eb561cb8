package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// Waiting counts the pending asks and names the oldest.
type Waiting struct {
	N      int
	Oldest time.Time // when it was stored; zero: nothing is pending
	Key    ask.Key   // the oldest
}

// Waiting counts the pending asks of a tenant; empty means all. It may lag
// behind recent writes.
func (l *Ledger) Waiting(ctx context.Context, tenant string) (Waiting, error) {
	var w Waiting
	for p := range l.n {
		m, n, err := l.firstOf(ctx, subject.Stream(p), subject.LedgerAll(p, subject.Key{Tenant: tenant}, subject.Question), 1)
		if err != nil {
			return Waiting{}, err
		}
		w.N += n
		if n > 0 && (w.Oldest.IsZero() || m.Time.Before(w.Oldest)) {
			w.Oldest = m.Time
			w.Key, _, _, _ = subject.ParseLedger(m.Subject)
		}
	}
	return w, nil
}

// firstOf reads the first message from a sequence on that matches a filter, and
// counts them, from any replica.
func (l *Ledger) firstOf(ctx context.Context, stream, filter string, from uint64) (first message, n int, err error) {
	body := struct {
		Seq   uint64 `json:"seq"`
		Batch int    `json:"batch"`
		Next  string `json:"next_by_subj"`
	}{from, 1, filter}
	msgs, status, err := l.collect(ctx, "$JS.API.DIRECT.GET."+stream, body, 1)
	if err != nil {
		return message{}, 0, err
	}
	if len(msgs) == 0 {
		if status != statusNone {
			return message{}, 0, fmt.Errorf("ledger: count %s: status %s: %w", filter, status, ask.ErrUnavailable)
		}
		return message{}, 0, nil
	}
	after, err := strconv.Atoi(msgs[0].Header.Get("Nats-Num-Pending"))
	if err == nil {
		first, err = directMessage(msgs[0])
	}
	if err != nil {
		return message{}, 0, fmt.Errorf("ledger: count %s: %w", filter, err)
	}
	return first, after + 1, nil
}
