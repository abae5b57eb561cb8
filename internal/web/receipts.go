package web

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// receiptKey is this surface's idempotency key: a page is posted nowhere twice.
const receiptKey = "web"

// receipts tells the bus, once per ask, that it was put in front of an open
// browser. A failure is logged and tried again when the board next changes.
type receipts struct {
	asks Asks
	base string
	now  func() time.Time
	log  *slog.Logger
	slot chan struct{} // bounds how many are under way

	mu   sync.Mutex
	sent map[ask.Key]uint64
}

func newReceipts(asks Asks, base string, now func() time.Time, log *slog.Logger) *receipts {
	return &receipts{asks: asks, base: base, now: now, log: log, slot: make(chan struct{}, 4), sent: make(map[ask.Key]uint64)}
}

// run sends receipts until ctx ends, then waits for those under way.
func (r *receipts) run(ctx context.Context, b *board, s *streams) {
	changed, stop := b.subscribe()
	defer stop()
	var under sync.WaitGroup
	defer under.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-s.looked:
		}
		if !s.watched() {
			continue
		}
		for _, record := range r.due(b.snapshot()) {
			select {
			case <-ctx.Done():
				return
			case r.slot <- struct{}{}:
			}
			under.Go(func() {
				defer func() { <-r.slot }()
				r.send(ctx, record)
			})
		}
	}
}

// due marks and returns what is shown and has no receipt of ours.
func (r *receipts) due(now snapshot) []ask.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	shown := now.pending[:min(len(now.pending), maxListed)]
	waits := make(map[ask.Key]bool, len(now.pending))
	for _, record := range now.pending {
		waits[record.Ask.Key()] = true
	}
	for k := range r.sent {
		if !waits[k] {
			delete(r.sent, k)
		}
	}
	var due []ask.Record
	for _, record := range shown {
		k := record.Ask.Key()
		if seq, sent := r.sent[k]; !sent || seq != record.Seq {
			r.sent[k] = record.Seq
			due = append(due, record)
		}
	}
	return due
}

func (r *receipts) send(ctx context.Context, record ask.Record) {
	k := record.Ask.Key()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := r.asks.Receipt(ctx, k, ask.Receipt{
		Type: "web", State: ask.ReceiptPosted, Seq: record.Seq, Key: receiptKey, Where: r.base + askPath(k), At: r.now(),
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	r.log.Warn("cannot record that an ask was shown", slog.String("ask_id", k.ID), slog.Any("error", err))
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sent, k)
}
