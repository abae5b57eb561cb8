package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/hook/hostcall"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
)

// Mode is what the hook does before the host's tool asks.
type Mode string

// The modes. They differ in PreToolUse only; PermissionRequest always races
// the host's dialog, and PostToolUse always records what it answered.
const (
	Wait  Mode = "wait"  // waits for an answer; the host asks nothing meanwhile
	Race  Mode = "race"  // asks and leaves at once, so that the host's dialog opens beside the other screens
	Defer Mode = "defer" // lets the host's process end; resumed, it finds the answer
)

// Opener gives the way to the asks of one session, for one call.
type Opener interface {
	Open(ctx context.Context, tenant, session string) (client.Session, error)
}

// Answerer sends what was answered in the host's own dialog, as responder type
// [ask.ResponderNative]. Repeating a reply with its answer id is harmless.
type Answerer interface {
	Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error)
}

// Options tunes a [Hook]. The zero value is ready to use.
type Options struct {
	Logger   *slog.Logger  // default: discard
	Answerer Answerer      // default: what the host's dialog answered withdraws the ask
	Patience time.Duration // how long a bus that does not answer is tried; default 5 s
	// Waiting is told when a wait for people begins; done ends it. Default: nobody is.
	Waiting func(*ask.Ask) (done func())
}

// Hook serves hook events. It is safe for concurrent use.
type Hook struct {
	open Opener
	opts Options
}

// New makes a hook. It starts nothing.
func New(open Opener, opts Options) *Hook {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Patience <= 0 {
		opts.Patience = 5 * time.Second
	}
	return &Hook{open: open, opts: opts}
}

// Call is one run of the hook.
type Call struct {
	Tenant  string        // default: [ask.DefaultTenant]
	Session string        // default: the host's
	Mode    Mode          // default: [Wait]
	Limit   time.Duration // how long to wait; below the host's own limit
	Timeout time.Duration // of the ask; default: that of the protocol
	Outlive bool          // what is asked stays open when nobody waits for it any more
	Stopped bool          // the call's context ends when the host stops it, and then the host no longer waits
	Human   ask.By        // who sits at the host; nobody's dialog answers without a principal
	// Work says of a directory of the host's which repository and branch an agent
	// works on there. Nil when the host runs on another machine.
	Work func(dir string, a *ask.Agent)

	// Mark proves that this host asked k ([ask.MetadataHost]). It is put into
	// what is asked, and without it in an ask the host's dialog does not answer
	// that ask. Nil is a process of the person's own user, which needs no proof.
	Mark func(k ask.Key) string
	// Unproven is what to say when nobody's dialog answers.
	Unproven string
}

// Run serves one event. It returns what to print, nil for nothing, and one
// line for standard error, empty when all is well.
func (h *Hook) Run(ctx context.Context, c Call, body []byte) (out []byte, say string) {
	if end, ok := hostcall.ReadEnd(body); ok {
		if err := h.ended(ctx, c, end); err != nil {
			return nil, "questions may stay open: " + err.Error()
		}
		return nil, ""
	}
	event, ok, err := hostcall.ReadEvent(body)
	if err != nil {
		return nil, "no decision: " + err.Error()
	}
	if !ok {
		return nil, "" // not about a question
	}
	c.fill(&event, body)
	hostcall.MarkAsked(&event.Ask)
	asks, err := h.open.Open(ctx, event.Ask.Tenant, event.Ask.Session)
	if err != nil {
		return nil, "no decision: " + err.Error()
	}
	run := run{h: h, Call: c, event: event, asks: asks}
	switch event.Name {
	case hostcall.PreToolUse:
		out, err = run.before(ctx)
	case hostcall.PermissionRequest:
		out, err = run.dialog(ctx)
	case hostcall.PostToolUse:
		err = run.after(ctx)
	}
	if err != nil {
		return nil, "no decision: " + err.Error()
	}
	return out, ""
}

// run is one event while it is served.
type run struct {
	h     *Hook
	event hostcall.Event
	asks  client.Session
	Call
}

// before serves PreToolUse. The same tool use again is the same ask: that is
// how a resumed host finds its answer.
func (r *run) before(ctx context.Context) ([]byte, error) {
	if r.event.Ask.ID == "" { // a host that names no tool use
		if rec, err := r.same(ctx); err == nil && rec != nil && rec.State == ask.StatePending {
			r.event.Ask.ID = rec.Ask.ID
		}
	}
	o, err := r.ask(ctx)
	switch {
	case err != nil:
		return nil, err
	case o != nil:
		return r.decide(o)
	case r.Mode == Race:
		return nil, nil
	case r.Mode == Defer:
		if o, err = r.wait(ctx); err != nil {
			return r.event.Defer(), nil //nolint:nilerr // still pending, or not to be known: ask again when resumed
		}
		return r.decide(o)
	}
	if o, err = r.wait(ctx); err != nil {
		return nil, err
	}
	return r.decide(o)
}

// dialog serves PermissionRequest, which names no tool use: the ask is found
// by what it asks.
func (r *run) dialog(ctx context.Context) ([]byte, error) {
	rec, err := r.same(ctx)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		if _, err := r.ask(ctx); err != nil {
			return nil, err
		}
	} else if r.event.Ask.ID = rec.Ask.ID; rec.Outcome != nil {
		return r.decide(rec.Outcome)
	}
	o, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	return r.decide(o)
}

// ask stores the ask; the outcome is there when it ended before.
func (r *run) ask(ctx context.Context) (*ask.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, r.h.opts.Patience)
	defer cancel()
	r.sign()
	st, err := r.asks.Ask(ctx, r.event.Ask)
	if err != nil {
		return nil, err
	}
	r.event.Ask.ID = st.ID
	return st.Outcome, nil
}

// wait waits for the outcome, for the call's limit.
func (r *run) wait(ctx context.Context) (*ask.Outcome, error) {
	within, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	if r.h.opts.Waiting != nil {
		defer r.h.opts.Waiting(&r.event.Ask)()
	}
	o, err := r.asks.Wait(within, r.event.Ask.ID)
	switch {
	case err == nil:
		return &o, nil
	case ctx.Err() != nil:
		return nil, r.stopped(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("nobody answered within %s; the question stays open as %s", r.Limit, r.event.Ask.Key())
	}
	return nil, err
}

// decide is what to print for an outcome.
func (r *run) decide(o *ask.Outcome) ([]byte, error) {
	if o.By != nil && o.By.Responder == ask.ResponderNative {
		return nil, nil // the host's own dialog has it already
	}
	out := r.event.Decide(o)
	if out == nil {
		return nil, errors.New(firstLine(dialect.Report(&r.event.Ask, o)))
	}
	return out, nil
}
