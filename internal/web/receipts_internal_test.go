package web

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// heads is a board with one ask.
type heads struct {
	Board
	changed chan struct{}
}

func (h *heads) Changes(responder.Filter) (<-chan struct{}, func()) { return h.changed, func() {} }

func (h *heads) Pending(responder.Filter, int, int) ([]responder.Head, int) {
	return []responder.Head{{Key: ask.Key{Tenant: "t", Session: "s", ID: "a"}, Life: "l"}}, 1
}

// flaky fails the first receipt and the first presence.
type flaky struct {
	Asks
	receipts, presents atomic.Int32
}

func (f *flaky) Receipt(context.Context, ask.Key, ask.Receipt) error {
	if f.receipts.Add(1) == 1 {
		return errors.New("timeout")
	}
	return nil
}

func (f *flaky) Present(string, string) (func(), error) {
	if f.presents.Add(1) == 1 {
		return nil, errors.New("timeout")
	}
	return func() { f.presents.Add(-1) }, nil
}

func TestReceiptsAndPresenceAreTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, b := &flaky{}, &heads{changed: make(chan struct{}, 1)}
		s := newStreams(10, f.Present, slog.New(slog.DiscardHandler))
		r := newReceipts(f, "http://localhost", time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		go r.run(ctx, b, s)

		b.changed <- struct{}{}
		synctest.Wait()
		if n := f.receipts.Load(); n != 0 {
			t.Errorf("%d receipts while nobody looks", n)
		}
		s.enter()
		s.arrive()
		synctest.Wait()
		b.changed <- struct{}{}
		synctest.Wait()
		b.changed <- struct{}{}
		synctest.Wait()
		if n := f.receipts.Load(); n != 2 {
			t.Errorf("%d receipts, want one that failed and one that did not", n)
		}
		s.enter()
		s.arrive()
		synctest.Wait()
		if n := f.presents.Load(); n != 2 {
			t.Errorf("presence was tried %d times, want 2", n)
		}
		s.depart()
		s.depart()
		s.exit()
		s.exit()
		if n := f.presents.Load(); n != 1 {
			t.Error("presence was not ended")
		}
		cancel()
		s.close()
	})
}
