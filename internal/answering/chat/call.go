package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/responder"
)

// Queue names a queue of a [responder.Limiter].
type Queue struct{ Class, Place string }

// Call makes a call of a chat's API about a place when it is its turn in each queue, unless ctx has ended by then:
// another replica may have the ask. Limited returns how long the service refuses according to an error of f; 0: it does
// not. Then the first queue pauses, and the error is a [*responder.RetryError].
func Call(ctx context.Context, l *responder.Limiter, queues []Queue, place string, r responder.Rank, limited func(error) time.Duration, f func(context.Context) error) error {
	for _, q := range queues {
		if err := l.Wait(ctx, q.Class, q.Place, r); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := f(ctx)
	if err == nil {
		return nil
	}
	if after := limited(err); after > 0 {
		if len(queues) > 0 {
			l.Pause(queues[0].Class, queues[0].Place, after)
		}
		return &responder.RetryError{After: after, Place: place, Err: err}
	}
	return err
}

// Probe pings a connection again and again until ctx ends. It returns an error as soon as a ping is not answered in the
// time between two of them: a connection may be lost without a word, and looks healthy then.
func Probe(ctx context.Context, every time.Duration, ping func(context.Context) error) error {
	for backoff.Sleep(ctx, every) == nil {
		within, cancel := context.WithTimeout(ctx, every)
		err := ping(within)
		cancel()
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("a ping is not answered: %w", err)
		}
	}
	return ctx.Err()
}

// Retry calls f until it succeeds or ctx ends, after pauses that double up to a minute, or that a
// [*responder.RetryError] says.
func (s *Surface) Retry(ctx context.Context, f func(context.Context) error) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := f(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		pause := wait
		if retry, ok := errors.AsType[*responder.RetryError](err); ok {
			pause = retry.After
		}
		s.Log.WarnContext(ctx, "the chat cannot be reached; trying again", slog.String("error", err.Error()), slog.Duration("again_in", pause))
		_ = backoff.Sleep(ctx, pause) // fails only when ctx ends, which ends the next call
	}
}
