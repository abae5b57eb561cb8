package broker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// govern returns the state of a new ask, in which the bus has set what an agent
// may not say itself: its asker, and what policies demand. The digest stays that
// of what the agent sent, so that it can ask the same again.
func (b *Broker) govern(ctx context.Context, sent ask.Ask, r *request, now time.Time) (lifecycle.State, error) {
	a, digest := sent, ""
	changed, err := b.setAsker(ctx, r, &a)
	if err != nil {
		return lifecycle.State{}, err
	}
	if err := a.Validate(now); err != nil {
		return lifecycle.State{}, err
	}
	governed := false
	if b.opts.Approvals != nil {
		if governed, err = b.opts.Approvals().Bind(&a, now, func() ([]string, error) { return b.asker(ctx, r) }); err != nil {
			return lifecycle.State{}, b.unlessAsked(ctx, r, &sent, err)
		}
	}
	if b.opts.Approvals != nil && a.Breakable() {
		a.BreakGlass = b.opts.Approvals().Roles(a.Tenant)
		governed = governed || len(a.BreakGlass) > 0
	}
	if err := b.checkSchedules(&a); err != nil {
		return lifecycle.State{}, b.unlessAsked(ctx, r, &sent, err)
	}
	if err := b.setOpenHours(&a, now); err != nil {
		return lifecycle.State{}, b.unlessAsked(ctx, r, &sent, err)
	}
	resolved := &a
	if len(a.Schedules()) > 0 {
		resolved = a.OnDuty(b.onCall())
	}
	if changed || governed || a.OpenHours != nil || resolved != &a {
		if digest, err = wire.Digest(&sent); err != nil {
			return lifecycle.State{}, err
		}
	}
	return begin(*resolved, digest, r, now)
}

// askedError means that a policy refuses an ask that is stored already, as it was
// when the policy was another one: its agent asks again.
type askedError struct{ held lifecycle.State }

func (e *askedError) Error() string { return "this ask was asked before" }

// unlessAsked returns the refusal of a policy, or an [askedError].
func (b *Broker) unlessAsked(ctx context.Context, r *request, sent *ask.Ask, refusal error) error {
	digest, err := wire.Digest(sent)
	if err != nil {
		return err
	}
	held, err := b.load(ctx, r.Key())
	switch {
	case errors.Is(err, ask.ErrNotFound), err == nil && !slices.Contains(held.Digests, digest):
		return refusal
	case err != nil:
		return err
	}
	return &askedError{held}
}
