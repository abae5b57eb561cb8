package responder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Item is one piece of work of a posting surface: an ask to present, or an
// outcome to show.
type Item struct {
	Key     ask.Key
	Life    string     // of the ask; receipts name it
	Ask     ask.Ask    // as it was asked
	AskedAt time.Time  // when, for an ask to present
	Votes   []ask.Vote // of an ask to present that several people decide; each vote is work for it again
	// Escalated is how far an ask to present has been escalated; each step is work for it again.
	Escalated *ask.Escalated
	Outcome   *ask.Outcome // nil for an ask to present
	Receipt   *ask.Receipt // what this responder type recorded for this life, or nil
	Trace     string       // the W3C traceparent of the ask, if it has one
	At        time.Time    // when the work was handed out, by the same clock as the receipt's time

	lease *lease // nil in tests
}

// WorkOptions tunes [Responder.Work]. The zero value is ready to use.
type WorkOptions struct {
	// Concurrency is the maximum number of asks, and separately of outcomes, in
	// progress at a time; default 8.
	Concurrency int
	// Grace is how long running items may continue after ctx has ended; default
	// 20 s.
	Grace time.Duration
	// Ready is called once, when the bus has begun to store work for this type:
	// from then on nothing is missed. Default: not called.
	Ready func()
}

func (o *WorkOptions) grace() time.Duration {
	if o.Grace <= 0 {
		return 20 * time.Second
	}
	return o.Grace
}

// ErrLeave makes [Responder.Work] leave an item as it is: it is redelivered to
// any replica when its lease ends, as if this replica had died.
var ErrLeave = errors.New("left for another replica")

// LaterError makes an item be redelivered, to any replica, after a while.
type LaterError struct {
	After time.Duration // at most an hour
	Err   error         // why; may be nil
}

// Error says why and when.
func (e *LaterError) Error() string {
	if e.Err == nil {
		return "again in " + e.After.String()
	}
	return fmt.Sprintf("again in %s: %v", e.After, e.Err)
}

// Unwrap returns the reason.
func (e *LaterError) Unwrap() error { return e.Err }

// maxLater is the longest delay that a broker accepts.
const maxLater = time.Hour

// Work takes work of this responder type and passes it to handle, until ctx
// ends. Replicas of one type share the work: an item is with one replica at a
// time, and moves to another if that one dies, so handle must expect an item
// that was already handled.
//
// When handle returns nil, the item is done. A [*LaterError] puts it off,
// [ErrLeave] leaves it, and any other error puts it off for a few seconds.
// While handle runs, the lease is extended. If that fails for so long that
// another replica may have the item, the context of handle ends, with the cause
// [ErrLeaseLost]. The context outlives ctx by [WorkOptions.Grace].
//
// With [Options.Tenant] it takes only that tenant's work, from separate
// consumers. Work returns nil after ctx has ended and everything in progress is
// finished; it then takes nothing new, and waits at most 4 s for a broker that
// does not reply. It returns early with an [*ask.Error] if the broker refuses
// for good: [ask.ErrForbidden] if the type is already served in the other mode
// (as a whole, or by tenant) or the credential is not allowed to, and
// [ask.ErrQuota] if too many tenants are served separately.
func (r *Responder) Work(ctx context.Context, handle func(context.Context, Item) error, opts WorkOptions) error {
	if r.opts.Session != "" {
		return ask.Refuse(ask.CodeForbidden, "a credential of one session cannot take work; use one of the tenant %s or of the whole type %s", r.opts.Tenant, r.typ)
	}
	if opts.Concurrency <= 0 {
		opts.Concurrency = 8
	}
	opts.Grace = opts.grace()
	work, release := connection.WithGrace(ctx, opts.Grace)
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	asking, stop := connection.WithGrace(ctx, min(opts.Grace, holdNext+connection.Attempt)) // lets a reply in flight arrive, if a broker is there
	defer stop()
	var loops sync.WaitGroup
	var begun atomic.Int32
	for _, of := range []string{wire.NextQuestion, wire.NextOutcome} {
		l := &workLoop{r: r, of: of, handle: handle, slots: make(chan struct{}, opts.Concurrency)}
		l.begun = func() {
			if begun.Add(1) == 2 && opts.Ready != nil {
				opts.Ready()
			}
		}
		loops.Go(func() {
			if err := l.run(ctx, asking, work); err != nil {
				cancel(err)
			}
		})
	}
	loops.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("work: %w", err)
	}
	return nil
}

// workLoop takes work of one kind.
type workLoop struct {
	r       *Responder
	of      string
	handle  func(context.Context, Item) error
	slots   chan struct{} // holds one for each item in progress
	begun   func()        // called once; then nil
	running sync.WaitGroup
}

// Bounds of a request for work.
const (
	maxBatch  = 10
	holdNext  = 2 * time.Second // a drain waits this long for a reply in flight
	retryWork = 3 * time.Second // after an error without a hint
)

func (l *workLoop) run(ctx, asking, work context.Context) error {
	defer l.running.Wait()
	for try := 0; ; {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // also if there was a slot
			return nil
		}
		n := 1
		for n < maxBatch && len(l.slots) < cap(l.slots) { // only this loop adds
			l.slots <- struct{}{}
			n++
		}
		hold := holdNext
		if l.begun != nil {
			hold = 0
		}
		items, lease, err := l.next(asking, n, hold)
		for range n - len(items) {
			<-l.slots
		}
		switch {
		case errors.Is(err, ask.ErrForbidden), errors.Is(err, ask.ErrQuota), errors.Is(err, ask.ErrInvalid), errors.Is(err, nats.ErrConnectionClosed):
			return err
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			l.r.opts.Logger.WarnContext(ctx, "cannot take work", slog.Any("error", err))
			if backoff.Wait(ctx, 20*time.Millisecond, try) != nil {
				return nil
			}
			try++
			continue
		}
		if l.begun != nil {
			l.begun()
			l.begun = nil
		}
		try = 0
		for _, it := range items {
			l.running.Go(func() {
				defer func() { <-l.slots }()
				if ctx.Err() != nil { // it arrived while stopping
					l.settle(work, it.Token, subject.VerbLater, 0)
					return
				}
				l.do(work, it, lease)
			})
		}
	}
}

// next requests up to n items.
func (l *workLoop) next(ctx context.Context, n int, hold time.Duration) ([]wire.NextItem, time.Duration, error) {
	body, err := wire.Marshal(wire.Next{Of: l.of, Max: n, Wait: wire.Duration(hold)})
	if err != nil {
		return nil, 0, err
	}
	reply, err := connection.Take(ctx, l.r.on, &nats.Msg{Subject: l.subject(subject.VerbNext), Data: body}, hold)
	if err != nil {
		return nil, 0, err
	}
	items, lease, err := wire.DecodeNextItems(reply.Data)
	if lease <= 0 {
		lease = time.Minute
	}
	return items[:min(len(items), n)], lease, err
}

func (l *workLoop) subject(v subject.Verb) string {
	return l.r.at(ask.Key{Tenant: l.r.opts.Tenant}, v)
}

// do handles one item, extends its lease of length d, and settles it.
func (l *workLoop) do(ctx context.Context, it wire.NextItem, d time.Duration) {
	item, err := readItem(&it)
	if err != nil {
		l.r.opts.Logger.ErrorContext(ctx, "cannot read a work item; a newer version of askbus may", slog.Any("error", err))
		l.settle(ctx, it.Token, subject.VerbLater, 10*time.Minute)
		return
	}
	item.lease = newLease(d)
	held, stop := item.lease.keep(ctx, d, func(ctx context.Context) error {
		return l.request(ctx, it.Token, subject.VerbExtend, 0)
	})
	err = l.r.traced(held, &item, l.handle)
	stop()
	later, put := errors.AsType[*LaterError](err)
	switch {
	case item.lease.over(): // another replica settles it
		l.r.opts.Logger.WarnContext(ctx, "the lease of a work item ended; another replica may have it", slog.String("ask_id", item.Key.ID), slog.Any("error", err))
	case err == nil:
		l.settle(ctx, it.Token, subject.VerbDone, 0)
	case errors.Is(err, ErrLeave):
	case put:
		l.settle(ctx, it.Token, subject.VerbLater, later.After)
	default:
		l.r.opts.Logger.WarnContext(ctx, "work failed; it is redelivered", slog.String("ask_id", item.Key.ID), slog.Any("error", err))
		l.settle(ctx, it.Token, subject.VerbLater, retryWork)
	}
}

// traced carries out an item in a span. Presenting an ask belongs to the ask's
// trace; showing its end, mostly much later, begins a new trace that links to
// it.
func (r *Responder) traced(ctx context.Context, it *Item, handle func(context.Context, Item) error) (err error) {
	name, parent := "present", it.Trace
	if it.Outcome != nil {
		name, parent = "retract", ""
	}
	ctx, end := r.tracer.Start(ctx, name, tracing.Works, parent, r.about(it.Key))
	defer func() { end(err) }()
	r.tracer.Link(ctx, it.Trace)
	return handle(ctx, *it)
}

// ErrLeaseLost is the cause of the end of a context of [Responder.Work] whose
// item may be with another replica.
var ErrLeaseLost = errors.New("the lease of the work item was not extended in time")

// lease says until when a replica has an item.
type lease struct {
	began time.Time
	until atomic.Int64 // nanoseconds after began
}

func newLease(d time.Duration) *lease {
	l := &lease{began: time.Now()}
	l.extended(l.began, d)
	return l
}

// extended notes that the lease of length d was granted by a reply to a request
// of this time. A sixth is kept for what is under way when it ends.
func (l *lease) extended(at time.Time, d time.Duration) {
	l.until.Store(int64(at.Sub(l.began) + d - d/6))
}

// left returns how long the replica still has the item.
func (l *lease) left() time.Duration { return time.Duration(l.until.Load()) - time.Since(l.began) }

// over reports whether another replica may have the item.
func (l *lease) over() bool { return l != nil && l.left() <= 0 }

// keep extends a lease of length d with extend, every third of it, until stop is
// called. The context ends when the lease is over, whether extend fails at once
// or does not return.
func (l *lease) keep(ctx context.Context, d time.Duration, extend func(context.Context) error) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick, end := time.NewTicker(d/3), time.NewTimer(l.left())
		defer tick.Stop()
		defer end.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-end.C:
				cancel(ErrLeaseLost)
				return
			case at := <-tick.C:
				one, done := context.WithTimeout(held, min(d/3, l.left()))
				if extend(one) == nil {
					l.extended(at, d)
					end.Reset(l.left())
				}
				done()
			}
		}
	})
	return held, func() {
		cancel(nil)
		running.Wait()
	}
}

// leased is the context of a call that must not be made after the lease is over.
// Its Err reads the clock: after the process was stopped for a while, the timer
// that ends the context may fire late.
type leased struct {
	context.Context //nolint:containedctx // it is a context
	lease           *lease
}

// Err implements [context.Context].
func (c leased) Err() error {
	if c.lease.over() {
		return context.Canceled
	}
	return c.Context.Err()
}

// settle reports the result of an item. An item that is not settled is
// redelivered.
func (l *workLoop) settle(ctx context.Context, token string, verb subject.Verb, delay time.Duration) {
	if ctx.Err() != nil { // out of grace: one last try, or it is redelivered only after its lease
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), connection.Attempt)
		defer cancel()
	}
	err := l.request(ctx, token, verb, min(max(delay, 0), maxLater))
	if err != nil && !errors.Is(err, ask.ErrNotFound) && !errors.Is(err, nats.ErrConnectionClosed) {
		l.r.opts.Logger.WarnContext(ctx, "cannot settle a work item; it is redelivered", slog.String("verb", string(verb)), slog.Any("error", err))
	}
}

func (l *workLoop) request(ctx context.Context, token string, verb subject.Verb, delay time.Duration) error {
	body, err := wire.EncodeSettle(token, delay)
	if err != nil {
		return err
	}
	_, err = connection.Do(ctx, l.r.on, &nats.Msg{Subject: l.subject(verb), Data: body}, 0)
	return err
}

func readItem(it *wire.NextItem) (Item, error) {
	item := Item{Life: it.Life, Receipt: it.Receipt, At: it.At, Trace: cloudevent.Trace(it.Event)}
	if it.Event.Type() == cloudevent.TypeResolved {
		o, err := wire.DecodeOutcome(it.Event.Data())
		if err != nil {
			return Item{}, err
		}
		if o.Ask == nil {
			o.Ask = &ask.Ask{ID: o.AskID, Tenant: o.Tenant, Session: o.Session}
		}
		item.Key, item.Outcome, item.Ask = o.Key(), &o, *o.Ask
		item.AskedAt = o.At.Add(-o.Waited)
		return item, nil
	}
	tenant, session, ok := cloudevent.AgentOf(it.Event.Source())
	if !ok {
		return Item{}, fmt.Errorf("read work: invalid source %.200q", it.Event.Source())
	}
	s, err := wire.OpenStored(it.Event.Data())
	if err != nil {
		return Item{}, err
	}
	a, err := wire.DecodeStoredAsk(s.Ask, ask.Session{Tenant: tenant, Name: session})
	if err != nil {
		return Item{}, err
	}
	item.Key, item.Ask, item.AskedAt = a.Key(), *a, it.Event.Time()
	if a.Approval != nil || len(a.Escalate) > 0 || bytes.Contains(s.OnDeadline, []byte(`"escalated":{`)) {
		o, err := wire.DecodeOutcome(s.OnDeadline)
		if err != nil {
			return Item{}, err
		}
		item.Votes, item.Escalated = o.Votes, o.Escalated
	}
	return item, nil
}
