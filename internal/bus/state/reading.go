package state

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// readLimit is how long a read may take: a lost request is soon repeated. A broker that is busy gets three times as
// long after each failure, and until it is quick again.
const readLimit = 5 * time.Second

// reading is the state of a cache's reads. It belongs to Run.
type reading struct {
	c       *Cache
	next    *time.Timer
	result  chan changes
	whole   bool // the next read is a full one
	again   bool // the current read began too early
	rev     uint64
	begun   time.Time
	all     time.Time        // time of the last full read
	during  map[Key]struct{} // changed live since the current read began
	limit   time.Duration    // of a read
	waiting []chan error     // lookups that the next read answers
	served  []chan error     // lookups that the current read answers
}

type changes struct {
	entries []Entry
	rev     uint64
	whole   bool
	began   time.Time
	err     error
}

// soon begins a read now, or as soon as the current one ends.
func (r *reading) soon(whole bool) {
	r.whole = r.whole || whole
	if r.result != nil {
		r.again = true
		return
	}
	r.next.Reset(0)
}

func (r *reading) touched(k Key) {
	if r.during != nil {
		r.during[k] = struct{}{}
	}
}

// wanted queues a lookup. Reads for lookups are at least refreshEvery apart.
func (r *reading) wanted(done chan error) {
	r.waiting = append(r.waiting, done)
	if r.result != nil {
		r.again = true
		return
	}
	r.next.Reset(max(0, refreshEvery-time.Since(r.begun)))
}

func (r *reading) finish(err error) {
	for _, done := range append(r.served, r.waiting...) {
		done <- err
	}
	r.served, r.waiting = nil, nil
}

func (r *reading) begin(ctx context.Context) {
	c := r.c
	now := c.opts.Now()
	whole := r.whole || now.Sub(r.all) >= wholeEvery
	after := r.rev
	if whole {
		after = 0
	}
	r.result, r.during, r.whole, r.again, r.begun = make(chan changes, 1), map[Key]struct{}{}, false, false, time.Now()
	r.served, r.waiting = r.waiting, nil
	to := r.result
	limit := min(c.opts.FailAfter/2, max(r.limit, readLimit))
	go func() {
		one, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		got := changes{whole: whole, began: now}
		got.entries, got.rev, got.err = c.feed.changes(one, after)
		to <- got
	}()
}

func (r *reading) end(ctx context.Context, got changes) {
	c, during := r.c, r.during
	r.result, r.during = nil, nil
	wait := c.opts.Poll - rand.N(c.opts.Poll/10+1) //nolint:gosec // jitter
	switch {
	case got.err != nil:
		if ctx.Err() == nil {
			c.opts.Logger.WarnContext(ctx, "cannot read shared state; trying again", slog.String("bucket", c.name), slog.Any("error", got.err))
		}
		r.whole = r.whole || got.whole
		r.limit = min(c.opts.FailAfter, 3*max(r.limit, readLimit))
		wait = min(time.Second, c.opts.Poll)
	default:
		r.rev = got.rev
		if c.opts.Now().Sub(got.began) < readLimit {
			r.limit = 0
		}
		if got.whole {
			r.all = got.began
			c.forget(got.entries, during)
		}
		for i := range got.entries {
			c.apply(&got.entries[i])
		}
		c.mu.Lock()
		c.contact = got.began
		c.mu.Unlock()
	}
	for _, done := range r.served {
		done <- got.err
	}
	r.served = nil
	switch {
	case r.again && r.whole:
		wait = 0
	case r.again:
		wait = max(0, refreshEvery-time.Since(r.begun))
	}
	r.next.Reset(wait)
}
