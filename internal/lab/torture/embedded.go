package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// EmbeddedOptions configures an embedded bus. The zero value is ready to use.
type EmbeddedOptions struct {
	Dir       string        // default: a temporary one, removed by Close
	Nodes     int           // 1, or 3 with three replicas of everything; default 1
	Brokers   int           // default 2
	MaxStore  int64         // bytes; default: natsd's
	SmallDisk string        // for [StartProcesses]: a file system for the last server's store, which is filled; default: none
	Skewed    string        // for [StartProcesses] and three nodes: this program with a clock that [SkewEnv] sets; one server at a time runs it; default: none
	Skew      time.Duration // offset of the brokers' clocks: the first is ahead, the second behind, and so on
	Logger    *slog.Logger  // default: discard
	Retention time.Duration // default [DefaultRetention]
	Margin    time.Duration // default [DefaultMargin]

	breakage // empty, but with the build tag sabotage
}

// Embedded is a bus in this process.
type Embedded struct {
	opts    EmbeddedOptions
	temp    string
	nodes   []*node
	brokers []*embeddedBroker
}

// fill sets the defaults, and returns the directory that it made, if any.
func (o *EmbeddedOptions) fill() (temp string, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Brokers == 0 {
		o.Brokers = 2
	}
	if o.Retention == 0 {
		o.Retention, o.Margin = DefaultRetention, DefaultMargin
	}
	if o.Dir == "" {
		if temp, err = os.MkdirTemp("", "askbus-torture-"); err != nil {
			return "", fmt.Errorf("torture: %w", err)
		}
		o.Dir = temp
	}
	return temp, nil
}

// StartEmbedded starts servers and brokers.
func StartEmbedded(ctx context.Context, opts EmbeddedOptions) (*Embedded, error) {
	temp, err := opts.fill()
	if err != nil {
		return nil, err
	}
	e := &Embedded{opts: opts, temp: temp}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Embedded) start(ctx context.Context) error {
	addrs, err := freeaddr.Pick(2 * e.opts.Nodes)
	if err != nil {
		return err
	}
	for i := range e.opts.Nodes {
		n := &node{opts: natsd.Options{Dir: filepath.Join(e.opts.Dir, "n"+strconv.Itoa(i+1)), Addr: addrs[i], MaxStore: e.opts.MaxStore, Logger: e.opts.Logger}}
		if e.opts.Nodes > 1 {
			n.opts.Cluster = &natsd.Cluster{Node: "n" + strconv.Itoa(i+1), Addr: addrs[e.opts.Nodes+i], Routes: addrs[e.opts.Nodes:]}
		}
		if i > 0 {
			if err := rights.ShareKey(e.nodes[0].opts.Dir, n.opts.Dir); err != nil {
				return err
			}
		}
		if n.srv, err = natsd.Start(n.opts); err != nil { //nolint:contextcheck // it compares clocks until it is closed
			return err
		}
		e.nodes = append(e.nodes, n)
	}
	for i := range e.opts.Brokers {
		b := &embeddedBroker{e: e, name: "broker-" + strconv.Itoa(i+1), skew: skewOf(e.opts.Skew, i)}
		if err := b.start(ctx); err != nil {
			return err
		}
		e.brokers = append(e.brokers, b)
	}
	return nil
}

// skewOf returns the clock offset of a broker.
func skewOf(skew time.Duration, i int) time.Duration {
	if i%2 == 1 {
		return -skew
	}
	return skew
}

// Credential implements [Bus].
func (e *Embedded) Credential(r rights.Role) (client.Credential, error) {
	keys, urls, err := e.Issuer()
	if err != nil {
		return client.Credential{}, err
	}
	c, err := keys.Asserting(urls, r, assertion.Anything())
	return client.Credential(c), err
}

// Issuer returns the keys and addresses of this bus.
func (e *Embedded) Issuer() (keys *rights.Issuer, urls string, err error) {
	all := make([]string, len(e.nodes))
	for i, n := range e.nodes {
		all[i] = "nats://" + n.opts.Addr
	}
	keys, err = rights.LoadIssuer(e.nodes[0].opts.Dir)
	return keys, strings.Join(all, ","), err
}

// Ledger implements [Bus].
func (e *Embedded) Ledger() (client.Credential, bool) {
	c, err := e.Credential(rights.Role{Name: rights.RoleLedger})
	return c, err == nil
}

// Victims implements [Bus].
func (e *Embedded) Victims() []Victim {
	var all []Victim
	for _, n := range e.nodes {
		all = append(all, n)
	}
	for _, b := range e.brokers {
		all = append(all, b)
	}
	return all
}

// Healthy returns the error of an unhealthy server.
func (e *Embedded) Healthy() error {
	var err error
	for _, n := range e.nodes {
		n.mu.Lock()
		err = errors.Join(err, n.srv.Healthy())
		n.mu.Unlock()
	}
	return err
}

// Nodes returns the servers that run now.
func (e *Embedded) Nodes() []*natsd.Server {
	all := make([]*natsd.Server, len(e.nodes))
	for i, n := range e.nodes {
		n.mu.Lock()
		all[i] = n.srv
		n.mu.Unlock()
	}
	return all
}

// Close implements [Bus].
func (e *Embedded) Close() error {
	var err error
	for _, b := range e.brokers {
		err = errors.Join(err, b.stop())
	}
	for _, n := range e.nodes {
		n.close()
	}
	if e.temp != "" {
		err = errors.Join(err, os.RemoveAll(e.temp))
	}
	return err
}

// node is one embedded server.
type node struct {
	opts natsd.Options
	mu   sync.Mutex
	srv  *natsd.Server
}

func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.srv.Close()
}

// Name implements [Victim].
func (n *node) Name() string {
	if n.opts.Cluster == nil {
		return "server"
	}
	return "server-" + n.opts.Cluster.Node
}

// Kill implements [Victim]. A server in this process cannot be killed: it shuts down and restarts.
func (n *node) Kill(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.srv.Close()
	srv, err := natsd.Start(n.opts) //nolint:contextcheck // it compares clocks until it is closed
	if err == nil {
		n.srv = srv
	}
	return err
}

// Stop implements [Victim].
func (n *node) Stop(context.Context, time.Duration) (bool, error) { return false, nil }

// embeddedBroker is one broker.
type embeddedBroker struct {
	e    *Embedded
	name string
	skew time.Duration

	conns  []*nats.Conn
	cancel context.CancelFunc
	done   chan error
}

// start starts the broker, again if the servers are too busy for it: in operation whatever runs it would.
func (b *embeddedBroker) start(ctx context.Context) error {
	for end := time.Now().Add(30 * time.Second); ; {
		err := b.try(ctx)
		if err != nil {
			for _, nc := range b.conns {
				nc.Close()
			}
		}
		if err == nil || !errors.Is(err, ask.ErrUnavailable) || time.Now().After(end) || !until(ctx, time.Now().Add(200*time.Millisecond)) {
			return err
		}
	}
}

func (b *embeddedBroker) try(ctx context.Context) error {
	b.conns = nil
	for _, role := range []string{rights.RoleBroker, rights.RoleLedger, rights.RoleClock} {
		c, err := b.e.Credential(rights.Role{Name: role})
		if err != nil {
			return err
		}
		nc, err := connection.Connect(connection.Credential(c), b.e.opts.Logger)
		if err != nil {
			return fmt.Errorf("torture: %s: %w", b.name, err)
		}
		b.conns = append(b.conns, nc)
	}
	opts := ledger.Options{
		Replicas: b.e.opts.Nodes, Retention: b.e.opts.Retention, Margin: b.e.opts.Margin, Budget: b.e.opts.MaxStore, Logger: b.e.opts.Logger,
		Servers: b.conns[2], Clock: shifted(b.skew),
	}
	b.e.opts.breakLedger(&opts)
	led, err := openLedger(ctx, b.conns[1], opts)
	if err != nil {
		return err
	}
	keys, _, err := b.e.Issuer()
	if err != nil {
		return err
	}
	service := broker.Options{Logger: b.e.opts.Logger, Grace: time.Second, Verifier: keys.Verifier()}
	b.e.opts.breakBroker(&service)
	br := broker.New(b.conns[0], led, service)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.cancel, b.done = cancel, make(chan error, 1)
	go func() { b.done <- br.Run(run) }()
	for !br.Ready() {
		select {
		case err := <-b.done:
			b.done <- err // stop waits for it
			return errors.Join(fmt.Errorf("torture: %s ended: %w", b.name, err), b.stop())
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

// openLedger opens the ledger; a newly started cluster needs a while.
func openLedger(ctx context.Context, nc *nats.Conn, opts ledger.Options) (*ledger.Ledger, error) {
	for end := time.Now().Add(30 * time.Second); ; {
		led, err := ledger.Open(ctx, nc, opts)
		if err == nil || time.Now().After(end) || !until(ctx, time.Now().Add(200*time.Millisecond)) {
			return led, err
		}
	}
}

func (b *embeddedBroker) stop() error {
	if b.cancel == nil {
		return nil
	}
	b.cancel()
	if err := <-b.done; err != nil { // its connections may be gone
		b.e.opts.Logger.Info("broker ended", slog.Any("error", err))
	}
	for _, nc := range b.conns {
		nc.Close()
	}
	b.cancel = nil
	return nil
}

// Name implements [Victim].
func (b *embeddedBroker) Name() string { return b.name }

// Kill implements [Victim]: its connections break while it works, and another broker starts.
func (b *embeddedBroker) Kill(ctx context.Context) error {
	for _, nc := range b.conns {
		nc.Close()
	}
	if err := b.stop(); err != nil {
		return err
	}
	return b.start(ctx)
}

// Stop implements [Victim].
func (b *embeddedBroker) Stop(context.Context, time.Duration) (bool, error) { return false, nil }
