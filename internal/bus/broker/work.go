package broker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// next hands out work to a posting surface, and waits for some if asked to.
func (b *Broker) next(_ context.Context, r *request) error {
	if r.reply == "" {
		return nil // no replica to hand it to
	}
	q, err := wire.DecodeNext(r.body)
	if err != nil {
		return err
	}
	kind := subject.Question
	if q.Of == wire.NextOutcome {
		kind = subject.Outcome
	}
	if err := b.subscriptions.open(kind); err != nil {
		return err
	}
	release, err := b.waits.holdNext(r)
	if err != nil {
		return err
	}
	wait := min(time.Duration(q.Wait), ask.MaxHold)
	group := ledger.Group{Type: r.Type, Tenant: r.Tenant}
	b.running.Go(func() { //nolint:contextcheck // waits longer than this request's limit
		defer release()
		ctx, cancel := context.WithTimeout(b.base, wait+b.opts.Limit)
		defer cancel()
		found, err := b.nextItems(ctx, group, kind, q.Max, wait)
		if err == nil {
			err = b.handOver(ctx, r, found)
		}
		if err == nil {
			return
		}
		b.giveBack(ctx, group, kind, found)
		if !errors.Is(err, errNobodyListens) {
			b.refuse(ctx, r, err)
		}
	})
	return nil
}

// handOver replies with work.
func (b *Broker) handOver(ctx context.Context, r *request, found []ledger.WorkItem) error {
	items, err := nextEvents(found, b.led.Now())
	if err != nil {
		return err
	}
	body, err := wire.EncodeNext(items, b.led.Lease())
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return b.replyBody(r, body)
	}
	return b.replyListener(ctx, r, body)
}

// giveBack returns work that could not be delivered, so that another replica
// gets it at once. Work that it cannot return is redelivered after its lease.
func (b *Broker) giveBack(ctx context.Context, g ledger.Group, kind string, found []ledger.WorkItem) {
	for _, w := range found {
		if err := b.work.Settle(ctx, g, w.Token, subject.VerbLater, 0); err != nil {
			b.opts.Logger.WarnContext(ctx, "cannot return work; it is redelivered after its lease", slog.String("ask_id", w.State.Ask.ID), slog.Any("error", err))
		}
	}
	if len(found) > 0 {
		b.republished[kind].notifyAll()
	}
}

func (b *Broker) nextItems(ctx context.Context, g ledger.Group, kind string, most int, wait time.Duration) ([]ledger.WorkItem, error) {
	end := time.Now().Add(wait)
	republished, leave := b.republished[kind].wait(g.Tenant)
	defer leave()
	for {
		select { // the next read finds what was republished until now
		case <-republished:
		default:
		}
		found, err := b.work.Next(ctx, g, kind, most)
		for i := range found {
			if found[i].Again {
				b.counts.Redelivered(g.Type, workKind(kind))
			}
		}
		if err != nil || len(found) > 0 || !time.Now().Before(end) || !b.ready.Load() {
			return found, err
		}
		t := time.NewTimer(min(time.Second, time.Until(end))) // redeliveries are not republished
		select {
		case <-republished:
			t.Reset(gather)
			<-t.C
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// gather is how long a request for work waits for more once there is some: in a
// burst every message wakes all waiting requests.
const gather = 10 * time.Millisecond

func nextEvents(found []ledger.WorkItem, now time.Time) ([]wire.NextItem, error) {
	items := make([]wire.NextItem, 0, len(found))
	for _, w := range found {
		tell := cloudevent.QuestionEvent
		if w.State.End != nil {
			tell = cloudevent.EndEvent
		}
		ev, err := tell(&w.State)
		if err != nil {
			return nil, err
		}
		items = append(items, wire.NextItem{Token: w.Token, Life: w.State.Life, Event: ev.Build(), Receipt: w.Receipt, At: now.UTC()})
	}
	return items, nil
}

// settle serves done, extend and later.
func (b *Broker) settle(ctx context.Context, r *request) error {
	token, delay, err := wire.DecodeSettle(string(r.Verb), r.body)
	if err != nil {
		return err
	}
	if err := b.work.Settle(ctx, ledger.Group{Type: r.Type, Tenant: r.Tenant}, token, r.Verb, delay); err != nil {
		return err
	}
	if r.Verb == subject.VerbLater && delay <= 0 { // requests that are held for work
		b.republished[subject.Question].notifyAll()
		b.republished[subject.Outcome].notifyAll()
	}
	return b.replyJSON(r, map[string]bool{"ok": true})
}
