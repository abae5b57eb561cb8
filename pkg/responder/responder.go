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
	"iter"
	"log/slog"

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
}

// New makes a responder of the given type, such as "web", over a connection
// whose credential belongs to that type. It starts nothing.
func New(nc *nats.Conn, typ string, opts Options) (*Responder, error) { panic("being written") }

// Query selects asks for [Responder.List].
type Query struct {
	Tenant   string
	Session  string
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
func (r *Responder) List(ctx context.Context, q Query) (Page, error) { panic("being written") }

// All walks all pages.
func (r *Responder) All(ctx context.Context, q Query) iter.Seq2[ask.Record, error] {
	panic("being written")
}

// Get reads one ask; the error is [ask.ErrNotFound] when there is none.
func (r *Responder) Get(ctx context.Context, k ask.Key) (ask.Record, error) { panic("being written") }

// Answer sends a person's reply. It returns the outcome that holds when the
// reply won. Otherwise the error is an [*ask.Error]: with [ask.ErrInvalid] its
// faults name the questions at fault and the ask stays open; with
// [ask.ErrResolved] its Outcome says who was faster (Code is
// [ask.CodeExpired] when it was the deadline); with [ask.ErrForbidden] the
// person is not in the audience. An empty AnswerID is filled in.
func (r *Responder) Answer(ctx context.Context, k ask.Key, reply ask.Reply) (ask.Outcome, error) {
	panic("being written")
}

// Decline is a person's refusal to answer an ask.
type Decline struct {
	AnswerID string // as in [ask.Reply]
	Reason   string
	By       ask.By
}

// Cancel declines a whole ask. Errors are those of Answer.
func (r *Responder) Cancel(ctx context.Context, k ask.Key, d Decline) (ask.Outcome, error) {
	panic("being written")
}

// Receipt records that this responder type put an ask in front of people. Seq
// is the Seq of the [ask.Record] that was shown.
func (r *Responder) Receipt(ctx context.Context, k ask.Key, receipt ask.Receipt) error {
	panic("being written")
}

// EventKind is what a live screen is told.
type EventKind int

// The kinds of events.
const (
	Pending  EventKind = iota + 1 // an ask waits; Record has it, with its receipts as far as known
	Resolved                      // an ask ended; Record.Outcome says how
	Synced                        // everything pending has been told; More says whether Limit cut it
	Offline                       // the connection is gone; Synced follows when it is back
)

// Event is one thing a live screen is told.
type Event struct {
	Kind   EventKind
	Record ask.Record
	More   bool
}

// Watch tells handle, one call at a time, what waits and what ended: every
// pending ask once per life (a snapshot first, then live), every outcome once,
// and Synced after each snapshot. It asks again after each reconnect and every
// minute, so a missed message is told late but not lost. It returns nil when
// ctx ends.
func (r *Responder) Watch(ctx context.Context, handle func(Event)) error { panic("being written") }

// Present declares that a person is looking at the asks of a tenant and
// session (empty: all that this responder may see) until leave is called.
func (r *Responder) Present(tenant, session string) (leave func(), err error) {
	panic("being written")
}
