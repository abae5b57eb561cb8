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
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
)

// Options tunes a [Client]. The zero value is ready to use.
type Options struct {
	Logger *slog.Logger // default: discard

	// TracerProvider creates a span for every call, whose traceparent goes into
	// the call's event. Default: no spans, at no cost; the events carry what
	// [WithTrace] stored.
	TracerProvider trace.TracerProvider

	// Now is the agent's clock. It dates the events that are sent and decides
	// nothing. Default: time.Now.
	Now func() time.Time
}

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
// It returns an error if nc is nil.
func New(nc *nats.Conn, opts Options) (*Client, error) {
	if nc == nil {
		return nil, errors.New("client: no connection; use Connect to make one")
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Client{
		nc: nc, on: connection.On(nc), opts: opts, tracer: tracing.New(opts.TracerProvider),
		pace:   pace{every: checkEvery, retry: retryAfter, limit: connection.Limit, alive: aliveEvery, linger: linger, unused: unusedFor, now: opts.Now, sessions: maxSessions},
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
