// Package client is for agents: it asks, waits, and survives on the way.
//
// It leaves every decision to the broker. It promises that asking again with
// the same id is harmless, that Wait returns an ask's outcome exactly once and
// finds it after reconnects, broker restarts and missed messages, and that a
// context that ends withdraws nothing: the ask stays, and can be picked up
// again by its id, also by another process.
package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Options tunes a [Client]. The zero value is ready to use.
type Options struct {
	Logger *slog.Logger // default: discard
	// Trace is a W3C traceparent that stands in every event; default: none.
	Trace string
}

// Client asks for one session. It is safe for concurrent use.
type Client struct {
	nc              *nats.Conn
	tenant, session string
	opts            Options
	pace            pace
	checks          chan struct{} // a place for each check under way
	calls           chan struct{} // and for each other call
	answered        atomic.Int64  // calls

	mu     sync.Mutex
	sub    *nats.Subscription // one for all asks of the session
	waits  map[string]map[*wait]struct{}
	asked  map[string]*asked
	closed bool
	stop   chan struct{}
	watch  sync.WaitGroup
}

// New makes a client for a session, over a connection whose credential and
// inbox prefix belong to that session (or to an operator). It starts nothing.
func New(nc *nats.Conn, tenant, session string, opts Options) (*Client, error) {
	switch {
	case nc == nil:
		return nil, errors.New("client: no connection")
	case !ask.ValidToken(tenant):
		return nil, fmt.Errorf("client: tenant %q is no token; use A-Z a-z 0-9 _ -", tenant)
	case !ask.ValidToken(session):
		return nil, fmt.Errorf("client: session %q is no token; use A-Z a-z 0-9 _ -", session)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Client{
		nc: nc, tenant: tenant, session: session, opts: opts,
		pace:   pace{every: checkEvery, retry: retryAfter, limit: call.Limit, now: time.Now},
		checks: make(chan struct{}, maxChecks), calls: make(chan struct{}, maxCalls),
		waits: map[string]map[*wait]struct{}{}, asked: map[string]*asked{}, stop: make(chan struct{}),
	}, nil
}

// Close ends every Wait with [ErrClosed] and gives the subscription back. The
// connection stays open; the asks stay pending.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.stop)
	c.forgetAsked()
	sub := c.sub
	c.mu.Unlock()
	c.watch.Wait()
	if sub == nil {
		return nil
	}
	if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
		return fmt.Errorf("client: %w", err)
	}
	return nil
}

// ErrClosed is what Wait returns on a closed client.
var ErrClosed = errors.New("client: closed")

// Status is what the broker says when an ask is stored.
type Status struct {
	ID       string
	State    ask.State // resolved when the same ask had ended before
	Deadline time.Time
	Present  []string // responder types at which a person is, as far as known at once
	Warnings []string
	Outcome  *ask.Outcome // when resolved
}

// Ask asks. When it returns without error the ask is durable, and stays so
// whatever becomes of this process. An empty id is filled in; the same id with
// the same questions again is the same ask. Errors are [*ask.Error] values:
// [ask.ErrInvalid] with all faults, [ask.ErrIDReused], [ask.ErrNobody],
// [ask.ErrUnavailable] when the ledger is full or away.
func (c *Client) Ask(ctx context.Context, a ask.Ask) (Status, error) {
	if a.ID == "" {
		a.ID = cloudevent.NewID()
	}
	k := c.key(a.ID)
	if !k.Valid() {
		return Status{}, invalidID(a.ID)
	}
	data, err := cloudevent.EncodeAsk(&a)
	if err != nil {
		return Status{}, fmt.Errorf("client: %w", err)
	}
	c.asking(a.ID)
	got, err := c.status(ctx, k, subject.VerbAsk, c.event(k, cloudevent.TypeAsked, data))
	if err != nil {
		c.wasAsked(a.ID, nil)
		return Status{}, err
	}
	s := Status{ID: a.ID, State: got.State, Deadline: got.Deadline, Present: got.Present, Warnings: got.Warnings, Outcome: got.Outcome}
	c.wasAsked(a.ID, &s)
	return s, nil
}

// Get reads an ask of this session; [ask.ErrNotFound] when there is none.
func (c *Client) Get(ctx context.Context, id string) (ask.Record, error) {
	k := c.key(id)
	if !k.Valid() {
		return ask.Record{}, invalidID(id)
	}
	if err := c.turn(ctx); err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", id, err)
	}
	_, data, err := call.Msg(ctx, c.nc, &nats.Msg{Subject: subject.Agent(k, subject.VerbGet)}, 0)
	c.done(err)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", id, err)
	}
	s, err := cloudevent.DecodeStatus(data)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", id, err)
	}
	return s.Record(), nil
}

// Withdraw takes an ask back. It returns the outcome; the error is
// [ask.ErrResolved] with the outcome when the ask had ended otherwise.
func (c *Client) Withdraw(ctx context.Context, id, reason string) (ask.Outcome, error) {
	k := c.key(id)
	if !k.Valid() {
		return ask.Outcome{}, invalidID(id)
	}
	data, err := cloudevent.EncodeEnd(id, reason)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("client: %w", err)
	}
	if err := c.turn(ctx); err != nil {
		return ask.Outcome{}, fmt.Errorf("withdraw ask %s: %w", id, err)
	}
	_, reply, err := call.Event(ctx, c.nc, subject.Agent(k, subject.VerbWithdraw), c.event(k, cloudevent.TypeWithdrawn, data), 0)
	c.done(err)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("withdraw ask %s: %w", id, err)
	}
	return cloudevent.DecodeOutcome(reply)
}

// Query selects asks of the session for [Client.List].
type Query struct {
	State    ask.State // empty: both
	Question string    // history: only asks with a question of this id or exact text
	Limit    int       // 1 to 500; default 100
	Cursor   string    // from the page before
}

// Page is one page of a list. Next is empty on the last one.
type Page struct {
	Items []ask.Record
	Next  string
}

// List returns one page of this session's asks.
func (c *Client) List(ctx context.Context, q Query) (Page, error) {
	data, err := c.page(ctx, q)
	if err != nil {
		return Page{}, err
	}
	items, next, err := cloudevent.DecodePage(data)
	return Page{items, next}, err
}

func (c *Client) page(ctx context.Context, q Query) ([]byte, error) {
	if err := c.turn(ctx); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	data, err := call.Page(ctx, c.nc, subject.Agent(c.key(""), subject.VerbList),
		cloudevent.Query{State: string(q.State), Question: q.Question, Limit: q.Limit, Cursor: q.Cursor})
	c.done(err)
	return data, err
}

// All walks all pages. While one is being read, the next is on its way.
func (c *Client) All(ctx context.Context, q Query) iter.Seq2[ask.Record, error] {
	return call.Pages(ctx, q.Cursor, func(ctx context.Context, cursor string) ([]byte, error) {
		at := q
		at.Cursor = cursor
		return c.page(ctx, at)
	})
}

func (c *Client) key(id string) ask.Key { return ask.Key{Tenant: c.tenant, Session: c.session, ID: id} }

func (c *Client) event(k ask.Key, typ string, data []byte) cloudevent.Event {
	return cloudevent.Event{
		ID: cloudevent.NewID(), Source: cloudevent.AgentSource(c.tenant, c.session), Type: typ, Key: k,
		Time: c.pace.now(), Trace: c.opts.Trace, Data: data,
	}
}

func (c *Client) status(ctx context.Context, k ask.Key, verb subject.Verb, ev cloudevent.Event) (cloudevent.Status, error) {
	if err := c.turn(ctx); err != nil {
		return cloudevent.Status{}, fmt.Errorf("%s %s: %w", verb, k.ID, err)
	}
	_, data, err := call.Event(ctx, c.nc, subject.Agent(k, verb), ev, 0)
	c.done(err)
	if err != nil {
		return cloudevent.Status{}, fmt.Errorf("%s %s: %w", verb, k.ID, err)
	}
	return cloudevent.DecodeStatus(data)
}

func invalidID(id string) error {
	return ask.InvalidError("ask", []ask.Fault{{Pointer: "/id", Message: fmt.Sprintf("is %.80q; use 1 to %d of A-Z a-z 0-9 _ -", id, ask.MaxToken)}})
}
