// Package broker is the service that agents, responders and operators talk to.
//
// It carries out what lifecycle decides, in one order always: read what the
// decision needs, decide, write with compare-and-set, reply. It keeps no state
// of its own, so any number of replicas share a queue group, and a crash
// anywhere means that the command comes again.
//
// Safety: it answers only below inbox prefixes that belong to the request's own
// subject, and never copies a client's headers. Liveness: every request gets a
// reply or is refused within [Options.Limit], but for held ones, which end
// after at most 10 minutes. The messages are those of docs/protocol.md,
// section 2.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Options tunes a [Broker]. The zero value is ready to use.
type Options struct {
	Logger  *slog.Logger     // default: discard
	Now     func() time.Time // default: time.Now
	Limit   time.Duration    // for one request that is not held; default 5s
	Workers int              // requests carried out at a time; default 512
	MaxHeld int              // requests held at a time; default 100000
	Grace   time.Duration    // for requests under way when Run ends; default 10s
	Version string           // shown by the service; default 0.0.0

	Sabotage sabotage.Kind // set only by internal/torture: a promise to break
}

func (o *Options) fill() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limit == 0 {
		o.Limit = 5 * time.Second
	}
	if o.Workers == 0 {
		o.Workers = 512
	}
	if o.MaxHeld == 0 {
		o.MaxHeld = 100_000
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.Version == "" {
		o.Version = "0.0.0"
	}
}

// Broker is one replica of the service.
type Broker struct {
	nc   *nats.Conn // the service connection: it has no right on the ledger
	led  *ledger.Ledger
	work *ledger.Work
	opts Options

	crew     *crew          // carries out requests
	running  sync.WaitGroup // what waits for something, outside the crew
	ears     *ears
	waits    *waits
	presence *presence
	stirred  map[string]*signal // by kind: something was republished, next may have work

	requests, refused, dropped atomic.Int64
	ready                      atomic.Bool
	base                       context.Context //nolint:containedctx // lives as long as Run and its grace
}

// New makes a broker over its service connection and an open ledger. It starts
// nothing.
func New(nc *nats.Conn, led *ledger.Ledger, opts Options) *Broker {
	opts.fill()
	b := &Broker{
		nc: nc, led: led, work: ledger.NewWork(led), opts: opts,
		crew: newCrew(opts.Workers), presence: newPresence(nc),
		stirred: map[string]*signal{subject.Question: newSignal(), subject.Outcome: newSignal()},
	}
	b.ears = &ears{b: b, subs: map[string]*nats.Subscription{}}
	b.waits = &waits{b: b, byKey: map[subject.Key]map[*held]struct{}{}}
	return b
}

// Ready reports whether the broker serves: it runs and its connection stands.
func (b *Broker) Ready() bool { return b.ready.Load() && b.nc.IsConnected() }

// Run serves until ctx ends; then it drains: requests under way are carried
// out, held ones are told their status.
func (b *Broker) Run(ctx context.Context) error {
	work, cancel := withGrace(ctx, b.opts.Grace)
	defer cancel()
	b.base = work

	if err := b.led.RemoveGhosts(ctx); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if err := b.presence.start(); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer b.presence.stop()
	svc, err := b.serve()
	if err != nil {
		return err
	}
	if err := b.nc.Flush(); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	b.ready.Store(true)
	b.opts.Logger.InfoContext(ctx, "broker is ready", slog.Any("partitions", b.led.Partitions()))

	b.tend(ctx)

	b.ready.Store(false)
	err = b.drain(svc)
	b.waits.release() //nolint:contextcheck // what is under way has the broker's own grace
	b.crew.stop()
	b.running.Wait()
	err = errors.Join(err, b.ears.close())
	if b.nc.IsConnected() {
		err = errors.Join(err, b.nc.FlushTimeout(time.Second))
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil // nobody is left to tell
	}
	return err
}

// drain takes the endpoints off the bus and waits until what was received for
// them has been handed to us: micro's Stop only begins that.
func (b *Broker) drain(svc micro.Service) error {
	left := b.nc.NumSubscriptions() - len(endpoints())
	err := svc.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(b.opts.Grace / 2); b.nc.NumSubscriptions() > left && b.nc.IsConnected() && time.Now().Before(end); {
		<-tick.C
	}
	return err
}

func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return work, func() { stop(); cancel() }
}

// serve registers the endpoints with the micro library, for discovery and the
// queue group. Its own replies are not used: see respond.go.
func (b *Broker) serve() (micro.Service, error) {
	svc, err := micro.AddService(b.nc, micro.Config{
		Name: "askbus", Version: b.opts.Version, Description: "asks humans on behalf of agents",
		StatsHandler: func(*micro.Endpoint) any { return b.stats() },
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			b.opts.Logger.Warn("service subscription failed", slog.String("subject", err.Subject), slog.Any("error", err))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	for name, subj := range endpoints() {
		if err := svc.AddEndpoint(name, micro.HandlerFunc(b.receive), micro.WithEndpointSubject(subj), micro.WithEndpointPendingLimits(-1, 128<<20)); err != nil {
			return nil, errors.Join(fmt.Errorf("broker: endpoint %s: %w", name, err), svc.Stop())
		}
	}
	return svc, nil
}

func endpoints() map[string]string {
	m := map[string]string{
		"agent-list": subject.Agents + ".*.*.list", "list": subject.Responders + ".*.list",
		"tenant-list": subject.Responders + ".*.*.list", "session-list": subject.Responders + ".*.*.*.list",
		"abort": subject.Operators + ".*.*.abort.*",
	}
	for _, v := range []subject.Verb{subject.VerbAsk, subject.VerbGet, subject.VerbWait, subject.VerbWithdraw} {
		m["agent-"+string(v)] = subject.Agents + ".*.*." + string(v) + ".*"
	}
	for _, v := range []subject.Verb{subject.VerbAnswer, subject.VerbCancel, subject.VerbReceipt, subject.VerbGet} {
		m[string(v)] = subject.Responders + ".*.*.*." + string(v) + ".*"
	}
	for _, v := range []subject.Verb{subject.VerbNext, subject.VerbDone, subject.VerbExtend, subject.VerbLater} {
		m[string(v)] = subject.Responders + ".*." + string(v)
	}
	return m
}

// Stats is the data of the service's STATS reply.
type Stats struct {
	LedgerBytes  int64 `json:"ledger_bytes"`
	LedgerBudget int64 `json:"ledger_budget"` // 0: none known
	Held         int   `json:"held"`          // requests waiting for an outcome
	Requests     int64 `json:"requests"`
	Refused      int64 `json:"refused"` // answered with an error
	Dropped      int64 `json:"dropped"` // not carried out: foreign reply subject
}

func (b *Broker) stats() Stats {
	used, budget := b.led.Usage()
	return Stats{used, budget, b.waits.len(), b.requests.Load(), b.refused.Load(), b.dropped.Load()}
}

// Intervals of tend.
const (
	usageEvery = time.Second
	sweepEvery = 30 * time.Second
	sweepMost  = 60_000 // questions a partition and sweep: bounds its share of a core
)

// tend looks after the ledger until ctx ends.
func (b *Broker) tend(ctx context.Context) {
	usage, sweep := time.NewTicker(usageEvery), time.NewTicker(sweepEvery)
	defer usage.Stop()
	defer sweep.Stop()
	status := b.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer b.nc.RemoveStatusListener(status)
	b.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-status:
			if s == nats.CLOSED {
				return
			}
			b.reconnected(ctx)
		case <-usage.C:
			if err := b.led.RefreshUsage(ctx); err != nil && ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "cannot read the ledger's usage", slog.Any("error", err))
			}
		case <-sweep.C:
			b.sweep(ctx)
		}
	}
}

// reconnected catches up with what may have been missed: the server may have
// crashed, outcomes may have been republished to nobody.
func (b *Broker) reconnected(ctx context.Context) {
	if err := b.led.RemoveGhosts(ctx); err != nil && ctx.Err() == nil {
		b.opts.Logger.WarnContext(ctx, "cannot look for ghosts", slog.Any("error", err))
	}
	b.waits.recheck()
	for _, s := range b.stirred {
		s.notify()
	}
	b.sweep(ctx)
}

// sweep writes the wills of asks that the server's timer forgot.
func (b *Broker) sweep(ctx context.Context) {
	keys, err := b.led.Overdue(ctx, b.opts.Now(), sweepMost)
	if err != nil && ctx.Err() == nil {
		b.opts.Logger.WarnContext(ctx, "sweep stopped early", slog.Any("error", err))
	}
	for _, k := range keys {
		if _, err := b.look(ctx, k); err != nil && ctx.Err() == nil {
			b.opts.Logger.WarnContext(ctx, "cannot expire an overdue ask", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
	}
}
