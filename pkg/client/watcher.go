package client

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// maxQueued bounds the unread outcomes of one session, in bytes.
const maxQueued = 64 << 20

// linger is how long a session's subscription stays after its last wait. A
// client that asks one question after another waits again within it;
// subscribing and unsubscribing cost the server about as much as storing a
// message.
const linger = 200 * time.Millisecond

// watcher receives the outcomes of one session for all its waits. The client's
// mu guards it.
type watcher struct {
	sub   *nats.Subscription
	stop  chan struct{} // closed when the watcher is dropped
	waits map[string]map[*wait]struct{}
	idle  *time.Timer // drops the watcher when nothing has waited for a while
}

// wait is one call of Wait.
type wait struct {
	outcome chan ask.Outcome // buffered: the first outcome counts
	nudge   chan struct{}    // buffered: ask now, an outcome may have been missed
}

// enter registers a wait and subscribes to its outcome.
func (c *Client) enter(k ask.Key) (*wait, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	at := k.InSession()
	watch := c.watchers[at]
	if watch == nil {
		var err error
		if watch, err = c.watch(at); err != nil {
			return nil, fmt.Errorf("wait for ask %s: %w", k.ID, err)
		}
	}
	watch.idle.Stop()
	if watch.waits[k.ID] == nil {
		watch.waits[k.ID] = map[*wait]struct{}{}
	}
	w := &wait{outcome: make(chan ask.Outcome, 1), nudge: make(chan struct{}, 1)}
	watch.waits[k.ID][w] = struct{}{}
	return w, nil
}

// watch subscribes to the outcomes of a session. The caller holds mu.
func (c *Client) watch(at ask.Session) (*watcher, error) {
	if len(c.watchers) >= c.pace.sessions && !c.dropIdle() {
		return nil, ask.Refuse(ask.CodeQuota, "%d sessions have open waits, the maximum of a client", len(c.watchers))
	}
	c.watchConnection() // first, so that no reconnect is missed
	sub, err := c.nc.Subscribe(subject.OutAll(at.Tenant, at.Name, subject.Outcome), func(m *nats.Msg) { c.receive(at, m) })
	if err == nil {
		err = sub.SetPendingLimits(-1, maxQueued)
	}
	if err != nil {
		c.quieten()
		return nil, err
	}
	w := &watcher{sub: sub, stop: make(chan struct{}), waits: map[string]map[*wait]struct{}{}}
	w.idle = time.AfterFunc(c.pace.linger, func() { c.expire(at, w) })
	w.idle.Stop()
	c.watchers[at] = w
	c.running.Go(func() { c.watchDropped(at, w) })
	return w, nil
}

// leave ends a wait. The session's subscription ends [linger] after its last
// wait.
func (c *Client) leave(k ask.Key, w *wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	watch := c.watchers[k.InSession()]
	if watch == nil { // closed
		return
	}
	delete(watch.waits[k.ID], w)
	if len(watch.waits[k.ID]) == 0 {
		delete(watch.waits, k.ID)
	}
	if len(watch.waits) == 0 {
		watch.idle.Reset(c.pace.linger)
	}
}

// expire drops a watcher in whose session nothing has waited for a while.
func (c *Client) expire(at ask.Session, w *watcher) {
	c.mu.Lock()
	over := c.watchers[at] == w && len(w.waits) == 0
	if over {
		c.drop(at, w)
	}
	c.mu.Unlock()
	if over {
		c.unsubscribe(w.sub)
	}
}

// dropIdle drops a session without waits, if there is one. The caller holds mu.
func (c *Client) dropIdle() bool {
	for at, w := range c.watchers {
		if len(w.waits) == 0 {
			c.drop(at, w)
			c.unsubscribe(w.sub)
			return true
		}
	}
	return false
}

// drop forgets a watcher. The caller holds mu and unsubscribes after releasing
// it.
func (c *Client) drop(at ask.Session, w *watcher) {
	w.idle.Stop()
	delete(c.watchers, at)
	close(w.stop)
	c.quieten()
}

func (c *Client) unsubscribe(sub *nats.Subscription) {
	if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
		c.opts.Logger.Warn("cannot unsubscribe", slog.String("subject", sub.Subject), slog.Any("error", err))
	}
}

// receive handles a republished outcome.
func (c *Client) receive(at ask.Session, m *nats.Msg) {
	k, ok := cloudevent.FirstOutcome(m)
	if !ok || k.InSession() != at || !c.awaited(k) {
		return
	}
	s, err := cloudevent.ReadOutcome(m, k)
	if err != nil {
		c.checkAgain(k)
		c.opts.Logger.Warn("cannot read a republished outcome; asking for it instead", slog.String("ask_id", k.ID), slog.Any("error", err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if watch := c.watchers[at]; watch != nil {
		for w := range watch.waits[k.ID] {
			select {
			case w.outcome <- *s.End:
			default:
			}
		}
	}
}

// awaited reports whether any wait is open for an ask.
func (c *Client) awaited(k ask.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	watch := c.watchers[k.InSession()]
	return watch != nil && len(watch.waits[k.ID]) > 0
}

// checkAgain makes every wait that k covers ask the broker: those of one ask,
// those of a session when k has no id, or all of them when k is zero.
func (c *Client) checkAgain(k ask.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, watch := range c.watchers {
		if k.Tenant != "" && at != k.InSession() {
			continue
		}
		for id, waits := range watch.waits {
			if k.ID != "" && id != k.ID {
				continue
			}
			for w := range waits {
				select {
				case w.nudge <- struct{}{}:
				default:
				}
			}
		}
	}
}

// watchConnection makes every wait ask the broker after a reconnect, and once
// more when the connection is closed for good, which ends the waits. It runs
// while any wait is open. The caller holds mu.
func (c *Client) watchConnection() {
	if c.quiet != nil {
		return
	}
	quiet := make(chan struct{})
	c.quiet = quiet
	c.running.Go(func() { c.watchHolders(quiet) })
	status := c.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	c.running.Go(func() {
		defer c.nc.RemoveStatusListener(status)
		for {
			select {
			case <-quiet:
				return
			case s, ok := <-status:
				c.checkAgain(ask.Key{})
				if !ok || s == nats.CLOSED {
					return
				}
			}
		}
	})
}

// quieten stops watching the connection when no wait is open. The caller holds
// mu.
func (c *Client) quieten() {
	if len(c.watchers) == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// watchDropped makes the waits of a session ask the broker after NATS dropped
// outcomes that arrived faster than they were read.
func (c *Client) watchDropped(at ask.Session, w *watcher) {
	slow := w.sub.StatusChanged(nats.SubscriptionSlowConsumer)
	var dropped int
	var look <-chan time.Time // set while messages may be dropped: NATS reports only the first
	for {
		select {
		case <-w.stop:
			return
		case _, ok := <-slow:
			if !ok {
				slow = nil // the connection closed it
			}
			if !ok || look != nil {
				continue
			}
		case <-look:
		}
		look = nil
		n, err := w.sub.Dropped()
		if err != nil {
			continue
		}
		if queued, _, err := w.sub.Pending(); n != dropped || err == nil && queued > 0 {
			look = time.After(c.pace.retry)
		}
		if n != dropped {
			dropped = n
			c.checkAgain(at.Key(""))
			c.opts.Logger.Warn("outcomes were dropped because they came too fast; asking for them", slog.String("session", at.String()), slog.Int("dropped", n))
		}
	}
}
