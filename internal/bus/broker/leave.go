package broker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// maxLeaving bounds the asks that a broker is about to withdraw. More are withdrawn at once.
const maxLeaving = 1_000

// leave serves a withdrawal that the answer of the host's own dialog may precede. Once the reply is sent,
// every broker refuses all other answers. If this broker dies meanwhile, the ask's lease ends it.
func (b *Broker) leave(ctx context.Context, r *request, e wire.End) error {
	k, withdraw := r.Key(), lifecycle.Withdraw{Reason: e.Reason}
	select {
	case b.leaving <- struct{}{}:
	default:
		return b.resolve(ctx, r, withdraw)
	}
	s, err := b.apply(ctx, k, lifecycle.Leave{}, r.User)
	if err != nil || !s.Pending() {
		<-b.leaving
		if err == nil {
			err = b.resolve(ctx, r, withdraw) // says how it ended
		}
		return err
	}
	b.running.Go(func() { //nolint:contextcheck // it outlives the request
		defer func() { <-b.leaving }()
		timer := time.NewTimer(e.DialogWithin)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-b.draining:
		}
		ctx, cancel := context.WithTimeout(b.base, b.opts.Limit)
		defer cancel()
		s, err := b.apply(ctx, k, withdraw, r.User)
		switch {
		case err == nil:
			b.traceEnd(ctx, k, &s)
			b.log(ctx, string(s.End.Status), r, &s)
		case !errors.Is(err, ask.ErrResolved):
			b.opts.Logger.WarnContext(ctx, "cannot withdraw an ask whose agent has left", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
	})
	w := b.status(r, &s)
	w.RawAsk = nil // the agent has it
	return b.replyStatus(r, w)
}
