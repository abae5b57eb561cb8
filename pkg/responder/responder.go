// Package responder is for surfaces: programs that put asks in front of people
// and send back what they decide.
//
// A live screen (a web page, a terminal) runs [Responder.Watch], draws what it
// is told, declares with [Responder.Present] that somebody looks, and calls
// [Responder.Answer] or [Responder.Cancel]. The package decides nothing: the
// broker says which answer counts. It promises that Watch loses no ask and no
// outcome through reconnects, restarts and missed messages, and that repeating
// an Answer with the same AnswerID is harmless.
package responder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Options tunes a [Responder]. The zero value is ready to use.
type Options struct {
	Tenant  string // only this tenant; default: every tenant the credential may see
	Session string // only this session (needs Tenant); default: every one
	// Limit is the most pending asks that Watch tracks at once, the oldest
	// first; default 2000.
	Limit  int
	Logger *slog.Logger // default: discard
}

// Responder speaks for one responder type. It is safe for concurrent use.
type Responder struct {
	nc   *nats.Conn
	typ  string
	opts Options

	snapshotEvery time.Duration // only tests change it
}

// New makes a responder of the given type, such as "web", over a connection
// whose credential belongs to that type. It starts nothing.
func New(nc *nats.Conn, typ string, opts Options) (*Responder, error) {
	switch {
	case nc == nil:
		return nil, errors.New("responder: no connection")
	case !ask.ValidToken(typ):
		return nil, fmt.Errorf("responder: type %q is no token; use A-Z a-z 0-9 _ -", typ)
	case opts.Tenant != "" && !ask.ValidToken(opts.Tenant):
		return nil, fmt.Errorf("responder: tenant %q is no token; use A-Z a-z 0-9 _ -", opts.Tenant)
	case opts.Session != "" && (opts.Tenant == "" || !ask.ValidToken(opts.Session)):
		return nil, fmt.Errorf("responder: session %q needs a tenant and must be a token", opts.Session)
	}
	if opts.Limit <= 0 {
		opts.Limit = 2000
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Responder{nc: nc, typ: typ, opts: opts, snapshotEvery: snapshotEvery}, nil
}

// Query selects asks for [Responder.List].
type Query struct {
	Tenant   string
	Session  string
	ID       string    // of the ask: finds it in every session
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

// List returns one page of asks.
func (r *Responder) List(ctx context.Context, q Query) (Page, error) {
	data, err := r.page(ctx, q)
	if err != nil {
		return Page{}, err
	}
	items, next, err := cloudevent.DecodePage(data)
	return Page{items, next}, err
}

func (r *Responder) page(ctx context.Context, q Query) ([]byte, error) {
	return call.Page(ctx, r.nc, subject.Responder(r.typ, r.scope(), subject.VerbList), cloudevent.Query{
		Tenant: q.Tenant, Session: q.Session, ID: q.ID, State: string(q.State), Question: q.Question, Limit: q.Limit, Cursor: q.Cursor,
	})
}

// scope is what the credential is narrowed to.
func (r *Responder) scope() ask.Key { return ask.Key{Tenant: r.opts.Tenant, Session: r.opts.Session} }

// All walks all pages. While one is being read, the next is on its way.
func (r *Responder) All(ctx context.Context, q Query) iter.Seq2[ask.Record, error] {
	return call.Pages(ctx, q.Cursor, func(ctx context.Context, cursor string) ([]byte, error) {
		at := q
		at.Cursor = cursor
		return r.page(ctx, at)
	})
}

// Get reads one ask; the error is [ask.ErrNotFound] when there is none.
func (r *Responder) Get(ctx context.Context, k ask.Key) (ask.Record, error) {
	if err := checkKey(k); err != nil {
		return ask.Record{}, err
	}
	_, data, err := call.Msg(ctx, r.nc, &nats.Msg{Subject: subject.Responder(r.typ, k, subject.VerbGet)}, 0)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", k, err)
	}
	s, err := cloudevent.DecodeStatus(data)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", k, err)
	}
	return s.Record(), nil
}

func checkKey(k ask.Key) error {
	if k.Valid() {
		return nil
	}
	return ask.InvalidError("ask", []ask.Fault{{Message: fmt.Sprintf("%.200q names no ask; tenant, session and id are tokens: A-Z a-z 0-9 _ -", k.String())}})
}

// Answer sends a person's reply. It returns the outcome that holds when the
// reply won. Otherwise the error is an [*ask.Error]: with [ask.ErrInvalid] its
// faults name the questions at fault and the ask stays open; with
// [ask.ErrResolved] its Outcome says who was faster (Code is
// [ask.CodeExpired] when it was the deadline); with [ask.ErrForbidden] the
// person is not in the audience. An empty AnswerID is filled in.
func (r *Responder) Answer(ctx context.Context, k ask.Key, reply ask.Reply) (ask.Outcome, error) {
	if reply.AnswerID == "" {
		reply.AnswerID = cloudevent.NewID()
	}
	data, err := cloudevent.EncodeReply(k.ID, reply)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("responder: %w", err)
	}
	return r.resolve(ctx, k, subject.VerbAnswer, cloudevent.TypeAnswered, reply.By, data)
}

// resolve sends what ends an ask. Trying again is safe: the answer id says that
// it is the same reply.
func (r *Responder) resolve(ctx context.Context, k ask.Key, verb subject.Verb, typ string, by ask.By, data []byte) (ask.Outcome, error) {
	if err := checkKey(k); err != nil {
		return ask.Outcome{}, err
	}
	ev := r.event(k, typ, data)
	ev.By = &by
	_, reply, err := call.Event(ctx, r.nc, subject.Responder(r.typ, k, verb), ev, 0)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("%s %s: %w", verb, k, err)
	}
	return cloudevent.DecodeOutcome(reply)
}

func (r *Responder) event(k ask.Key, typ string, data []byte) cloudevent.Event {
	return cloudevent.Event{
		ID: cloudevent.NewID(), Source: cloudevent.ResponderSource(r.typ), Type: typ, Key: k, Time: time.Now(), Data: data,
	}
}

// Decline is a person's refusal to answer an ask.
type Decline struct {
	AnswerID string // as in [ask.Reply]
	Reason   string
	By       ask.By
}

// Cancel declines a whole ask. Errors are those of Answer.
func (r *Responder) Cancel(ctx context.Context, k ask.Key, d Decline) (ask.Outcome, error) {
	if d.AnswerID == "" {
		d.AnswerID = cloudevent.NewID()
	}
	data, err := cloudevent.EncodeDecline(k.ID, d.AnswerID, d.Reason, d.By)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("responder: %w", err)
	}
	return r.resolve(ctx, k, subject.VerbCancel, cloudevent.TypeDeclined, d.By, data)
}

// Receipt records that this responder type put an ask in front of people. Seq
// is the Seq of the [ask.Record] that was shown.
func (r *Responder) Receipt(ctx context.Context, k ask.Key, receipt ask.Receipt) error {
	if err := checkKey(k); err != nil {
		return err
	}
	receipt.Type, receipt.At = "", time.Time{} // the broker says which type, and when
	data, err := cloudevent.EncodeReceipt(k.ID, receipt)
	if err != nil {
		return fmt.Errorf("responder: %w", err)
	}
	if _, _, err := call.Event(ctx, r.nc, subject.Responder(r.typ, k, subject.VerbReceipt), r.event(k, cloudevent.TypePresented, data), 0); err != nil {
		return fmt.Errorf("receipt of ask %s: %w", k, err)
	}
	return nil
}
