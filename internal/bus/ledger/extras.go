package ledger

import (
	"context"
	"errors"
	"maps"
	"sort"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/sync/errgroup"
)

// extras is what the ledger holds of an ask in addition to the question or outcome that was read.
type extras struct {
	receipts []ask.Receipt
	ended    uint64 // the sequence of the outcome of a question
}

// of returns the receipts of one life of the ask.
func (x extras) of(life string) (receipts []ask.Receipt) {
	for _, r := range x.receipts {
		if r.Life == life {
			receipts = append(receipts, r)
		}
	}
	return receipts
}

// extrasIn sorts receipts and outcomes by ask.
func extrasIn(found []message) map[ask.Key]extras {
	all := map[ask.Key]extras{}
	for _, m := range found {
		k, kind, _, ok := subject.ParseLedger(m.Subject)
		if !ok {
			continue
		}
		x := all[k]
		if kind == subject.Outcome {
			x.ended = m.Seq
		} else if r, ok := readReceipt(m, k); ok && len(x.receipts) < maxReceipts {
			x.receipts = append(x.receipts, r)
		}
		all[k] = x
	}
	return all
}

// finish adds receipts, and drops pending questions whose outcome exists: they
// have ended since they were read, or are ghosts, which it removes. Heads have
// no receipts.
func (l *Ledger) finish(ctx context.Context, items []found, heads bool) ([]wire.ListItem, error) {
	byPartition := map[int][]*found{}
	for i := range items {
		k := items[i].Record.Ask.Key()
		p, _ := l.place(k)
		byPartition[p] = append(byPartition[p], &items[i])
	}
	all := make([]map[ask.Key]extras, l.n)
	g, gctx := errgroup.WithContext(ctx)
	for p, of := range byPartition {
		g.Go(func() (err error) {
			all[p], err = l.extras(gctx, p, of, heads)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make([]wire.ListItem, 0, len(items))
	for i := range items {
		it := &items[i]
		k := it.Record.Ask.Key()
		p, _ := l.place(k)
		x := all[p][k]
		it.Record.Receipts = x.of(it.Record.Life)
		if it.Record.State == ask.StatePending && x.ended > it.Record.Seq {
			if err := l.removeIfGhost(ctx, k, it.Record.Seq); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, it.ListItem)
	}
	return out, nil
}

// removeIfGhost removes a question whose outcome exists, if it is still stored.
func (l *Ledger) removeIfGhost(ctx context.Context, k ask.Key, seq uint64) error {
	q, err := l.question(ctx, k)
	if errors.Is(err, errNone) || err == nil && q.Seq != seq {
		return nil
	}
	if err != nil {
		return err
	}
	return l.removeGhost(ctx, k, seq)
}

// extras reads the extras of items of one partition in one request, or by
// halves if they have more receipts than the server returns at once.
func (l *Ledger) extras(ctx context.Context, p int, items []*found, heads bool) (map[ask.Key]extras, error) {
	filters := make([]string, 0, 2*len(items))
	for _, it := range items {
		k := it.Record.Ask.Key()
		if !heads {
			filters = append(filters, subject.LedgerReceipt(p, k, ""))
		}
		if it.Record.State == ask.StatePending {
			filters = append(filters, subject.LedgerOutcome(p, k))
		}
	}
	if len(filters) == 0 {
		return nil, nil
	}
	found, err := l.lasts(ctx, subject.Stream(p), filters)
	if errors.Is(err, errTooMany) && len(items) > 1 {
		return l.extrasByHalves(ctx, p, items, heads)
	}
	if err != nil && !errors.Is(err, errTooMany) { // one ask has at most one receipt per type
		return nil, err
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Seq < found[j].Seq })
	return extrasIn(found), nil
}

func (l *Ledger) extrasByHalves(ctx context.Context, p int, items []*found, heads bool) (map[ask.Key]extras, error) {
	all, err := l.extras(ctx, p, items[:len(items)/2], heads)
	if err != nil {
		return nil, err
	}
	rest, err := l.extras(ctx, p, items[len(items)/2:], heads)
	maps.Copy(all, rest)
	return all, err
}
