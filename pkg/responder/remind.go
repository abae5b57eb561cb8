package responder

import (
	"context"
	"errors"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Reminder is implemented by a [Presenter] that does something about a post which nobody has seen. Remind is called on
// some replica once the ask has been pending for RemindAfter since it was posted, not if it has ended, and again after
// an error or a crash. RemindAfter is at most an hour, and zero means never. If a [*LaterError] is returned, Remind is
// called again after that time.
type Reminder interface {
	RemindAfter() time.Duration
	Remind(ctx context.Context, p Post, places []ask.Place) error
}

// reminds puts the work for a post that was just made off, until it may be time to remind.
func (s *Server) reminds(it *Item, places []ask.Place) error {
	if r, ok := s.p.(Reminder); ok && r.RemindAfter() > 0 && len(places) > 0 && !it.rewritten() {
		return &LaterError{After: min(r.RemindAfter(), maxLater)}
	}
	return nil
}

// remind reminds of a post whose work comes again, if its ask is pending and it is time.
func (s *Server) remind(ctx context.Context, it Item, p Post) error {
	r, ok := s.p.(Reminder)
	if !ok || r.RemindAfter() <= 0 || it.rewritten() || it.Receipt.State != ask.ReceiptPosted || len(it.Receipt.Places) == 0 {
		return nil
	}
	if rest := r.RemindAfter() - it.At.Sub(it.Receipt.At); rest > 0 {
		return &LaterError{After: min(rest, maxLater)}
	}
	rec, err := s.r.Get(ctx, it.Key)
	switch {
	case errors.Is(err, ask.ErrNotFound), err == nil && (rec.Outcome != nil || rec.Life != it.Life):
		return nil
	case err != nil:
		return &LaterError{After: retryWork, Err: err}
	}
	return r.Remind(ctx, p, it.Receipt.Places)
}

// Unseen says, for the type "push", that the devices of people (their principals, at most 10) were notified of an ask
// and did not show it to them: each is told in a chat that they have linked, once for each ask.
func (r *Responder) Unseen(ctx context.Context, k ask.Key, life string, people []string) error {
	seen := wire.Seen{Life: life, Unseen: people[:min(len(people), wire.MaxUnseen)]}
	return connection.JSON(ctx, r.on, "unseen "+k.String(), subject.Responder(r.typ, subject.Self, k, subject.VerbSeen), seen, nil)
}
