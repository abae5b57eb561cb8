package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/askbus/askbus/internal/hook/hostcall"
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

// stopped handles an ask whose host stopped the hook during its wait. The dialog's hook is also
// stopped when the dialog was answered; that answer comes with PostToolUse.
func (r *run) stopped(ctx context.Context) error {
	k := r.event.Ask.Key()
	open := fmt.Errorf("the host stopped the hook; the question stays open as %s", k)
	if !r.Stopped || r.Mode == Defer || r.event.Name != hostcall.PreToolUse {
		return open
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.h.opts.Patience)
	defer cancel()
	if _, err := r.asks.Withdraw(ctx, k.ID, "the agent was interrupted and no longer waits"); err != nil && !errors.Is(err, ask.ErrResolved) {
		return errors.Join(open, err)
	}
	return fmt.Errorf("the host stopped the hook; the question %s is withdrawn", k)
}
