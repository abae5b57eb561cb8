// Package client lets agents ask, wait, and pick up their asks after a failure.
//
// One [Client] serves a whole connection. A [Session] is a cheap handle on it:
// make one where it is needed and drop it. All waits of a session share one
// subscription, which ends with the last of them. A client of one session would
// need a pool in every process that serves many, and a close that one of them
// forgets; one subscription for the whole connection would hear the outcomes of
// sessions that its credential does not cover.
//
// The package leaves every decision to the broker. It promises that asking
// again with the same id is harmless, that Wait returns an ask's outcome
// exactly once to its caller and finds it after reconnects, broker restarts and
// missed messages, and that a cancelled context withdraws nothing: the ask
// stays pending, and any process can pick it up again by its id.
//
// Errors wrap the sentinels of package ask, such as [ask.ErrInvalid]; a refusal
// by the broker is an [*ask.Error] with its code and faults.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options tunes a [Client]. The zero value is ready to use.
type Options struct {
	Logger *slog.Logger // default: discard

	// Trace returns the W3C traceparent of a call from its context. It goes
	// into the event that the call sends; an empty one is left out. The default
	// reads what [WithTrace] stored. A tracing library's propagator can be used
	// here.
	Trace func(context.Context) string

	// TracerProvider creates a span for every call, whose traceparent goes into
	// the call's event. Propagator says how a context carries one; default:
	// W3C's. If neither is set, nothing is traced, at no cost.
	TracerProvider trace.TracerProvider
	Propagator     propagation.TextMapPropagator

	// Now is the agent's clock. It dates the events that are sent and decides
	// nothing. Default: time.Now.
	Now func() time.Time

	// MaxSessions bounds the sessions with open waits at a time, each of which
	// takes a subscription. Default: 65536.
	MaxSessions int
}

// DefaultMaxSessions is the default of [Options.MaxSessions].
const DefaultMaxSessions = 65_536

// ErrClosed is what Wait returns when its client is closed.
var ErrClosed = errors.New("client: closed")

// Client asks over one connection, for as many sessions as its credential
// allows. It is safe for concurrent use.
type Client struct {
	nc       *nats.Conn
	on       *connection.Conn // the same, with its credential
	opts     Options
	tracer   *tracing.Tracer
	pace     pace
	checks   chan struct{} // a slot for each running check
	calls    chan struct{} // a slot for each other running call
	answered atomic.Int64  // number of answered calls

	mu       sync.Mutex
	watchers map[ask.Session]*watcher // sessions with open waits, or with some a moment ago
	quiet    chan struct{}            // closed when the last watcher is dropped; nil while there is none
	holders  map[string]struct{}      // brokers that reported an ask as pending
	closed   bool
	stop     chan struct{}
	running  sync.WaitGroup
}

// New makes a client over a connection. The connection's credential is an
// agent's, for one session, or one that may ask in many sessions, such as an
// operator's or the gateway's; see [Connect]. New starts nothing and sends
// nothing.
//
// It returns an error if nc is nil or MaxSessions is negative.
func New(nc *nats.Conn, opts Options) (*Client, error) {
	switch {
	case nc == nil:
		return nil, errors.New("client: no connection; use Connect to make one")
	case opts.MaxSessions < 0:
		return nil, fmt.Errorf("client: MaxSessions is %d; give 1 or more, or 0 for %d", opts.MaxSessions, DefaultMaxSessions)
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	tracer := tracing.New(opts.TracerProvider, opts.Propagator)
	if opts.Trace == nil {
		opts.Trace = traceOf
		if tracer != nil {
			opts.Trace = func(ctx context.Context) string { return cmp.Or(tracer.Carry(ctx), traceOf(ctx)) }
		}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.MaxSessions = cmp.Or(opts.MaxSessions, DefaultMaxSessions)
	return &Client{
		nc: nc, on: connection.On(nc), opts: opts, tracer: tracer,
		pace:   pace{every: checkEvery, retry: retryAfter, limit: connection.Limit, alive: aliveEvery, linger: linger, unused: unusedFor, now: opts.Now},
		checks: make(chan struct{}, maxChecks), calls: make(chan struct{}, maxCalls),
		watchers: map[ask.Session]*watcher{}, holders: map[string]struct{}{}, stop: make(chan struct{}),
	}, nil
}

// Session returns a handle for the asks of one session. It costs nothing and
// need not be closed. Each method validates both names: it fails with
// [ask.ErrInvalid] unless [ask.ValidToken] accepts them.
func (c *Client) Session(tenant, session string) Session {
	return Session{c: c, at: ask.Session{Tenant: tenant, Name: session}}
}

// Close ends every present and future Wait of the client with [ErrClosed], and
// returns when the client's goroutines have ended. Other calls continue to
// work. The connection stays open, and the asks stay pending. A client without
// running calls soon holds no resources, so it need not be closed.
func (c *Client) Close() {
	c.mu.Lock()
	var subs []*nats.Subscription
	if !c.closed {
		c.closed = true
		close(c.stop)
		for at, w := range c.watchers {
			subs = append(subs, w.sub)
			c.drop(at, w)
		}
	}
	c.mu.Unlock()
	for _, sub := range subs {
		c.unsubscribe(sub)
	}
	c.running.Wait()
}
