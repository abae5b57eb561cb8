package web

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// receiptKey is this surface's idempotency key.
const receiptKey = "web"

// receiptAgain is when receipts that could not be written are written again.
const receiptAgain = 10 * time.Second

// receipts records on the bus, once per ask, that an open browser shows it. A
// failed write is logged and retried after [receiptAgain], or earlier if the
// board changes.
type receipts struct {
	asks   Asks
	base   string
	now    func() time.Time
	log    *slog.Logger
	slot   chan struct{} // bounds concurrent writes
	failed chan struct{} // signals a failed write

	mu   sync.Mutex
	sent map[ask.Key]string // the life whose receipt was sent
}

func newReceipts(asks Asks, base string, now func() time.Time, log *slog.Logger) *receipts {
	return &receipts{asks: asks, base: base, now: now, log: log, slot: make(chan struct{}, 4), failed: make(chan struct{}, 1), sent: make(map[ask.Key]string)}
}

// run sends receipts until ctx ends, then waits for those in flight.
func (r *receipts) run(ctx context.Context, b Board, s *streams) {
	changed, stop := b.Changes(board.Filter{})
	defer stop()
	var under sync.WaitGroup
	defer under.Wait()
	again := time.NewTimer(receiptAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.failed:
			again.Reset(receiptAgain)
			continue
		case <-again.C:
		case <-changed:
		case <-s.looked:
		}
		if !s.watched() {
			continue
		}
		heads, _ := b.Pending(board.Filter{}, 0, maxListed)
		for _, head := range r.due(heads) {
			select {
			case <-ctx.Done():
				return
			case r.slot <- struct{}{}:
			}
			under.Go(func() {
				defer func() { <-r.slot }()
				r.send(ctx, head)
			})
		}
	}
}

// due returns the shown asks without a receipt from this surface, and marks
// them as sent.
func (r *receipts) due(shown []board.Head) []board.Head {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sent) > 10*maxListed { // forget ended asks and those further down; a repeated receipt is harmless
		clear(r.sent)
	}
	var due []board.Head
	for _, head := range shown {
		if life, sent := r.sent[head.Key]; !sent || life != head.Life {
			r.sent[head.Key] = head.Life
			due = append(due, head)
		}
	}
	return due
}

func (r *receipts) send(ctx context.Context, head board.Head) {
	k := head.Key
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := r.asks.Receipt(within, k, ask.Receipt{
		Type: "web", State: ask.ReceiptPosted, Life: head.Life, Key: receiptKey, Places: []ask.Place{{Where: r.base + askPath(k)}}, At: r.now(),
	})
	if err == nil || ctx.Err() != nil { // ctx ends when the server stops
		return
	}
	r.log.WarnContext(ctx, "cannot record that an ask was shown", slog.String("ask_id", k.ID), slog.Any("error", err))
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sent, k)
	select {
	case r.failed <- struct{}{}:
	default:
	}
}
