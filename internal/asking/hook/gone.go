package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// ended withdraws the asks of this host's hook that are no longer awaited. Deferred asks are not
// awaited on purpose and stay open.
func (h *Hook) ended(ctx context.Context, c Call, e hostcall.End) error {
	if c.Mode == Defer {
		return nil
	}
	if c.Session == "" && e.Session != "" {
		c.Session = ask.Token(e.Session)
	}
	asks, err := h.open.Open(ctx, cmp.Or(c.Tenant, ask.DefaultTenant), cmp.Or(c.Session, ask.DefaultSession))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, h.opts.Patience)
	defer cancel()
	var gone []ask.Key
	for rec, err := range asks.All(ctx, client.Query{State: ask.StatePending, PageSize: 200}) {
		if err != nil {
			return err
		}
		a, k := &rec.Ask, rec.Ask.Key()
		if e.Ends(a) && (c.Mark == nil || a.AskedBy(c.Mark(k))) {
			gone = append(gone, k)
		}
	}
	var failed error
	for _, k := range gone {
		if _, err := asks.Withdraw(ctx, k.ID, e.Words()); err != nil && !errors.Is(err, ask.ErrResolved) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// ErrGone is the cause of the end of a call's context when the host's process is gone.
var ErrGone = errors.New("the agent is gone")

// stopped handles an ask whose host stopped the hook during its wait, or is gone.
func (r *run) stopped(ctx context.Context) error {
	dialog := r.event.Name == hostcall.PermissionRequest
	switch {
	case r.event.Permission():
		if errors.Is(context.Cause(ctx), ErrGone) {
			return r.withdrawn(ctx, "the agent is gone and no longer waits")
		}
		return r.withdrawn(ctx, LeftThere)
	case r.event.Form():
		return r.withdrawn(ctx, "the agent no longer waits for this form")
	case !r.Stopped, r.Mode == Defer && !dialog:
		return fmt.Errorf("the host stopped the hook; the question stays open as %s", r.event.Ask.Key())
	case errors.Is(context.Cause(ctx), ErrGone):
		return r.withdrawn(ctx, "the agent is gone and no longer waits")
	case dialog: // stopped because the dialog was left, or answered: then PostToolUse has the answer
		return r.left(ctx)
	}
	return r.withdrawn(ctx, "the agent was interrupted and no longer waits")
}

// left leaves the ask of a host that closed its own dialog. The hook need not wait for the end: Claude Code
// kills it after a second.
func (r *run) left(ctx context.Context) error {
	k := r.event.Ask.Key()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.h.opts.Patience)
	defer cancel()
	err := r.asks.Leave(ctx, k.ID, "the agent's own dialog was left", r.h.opts.DialogWithin)
	if err != nil && !errors.Is(err, ask.ErrResolved) {
		return fmt.Errorf("the question stays open as %s: %w", k, err)
	}
	return fmt.Errorf("the agent's dialog has closed; without an answer there the question %s is withdrawn", k)
}

// withdrawn withdraws the ask of a host that no longer waits, and says so.
func (r *run) withdrawn(ctx context.Context, reason string) error {
	k := r.event.Ask.Key()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.h.opts.Patience)
	defer cancel()
	if _, err := r.asks.Withdraw(ctx, k.ID, reason); err != nil && !errors.Is(err, ask.ErrResolved) {
		return fmt.Errorf("the question stays open as %s: %w", k, err)
	}
	return fmt.Errorf("the question %s is withdrawn: %s", k, reason)
}
