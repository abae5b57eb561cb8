package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// maxTries bounds how often one command is decided again.
const maxTries = 20

// carry carries out a command on one ask and returns what the ledger then
// holds. origin is the event that asks, for a new ask.
func (b *Broker) carry(ctx context.Context, k ask.Key, c lifecycle.Command, origin cloudevent.Question) (ledger.Entry, error) {
	entry, known, err := b.start(ctx, k, c)
	if err != nil {
		return ledger.Entry{}, err
	}
	for try := range maxTries {
		held, err := entry.Held()
		if err != nil {
			return ledger.Entry{}, err
		}
		b.breakHeld(&held)
		now := b.opts.Now()
		plan, err := lifecycle.Decide(held, c, now)
		if err != nil {
			return ledger.Entry{}, err
		}
		switch plan := plan.(type) {
		case lifecycle.Tell:
			return entry, nil
		case lifecycle.Store:
			if !known {
				if refusal := b.admit(ctx, k, &plan.Question); refusal != nil {
					if entry, err = b.led.Read(ctx, k); err != nil {
						return ledger.Entry{}, err
					}
					if entry == (ledger.Entry{}) {
						return ledger.Entry{}, refusal
					}
					known = true
					continue
				}
			}
			q := origin
			q.Ask, q.OnDeadline, q.Digest, q.AskedAt = *plan.Question.Ask, plan.Question.Will, plan.Digest, plan.Question.AskedAt
			q.OnDeadline.Ask = nil
			var seq uint64
			if seq, err = b.led.Store(ctx, k, q); err == nil {
				return ledger.Entry{Pending: &ledger.Pending{Question: q, Seq: seq}}, nil
			}
		case lifecycle.Resolve:
			var end cloudevent.End
			if end, err = b.led.Resolve(ctx, entry.Pending, plan.Outcome, now); err == nil {
				entry = ledger.Entry{Resolved: &end}
				continue
			}
		}
		if !ledger.IsRace(err) {
			return ledger.Entry{}, err
		}
		if err := breathe(ctx, try); err != nil {
			return ledger.Entry{}, err
		}
		if entry, err = b.led.Read(ctx, k); err != nil {
			return ledger.Entry{}, err
		}
	}
	return ledger.Entry{}, fmt.Errorf("broker: %s: %w: %d writes in a row lost their race", k, ask.ErrUnavailable, maxTries)
}

// start reads what the first decision needs. A new ask needs nothing: the
// compare-and-set says whether it is new.
func (b *Broker) start(ctx context.Context, k ask.Key, c lifecycle.Command) (e ledger.Entry, known bool, err error) {
	switch c.(type) {
	case lifecycle.Ask:
		return ledger.Entry{}, false, nil
	case lifecycle.Look:
		e, err = b.led.Read(ctx, k)
	default:
		e, err = b.led.ReadToWrite(ctx, k)
	}
	return e, true, err
}

// admit says why a new ask cannot be taken just now, if so.
func (b *Broker) admit(ctx context.Context, k ask.Key, q *lifecycle.Question) error {
	if err := b.led.Room(); err != nil {
		return err
	}
	if q.Ask.RequireResponder && len(b.presence.ask(k.Tenant, k.Session).wait(ctx, time.Second)) == 0 {
		return ask.Refuse(503, ask.CodeNobody, "nobody is there to answer, and the ask requires a responder; open a surface, or ask without require_responder")
	}
	return nil
}

// look reads one ask; an overdue one is expired on the way.
func (b *Broker) look(ctx context.Context, k ask.Key) (ledger.Entry, error) {
	return b.carry(ctx, k, lifecycle.Look{}, cloudevent.Question{})
}

// breathe waits a moment that grows: somebody else's write is under way.
func breathe(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(1<<min(try, 8)) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
