package broker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Times of a lease. A waiting agent asks about every 30 s; one request per
// leaseRenew is written.
const (
	leaseTerm  = 3 * time.Minute // how long one renewal is valid
	leaseRenew = time.Minute     // minimum time between two writes
	leaseGrace = 5 * time.Minute // between recording a lapse and withdrawing
	leaseTTL   = 24 * time.Hour  // of an entry: longer than brokers are ever down
	leaseGap   = 2 * time.Minute // after a gap this long a broker starts its grace again
)

// Bounds of one look.
const (
	leaseReads   = 5_000 // entries read
	leaseActs    = 200   // leases recorded as lapsed, or ended
	leasePages   = 4     // pages of asks of one session
	leaseRenewal = 64    // concurrent renewals for requests that do not wait for them
	leaseKnown   = 50_000
)

// lease is the value of an entry of the bucket: an agent's session waits. The
// broker writes it, by the ledger's clock.
type lease struct {
	Until  time.Time `json:"until"`
	Lapsed time.Time `json:"lapsed,omitzero"` // when a broker recorded that nobody renewed it
}

// leases withdraws while_waiting asks of sessions whose lease lapsed.
//
// There is no index but one entry of shared state for each session. Their
// stream is in the order of writing, so entries that may have lapsed come
// first. A broker records a lapse in the entry. After leaseGrace in which this
// broker looked without a gap and nobody renewed the lease, it withdraws the
// session's asks. Two compare-and-set writes enclose that: a ledger that cannot
// store renewals cannot store these either. Several brokers can do this
// concurrently.
type leases struct {
	b           *Broker
	interrupted atomic.Bool // renewals may have been lost since the last look
	slots       chan struct{}

	mu      sync.Mutex
	renewed map[ask.Session]time.Time // expiry, as far as this broker knows

	looking sync.Mutex // guards the fields below
	since   time.Time  // this broker has looked without a gap since then
	last    time.Time  // when it last looked; zero: start again
	cursor  uint64
	queue   []lapsing
}

// lapsing is an entry that was not renewed for a while.
type lapsing struct {
	key      subject.StateKey
	revision uint64
	lease    lease
}

func newLeases(b *Broker) *leases {
	return &leases{b: b, renewed: map[ask.Session]time.Time{}, slots: make(chan struct{}, leaseRenewal)}
}

// renew records that a session's agent waits, at least for hold. A refusal with
// [ask.CodeQuota] or [ask.CodeLedgerFull] means that there is no lease and no
// room for one.
func (l *leases) renew(ctx context.Context, at ask.Session, hold time.Duration) error {
	err := l.write(ctx, at, hold)
	if err != nil && !noLease(err) {
		l.interrupted.Store(true)
	}
	return err
}

// noLeaseError marks a refusal of a new lease.
type noLeaseError struct{ error }

func (e noLeaseError) Unwrap() error { return e.error }

func noLease(err error) bool {
	_, ok := errors.AsType[noLeaseError](err)
	return ok
}

func (l *leases) write(ctx context.Context, at ask.Session, hold time.Duration) error {
	wanted := l.b.led.Now().Add(max(leaseTerm, hold+leaseRenew))
	if l.known(at, wanted) {
		return nil
	}
	k := subject.StateKey{Tenant: at.Tenant, Name: at.Name}
	for {
		old, err := l.b.led.ReadState(ctx, subject.BucketLeases, k)
		if err != nil {
			return err
		}
		now := l.b.led.Now()
		switch held := read(&old, now); {
		case !old.Live(now):
			bucket, _ := subject.FindBucket(subject.BucketLeases)
			if err := l.b.roomInBucket(ctx, &stateRequest{StateRequest: subject.StateRequest{Bucket: bucket.Name, Key: k}, bucket: bucket}); err != nil {
				if e := wire.AsError(err); e.Code == ask.CodeQuota || e.Code == ask.CodeLedgerFull {
					return noLeaseError{err}
				}
				return err
			}
		case !held.Lapsed.IsZero():
		case !held.Until.Before(wanted.Add(-leaseRenew)): // another broker just wrote it
			l.remember(at, held.Until)
			return nil
		case held.Until.After(wanted):
			wanted = held.Until
		}
		_, err = l.put(ctx, k, old.Revision, lease{Until: wanted.UTC()}, now)
		switch {
		case err == nil:
			l.remember(at, wanted)
			return nil
		case !ledger.IsRace(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// put writes an entry over the revision that was read.
func (l *leases) put(ctx context.Context, k subject.StateKey, over uint64, v lease, now time.Time) (ledger.StateEntry, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return ledger.StateEntry{}, err
	}
	return l.b.led.WriteState(ctx, &ledger.StateWrite{Bucket: subject.BucketLeases, Key: k, Value: value, Expect: &over, Expires: now.Add(leaseTTL)}, now)
}

// read decodes the lease of an entry. An agent can write its own entry with any
// value: an invalid one is valid for one term.
func read(e *ledger.StateEntry, now time.Time) lease {
	var v lease
	if json.Unmarshal(e.Value, &v) != nil || v.Until.IsZero() {
		return lease{Until: e.Written.Add(leaseTerm)}
	}
	if most := now.Add(ask.MaxHold + leaseTerm); v.Until.After(most) {
		v.Until = most
	}
	return v
}

// known reports whether this broker knows that the lease need not be written.
func (l *leases) known(at ask.Session, wanted time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.renewed[at]
	return ok && !until.Before(wanted.Add(-leaseRenew))
}

func (l *leases) remember(at ask.Session, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.renewed[at]; ok || len(l.renewed) < leaseKnown {
		l.renewed[at] = until
	}
}

// forget drops lapsed leases.
func (l *leases) forget(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, until := range l.renewed {
		if until.Before(now) {
			delete(l.renewed, at)
		}
	}
}

// waits renews the lease of a session whose agent waits for an ask,
// concurrently with the request.
func (l *leases) waits(r *request, s *lifecycle.State) {
	if !s.Pending() || !s.Ask.WhileWaiting || l.known(r.Key().InSession(), l.b.led.Now().Add(max(leaseTerm, r.hold+leaseRenew))) {
		return
	}
	select {
	case l.slots <- struct{}{}:
	default:
		return // the agent asks again soon
	}
	at, hold := r.Key().InSession(), r.hold
	l.b.running.Go(func() {
		defer func() { <-l.slots }()
		ctx, cancel := context.WithTimeout(l.b.base, l.b.opts.Limit)
		defer cancel()
		if err := l.renew(ctx, at, hold); err != nil {
			l.b.opts.Logger.WarnContext(ctx, "cannot renew a lease", slog.String("session", at.String()), slog.Any("error", err))
		}
	})
}

// run looks for lapsed leases until ctx ends.
func (l *leases) run(ctx context.Context) {
	for on := true; on; on = backoff.Sleep(ctx, l.b.opts.Sweep) == nil {
		l.refresh(ctx)
	}
}

// refresh reads the leases that lapsed since the last refresh, and ends those that
// are due. After a gap in which renewals may have been lost (this broker was
// frozen, disconnected or has just started) it restarts the grace of every
// lease.
func (l *leases) refresh(ctx context.Context) {
	l.looking.Lock()
	defer l.looking.Unlock()
	if l.b.led.ClockError() != nil || !l.b.nc.IsConnected() {
		l.last = time.Time{}
		return
	}
	now := l.b.led.Now()
	if gap := now.Sub(l.last); l.interrupted.Swap(false) || l.last.IsZero() || gap < 0 || gap > leaseGap {
		l.since, l.cursor, l.queue = now, 0, nil
	}
	l.forget(now)
	err := l.collect(ctx, now)
	if err == nil {
		err = l.act(ctx, now)
	}
	if l.last = now; err != nil {
		l.last = time.Time{}
		if ctx.Err() == nil {
			l.b.opts.Logger.WarnContext(ctx, "cannot look for lapsed leases", slog.Any("error", err))
		}
	}
}

// collect reads the entries that were not written for a while.
func (l *leases) collect(ctx context.Context, now time.Time) error {
	for n := 0; n < leaseReads; {
		entries, more, err := l.b.led.StateChanges(ctx, subject.LedgerStateAll(subject.BucketLeases, "", true), l.cursor, 100)
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			if now.Sub(e.Written) < leaseTerm {
				return nil // later entries are newer
			}
			if l.cursor = e.Revision; e.Live(now) {
				l.queue = append(l.queue, lapsing{e.Key, e.Revision, read(e, now)})
			}
		}
		if n += len(entries); !more {
			return nil
		}
	}
	return nil
}

// act records lapsed leases, and ends those whose grace is over, oldest first;
// failed ones come last the next time. Only a failure of shared state itself is
// an error.
func (l *leases) act(ctx context.Context, now time.Time) error {
	var kept, failed []lapsing
	acts := 0
	defer func() { l.queue = append(kept, failed...) }()
	for i, q := range l.queue {
		begins := q.lease.Lapsed
		if begins.Before(l.since) {
			begins = l.since
		}
		lapsed := !q.lease.Lapsed.IsZero()
		if acts >= leaseActs || l.interrupted.Load() || now.Before(q.lease.Until) || lapsed && now.Before(begins.Add(leaseGrace)) {
			kept = append(kept, q)
			continue
		}
		acts++
		if !lapsed {
			q.lease.Lapsed = now.UTC()
		}
		e, err := l.put(ctx, q.key, q.revision, q.lease, now)
		switch {
		case ledger.IsRace(err): // renewed, or another broker was first: it is read again
			continue
		case err != nil:
			kept = append(kept, l.queue[i:]...)
			return err
		case !lapsed:
			continue // it is read again
		}
		q.revision = e.Revision
		if err := l.end(ctx, &q); err != nil {
			failed = append(failed, q)
			if ctx.Err() == nil {
				l.b.opts.Logger.WarnContext(ctx, "cannot withdraw the asks of a lapsed session", slog.String("session", q.key.Name), slog.Any("error", err))
			}
		}
	}
	return nil
}

// errMore means that a session has more asks than one look withdraws.
var errMore = errors.New("more asks than one look withdraws")

// end withdraws the while_waiting asks of a session, and then its lease.
func (l *leases) end(ctx context.Context, q *lapsing) error {
	b := l.b
	query := wire.Query{Tenant: q.key.Tenant, Session: q.key.Name, State: string(ask.StatePending), Limit: wire.MaxPage}
	for page := 0; ; page++ {
		if page == leasePages {
			return errMore
		}
		items, next, err := b.led.List(ctx, query)
		if err != nil {
			return err
		}
		for _, it := range items {
			k := it.Record.Ask.Key()
			if it.Record.AskedAt.After(q.lease.Until) || !whileWaiting(it.RawAsk) {
				continue
			}
			s, err := b.apply(ctx, k, lifecycle.Withdraw{Reason: ask.ReasonGaveUp}, "")
			if errors.Is(err, ask.ErrResolved) || errors.Is(err, ask.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			b.traceEnd(ctx, k, &s)
			b.opts.Logger.InfoContext(ctx, "ask", slog.String("phase", "gave up"), slog.String("tenant", k.Tenant), slog.String("session", k.Session), slog.String("ask_id", k.ID))
		}
		if query.Cursor = next; next == "" {
			break
		}
	}
	_, err := b.led.WriteState(ctx, &ledger.StateWrite{Bucket: subject.BucketLeases, Key: q.key, Expect: &q.revision}, b.led.Now())
	if ledger.IsRace(err) {
		return nil // the agent is back
	}
	return err
}

// whileWaiting reads one field of an ask's JSON.
func whileWaiting(raw []byte) bool {
	var v struct {
		WhileWaiting bool `json:"while_waiting"`
	}
	return json.Unmarshal(raw, &v) == nil && v.WhileWaiting
}
