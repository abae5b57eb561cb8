package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// Bed is a bus under test: its address and its credentials.
type Bed struct {
	Partitions int    // 0: not known
	Replicas   int    // 0: not known
	Sync       string // "always", or "unknown" for a bus that we did not start
	Tenant     string
	NoFloor    string // why there is no floor; empty: there is one

	embedded bool   // everything runs in this process
	shared   bool   // with others: the bench leaves nothing behind
	run      string // names this run's sessions, so that nobody else's asks are touched
	dial     func(rights.Role) (*nats.Conn, error)
	servers  *servers                                                               // of an embedded one
	ledger   *ledger.Ledger                                                         // of an embedded one
	verifier broker.Verifier                                                        // of the bench's own servers
	floor    func() (connect func(like rights.Role) (*nats.Conn, error), err error) // full rights, where the floor's streams may lie, as near as like
	closes   []func()
	log      *slog.Logger
}

// Close stops what the bed started and removes its files.
func (b *Bed) Close() {
	for _, f := range slices.Backward(b.closes) {
		f()
	}
	b.closes = nil
}

func (b *Bed) later(f func()) { b.closes = append(b.closes, f) }

// Options configures an embedded bed. The zero value is ready to use.
type Options struct {
	Dir        string // where the servers' directories are made; default: the system's temporary directory
	Partitions int    // default: the ledger's
	Nodes      int    // of a cluster in this process, with as many replicas; default: a server alone
	NoAudit    bool   // to measure what the audit costs
	Logger     *slog.Logger
}

// Embedded starts a server and a broker in this process, with a full-rights user that exists only
// there, and a second, identical server for the floor.
func Embedded(ctx context.Context, opts Options) (*Bed, error) {
	nodes := max(1, opts.Nodes)
	b := &Bed{embedded: true, Replicas: nodes, Sync: "always", Tenant: "bench", run: runID(), log: logger(opts.Logger)}
	srv, err := b.serve(opts.Dir, nodes) //nolint:contextcheck // it works until it is closed
	if err != nil {
		b.Close()
		return nil, err
	}
	b.servers, b.dial, b.verifier = srv, srv.dial, srv.keys.Verifier()
	if err := b.broker(ctx, ledger.Options{Partitions: opts.Partitions, Replicas: nodes, NoAudit: opts.NoAudit}); err != nil {
		b.Close()
		return nil, err
	}
	b.floor = func() (func(rights.Role) (*nats.Conn, error), error) { //nolint:contextcheck // so does this one
		floor, err := b.serve(opts.Dir, nodes)
		if err != nil {
			return nil, err
		}
		return floor.asAdmin, nil
	}
	return b, nil
}

// broker starts a broker on the bed and waits until it serves.
func (b *Bed) broker(ctx context.Context, opts ledger.Options) error {
	svc, err := b.open(rights.Role{Name: rights.RoleBroker})
	if err != nil {
		return err
	}
	led, err := b.open(rights.Role{Name: rights.RoleLedger})
	if err != nil {
		return err
	}
	opts.Logger = b.log
	opened, err := ledger.Open(ctx, led, opts)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	b.Partitions, b.ledger = opened.Partitions(), opened
	br := broker.New(svc, opened, broker.Options{Logger: b.log, Verifier: b.verifier})
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- br.Run(running) }()
	b.later(func() {
		stop()
		if err := <-done; err != nil {
			b.log.Warn("the broker failed", slog.Any("error", err))
		}
	})
	return poll(ctx, 30*time.Second, "the broker is not ready", func() bool { return br.Ready() })
}

// open connects with a role until the bed closes.
func (b *Bed) open(r rights.Role) (*nats.Conn, error) {
	nc, err := b.dial(r)
	if err != nil {
		return nil, fmt.Errorf("bench: connect as %s: %w", r.User(), err)
	}
	b.later(nc.Close)
	return nc, nil
}

// runID returns a token that is unique to this run.
func runID() string { return "bench-" + rand.Text()[:8] }

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// poll waits until ok returns true.
func poll(ctx context.Context, limit time.Duration, missing string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("bench: %s after %s: %w", missing, limit, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// listen listens on a free loopback port.
func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}
