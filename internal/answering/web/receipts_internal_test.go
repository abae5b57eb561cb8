package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// heads is a board with one ask.
type heads struct {
	Board
	changed chan struct{}
}

func (h *heads) Changes(board.Filter) (<-chan struct{}, func()) { return h.changed, func() {} }

func (h *heads) Pending(board.Filter, int, int) ([]board.Head, int) {
	return []board.Head{{Key: ask.Key{Tenant: "t", Session: "s", ID: "a"}, Life: "l"}}, 1
}

// flaky fails the first receipt, as responder does while no broker answers: when
// the call's own time is over. It fails the first presence as well.
type flaky struct {
	Asks
	receipts, presents atomic.Int32
}

func (f *flaky) Receipt(ctx context.Context, _ ask.Key, _ ask.Receipt) error {
	if f.receipts.Add(1) == 1 {
		<-ctx.Done()
		return fmt.Errorf("%w: %w", ask.ErrUnavailable, ctx.Err())
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
		var said bytes.Buffer
		f, b := &flaky{}, &heads{changed: make(chan struct{}, 1)}
		s := newStreams(10, f.Present, slog.New(slog.DiscardHandler))
		r := newReceipts(f, "http://localhost", time.Now, slog.New(slog.NewTextHandler(&said, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		go r.run(ctx, b, s)

		b.changed <- struct{}{}
		synctest.Wait()
		if n := f.receipts.Load(); n != 0 {
			t.Errorf("%d receipts while nobody looks", n)
		}
		s.enter()
		s.arrive()
		time.Sleep(callTimeout + receiptAgain + time.Second) // nothing else changes
		synctest.Wait()
		if n := f.receipts.Load(); n != 2 {
			t.Errorf("%d receipts, want one that failed and one that did not", n)
		}
		if !strings.Contains(said.String(), "level=WARN") || !strings.Contains(said.String(), "ask_id=a") {
			t.Errorf("the log says %q", said.String())
		}
		b.changed <- struct{}{}
		time.Sleep(time.Hour)
		if n := f.receipts.Load(); n != 2 {
			t.Errorf("%d receipts of one ask", n)
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
