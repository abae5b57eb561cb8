package quota

import (
	"context"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Keeper counts what tenants and sessions use, and refuses what exceeds their
// limits. A zero limit means none. It is safe for concurrent use.
type Keeper struct {
	opts Options

	mu     sync.Mutex
	meters map[ask.Key]*meter // without session: of a tenant
	stale  chan ask.Key       // to be measured
}

// Options are the dependencies of a [Keeper].
type Options struct {
	Policy  func() *Policy                                      // returns the current policy
	Budget  func() int64                                        // bytes of the ledger; 0: unknown
	Files   func() int64                                        // bytes that files may have in all; 0: unknown
	Measure func(ctx context.Context, k ask.Key) (Use, error)   // reads the ledger; k has no id, and no session for a tenant
	Failed  func(ctx context.Context, k ask.Key, failure error) // called when a measurement fails
}

// maxMeters bounds the sessions that are counted separately; the sessions of a
// tenant beyond it are counted with the tenant only.
const maxMeters = 50_000

// New makes a keeper.
func New(opts Options) *Keeper {
	return &Keeper{opts: opts, meters: map[ask.Key]*meter{}, stale: make(chan ask.Key, 1024)}
}

// limit is the limits and the meter of a tenant or a session.
type limit struct {
	key ask.Key
	*Limits
	*meter
}

// of returns the limits that apply to a session's request: the session's own
// first.
func (q *Keeper) of(k ask.Key, now time.Time) []limit {
	t := q.opts.Policy().of(k.Tenant)
	found := make([]limit, 0, 2)
	for _, l := range []limit{{key: ask.Key{Tenant: k.Tenant, Session: k.Session}, Limits: &t.Session}, {key: ask.Key{Tenant: k.Tenant}, Limits: &t.Limits}} {
		m := q.meters[l.key]
		if m == nil && l.key.Session != "" && len(q.meters) >= maxMeters {
			continue
		}
		if m == nil {
			m = &meter{}
			q.meters[l.key] = m
		}
		m.used, l.meter = now, m
		found = append(found, l)
	}
	return found
}

// Ask refuses an ask that exceeds the rate. It reads nothing.
func (q *Keeper) Ask(k ask.Key) error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, l := range q.of(k, now) {
		rate := l.AsksPerSecond.value(0)
		if !l.asks.take(rate, now) {
			return ask.Refuse(ask.CodeQuota, "%s sends more than %.4g asks a second, its quota asks_per_second: wait a second, then send this one again with the same id", who(l.key), rate)
		}
	}
	return nil
}

// Request takes one request of any kind, of the session's rate and its tenant's.
// What is refused here should cost no more: it may be one of very many.
func (q *Keeper) Request(k ask.Key) error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, l := range q.of(k, now) {
		rate := l.Requests.value(0)
		if !l.requests.take(rate, now) {
			return &rateError{l.key, rate}
		}
	}
	return nil
}

// rateError refuses a request above a rate. It is put into words only when it is told.
type rateError struct {
	of   ask.Key
	rate float64
}

func (e *rateError) Error() string { return e.Unwrap().Error() }

// Unwrap is the refusal. Trying again a little later helps, so it says so.
func (e *rateError) Unwrap() error {
	return ask.Refuse(ask.CodeUnavailable, "%s sends more than %.4g requests a second, its quota requests_per_second: send this one again a little later, or raise the quota in the broker's policy file", who(e.of), e.rate)
}

// Store counts a new ask of size bytes, or refuses it. The caller then says
// whether it was stored.
func (q *Keeper) Store(k ask.Key, size int) (settle func(stored bool), err error) {
	if q == nil {
		return func(bool) {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now, budget := time.Now(), q.opts.Budget()
	limits := q.of(k, now)
	for _, l := range limits {
		pending, stored := l.Pending.value(0), l.StoredBytes.value(budget)
		if pending > 0 && float64(l.pending+1) > pending {
			q.refresh(l, true, now)
			return nil, ask.Refuse(ask.CodeQuota, "%s has %d pending asks, and its quota pending is %.0f: withdraw some or wait until some are answered, or raise the quota in the broker's policy file", who(l.key), l.pending, pending)
		}
		if need := l.need() + float64(2*size+EndOverhead); stored > 0 && need > stored {
			q.refresh(l, true, now)
			return nil, ask.Refuse(ask.CodeQuota, "%s would need %.0f bytes of the store with this ask, and its quota stored_bytes is %.0f: ask less or smaller, wait until outcomes are past their retention, or raise the quota in the broker's policy file", who(l.key), need, stored)
		}
	}
	for _, l := range limits {
		l.store(size, 1)
		l.flying++
	}
	return func(stored bool) { q.settle(limits, size, stored) }, nil
}

func (q *Keeper) settle(limits []limit, size int, stored bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, budget := time.Now(), q.opts.Budget()
	for _, l := range limits {
		l.flying--
		if !stored {
			l.store(size, -1)
		}
		pending, most := l.Pending.value(0), l.StoredBytes.value(budget)
		q.refresh(l, pending > 0 && float64(l.pending) > pending/2 || most > 0 && l.need() > most/2, now)
	}
}

// Upload counts a part of a file, or refuses it. The caller says when it was stored, or was not. Parts that are
// stored already count again until the next measurement.
func (q *Keeper) Upload(k ask.Key, size int) (settle func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	limits := q.of(k, now)
	for _, l := range limits {
		most := l.FileBytes.value(q.opts.Files())
		near := most > 0 && l.files+float64(size) > most/2
		q.refresh(l, near, now)
		if most > 0 && l.files+float64(size) > most {
			return nil, ask.Refuse(ask.CodeQuota, "%s would have %.0f bytes of files with this part, and its quota file_bytes is %.0f: upload less or smaller files, wait until those of ended asks are past their retention, or raise the quota in the broker's policy file", who(l.key), l.files+float64(size), most)
		}
	}
	for _, l := range limits {
		l.files += float64(size)
		l.uploaded += float64(size)
		l.uploading += float64(size)
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, l := range limits {
			l.uploading -= float64(size)
		}
	}, nil
}

// Ended records that an ask is no longer pending.
func (q *Keeper) Ended(k ask.Key) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, of := range []ask.Key{{Tenant: k.Tenant, Session: k.Session}, {Tenant: k.Tenant}} {
		if m := q.meters[of]; m != nil && m.pending > 0 {
			m.pending--
			m.ended++
		}
	}
}

// Hold counts a request that is held until release is called, or refuses it.
// Requests without a session count for their tenant.
func (q *Keeper) Hold(k ask.Key) (release func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	limits := q.of(k, time.Now())
	if k.Session == "" {
		limits = limits[len(limits)-1:]
	}
	for _, l := range limits {
		if most := l.Waits.value(0); most > 0 && float64(l.waits+1) > most {
			return nil, ask.Refuse(ask.CodeQuota, "%d requests of %s are held here, and its quota waits is %.0f: end some, ask without a wait, or raise the quota in the broker's policy file", l.waits, who(l.key), most)
		}
	}
	for _, l := range limits {
		l.waits++
	}
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, l := range limits {
			l.waits--
		}
	}), nil
}

// Maximum ages of measurements.
const (
	nearAge = time.Second // for a meter near its limit
	farAge  = 15 * time.Second
)

// refresh requests a measurement of an outdated meter. Until then it counts
// what passes this broker.
func (q *Keeper) refresh(l limit, near bool, now time.Time) {
	age := farAge
	if near {
		age = nearAge
	}
	if l.asked || now.Sub(l.measured) < age {
		return
	}
	select {
	case q.stale <- l.key:
		l.asked = true
	default: // too many; the tenant's next ask retries
	}
}

// Run measures outdated meters and forgets idle ones, until ctx ends.
func (q *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case k := <-q.stale:
			q.measure(ctx, k)
		case now := <-tick.C:
			q.forget(now)
		}
	}
}

func (q *Keeper) measure(ctx context.Context, k ask.Key) {
	q.mu.Lock()
	m := q.meters[k]
	before := *m // it is not forgotten while a measurement is requested
	q.mu.Unlock()
	u, err := q.opts.Measure(ctx, k)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		m.asked, m.measured = false, time.Now() // not again at once
		if ctx.Err() == nil {
			q.opts.Failed(ctx, k, err)
		}
		return
	}
	m.learn(u, &before, time.Now())
}

func (q *Keeper) forget(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	budget := q.opts.Budget()
	for k, m := range q.meters {
		t := q.opts.Policy().of(k.Tenant)
		most := &t.Limits
		if k.Session != "" {
			most = &t.Session
		}
		if m.idle(now, most.StoredBytes.value(budget)) {
			delete(q.meters, k)
		}
	}
}
