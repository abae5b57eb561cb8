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

func record(id string, at time.Time) ask.Record {
	return ask.Record{
		State: ask.StatePending, AskedAt: at, Seq: 1,
		Ask: ask.Ask{ID: id, Tenant: "t", Session: "s", Questions: []ask.Question{{ID: "q", Text: "What?"}}},
	}
}

func TestBoard(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	k := ask.Key{Tenant: "t", Session: "s", ID: "a"}
	ended := func(o *ask.Outcome) responder.Event {
		r := record("a", start)
		r.State, r.Outcome = ask.StateResolved, o
		return responder.Event{Kind: responder.Resolved, Record: r}
	}
	t.Run("the oldest is first", func(t *testing.T) {
		t.Parallel()
		b := newBoard()
		b.handle(responder.Event{Kind: responder.Pending, Record: record("b", start.Add(time.Minute))})
		b.handle(responder.Event{Kind: responder.Pending, Record: record("a", start)})
		if got := b.snapshot().pending; got[0].Ask.ID != "a" || got[1].Ask.ID != "b" {
			t.Errorf("got %s, %s", got[0].Ask.ID, got[1].Ask.ID)
		}
	})
	t.Run("an ask that ended without a trace only leaves the list", func(t *testing.T) {
		t.Parallel()
		b := newBoard()
		b.handle(responder.Event{Kind: responder.Pending, Record: record("a", start)})
		gone := ended(nil)
		gone.Record.Ask.Questions = nil
		b.handle(gone)
		if s := b.snapshot(); len(s.pending) != 0 || len(s.ended) != 0 {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("an id that is asked again waits again", func(t *testing.T) {
		t.Parallel()
		b := newBoard()
		b.handle(ended(&ask.Outcome{Status: ask.StatusExpired}))
		b.handle(responder.Event{Kind: responder.Pending, Record: record("a", start)})
		if s := b.snapshot(); len(s.pending) != 1 || len(s.ended) != 0 {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("what is told twice is listed once, and never more than fits", func(t *testing.T) {
		t.Parallel()
		b := newBoard()
		for i := range maxEnded * 2 {
			e := ended(&ask.Outcome{Status: ask.StatusExpired})
			e.Record.Ask.ID = string(rune('a' + i%5))
			b.handle(e)
		}
		if n := len(b.snapshot().ended); n != 5 {
			t.Errorf("%d ended", n)
		}
	})
	t.Run("while the bus is gone, what is held is good enough", func(t *testing.T) {
		t.Parallel()
		b := newBoard()
		b.handle(responder.Event{Kind: responder.Pending, Record: record("a", start)})
		if _, fresh := b.fresh(k, start); fresh {
			t.Error("a record that was never read counts as fresh")
		}
		b.handle(responder.Event{Kind: responder.Offline})
		if _, fresh := b.fresh(k, start); !fresh {
			t.Error("a page would wait for a bus that is gone")
		}
	})
}

// flaky refuses the first receipt and the first presence.
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
		f, b := &flaky{}, newBoard()
		s := newStreams(10, f.Present, slog.New(slog.DiscardHandler))
		r := newReceipts(f, "http://localhost", time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		go r.run(ctx, b, s)

		b.handle(responder.Event{Kind: responder.Pending, Record: record("a", time.Now())})
		synctest.Wait()
		if n := f.receipts.Load(); n != 0 {
			t.Errorf("%d receipts while nobody looks", n)
		}
		s.enter()
		synctest.Wait()
		b.handle(responder.Event{Kind: responder.Synced})
		synctest.Wait()
		b.handle(responder.Event{Kind: responder.Synced})
		synctest.Wait()
		if n := f.receipts.Load(); n != 2 {
			t.Errorf("%d receipts, want one that failed and one that did not", n)
		}
		s.enter()
		synctest.Wait()
		if n := f.presents.Load(); n != 2 {
			t.Errorf("presence was tried %d times, want 2", n)
		}
		s.exit()
		s.exit()
		if n := f.presents.Load(); n != 1 {
			t.Error("presence was not ended")
		}
		cancel()
		s.close()
	})
}
