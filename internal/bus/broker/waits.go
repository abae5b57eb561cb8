package broker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// checkEvery is how often a held request is checked against the ledger, because
// republishing is best effort: an outcome was once missed.
const checkEvery = 30 * time.Second

// waits holds requests. They take no worker while they wait.
type waits struct {
	b    *Broker
	look func(context.Context, ask.Key) (lifecycle.State, error) // reads an ask
	now  func() time.Time                                        // the ledger's time

	mu    sync.Mutex
	byKey map[subject.Key]*waited
	n     int
	next  int // waiting requests for work

	checks chan struct{} // one for each running check
}

// waited is an ask with held requests. A request that joins others soon after
// the ledger was read for one of them needs no read: the outcome is republished
// to all of them.
type waited struct {
	by       map[*held]struct{}
	read     time.Time // when the ledger said that the ask is pending; zero: a new request must read it
	deadline time.Time
	ended    bool // its outcome was republished
}

// joinWithin is how old that read may be.
const joinWithin = time.Second

// Bounds of the checks of held requests: however many are held, their reads of
// the ledger must not slow down other requests.
const (
	maxChecks  = 16                   // at a time
	checkPause = 5 * time.Millisecond // between two, on average
)

// spread returns the time over which n checks must be distributed, one per
// pause, but not less than least.
func (w *waits) spread(least, pause time.Duration) time.Duration {
	return max(least, time.Duration(w.len())*pause)
}

// held is one held request. The goroutine that removes it from waits replies to
// it. It has at most one next step: a timer, or a step in progress that plans
// the next one.
type held struct {
	w *waits
	r request

	release func() // releases its slot among the held requests of its session

	mu       sync.Mutex
	end      time.Time
	deadline time.Time
	timer    *time.Timer // of the next step; nil before the wait begins
	stepping bool        // a step is in progress
	early    bool        // the step after that is due soon; see recheck
	gone     bool        // it was removed from waits
}

// hold registers a request, before the ledger is read for it. It is refused if
// its session or tenant has reached its limit. The result is nil if the broker
// holds too many requests: then the request is answered at once.
func (w *waits) hold(r *request) (*held, error) {
	if err := w.b.subscriptions.open(subject.Outcome); err != nil {
		w.b.opts.Logger.Warn("cannot hold a request", slog.String("ask_id", r.ID), slog.Any("error", err))
		return nil, nil //nolint:nilnil // answered at once
	}
	release, err := w.b.quotas.Hold(r.Key())
	if err != nil {
		return nil, err
	}
	h := &held{w: w, r: *r, end: time.Now().Add(r.hold), release: release}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n+w.next >= maxHeld {
		release()
		return nil, nil //nolint:nilnil // answered at once
	}
	k := r.Key()
	if w.byKey[k] == nil {
		w.byKey[k] = &waited{by: map[*held]struct{}{}}
	}
	w.byKey[k].by[h] = struct{}{}
	w.n++
	return h, nil
}

// holdNext reserves a slot for a request for work, which waits on its own
// goroutine: at most half of all held requests, and within the tenant's quota.
func (w *waits) holdNext(r *request) (release func(), err error) {
	share := func() {} // for the tenant's quota
	if r.Tenant != "" {
		if share, err = w.b.quotas.Hold(ask.Key{Tenant: r.Tenant}); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next >= maxHeld/2 {
		share()
		return nil, ask.Refuse(ask.CodeUnavailable, "%d requests for work are waiting, the maximum of this broker; send fewer at a time, and this one again", w.next)
	}
	w.next++
	return func() {
		share()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.next--
	}, nil
}

func (w *waits) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// answered removes a request whose ask was read, or could not be read. It
// reports whether it has its reply already, because the outcome was republished
// in the meantime. A request that is not held has none.
func (h *held) answered() bool { return h != nil && !h.cancel() }

// cancel removes the request; it reports whether it was still held.
func (h *held) cancel() bool {
	h.mu.Lock()
	h.gone = true
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	on := h.w.byKey[h.r.Key()]
	if on == nil {
		return false
	}
	if _, in := on.by[h]; !in {
		return false
	}
	delete(on.by, h)
	if len(on.by) == 0 {
		delete(h.w.byKey, h.r.Key())
	}
	h.w.n--
	h.release()
	return true
}

// join reports whether another request that waits for the same ask has just
// read that it is pending, and until when.
func (h *held) join() (deadline time.Time, ok bool) {
	if h == nil {
		return time.Time{}, false
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	on := h.w.byKey[h.r.Key()]
	if on == nil || on.ended || time.Since(on.read) >= joinWithin {
		return time.Time{}, false
	}
	return on.deadline, true
}

// found lets others join: the ledger was read at a time and has the ask as
// pending.
func (h *held) found(deadline, at time.Time) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	on := h.w.byKey[h.r.Key()]
	if on == nil || on.ended {
		return
	}
	if _, in := on.by[h]; in { // otherwise its outcome was republished since
		on.read, on.deadline = at, deadline
	}
}

// pending starts the wait: the ask is pending until deadline.
func (h *held) pending(deadline time.Time) {
	h.mu.Lock()
	h.deadline = deadline
	h.mu.Unlock()
	h.plan()
}

// plan sets the timer for the next step: the end, or a check.
func (h *held) plan() {
	every, soon := h.w.spread(checkEvery, checkPause), h.w.soon()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stepping = false
	if h.gone {
		return
	}
	if !h.w.b.ready.Load() { // draining: nothing waits for a timer
		h.end = time.Now()
		h.step()
		return
	}
	wait := every + rand.N(every/4)                                         //nolint:gosec // jitter
	if d := h.deadline.Add(time.Second).Sub(h.w.now()); d > 0 && d < wait { // by the ledger's clock
		wait = d
	}
	if h.early {
		h.early, wait = false, min(wait, soon)
	}
	h.timer = time.AfterFunc(min(wait, time.Until(h.end)), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.step()
	})
}

// step checks the ledger, or ends the wait, and plans the next step. The caller
// holds mu.
func (h *held) step() {
	if h.stepping || h.gone {
		return
	}
	h.stepping = true
	b := h.w.b
	b.running.Go(func() {
		h.w.checks <- struct{}{}
		defer func() { <-h.w.checks }()
		ctx, cancel := context.WithTimeout(b.base, b.opts.Limit)
		defer cancel()
		s, err := h.w.look(ctx, h.r.Key())
		h.mu.Lock()
		over := !time.Now().Before(h.end)
		h.mu.Unlock()
		switch {
		case err == nil && s.End != nil:
			if h.cancel() {
				err = b.replyEnd(&h.r, &s)
			}
		case err == nil && over:
			if h.cancel() {
				err = b.replyStatus(&h.r, b.status(&h.r, &s))
			}
		case err != nil && over:
			if h.cancel() {
				b.refuse(ctx, &h.r, err)
			}
			err = nil
		default:
			h.plan()
		}
		if err != nil {
			b.opts.Logger.WarnContext(ctx, "cannot serve a held request", slog.String("ask_id", h.r.ID), slog.Any("error", err))
		}
	})
}

// outcome replies to all requests that wait for a republished outcome.
func (w *waits) outcome(m *nats.Msg) {
	k, ok := cloudevent.FirstOutcome(m)
	if !ok {
		return
	}
	w.mu.Lock()
	var waiting []*held
	if on := w.byKey[k]; on != nil {
		on.ended = true // those that come now are not among the waiting
		waiting = make([]*held, 0, len(on.by))
		for h := range on.by {
			waiting = append(waiting, h)
		}
	}
	w.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	end, err := cloudevent.ReadOutcome(m, k)
	if err != nil {
		w.b.opts.Logger.Warn("cannot read a republished outcome", slog.String("ask_id", k.ID), slog.Any("error", err))
		return // a check finds it
	}
	for _, h := range waiting {
		if h.cancel() {
			if err := w.b.replyEnd(&h.r, &end); err != nil {
				w.b.opts.Logger.Warn("cannot reply", slog.String("ask_id", k.ID), slog.Any("error", err))
			}
		}
	}
}

// all returns the requests that are waiting now.
func (w *waits) all() []*held {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*held, 0, w.n)
	for _, on := range w.byKey {
		for h := range on.by {
			all = append(all, h)
		}
	}
	return all
}

// recheck checks for every held request whether its outcome was missed.
func (w *waits) recheck() {
	w.mu.Lock()
	for _, on := range w.byKey {
		on.read = time.Time{}
	}
	w.mu.Unlock()
	for _, h := range w.all() {
		soon := w.soon()
		h.mu.Lock()
		if h.timer != nil && h.timer.Stop() {
			h.timer.Reset(soon)
		} else {
			h.early = true // what is being read now may be from before
		}
		h.mu.Unlock()
	}
}

// soon returns when to check a held request whose outcome may have been missed.
func (w *waits) soon() time.Duration {
	return rand.N(w.spread(time.Second, time.Millisecond)) //nolint:gosec // jitter
}

// release ends all waits: the broker is stopping.
func (w *waits) release() {
	now := time.Now()
	for _, h := range w.all() {
		h.mu.Lock()
		h.end = now
		if h.timer != nil { // otherwise its ask is being read
			h.timer.Stop()
			h.step()
		}
		h.mu.Unlock()
	}
}
