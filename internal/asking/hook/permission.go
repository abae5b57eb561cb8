package hook

import (
	"context"
	"errors"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// alone waits while only the host's dialog asks for a permission. It is false if the host stopped the hook
// meanwhile: then nobody else was asked.
func (r *run) alone(ctx context.Context) bool {
	if r.After <= 0 || !r.event.Permission() {
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
		return nil
	}
	_, err := r.asks.Withdraw(ctx, found.Ask.ID, "allowed at the agent's terminal")
	if errors.Is(err, ask.ErrResolved) {
		return nil
	}
	return err
}
