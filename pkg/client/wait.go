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
	now          func() time.Time
}

// wait is one call of Wait.
type wait struct {
	outcome chan ask.Outcome // buffered: the first one counts
	nudge   chan struct{}    // buffered: ask now, something may have been missed
}

// Wait waits until the ask ends and returns its outcome. It goes on through
// reconnects and broker restarts until ctx ends; then the error is ctx's and
// the ask is still pending. [ask.ErrNotFound] means that there is no such ask.
func (c *Client) Wait(ctx context.Context, id string) (ask.Outcome, error) {
	if k := c.key(id); !k.Valid() {
		return ask.Outcome{}, invalidID(id)
	}
	w, deadline, known, err := c.enter(id)
	if err != nil {
		return ask.Outcome{}, err
	}
	defer c.leave(id, w)
	for ; ; known = false {
		var o *ask.Outcome
		if !known {
			o, err = c.checkOrHear(ctx, id, w, &deadline)
		}
		switch {
		case err == nil && o != nil:
			return *o, nil
		case ctx.Err() != nil:
			return ask.Outcome{}, ctx.Err()
		case err != nil && !errors.Is(err, ask.ErrUnavailable):
			return ask.Outcome{}, fmt.Errorf("wait for ask %s: %w", id, err)
		case err != nil:
			c.opts.Logger.WarnContext(ctx, "the broker is away; still waiting", slog.String("ask_id", id), slog.Any("error", err))
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
func (c *Client) checkOrHear(ctx context.Context, id string, w *wait, deadline *time.Time) (*ask.Outcome, error) {
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
		o, d, err := c.check(ctx, id)
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
func (c *Client) check(ctx context.Context, id string) (*ask.Outcome, time.Time, error) {
	typ, data, err := call.Msg(ctx, c.nc, &nats.Msg{Subject: subject.Agent(c.key(id), subject.VerbWait)}, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	if typ == cloudevent.TypeResolved {
		o, err := cloudevent.DecodeOutcome(data)
		return &o, time.Time{}, err
	}
	s, err := cloudevent.DecodeStatus(data)
	return s.Outcome, s.Deadline, err
}

// enter registers a wait. The ask is known when this client has asked it and
// has listened ever since: then the broker need not be asked first.
func (c *Client) enter(id string) (w *wait, deadline time.Time, known bool, err error) {
	w = &wait{outcome: make(chan ask.Outcome, 1), nudge: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, time.Time{}, false, ErrClosed
	}
	if err := c.subscribe(); err != nil {
		return nil, time.Time{}, false, err
	}
	if c.waits[id] == nil {
		c.waits[id] = map[*wait]struct{}{}
	}
	c.waits[id][w] = struct{}{}
	deadline, known = c.takeAsked(id)
	return w, deadline, known, nil
}

// subscribe listens for the outcomes of the whole session, once. The caller
// holds mu.
func (c *Client) subscribe() error {
	if c.sub != nil {
		return nil
	}
	status := c.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	sub, err := c.nc.Subscribe(subject.OutAll(c.tenant, c.session, subject.Outcome), c.receive)
	if err == nil {
		err = sub.SetPendingLimits(-1, 64<<20)
	}
	if err != nil {
		c.nc.RemoveStatusListener(status)
		return fmt.Errorf("client: %w", err)
	}
	c.sub = sub
	c.watch.Go(func() { c.watchConnection(sub, status) })
	return nil
}

func (c *Client) leave(id string, w *wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waits[id], w)
	if len(c.waits[id]) == 0 {
		delete(c.waits, id)
	}
}

// receive takes a republished outcome. Only the first message of a subject
// counts, whose Nats-Last-Sequence is 0: a late expiry may follow an answer.
func (c *Client) receive(m *nats.Msg) {
	k, kind, ok := subject.ParseOut(m.Subject)
	if !ok || kind != subject.Outcome || k.Tenant != c.tenant || k.Session != c.session || m.Header.Get("Nats-Last-Sequence") != "0" {
		return
	}
	if err := c.tell(m, k); err != nil {
		c.opts.Logger.Warn("cannot read a republished outcome; asking for it instead", slog.String("ask_id", k.ID), slog.Any("error", err))
	}
}

// tell hands an outcome to those who wait for it, or makes them ask.
func (c *Client) tell(m *nats.Msg, k ask.Key) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, k.ID) // a Wait to come asks: who never waits keeps nothing here
	if len(c.waits[k.ID]) == 0 {
		return nil
	}
	end, err := cloudevent.ReadOutcome(m, k)
	if err != nil {
		c.nudge(k.ID)
		return err
	}
	for w := range c.waits[k.ID] {
		select {
		case w.outcome <- end.Outcome:
		default:
		}
	}
	return nil
}

// nudge makes the waits of an ask (empty: all) ask the broker. The caller holds mu.
func (c *Client) nudge(id string) {
	for of, set := range c.waits {
		if id != "" && of != id {
			continue
		}
		for w := range set {
			select {
			case w.nudge <- struct{}{}:
			default:
			}
		}
	}
}

// watchConnection asks for everything again when the connection came back or
// messages were dropped, and once more when it is closed for good, which ends
// the waits.
func (c *Client) watchConnection(sub *nats.Subscription, status chan nats.Status) {
	defer c.nc.RemoveStatusListener(status)
	slow := sub.StatusChanged(nats.SubscriptionSlowConsumer)
	var dropped int
	var look <-chan time.Time // while messages may be dropped: NATS tells of the first only
	for {
		select {
		case <-c.stop:
			return
		case s, ok := <-status:
			c.askAgain()
			if !ok || s == nats.CLOSED {
				return
			}
			continue
		case _, ok := <-slow:
			if !ok {
				slow = nil // with its connection
			}
			if !ok || look != nil {
				continue
			}
		case <-look:
		}
		look = nil
		n, err := sub.Dropped()
		if err != nil {
			continue
		}
		if queued, _, err := sub.Pending(); n != dropped || err == nil && queued > 0 {
			look = time.After(c.pace.retry)
		}
		if n != dropped {
			dropped = n
			c.opts.Logger.Warn("outcomes came faster than they were taken; asking for them", slog.Int("dropped", n))
			c.askAgain()
		}
	}
}

// askAgain makes every wait ask the broker, also those to come.
func (c *Client) askAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetAsked()
	c.nudge("")
}
