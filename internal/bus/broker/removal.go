package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/sync/errgroup"
)

// The removal of a tenant is a mark in shared state, and brokers do what it says: the
// one that was asked at once, any other if that one stops. Each step can be done
// again, so a broker may be killed between any two of them.

const (
	removalSettle = 10 * time.Second // by then brokers have read the mark, and requests from before it have ended
	removalLook   = time.Second      // how often a broker looks
	removalIdle   = 15 * time.Second // a removal that did not change for so long is taken over
	removalAgain  = time.Hour        // so long a removed tenant is looked at again
	removalEach   = 10               // every so many sweeps
	removalAborts = 16               // asks that are ended at a time
	removalTries  = 5                // of a broker, when it meets errors that pass
)

// removeTenant serves remove: it counts, or it begins a removal, or repeats one. One
// that is done and left nothing is not begun again.
func (b *Broker) removeTenant(ctx context.Context, r *request) error {
	q, err := wire.DecodeRemove(r.body)
	if err != nil {
		return err
	}
	had, err := b.led.HoldsTenant(ctx, r.Tenant)
	if err != nil {
		return err
	}
	e, m, err := b.removal(ctx, r.Tenant)
	if err != nil {
		return err
	}
	running := m.State == wire.RemovalClosing || m.State == wire.RemovalDeleting
	if done := m.State == wire.RemovalDone && had.Empty(); !q.DryRun && !running && !done {
		now := b.led.Now().UTC()
		m = wire.Removal{State: wire.RemovalClosing, Since: now, Changed: now, Grace: int(time.Duration(q.Grace).Seconds()), Credential: r.User, Had: had}
		if err := b.writeRemoval(ctx, r.Tenant, &m, e.Revision); err != nil {
			return err
		}
		b.auditRemoval(audit.TenantRemoving, r.Tenant, r.User, heldWords(&had))
	} else if q.DryRun {
		m.Had = had
	}
	if !q.DryRun {
		select {
		case b.removals.wake <- r.Tenant:
		default: // it looks every second anyway
		}
	}
	return b.replyJSON(r, m)
}

// readmitTenant serves readmit: the tenant can be used again, with nothing in it.
func (b *Broker) readmitTenant(ctx context.Context, r *request) error {
	e, m, err := b.removal(ctx, r.Tenant)
	if err != nil {
		return err
	}
	switch m.State {
	case "":
		return ask.Refuse(ask.CodeNotFound, "the tenant %s is not removed; \"askbus tenant list\" lists those that are", r.Tenant)
	case wire.RemovalClosing, wire.RemovalDeleting:
		return ask.Refuse(ask.CodeConflict, "the tenant %s is being removed; readmit it when that is done", r.Tenant)
	case wire.RemovalUnreadable:
		return ask.Refuse(ask.CodeConflict, "the bus cannot read how far the removal of the tenant %s is; remove it again with \"askbus tenant remove %s --yes\", then readmit it", r.Tenant, r.Tenant)
	case wire.RemovalDone:
	}
	if err := b.writeRemoval(ctx, r.Tenant, nil, e.Revision); err != nil {
		return err
	}
	b.auditRemoval(audit.TenantReadmitted, r.Tenant, r.User, "")
	return b.replyJSON(r, struct{}{})
}

func removalKey(tenant string) subject.StateKey { return subject.StateKey{Name: tenant} }

// removal reads the mark of a tenant from its leader; the zero value: it has none.
func (b *Broker) removal(ctx context.Context, tenant string) (e ledger.StateEntry, m wire.Removal, err error) {
	if e, err = b.led.ReadState(ctx, subject.BucketRemoved, removalKey(tenant)); err != nil || e.Revision == 0 || e.Deleted {
		return e, m, err
	}
	m, _ = wire.DecodeRemoval(e.Value) // what cannot be read is a state
	return e, m, nil
}

// writeRemoval writes or deletes the mark of a tenant.
func (b *Broker) writeRemoval(ctx context.Context, tenant string, m *wire.Removal, revision uint64) error {
	r := &stateRequest{StateRequest: subject.StateRequest{Bucket: subject.BucketRemoved, Key: removalKey(tenant)}}
	r.bucket, _ = subject.FindBucket(r.Bucket)
	w := ledger.StateWrite{Bucket: r.Bucket, Key: r.Key, Expect: &revision}
	if m != nil {
		if revision == 0 {
			if err := b.roomInBucket(ctx, r); err != nil {
				return err
			}
		}
		var err error
		if w.Value, err = wire.Marshal(m); err != nil {
			return err
		}
	}
	if _, err := b.led.WriteState(ctx, &w, b.led.Now()); ledger.IsRace(err) {
		return ask.Refuse(ask.CodeConflict, "another command changed the removal of the tenant %s; look again", tenant)
	} else if err != nil {
		return err
	}
	b.removals.set(tenant, m)
	return nil
}

// keepRemovals reads which tenants are removed, and carries removals out, until ctx
// ends.
func (b *Broker) keepRemovals(ctx context.Context) {
	look := time.NewTicker(removalLook)
	defer look.Stop()
	var busy atomic.Bool
	looked := map[string]time.Time{} // removed tenants
	for {
		now := ""
		select {
		case <-ctx.Done():
			return
		case now = <-b.removals.wake:
		case <-look.C:
			if err := b.readRemovals(ctx, false); err != nil && ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "cannot read which tenants are removed", slog.Any("error", err))
			}
		}
		tenant, again := b.removalDue(now, looked)
		if tenant == "" || !busy.CompareAndSwap(false, true) {
			continue
		}
		b.running.Go(func() {
			defer busy.Store(false)
			for try := range removalTries {
				err := b.carryOut(ctx, tenant, again)
				if err == nil || ctx.Err() != nil {
					return
				}
				b.opts.Logger.WarnContext(ctx, "cannot remove a tenant; it is tried again", slog.String("tenant", tenant), slog.Int("attempt", try+1), slog.Any("error", err))
				if !errors.Is(err, ask.ErrUnavailable) || backoff.Wait(ctx, time.Second, try) != nil {
					return // a broker looks again once nothing has changed for a while
				}
			}
		})
	}
}

// removalDue returns a tenant whose removal this broker is to carry out: the one that
// it was just asked for, one that nobody carries out, or, again, a removed one for
// which a broker that had not heard of it may have stored something.
func (b *Broker) removalDue(asked string, looked map[string]time.Time) (tenant string, again bool) {
	if asked != "" {
		return asked, false
	}
	all := b.removals.marks.Load()
	if all == nil {
		clear(looked)
		return "", false
	}
	now := b.led.Now()
	for tenant, m := range *all {
		switch idle := now.Sub(m.Changed); {
		case m.State == wire.RemovalUnreadable: // an operator begins it again
		case m.State != wire.RemovalDone && idle > max(removalIdle, 2*b.opts.Settle)+time.Duration(m.Grace)*time.Second:
			return tenant, false
		case m.State == wire.RemovalDone && idle < removalAgain && now.Sub(looked[tenant]) > removalEach*b.opts.Sweep:
			looked[tenant] = now
			return tenant, true
		}
	}
	return "", false
}

// carryOut does what is left of a removal.
func (b *Broker) carryOut(ctx context.Context, tenant string, again bool) error {
	for {
		ends, err := b.led.Ends(ctx) // before the mark: what comes later may be of a tenant that was readmitted
		if err != nil {
			return err
		}
		e, m, err := b.removal(ctx, tenant)
		if err != nil {
			return err
		}
		wait, next := time.Duration(0), m
		switch m.State {
		case "", wire.RemovalUnreadable:
			return nil // readmitted, or damaged since
		case wire.RemovalClosing:
			n, err := b.endAsks(ctx, tenant, m.Credential)
			if err != nil {
				return err
			}
			if next.Withdrawn += n; n == 0 {
				if wait, err = b.untilClosed(ctx, &m); err != nil {
					return err
				}
				if wait == 0 {
					next.State = wire.RemovalDeleting
				}
			}
		case wire.RemovalDeleting, wire.RemovalDone:
			if m.State == wire.RemovalDone && !again {
				return nil
			}
			n, err := b.led.DeleteTenant(ctx, tenant, ends)
			if err != nil || m.State == wire.RemovalDone {
				return err
			}
			if n == 0 {
				next.State = wire.RemovalDone
			}
		}
		if wait > 0 {
			if err := backoff.Sleep(ctx, wait); err != nil {
				return err
			}
			continue
		}
		next.Changed = b.led.Now().UTC()
		if err := b.writeRemoval(ctx, tenant, &next, e.Revision); err != nil {
			return err
		}
		if next.State == wire.RemovalDone {
			b.auditRemoval(audit.TenantRemoved, tenant, m.Credential, fmt.Sprintf("%d asks ended; deleted %s", m.Withdrawn, heldWords(&m.Had)))
			b.opts.Logger.InfoContext(ctx, "removed a tenant", slog.String("tenant", tenant))
			return nil
		}
	}
}

// endAsks ends a page of the pending asks of a tenant, and returns how many it ended.
// One that cannot be ended, because its message is damaged, is deleted as it is.
func (b *Broker) endAsks(ctx context.Context, tenant, user string) (int, error) {
	for q := (wire.Query{Tenant: tenant, State: string(ask.StatePending), Limit: wire.MaxPage}); ; {
		items, next, err := b.led.List(ctx, q)
		if err != nil {
			return 0, err
		}
		var ended atomic.Int64
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(removalAborts)
		for i := range items {
			k := items[i].Record.Ask.Key()
			g.Go(func() error {
				one, cancel := context.WithTimeout(gctx, b.opts.Limit)
				defer cancel()
				s, err := b.apply(one, k, lifecycle.Abort{Reason: "the tenant " + tenant + " is removed"}, user)
				switch {
				case err == nil:
					ended.Add(1)
					b.traceEnd(gctx, k, &s)
				case errors.Is(err, ask.ErrUnavailable), gctx.Err() != nil:
					return err
				case !errors.Is(err, ask.ErrResolved):
					b.opts.Logger.WarnContext(gctx, "cannot end an ask of a tenant that is removed", slog.String("ask_id", k.ID), slog.Any("error", err))
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil || ended.Load() > 0 || next == "" {
			return int(ended.Load()), err
		}
		q.Cursor = next
	}
}

// untilClosed returns how long to wait before the deletion: until every broker has
// heard of the removal, and surfaces have closed their cards or had time for it. Then
// it is 0.
func (b *Broker) untilClosed(ctx context.Context, m *wire.Removal) (time.Duration, error) {
	closed := b.led.Now().Sub(m.Changed)
	if wait := b.opts.Settle - closed; wait > 0 {
		return wait, nil
	}
	left := b.opts.Settle + time.Duration(m.Grace)*time.Second - closed
	if left <= 0 {
		return 0, nil
	}
	waiting, err := b.work.Backlog(ctx)
	if err != nil {
		return 0, err
	}
	for _, of := range waiting { // of every tenant: a busy bus takes all of the grace
		if of.Outcomes > 0 {
			return min(left, removalLook), nil
		}
	}
	return 0, nil
}

func (b *Broker) auditRemoval(action audit.Action, tenant, user, note string) {
	b.audit.add(&audit.Record{Action: action, Tenant: tenant, Actor: &audit.Actor{Role: "operator", Credential: user}, Object: &audit.Object{Kind: "tenant", ID: tenant, Note: note}})
}

// heldWords says what a tenant had.
func heldWords(h *wire.Holdings) string {
	entries := 0
	for _, n := range h.Entries {
		entries += n
	}
	return fmt.Sprintf("%d pending and %d ended asks, %d files, %d API tokens, %d entries of shared state, %d consumers", h.Pending, h.Ended, h.Files, h.Tokens, entries, h.Consumers)
}
