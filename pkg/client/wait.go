package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// checkEvery is how often a waiting client asks the broker, with jitter, in
// case it missed an outcome: the streams republish each one only once.
const checkEvery = 30 * time.Second

// retryAfter is the delay before a waiting client asks again after no broker
// answered.
const retryAfter = time.Second

// maxChecks bounds the concurrent checks of a client. Thousands at once after a
// reconnect would delay each other and other clients.
const maxChecks = 64

// maxSessions bounds the sessions with open waits at a time, each of which takes a
// subscription.
const maxSessions = 65_536

// pace holds the intervals and the bound of a waiting client. Only tests change it.
type pace struct {
	every, retry time.Duration
	limit        time.Duration // of one check
	alive        time.Duration // between checks whether brokers run
	linger       time.Duration // how long an unused subscription stays
	unused       time.Duration // how long AskToWait listens for Asked.Wait
	now          func() time.Time
	sessions     int // with open waits
}

// known is the state of an ask when its wait begins.
type known struct {
	pending  bool // still pending after the wait had subscribed
	deadline time.Time
}

// Wait waits until an ask ends and returns its outcome, with the question in
// its Ask. It survives reconnects and broker restarts, until its context ends.
// It may be called any number of times for an ask, concurrently and after its
// end.
//
// The errors are:
//   - the context's own error when it ends; the ask is then still pending;
//   - [ErrClosed] when the client is closed;
//   - [nats.ErrConnectionClosed] when the connection is closed for good;
//   - [ask.ErrInvalid] when the tenant, the session or the id is not valid;
//   - [ask.ErrNotFound] when the session has no such ask, or has forgotten it;
//   - [ask.ErrForbidden] when the credential is not for this session;
//   - [ask.ErrQuota] when 65,536 sessions have open waits.
func (s Session) Wait(ctx context.Context, id string) (ask.Outcome, error) {
	return s.wait(ctx, id, "")
}

// wait is Wait for an ask that carried a traceparent, or none.
func (s Session) wait(ctx context.Context, id, trace string) (ask.Outcome, error) {
	k, err := s.key(id)
	if err != nil {
		return ask.Outcome{}, err
	}
	w, err := s.c.enter(k)
	if err != nil {
		return ask.Outcome{}, err
	}
	defer s.c.leave(k, w)
	return s.c.traceOutcome(ctx, k, trace)(s.c.wait(ctx, k, w, known{}))
}

// Wait is [Session.Wait] for the ask that was asked. After [Session.AskToWait]
// it sends no request until something may have been missed.
func (a Asked) Wait(ctx context.Context) (ask.Outcome, error) {
	if a.Outcome != nil {
		return *a.Outcome, nil
	}
	l := a.listening
	if l == nil || !l.unused.Stop() { // never listened, or no longer
		return a.session.wait(ctx, a.ID, a.trace)
	}
	defer l.c.leave(l.k, l.w)
	return l.c.traceOutcome(ctx, l.k, a.trace)(l.c.wait(ctx, l.k, l.w, known{pending: true, deadline: a.Deadline}))
}

// listening is a wait that was registered before its ask was sent. Exactly one
// of [Asked.Wait] and the timer takes it over, and leaves it.
type listening struct {
	c      *Client
	k      ask.Key
	w      *wait
	unused *time.Timer
}

func (c *Client) listen(k ask.Key, w *wait) *listening {
	return &listening{c, k, w, time.AfterFunc(c.pace.unused, func() { c.leave(k, w) })}
}

// unusedFor is how long a registered wait is kept for [Asked.Wait].
const unusedFor = 5 * time.Second

// traceOutcome leaves a short span of the moment at which an agent learnt an outcome:
// one of the whole wait could be days long. It belongs to the trace of the context, else to that of the ask.
func (c *Client) traceOutcome(ctx context.Context, k ask.Key, trace string) func(ask.Outcome, error) (ask.Outcome, error) {
	return func(o ask.Outcome, err error) (ask.Outcome, error) {
		if err == nil {
			_, end := c.tracer.Start(ctx, "told "+string(o.Status), tracing.Works, cmp.Or(traceOf(ctx), c.tracer.Carry(ctx), trace), tracing.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID})
			end(nil)
		}
		return o, err
	}
}

// wait waits for the outcome of an ask. It first asks the broker, unless the
// ask is known to be pending.
func (c *Client) wait(ctx context.Context, k ask.Key, w *wait, first known) (ask.Outcome, error) {
	deadline, said := first.deadline, false
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
			level := slog.LevelWarn
			if said { // a person reads it once, not at every try
				level = slog.LevelDebug
			}
			c.opts.Logger.LogAttrs(ctx, level, "no broker answered; still waiting", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
		said = err != nil
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

// checkOrHear asks the broker and listens at the same time: the outcome may
// arrive while no broker answers, because the NATS server itself keeps
// deadlines.
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
	case <-w.nudge: // this check covers it
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

// next returns how long to wait before asking again, at most until shortly
// after the deadline. It neither spins nor sleeps longer with a wrong clock.
func (p pace) next(deadline time.Time) time.Duration {
	d := p.every + rand.N(p.every/4) //nolint:gosec // jitter
	if due := deadline.Add(time.Second).Sub(p.now()); due > 0 && due < d {
		d = due
	}
	return d
}

// check asks the broker whether the ask has ended.
func (c *Client) check(ctx context.Context, k ask.Key) (*ask.Outcome, time.Time, error) {
	typ, data, err := connection.Msg(ctx, c.on, &nats.Msg{Subject: subject.Agent(k, subject.VerbWait)}, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	if typ == cloudevent.TypeResolved {
		o, err := wire.OutcomeOf(k, data)
		if err != nil {
			return nil, time.Time{}, err
		}
		return &o, time.Time{}, nil
	}
	s, err := wire.StatusOf(k, data)
	if err != nil {
		return nil, time.Time{}, err
	}
	c.heardOf(s.Holder)
	return s.Outcome, s.Deadline, nil
}
