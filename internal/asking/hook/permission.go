package hook

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// alone waits while only the host's dialog asks for a permission. It is false if the host stopped the hook
// meanwhile: then nobody else was asked.
func (r *run) alone(ctx context.Context) bool {
	if r.After <= 0 || !r.event.Permission() || r.Host.First {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(r.After):
		return true
	}
}

// allowed handles the end of a tool call. If its permission is still asked for, it was given in the host's
// dialog, which does not tell the hook.
func (r *run) allowed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.h.opts.Patience)
	defer cancel()
	var found *ask.Record
	for rec, err := range r.asks.All(ctx, client.Query{State: ask.StatePending, PageSize: 200}) {
		if err != nil {
			return err
		}
		if r.event.PermittedBy(&rec.Ask) && (r.Mark == nil || rec.Ask.AskedBy(r.Mark(rec.Ask.Key()))) && (found == nil || rec.AskedAt.Before(found.AskedAt)) {
			found = &rec // the earliest: of two equal calls each is a permission of its own
		}
	}
	if found == nil {
		return r.allowedThere(ctx)
	}
	_, err := r.asks.Withdraw(ctx, found.Ask.ID, "allowed at the agent's terminal")
	if errors.Is(err, ask.ErrResolved) {
		return nil
	}
	return err
}

// LeftThere is the reason of an ask whose hook the host stopped: it does not say what was decided.
const LeftThere = "decided at the agent's terminal, or left there"

// maxEnded bounds the ended asks among which a permission is searched.
const maxEnded = 1000

// allowedThere adds to a permission that ended as [LeftThere] that its call was carried out: a receipt of the
// host's dialog.
func (r *run) allowedThere(ctx context.Context) error {
	if r.h.opts.Answerer == nil {
		return nil
	}
	seen := 0
	for rec, err := range r.asks.All(ctx, client.Query{State: ask.StateResolved, Question: r.event.Ask.Questions[0].Text, PageSize: 200}) {
		if err != nil {
			return err
		}
		if seen++; seen > maxEnded {
			return nil
		}
		if !r.event.PermittedBy(&rec.Ask) || rec.Outcome == nil || rec.Outcome.Reason != LeftThere || r.Mark != nil && !rec.Ask.AskedBy(r.Mark(rec.Ask.Key())) {
			continue
		}
		if slices.ContainsFunc(rec.Receipts, func(at ask.Receipt) bool { return at.Type == ask.ResponderNative }) {
			continue // of an equal call
		}
		return r.h.opts.Answerer.Receipt(ctx, rec.Ask.Key(), ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted, Places: []ask.Place{{Where: "allowed there"}}})
	}
	return nil
}
