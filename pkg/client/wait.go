package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// checkEvery is how often a waiting client asks the broker, with jitter: the
// streams republish outcomes once, and one was really missed.
const checkEvery = 30 * time.Second

// retryAfter is when a waiting client asks again after nobody answered.
const retryAfter = time.Second

// maxChecks is how many waits of a client ask the broker at a time. Thousands
// that do so at once, after a reconnect, would delay each other and everybody.
const maxChecks = 64

// pace is how a waiting client asks. Only tests change it.
type pace struct {
	every, retry time.Duration
	limit        time.Duration // of one check
	alive        time.Duration // between questions whether brokers run
	now          func() time.Time
}

// known is what a wait knows of its ask when it begins.
type known struct {
	pending  bool // when the wait had begun to listen
	deadline time.Time
}

// Wait waits until an ask ends and returns its outcome, with the question in
// its Ask. It goes on through reconnects and broker restarts, for as long as
// its context does. It may be called any number of times for an ask, at once
// and after its end.
//
// The errors are:
//   - the context's own error when it ends; the ask is still pending then;
//   - [ErrClosed] when the client is closed;
//   - [nats.ErrConnectionClosed] when the connection is closed for good;
//   - [ask.ErrInvalid] when the tenant, the session or the id is not valid;
//   - [ask.ErrNotFound] when the session has no such ask, or has forgotten it;
//   - [ask.ErrForbidden] when the credential is not for this session;
//   - [ask.ErrQuota] when something waits in [Options.MaxSessions] sessions.
func (s Session) Wait(ctx context.Context, id string) (ask.Outcome, error) {
	k, err := s.key(id)
	if err != nil {
		return ask.Outcome{}, err
	}
	w, err := s.c.enter(k)
	if err != nil {
		return ask.Outcome{}, err
	}
	defer s.c.leave(k, w)
	return s.c.wait(ctx, k, w, known{})
}

// wait waits for the outcome of an ask. Unless the ask is known to be pending,
// it begins by asking the broker.
func (c *Client) wait(ctx context.Context, k ask.Key, w *wait, first known) (ask.Outcome, error) {
	deadline := first.deadline
	for skip := first.pending; ; skip = false {
		var o *ask.Outcome
		var err error
		if !skip {
			o, err = c.checkOrHear(ctx, k, w, &deadline)
		}
		switch {
		case err == nil && o != nil:
			return *o, nil
		case ctx.Err() != nil:
			return ask.Outcome{}, ctx.Err()
		case errors.Is(err, ErrClosed):
			return ask.Outcome{}, err
		case err != nil && !errors.Is(err, ask.ErrUnavailable):
			return ask.Outcome{}, fmt.Errorf("wait for ask %s: %w", k.ID, err)
		case err != nil:
			c.opts.Logger.WarnContext(ctx, "the broker is away; still waiting", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
		next := c.pace.next(deadline)
		if err != nil {
			next = c.pace.retry
		}
		t := time.NewTimer(next)
		select {
		case o := <-w.outcome:
			t.Stop()
			return o, nil
		case <-w.nudge:
		case <-t.C:
		case <-c.stop:
			t.Stop()
			return ask.Outcome{}, ErrClosed
		case <-ctx.Done():
			t.Stop()
			return ask.Outcome{}, ctx.Err()
		}
		t.Stop()
	}
}

// checkOrHear asks the broker, and meanwhile listens: the outcome may come on
// the wire while no broker answers, because the server itself keeps deadlines.
func (c *Client) checkOrHear(ctx context.Context, k ask.Key, w *wait, deadline *time.Time) (*ask.Outcome, error) {
	type said struct {
		outcome  *ask.Outcome
		deadline time.Time
		err      error
	}
	select {
	case c.checks <- struct{}{}:
		defer func() { <-c.checks }()
	case o := <-w.outcome:
		return &o, nil
	case <-c.stop:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-w.nudge: // which is what happens now
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, c.pace.limit)
	defer cancel()
	reply := make(chan said, 1)
	go func() {
		o, d, err := c.check(ctx, k)
		reply <- said{o, d, err}
	}()
	select {
	case s := <-reply:
		if s.err == nil {
			*deadline = s.deadline
		}
		return s.outcome, s.err
	case o := <-w.outcome:
		return &o, nil
	case <-c.stop:
		return nil, ErrClosed
	}
}

// next is how long to wait before asking again, but not long past the deadline.
// A wrong clock makes it neither spin nor sleep longer.
func (p pace) next(deadline time.Time) time.Duration {
	d := p.every + rand.N(p.every/4) //nolint:gosec // jitter
	if due := deadline.Add(time.Second).Sub(p.now()); due > 0 && due < d {
		d = due
	}
	return d
}

// check asks the broker whether the ask has ended.
func (c *Client) check(ctx context.Context, k ask.Key) (*ask.Outcome, time.Time, error) {
	typ, data, err := call.Msg(ctx, call.On(c.nc), &nats.Msg{Subject: subject.Agent(k, subject.VerbWait)}, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	if typ == cloudevent.TypeResolved {
		o, err := wire.DecodeOutcome(data)
		return &o, time.Time{}, err
	}
	s, err := wire.DecodeStatus(data)
	c.heardOf(s.Holder)
	return s.Outcome, s.Deadline, err
}
