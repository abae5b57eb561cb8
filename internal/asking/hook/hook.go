package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
)

// Mode is what the hook does before the host's tool asks.
type Mode string

// The modes differ only in PreToolUse; PermissionRequest always races the host's dialog, and
// PostToolUse always records its answer.
const (
	Wait  Mode = "wait"  // waits for an answer while the host shows no dialog
	Race  Mode = "race"  // asks and returns at once, so that the host's dialog opens as well
	Defer Mode = "defer" // lets the host's process end; it gets the answer when resumed
)

// Opener returns the asks of one session, for one call.
type Opener interface {
	Open(ctx context.Context, tenant, session string) (client.Session, error)
}

// Answerer sends the answers of the host's own dialog, as responder type [ask.ResponderNative], and notes what
// it did. Repeating a reply with its answer id, or a receipt, is harmless.
type Answerer interface {
	Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error)
	Receipt(ctx context.Context, k ask.Key, r ask.Receipt) error
}

// Options tunes a [Hook]. The zero value is ready to use.
type Options struct {
	Logger   *slog.Logger  // default: discard
	Answerer Answerer      // default: an answer in the host's dialog withdraws the ask
	Patience time.Duration // timeout for an unreachable bus; default 5 s
	// DialogWithin is how long PostToolUse may follow when the host stopped the hook of its dialog; default 5 s.
	DialogWithin time.Duration
	// Waiting is called when a wait for people begins; done ends it. Default: none.
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
	if opts.DialogWithin <= 0 {
		opts.DialogWithin = 5 * time.Second
	}
	return &Hook{open: open, opts: opts}
}

// Call is one run of the hook.
type Call struct {
	Tenant  string        // default: [ask.DefaultTenant]
	Session string        // default: the host's
	Mode    Mode          // default: [Wait]
	Limit   time.Duration // maximum wait; less than the host's timeout
	Timeout time.Duration // of the ask; default: the protocol's
	Outlive bool          // asks stay open when nobody waits for them
	Host    hostcall.Host // default: Claude Code
	Stopped bool          // the call's context ends only when the host stops waiting
	Human   ask.By        // the person at the host; without a principal its dialog cannot answer

	Language string        // of the words of permissions; default: English
	After    time.Duration // how long the host's dialog alone asks for a permission
	Forms    time.Duration // how long others alone are asked, where the host's dialog opens after the hook; default: Limit
	MinProof string        // what the answer to a permission must prove; lasting permissions need [ask.ProofOS] or more
	// Work sets the repository and the branch of a directory of the host. Nil if the host runs on
	// another machine.
	Work func(dir string, a *ask.Agent)

	// Mark proves that this host asked k ([ask.MetadataHost]). It is added to asks, and the host's
	// dialog answers only asks with it. Nil means a process of the person's own user, which needs
	// no proof.
	Mark func(k ask.Key) string
	// Unproven explains why a host without a principal cannot answer.
	Unproven string
}

// Run handles one event. It returns the output, nil for none, and a line for standard error, empty
// if all is well.
func (h *Hook) Run(ctx context.Context, c Call, body []byte) (out []byte, say string) {
	if end, ok := hostcall.ReadEnd(body); ok {
		if err := h.ended(ctx, c, end); err != nil {
			return nil, "questions may stay open: " + err.Error()
		}
		return nil, ""
	}
	event, ok, err := c.Host.ReadEvent(body)
	if err != nil {
		return nil, "no decision: " + err.Error()
	}
	if !ok {
		return nil, "" // about neither a question nor a permission
	}
	event.Word(lang.Of(c.Language), c.MinProof != "" && ask.By{Proof: c.MinProof}.Proves(ask.ProofOS))
	if event.Permission() {
		event.Ask.MinProof = c.MinProof
	}
	from := c.origin(&event)
	c.fill(&event, body)
	hostcall.MarkAsked(&event.Ask)
	asks, err := h.open.Open(ctx, event.Ask.Tenant, event.Ask.Session)
	if err != nil {
		return nil, "no decision: " + err.Error()
	}
	run := run{h: h, Call: c, event: event, from: from, asks: asks}
	switch event.Name {
	case hostcall.PostToolUseFailure:
		err = run.after(ctx)
	case hostcall.PreToolUse:
		out, err = run.before(ctx)
	case hostcall.PermissionRequest, hostcall.Elicitation:
		out, err = run.dialog(ctx)
	case hostcall.PostToolUse:
		err = run.after(ctx)
	}
	if err != nil {
		return nil, "no decision: " + err.Error()
	}
	return out, ""
}

// run is the handling of one event.
type run struct {
	h     *Hook
	event hostcall.Event
	from  sameask.Origin
	asks  client.Session
	asked client.Asked // once it is stored
	Call
}

// before handles PreToolUse. A repeated tool use is the same ask: so a resumed host finds its
// answer.
func (r *run) before(ctx context.Context) ([]byte, error) {
	o, err := r.ask(ctx, r.Mode != Race)
	switch {
	case err != nil:
		return nil, err
	case o != nil:
		return r.decide(ctx, o)
	case r.Mode == Race:
		return nil, nil
	case r.Mode == Defer:
		if o, err = r.wait(ctx); err != nil {
			return r.event.Defer(), nil //nolint:nilerr // still pending or unknown: ask again when resumed
		}
		return r.decide(ctx, o)
	}
	if o, err = r.wait(ctx); err != nil {
		return nil, err
	}
	return r.decide(ctx, o)
}

// dialog handles PermissionRequest, which names no tool use: its ask is the one of the same content
// that PreToolUse asked. It also handles Elicitation, which is always a new ask.
func (r *run) dialog(ctx context.Context) ([]byte, error) {
	if !r.alone(ctx) {
		return nil, nil
	}
	o, err := r.ask(ctx, true)
	if err == nil && o == nil {
		o, err = r.wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.decide(ctx, o)
}

// ask stores the ask. It returns the outcome if the ask has already ended. waits says that wait follows.
func (r *run) ask(ctx context.Context, waits bool) (*ask.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, r.h.opts.Patience)
	defer cancel()
	from := r.from
	from.Waits = waits
	err := sameask.Upload(ctx, r.asks, r.event.Files)
	if err != nil {
		return nil, err
	}
	r.asked, err = sameask.Ask(ctx, r.asks, &r.event.Ask, from)
	return r.asked.Outcome, err
}

// wait waits for the outcome, up to the call's limit.
func (r *run) wait(ctx context.Context) (*ask.Outcome, error) {
	limit := r.Limit
	first := r.event.Form() || r.Host.First
	if first && r.Forms > 0 {
		limit = min(limit, r.Forms)
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if r.h.opts.Waiting != nil {
		defer r.h.opts.Waiting(&r.event.Ask)()
	}
	o, err := r.asked.Wait(within)
	switch {
	case err == nil:
		return &o, nil
	case ctx.Err() != nil:
		return nil, r.stopped(ctx)
	case errors.Is(err, client.ErrClosed):
		return nil, fmt.Errorf("askbus is stopping; the question stays open as %s", r.event.Ask.Key())
	case errors.Is(err, context.DeadlineExceeded) && (r.event.Permission() || first):
		return nil, r.withdrawn(ctx, "only the agent's terminal asks now")
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("nobody answered within %s; the question stays open as %s", r.Limit, r.event.Ask.Key())
	}
	return nil, err
}

// decide returns the output for an outcome, which the host is then taken to have.
func (r *run) decide(ctx context.Context, o *ask.Outcome) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, r.h.opts.Patience)
	defer cancel()
	if err := r.from.Delivered(limited, r.asks, &r.event.Ask); err != nil {
		r.h.opts.Logger.WarnContext(ctx, "cannot record that an outcome is delivered", slog.String("ask_id", r.event.Ask.ID), slog.Any("error", err))
	}
	if o.By != nil && o.By.Responder == ask.ResponderNative {
		return nil, nil // the host's own dialog already has it
	}
	out := r.event.Decide(o)
	if out == nil {
		return nil, errors.New(firstLine(dialect.Report(&r.event.Ask, o)))
	}
	return out, nil
}
