package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// EndedError reports that the ask ended elsewhere while its questions were asked.
type EndedError struct{ Words string }

// Error says who was first, in the viewer's language.
func (e *EndedError) Error() string { return e.Words }

// Unwrap returns [ask.ErrResolved].
func (e *EndedError) Unwrap() error { return ask.ErrResolved }

// elsewhereError ends a dialog because its ask has ended elsewhere.
type elsewhereError struct{ outcome *ask.Outcome }

func (e *elsewhereError) Error() string { return ask.ErrResolved.Error() }

// Decide prompts for the answer to a pending ask as [Answer] does, tells the bus that somebody is there, and
// sends the answer through r. Its errors are those of Answer, and an [*EndedError].
func Decide(ctx context.Context, out io.Writer, width int, lines *Lines, r *responder.Responder, rec *ask.Record, v card.Viewer) (ask.Outcome, error) {
	k := rec.Ask.Key()
	within, end := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = board.Watch(within, r, func(e board.Event) { // if it fails, the answer reports an earlier one
			if e.Kind == board.Resolved && e.Record.Ask.Key() == k && e.Record.Outcome != nil {
				end(&elsewhereError{e.Record.Outcome})
			}
		})
	}()
	defer func() { end(nil); <-watched }()
	if leave, err := r.Present(k.Tenant, k.Session); err == nil {
		defer leave()
	}
	o, err := Answer(within, out, width, lines, rec, card.New(rec, v, time.Now()), func(ctx context.Context, d Decision) (ask.Outcome, error) {
		ctx = context.WithoutCancel(ctx) // the answer itself ends the ask
		if d.TakeBack {
			votes, err := r.Unvote(ctx, k, "", v.By)
			if err == nil {
				fmt.Fprintln(out, v.VoteTakenBack(rec, votes, time.Now()))
				err = ErrLeft
			}
			return ask.Outcome{}, err
		}
		if d.Decline {
			return r.Cancel(ctx, k, responder.Decline{Reason: d.Reason, By: v.By})
		}
		d.Reply.By = v.By
		return r.Answer(ctx, k, d.Reply)
	})
	if ended, ok := errors.AsType[*elsewhereError](context.Cause(within)); ok && errors.Is(err, context.Canceled) {
		gone := *rec
		gone.State, gone.Outcome = ask.StateResolved, ended.outcome
		return o, &EndedError{card.NewEnd(&gone, v, time.Now()).Late()}
	}
	return o, err
}
