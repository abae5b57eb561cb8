package torture

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// screen is a live screen that records the events of Watch.
func (d *driver) screen(ctx context.Context, name string, r *responder.Responder, ready func()) error {
	shown := map[ask.Key]string{}
	return board.Watch(ctx, r, func(ev board.Event) {
		e := Event{Who: name, Key: ev.Record.Ask.Key(), Life: ev.Record.Ask.Title, Code: OK, Truth: d.h.truth(ev.Record.Outcome), Seq: ev.Record.Seq}
		if ev.Record.Outcome == nil {
			e.Ladder = ladderOf(&ev.Record.Ask, ev.Record.AskedAt, ev.Record.Escalated, d.h.start)
		}
		switch ev.Kind {
		case board.Pending:
			e.Op = OpShown
			shown[e.Key] = e.Life
		case board.Resolved:
			e.Op = OpEnded
			if e.Life == "" { // gone with its retention: that is all that can be told
				e.Life = shown[e.Key]
			}
			delete(shown, e.Key)
		case board.Synced:
			ready()
			return
		case board.Offline, board.Reset, board.Changed:
			return
		}
		if d.mine(e.Life) {
			d.h.add(e)
		}
	})
}

// mine reports whether a question belongs to this run.
func (d *driver) mine(life string) bool { return strings.Contains(life, " of "+d.shape.run) }

// posting is a replica of a posting surface: it takes work with the kit, writes receipts, and
// sometimes abandons its work.
func (d *driver) posting(ctx context.Context, r *responder.Responder, ready func()) {
	var turns atomic.Int64
	for ctx.Err() == nil {
		err := r.Work(ctx, func(ctx context.Context, it responder.Item) error {
			return d.work(ctx, r, it, int(turns.Add(1)))
		}, responder.WorkOptions{Concurrency: 20, Grace: 5 * time.Second, Ready: ready})
		if err != nil { // the connection was closed, or the broker refused: neither may happen
			d.h.add(Event{Who: postingType, Op: OpFault, Life: "work ended: " + err.Error()})
			return
		}
	}
}

func (d *driver) work(ctx context.Context, r *responder.Responder, it responder.Item, turn int) error {
	e := Event{Who: postingType, Code: OK, Op: OpPosted, Key: it.Key, Life: it.Ask.Title}
	if it.Outcome != nil {
		e.Op, e.Truth = OpRetracted, d.h.truth(it.Outcome)
		e.Life = e.Truth.Life
	}
	if !d.mine(e.Life) {
		return nil
	}
	d.h.add(e)
	switch {
	case turn%31 == 30:
		return responder.ErrLeave // like a crash: another replica gets it after a minute
	case turn%17 == 16:
		return &responder.LaterError{After: time.Second}
	case it.Outcome != nil:
		return nil
	}
	for _, state := range []ask.ReceiptState{ask.ReceiptPosting, ask.ReceiptPosted} {
		err := r.Receipt(ctx, it.Key, ask.Receipt{State: state, Life: it.Life, Key: "k", Places: []ask.Place{{Where: "somewhere"}}})
		if err != nil && !errors.Is(err, ask.ErrInvalid) && !errors.Is(err, ask.ErrNotFound) {
			return responder.ErrLeave
		}
	}
	return nil
}
