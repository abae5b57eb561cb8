// Package responder is for surfaces: programs that show asks to people and send
// back their decisions with [Responder.Answer] or [Responder.Cancel].
//
// A surface that posts (a chat, mail, a phone) implements [Presenter] and runs a
// [Server], which is built on [Responder.Work]. A live screen (a web page, a
// terminal) follows what is pending with package board, and declares with
// [Responder.Present] that a person is looking. Package card says what to show.
// Package respondertest has a suite for each kind of surface.
//
// The package decides nothing: the broker says which answer counts. It promises
// that an ask is posted by one replica, and that repeating an Answer with the
// same AnswerID is harmless.
package responder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
)

// Options tunes a [Responder]. The zero value is ready to use.
type Options struct {
	Tenant  string // only this tenant; default: every tenant that the credential may see
	Session string // only this session (needs Tenant); default: every session
	// Host marks the credential as that of the host of one session's agent,
	// which may only read and answer single asks. The type says in which
	// dialog: [ask.ResponderNative] or [ask.ResponderElicit].
	Host bool
	// Limit is the maximum number of pending asks that a watch (package board)
	// tracks at once, the oldest first; default 2000.
	Limit  int
	Logger *slog.Logger // default: discard
	// Now is this surface's clock. It dates the events that are sent and
	// decides nothing. Default: time.Now.
	Now func() time.Time
	// TracerProvider creates a span for every presentation, receipt and answer.
	// Default: nothing is traced, at no cost.
	TracerProvider trace.TracerProvider
}

// Responder acts for one responder type. It is safe for concurrent use.
//
// Its calls retry for at most 30 seconds while the broker, its ledger or the
// connection is unavailable, or until their context ends. Any of them may
// return these errors:
//   - [ask.ErrInvalid]: a tenant, session, id or field has an invalid value;
//   - [ask.ErrForbidden]: the credential is not for this type, tenant or
//     session;
//   - [ask.ErrUnavailable]: the broker did not answer in time; the request may
//     have been carried out, and repeating it is harmless;
//   - [context.Canceled]: the context was cancelled.
type Responder struct {
	nc   *nats.Conn
	on   *connection.Conn
	typ  string
	opts Options

	tracer *tracing.Tracer
	keys   *lru.Cache[string, ask.Key] // of posts: see Posted
}

// New makes a responder of the given type, such as "web", over a connection
// with a credential for that type. It starts nothing.
func New(nc *nats.Conn, typ string, opts Options) (*Responder, error) {
	switch {
	case nc == nil:
		return nil, errors.New("responder: no connection")
	case !ask.ValidToken(typ):
		return nil, fmt.Errorf("responder: invalid type %q; use A-Z a-z 0-9 _ -", typ)
	case opts.Tenant != "" && !ask.ValidToken(opts.Tenant):
		return nil, fmt.Errorf("responder: invalid tenant %q; use A-Z a-z 0-9 _ -", opts.Tenant)
	case opts.Host && opts.Session == "":
		return nil, errors.New("responder: a host serves one session; set Tenant and Session")
	case opts.Session != "" && (opts.Tenant == "" || !ask.ValidToken(opts.Session)):
		return nil, fmt.Errorf("responder: invalid session %q; set Tenant, and use A-Z a-z 0-9 _ -", opts.Session)
	}
	if opts.Limit <= 0 {
		opts.Limit = 2000
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	keys, err := lru.New[string, ask.Key](maxKeys)
	if err != nil {
		return nil, fmt.Errorf("responder: %w", err)
	}
	return &Responder{keys: keys, nc: nc, on: connection.On(nc), typ: typ, opts: opts, tracer: tracing.New(opts.TracerProvider)}, nil
}

// Tenant returns the tenant that it is limited to; empty: none.
func (r *Responder) Tenant() string { return r.opts.Tenant }

// Conn returns its connection.
func (r *Responder) Conn() *nats.Conn { return r.nc }

// Type returns its responder type.
func (r *Responder) Type() string { return r.typ }

// Options returns its options, with the defaults filled in.
func (r *Responder) Options() Options { return r.opts }

// Query selects asks for [Responder.List].
type Query struct {
	Tenant   string
	Session  string
	ID       string    // of the ask, in any session
	State    ask.State // empty: both
	Question string    // history: only asks with a question of this id or exact text
	PageSize int       // 1 to 500; default 100
	Cursor   string    // from the previous page
}

// Page is one page of a list. Next is empty on the last one.
type Page struct {
	Items []ask.Record
	Next  string
}

// List returns one page of asks. In addition to the errors of any call (see
// [Responder]) it returns [ask.ErrInvalid] for a page size out of range, an unknown
// state, or a cursor from a different query.
func (r *Responder) List(ctx context.Context, q Query) (Page, error) {
	data, err := r.page(ctx, q)
	if err != nil {
		return Page{}, err
	}
	items, next, err := wire.DecodePage(data)
	return Page{items, next}, err
}

func (r *Responder) page(ctx context.Context, q Query) ([]byte, error) {
	return r.query(ctx, wire.Query{
		Tenant: q.Tenant, Session: q.Session, ID: q.ID, State: string(q.State), Question: q.Question, Limit: q.PageSize, Cursor: q.Cursor,
	})
}

func (r *Responder) query(ctx context.Context, q wire.Query) ([]byte, error) {
	return connection.Page(ctx, r.on, r.at(r.scope(), subject.VerbList), q)
}

// at returns the subject of a verb, a host's if the credential is one. The
// sender is filled in when it is sent.
func (r *Responder) at(k ask.Key, verb subject.Verb) string {
	if r.opts.Host {
		return subject.Host(subject.Self, k, verb)
	}
	return subject.Responder(r.typ, subject.Self, k, verb)
}

// scope is the tenant and session to which the responder is restricted.
func (r *Responder) scope() ask.Key { return ask.Key{Tenant: r.opts.Tenant, Session: r.opts.Session} }

// All iterates over all pages. It fetches the next page while the current one
// is read. The first error ends the iteration; the errors are those of
// [Responder.List].
func (r *Responder) All(ctx context.Context, q Query) iter.Seq2[ask.Record, error] {
	return connection.Pages(ctx, q.Cursor, func(ctx context.Context, cursor string) ([]byte, error) {
		at := q
		at.Cursor = cursor
		return r.page(ctx, at)
	})
}

// Get returns one ask; the error is [ask.ErrNotFound] if there is none.
func (r *Responder) Get(ctx context.Context, k ask.Key) (ask.Record, error) {
	if err := k.Check(); err != nil {
		return ask.Record{}, err
	}
	_, data, err := connection.Msg(ctx, r.on, &nats.Msg{Subject: r.at(k, subject.VerbGet)}, 0)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", k, err)
	}
	s, err := wire.StatusOf(k, data)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", k, err)
	}
	return s.Record(), nil
}

// Answer sends a person's reply. It returns the outcome if the reply won.
// Otherwise the error is an [*ask.Error]: with [ask.ErrInvalid] its faults name
// the questions, and the ask stays open; with [ask.ErrResolved] its Outcome
// says who was first (Code is [ask.CodeExpired] if the deadline was); with
// [ask.ErrForbidden] the person is not in the audience. An empty AnswerID is
// filled in.
//
// If the ask has an approval the reply is a vote: if it does not decide the ask,
// the error is [ask.ErrVoted], the Detail of the [*ask.Error] says how far the
// votes have come, and its Votes are the votes. Another Answer moves the vote,
// and [Responder.Unvote] takes it back.
func (r *Responder) Answer(ctx context.Context, k ask.Key, reply ask.Reply) (ask.Outcome, error) {
	if reply.AnswerID == "" {
		reply.AnswerID = cloudevent.NewID()
	}
	data, err := wire.EncodeReply(k.ID, reply)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("responder: %w", err)
	}
	return r.resolve(ctx, k, subject.VerbAnswer, cloudevent.TypeAnswered, reply.By, data)
}

// resolve sends the event that ends an ask. Retrying is safe: the answer id
// identifies the reply.
func (r *Responder) resolve(ctx context.Context, k ask.Key, verb subject.Verb, typ string, by ask.By, data []byte) (o ask.Outcome, err error) {
	if err := k.Check(); err != nil {
		return ask.Outcome{}, err
	}
	ctx, end := r.tracer.Start(ctx, string(verb), tracing.Sends, "", r.about(k))
	defer func() { end(err) }()
	ev := r.event(ctx, k, typ, data)
	ev.By = &by
	got, reply, err := connection.Event(ctx, r.on, r.at(k, verb), ev, 0)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("%s %s: %w", verb, k, err)
	}
	if got == cloudevent.TypeStatus {
		s, err := wire.StatusOf(k, reply)
		if err == nil {
			err = &ask.Error{Code: ask.CodeVoted, Detail: s.Progress, Votes: s.Votes}
		}
		return ask.Outcome{}, err
	}
	if o, err = wire.OutcomeOf(k, reply); err != nil {
		return ask.Outcome{}, fmt.Errorf("%s %s: %w", verb, k, err)
	}
	return o, nil
}

// about names an ask in a span.
func (r *Responder) about(k ask.Key) tracing.Ask {
	return tracing.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID, Responder: r.typ}
}

func (r *Responder) event(ctx context.Context, k ask.Key, typ string, data []byte) cloudevent.Event {
	return cloudevent.Event{
		ID: cloudevent.NewID(), Source: cloudevent.ResponderSource(r.typ), Type: typ, Key: k, Time: r.opts.Now(), Trace: r.tracer.Carry(ctx), Data: data,
	}
}

// Decline is a person's refusal to answer an ask.
type Decline struct {
	AnswerID string // as in [ask.Reply]
	Reason   string
	By       ask.By
}

// Cancel declines a whole ask. Its errors are those of Answer.
func (r *Responder) Cancel(ctx context.Context, k ask.Key, d Decline) (ask.Outcome, error) {
	if d.AnswerID == "" {
		d.AnswerID = cloudevent.NewID()
	}
	data, err := wire.EncodeDecline(k.ID, d.AnswerID, d.Reason, d.By)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("responder: %w", err)
	}
	return r.resolve(ctx, k, subject.VerbCancel, cloudevent.TypeDeclined, d.By, data)
}

// Unvote takes a person's vote back and returns the votes that are left. An empty
// id is filled in; the same id again is the same request. The error is
// [ask.ErrConflict] if the person has no vote on the ask, and [ask.ErrResolved]
// if it has ended.
func (r *Responder) Unvote(ctx context.Context, k ask.Key, id string, by ask.By) ([]ask.Vote, error) {
	if id == "" {
		id = cloudevent.NewID()
	}
	data, err := wire.EncodeUnvote(k.ID, id, by)
	if err != nil {
		return nil, fmt.Errorf("responder: %w", err)
	}
	_, err = r.resolve(ctx, k, subject.VerbUnvote, cloudevent.TypeUnvoted, by, data)
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Code == ask.CodeVoted {
		return e.Votes, nil
	}
	return nil, err
}

// Receipt records that this responder type presented an ask to people. Life is
// that of the presented [ask.Record]. The error is [ask.ErrNotFound] if the ask
// is past its retention, and [ask.ErrInvalid] if the id has another life by
// now.
func (r *Responder) Receipt(ctx context.Context, k ask.Key, receipt ask.Receipt) error {
	_, err := r.receipt(ctx, k, receipt)
	return err
}

// receipt records a receipt and returns the state of the ask.
func (r *Responder) receipt(ctx context.Context, k ask.Key, receipt ask.Receipt) (ask.State, error) {
	if err := k.Check(); err != nil {
		return "", err
	}
	receipt.Type, receipt.At = "", time.Time{} // the broker sets both
	data, err := wire.EncodeReceipt(k.ID, receipt)
	if err != nil {
		return "", fmt.Errorf("responder: %w", err)
	}
	_, reply, err := connection.Event(ctx, r.on, r.at(k, subject.VerbReceipt), r.event(ctx, k, cloudevent.TypePresented, data), 0)
	if err != nil {
		return "", fmt.Errorf("receipt of ask %s: %w", k, err)
	}
	status, err := wire.StatusOf(k, reply)
	if err != nil {
		return "", fmt.Errorf("receipt of ask %s: %w", k, err)
	}
	return status.State, nil
}
