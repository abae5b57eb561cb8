// Package broker is the service that agents, responders and operators talk to.
//
// It carries out lifecycle's decisions, always in this order: read what the
// decision needs, decide, write with compare-and-set, reply. It keeps no state
// of its own, so any number of replicas share a queue group, and after a crash
// anywhere the command is sent again.
//
// Safety: it replies only below inbox prefixes that belong to the request's own
// subject, and never copies a client's headers. Liveness: every request is
// answered or refused within [Options.Limit], except held ones, which end after
// at most 10 minutes. The messages are those of docs/protocol.md, section 2.
package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/trace"
)

// Options tunes a [Broker]. The zero value is ready to use.
type Options struct {
	Logger  *slog.Logger         // default: discard
	Limit   time.Duration        // for one request that is not held; default 5s
	Grace   time.Duration        // for running requests when Run ends; default 10s
	Sweep   time.Duration        // how often to look for asks that the server's timer missed; default 30s, less only in tests
	Version string               // any string, shown in the service's metadata; default 0.0.0
	Types   []string             // responder types whose work is kept from the start, even without replicas; see [CheckTypes]
	Metrics *metrics.Set         // for metrics; default: none
	Tracing trace.TracerProvider // creates a span for every decision; default: none
	// Verifier checks the JWTs that say what a sender may assert about the
	// answering person. Default: none, and a credential may only act as itself.
	Verifier Verifier
	// Policy returns the proof that a tenant demands of answers, in addition to
	// the ask's own demand; default: none.
	Policy func(tenant string) (minProof string)

	// Settle is how long a removed tenant is left alone until every broker has heard
	// of it; default 10s, less only in tests.
	Settle time.Duration

	// AuditWindow is how long refusals of one kind are collected into one
	// record; default 1m, less only in tests.
	AuditWindow time.Duration

	// Quotas returns the limits of tenants and sessions; default: no limits.
	Quotas func() *quota.Policy
	// Approvals returns the operator's policies of approvals and list of people;
	// default: none.
	Approvals func() *approvals.File
	// Unread returns why such a file cannot be read as it is now, so that its
	// previous content counts; default: all can.
	Unread func() []string

	breakage // empty, except in builds that prove that torture detects faults
}

const (
	workers = 512     // concurrent requests
	maxHeld = 100_000 // held requests
)

func (o *Options) fill() {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Limit = cmp.Or(o.Limit, 5*time.Second)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	o.Settle = cmp.Or(o.Settle, removalSettle)
	o.AuditWindow = cmp.Or(o.AuditWindow, auditWindow)
	o.Sweep = cmp.Or(o.Sweep, sweepEvery)
	o.Version = cmp.Or(o.Version, unversioned)
}

// Broker is one replica of the service.
type Broker struct {
	id   string     // of this instance
	nc   *nats.Conn // the service connection, without rights on the ledger
	led  *ledger.Ledger
	work *ledger.Work
	opts Options

	workers       *workerPool    // carries out requests
	running       sync.WaitGroup // goroutines that wait, outside of the workers
	leaving       chan struct{}  // slots of those that [Broker.leave] began
	draining      chan struct{}  // closed when Run drains
	subscriptions *subscriptions
	waits         *waits
	presence      *presence
	leases        *leases
	repeats       repeats
	steps         *steps
	duties        *duties
	quotas        *quota.Keeper // nil: no limits
	told, shedLog *ratelimit.PerMinute
	counts        *metrics.Broker
	tracer        *tracing.Tracer
	counting      *nats.Subscription  // to outcomes, to count them
	republished   map[string]*signals // by kind: signals that something was republished, so that next may have work
	backlog       backlog
	unprepared    chan struct{} // the consumers of a type known beforehand are gone
	audit         *recorder
	removals      removals
	reported      *ratelimit.PerMinute // reports to the audit, by credential
	issued        *ratelimit.PerMinute // likewise, of issuers
	codes         *ratelimit.PerMinute // codes of claims that a person tries

	requests, refused, dropped, late atomic.Int64
	ready                            atomic.Bool
	differing                        atomic.Pointer[[]string] // how other brokers' settings differ; see [Broker.Notes]
	full                             atomic.Bool              // an overdue ask could not be ended for lack of room
	base                             context.Context          //nolint:containedctx // ends with Run and its grace
}

// New makes a broker over its service connection and an open ledger. It starts
// nothing.
func New(nc *nats.Conn, led *ledger.Ledger, opts Options) *Broker {
	opts.fill()
	b := &Broker{
		leaving: make(chan struct{}, maxLeaving), draining: make(chan struct{}),
		id: cloudevent.NewID(), nc: nc, led: led, work: ledger.NewWork(led), opts: opts,
		workers: newWorkerPool(workers), presence: newPresence(nc), quotas: newQuotas(led, &opts), told: ratelimit.New(toldRefusals), shedLog: ratelimit.New(loggedRefusals),
		republished: map[string]*signals{subject.Question: newSignals(), subject.Outcome: newSignals()},
	}
	b.removals.wake, b.unprepared = make(chan string, 16), make(chan struct{}, 1)
	b.subscriptions = &subscriptions{b: b, subs: map[string]*nats.Subscription{}}
	b.waits = &waits{b: b, look: b.load, now: led.Now, byKey: map[subject.Key]*waited{}, checks: make(chan struct{}, maxChecks)}
	b.leases, b.steps, b.duties = newLeases(b), newSteps(), newDuties(&b.opts, led.Now)
	b.tracer = tracing.New(opts.Tracing)
	if opts.Metrics != nil {
		b.counts = opts.Metrics.Broker(b.reading)
	}
	b.audit = newRecorder(led, &b.opts, b.id, b.counts.AuditLost)
	b.reported, b.issued = ratelimit.New(reportsPerMinute), ratelimit.New(issuerPerMinute)
	b.codes = ratelimit.New(codesPerMinute)
	return b
}

// Ready reports whether the broker serves; see [Broker.Healthy].
func (b *Broker) Ready() bool { return b.Healthy() == nil }

// Healthy returns why the broker does not serve: it does not run, it is
// disconnected, or the ledger's time is unknown.
func (b *Broker) Healthy() error {
	switch {
	case !b.ready.Load():
		return errors.New("the broker is starting or stopping")
	case !b.nc.IsConnected():
		return errors.New("the broker is not connected to NATS")
	}
	return b.led.ClockError()
}

// Run serves until ctx ends, or a stream of the ledger is gone. Then it drains: it finishes running requests, and
// answers held ones with their status.
func (b *Broker) Run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	work, cancel := connection.WithGrace(ctx, b.opts.Grace)
	defer cancel()
	b.base = work

	if err := b.led.RemoveGhosts(ctx); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if err := b.readRemovals(ctx, true); err != nil {
		return err
	}
	if err := b.presence.start(); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer b.presence.stop()
	if err := b.countOutcomes(); err != nil {
		return err
	}
	endAlive, err := b.answerAlive()
	if err != nil {
		return err
	}
	before := b.nc.NumSubscriptions()
	svc, err := b.serve()
	if err != nil {
		return err
	}
	ofService := b.nc.NumSubscriptions() - before
	if err := b.nc.Flush(); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if err := b.nc.LastError(); errors.Is(err, nats.ErrMaxSubscriptionsExceeded) || errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), "for Subscription to") {
		return fmt.Errorf(`the NATS server refuses the broker a subscription: %w; give the server what "askbus auth config" of this version prints, and reload it`, err)
	}
	b.ready.Store(true)
	b.opts.Logger.InfoContext(ctx, "broker is ready", slog.String("version", b.opts.Version), slog.Any("partitions", b.led.Partitions()))

	b.running.Go(func() { b.led.KeepTime(ctx) })
	b.running.Go(func() { b.keepDuties(ctx) })
	b.running.Go(func() { b.led.KeepLimits(ctx) })
	b.running.Go(func() { b.keepRemovals(ctx) })
	b.running.Go(func() { b.comparePeers(ctx, svc.Info().ID) })
	b.running.Go(func() { b.prepare(ctx) })
	if b.quotas != nil {
		b.running.Go(func() { b.quotas.Run(ctx) })
	}
	b.running.Go(func() { b.countPending(ctx) })
	b.running.Go(func() { b.leases.run(ctx) })
	recorded, endRecords := context.WithCancel(context.WithoutCancel(ctx))
	defer endRecords()
	var recording sync.WaitGroup
	recording.Go(func() { b.audit.run(recorded) })
	gone := b.maintain(ctx)

	end() // if a stream is gone
	b.ready.Store(false)
	close(b.draining)
	if b.counting != nil {
		_ = b.counting.Unsubscribe()
	}
	endAlive() // the server then replies "no responders"
	err = errors.Join(gone, b.drain(svc, ofService))
	b.waits.release() //nolint:contextcheck // running requests have the broker's own grace
	b.workers.stop()
	b.running.Wait()
	endRecords() // includes the records of the last requests
	recording.Wait()
	err = errors.Join(err, b.subscriptions.close())
	if b.nc.IsConnected() {
		err = errors.Join(err, b.nc.FlushTimeout(time.Second))
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil // the connection is gone
	}
	return err
}

// drain ends the service's subscriptions and waits until their received messages
// have been handled. subs is their number: micro's Stop only begins the drain.
func (b *Broker) drain(svc micro.Service, subs int) error {
	left := b.nc.NumSubscriptions() - subs
	err := svc.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(b.opts.Grace / 2); b.nc.NumSubscriptions() > left && b.nc.IsConnected() && time.Now().Before(end); {
		<-tick.C
	}
	return err
}

// serve registers the endpoints with the micro library, for discovery and the
// queue group. Replies are sent by respond.go instead.
func (b *Broker) serve() (micro.Service, error) {
	svc, err := micro.AddService(b.nc, micro.Config{
		Name: "askbus", Version: semver(b.opts.Version), Description: "asks humans on behalf of agents",
		Metadata:     map[string]string{"version": b.opts.Version}, // the version for people
		StatsHandler: func(*micro.Endpoint) any { return b.stats() },
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			b.opts.Logger.Warn("service subscription failed", slog.String("subject", err.Subject), slog.Any("error", err))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	for name, subj := range endpoints() {
		handle := b.receive
		if name == stateEndpoint {
			handle = b.receiveState
		}
		if name == auditEndpoint {
			handle = b.receiveAudit
		}
		if err := svc.AddEndpoint(name, micro.HandlerFunc(handle), micro.WithEndpointSubject(subj), micro.WithEndpointPendingLimits(-1, 128<<20)); err != nil {
			return nil, errors.Join(fmt.Errorf("broker: endpoint %s: %w", name, err), svc.Stop())
		}
	}
	return svc, nil
}

func endpoints() map[string]string {
	m := map[string]string{
		"agent-list": subject.Agents + ".*.*.list", "list": subject.Responders + ".*.*.list",
		"tenant-list": subject.Responders + ".*.*.*.list", "session-list": subject.Responders + ".*.*.*.*.list",
		"host-get": subject.Hosts + ".*.*.*.get.*", "host-answer": subject.Hosts + ".*.*.*.answer.*", "host-cancel": subject.Hosts + ".*.*.*.cancel.*",
		"host-receipt": subject.Hosts + ".*.*.*.receipt.*",
		"abort":        subject.Operators + ".*.*.abort.*", stateEndpoint: subject.State + ".>", auditEndpoint: subject.Audit + ".>",
	}
	for _, v := range []subject.Verb{subject.VerbAsk, subject.VerbGet, subject.VerbWait, subject.VerbWithdraw, subject.VerbRepeat, subject.VerbDelivered, subject.VerbUpload, subject.VerbFile} {
		m["agent-"+string(v)] = subject.Agents + ".*.*." + string(v) + ".*"
	}
	for _, v := range []subject.Verb{subject.VerbAsk, subject.VerbWait, subject.VerbWithdraw, subject.VerbRepeat, subject.VerbDelivered} {
		for _, typ := range []string{subject.TypeGateway, subject.TypeOperator} {
			m[typ+"-"+string(v)] = subject.Responders + "." + typ + ".*.*.*." + string(v) + ".*"
		}
	}
	for _, v := range []subject.Verb{subject.VerbRemove, subject.VerbReadmit} {
		m["tenant-"+string(v)] = subject.Responders + "." + subject.TypeOperator + ".*.*." + string(v)
	}
	m["asker-ask"] = subject.AskedByAgent("*", "*", "")
	for _, v := range []subject.Verb{subject.VerbAnswer, subject.VerbCancel, subject.VerbUnvote, subject.VerbReceipt, subject.VerbSnooze, subject.VerbHandOver, subject.VerbSeen, subject.VerbGet, subject.VerbUpload, subject.VerbFile} {
		m[string(v)] = subject.Responders + ".*.*.*.*." + string(v) + ".*"
	}
	for _, v := range []subject.Verb{subject.VerbAway, subject.VerbClaim, subject.VerbLink, subject.VerbNext, subject.VerbDone, subject.VerbExtend, subject.VerbLater} {
		m[string(v)] = subject.Responders + ".*.*." + string(v)
		m["tenant-"+string(v)] = subject.Responders + ".*.*.*." + string(v)
	}
	return m
}

// Stats is the data of the service's STATS reply.
type Stats struct {
	LedgerBytes  int64 `json:"ledger_bytes"`
	LedgerBudget int64 `json:"ledger_budget"`  // the smallest of what this broker and the servers allow; 0: unknown
	Reserve      int64 `json:"ledger_reserve"` // part of the budget, so that every pending ask can end
	Held         int   `json:"held"`           // requests waiting for an outcome
	Requests     int64 `json:"requests"`
	Refused      int64 `json:"refused"` // refused requests
	Dropped      int64 `json:"dropped"` // not carried out: foreign reply subject
	Late         int64 `json:"late"`    // not carried out: the sender had already given up

	Settings
}

func (b *Broker) stats() Stats {
	used, budget := b.led.Usage()
	return Stats{used, budget, b.led.Reserve(), b.waits.len(), b.requests.Load(), b.refused.Load(), b.dropped.Load(), b.late.Load(), b.settings()}
}

// Intervals of maintain.
const (
	usageEvery = time.Second
	sweepEvery = 30 * time.Second
	sweepMost  = 60_000 // questions per partition and sweep: bounds its share of a core
)

// maintain looks after the ledger until ctx ends, or until a stream of it is gone: a start makes it again, as it does for
// all that is missing.
func (b *Broker) maintain(ctx context.Context) error {
	usage, sweep := time.NewTicker(usageEvery), time.NewTicker(b.opts.Sweep)
	defer usage.Stop()
	defer sweep.Stop()
	status := b.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer b.nc.RemoveStatusListener(status)
	b.sweep(ctx)
	var gone []string
	step, swept := time.NewTimer(0), time.Now()
	defer step.Stop()
	for {
		step.Stop()
		if in, ok := b.steps.next(b.led.Now()); ok {
			step.Reset(max(in, stepsEvery-time.Since(swept)))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-b.steps.wake:
		case <-step.C:
			b.sweep(ctx)
			swept = time.Now()
		case s := <-status:
			if s == nats.CLOSED {
				return nil
			}
			b.reconnected(ctx)
		case <-usage.C:
			if err := b.led.RefreshUsage(ctx); err != nil && ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "cannot read the ledger's usage", slog.Any("error", err))
			}
			if b.full.Load() {
				b.sweep(ctx)
			}
		case <-sweep.C:
			b.sweep(ctx)
			before := gone
			if gone = b.led.Missing(ctx); len(gone) > 0 && slices.Equal(gone, before) { // twice: a new leader may not know them yet
				return fmt.Errorf("broker: the ledger's streams %s are missing: somebody deleted them, and what they held is lost; restore a backup, or start brokers again, which make them again, empty", strings.Join(gone, ", "))
			}
		}
	}
}

// reconnected catches up after a reconnect: the server may have crashed, and
// republished outcomes may have been missed.
func (b *Broker) reconnected(ctx context.Context) {
	if err := b.led.RemoveGhosts(ctx); err != nil && ctx.Err() == nil {
		b.opts.Logger.WarnContext(ctx, "cannot look for ghosts", slog.Any("error", err))
	}
	if err := b.readRemovals(ctx, true); err != nil && ctx.Err() == nil {
		b.opts.Logger.WarnContext(ctx, "cannot read which tenants are removed", slog.Any("error", err))
	}
	b.leases.interrupted.Store(true)
	b.waits.recheck()
	for _, s := range b.republished {
		s.notifyAll()
	}
	b.sweep(ctx)
}

// sweep expires asks that the server's timer missed, and takes the steps of
// ladders that are due.
func (b *Broker) sweep(ctx context.Context) {
	b.steps.take()
	turn, turned := b.duties.changed()
	due, err := b.led.Overdue(ctx, b.led.Now(), sweepMost, turn, turned)
	if err != nil && ctx.Err() == nil {
		b.opts.Logger.WarnContext(ctx, "sweep stopped early", slog.Any("error", err))
	}
	b.steps.earlier(b.led.NextStep())
	b.full.Store(false)
	unsaid := false // an ask may not say who is on call
	for _, d := range due {
		if b.full.Load() {
			break // the others are tried by the next sweep
		}
		if err := b.due(ctx, d); err != nil && ctx.Err() == nil {
			unsaid = unsaid || d.OnCall
			b.opts.Logger.WarnContext(ctx, "cannot do what is due about an ask", slog.String("ask_id", d.ID), slog.Any("error", err))
		}
	}
	if unsaid || b.full.Load() {
		b.duties.again()
	}
}
