package broker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

const (
	removalsPage  = 200              // entries that are read at once
	removalsWhole = 10 * time.Minute // how often all of them are read: deletions are told for an hour
)

// removals is which tenants are removed, or are being removed, as far as this broker
// has heard: it reads what changed every second. An operator's command writes it.
type removals struct {
	marks atomic.Pointer[map[string]wire.Removal] // nil: none
	wake  chan string                             // tenants whose removal was just asked for

	setting sync.Mutex // of marks: commands and the reader change them

	mu    sync.Mutex // of reading
	after uint64
	whole time.Time // when all of them were read
}

func (r *removals) of(tenant string) (wire.Removal, bool) {
	all := r.marks.Load()
	if all == nil || tenant == "" {
		return wire.Removal{}, false
	}
	m, ok := (*all)[tenant]
	return m, ok
}

// set notes what was just written; nil: the tenant is readmitted.
func (r *removals) set(tenant string, m *wire.Removal) {
	r.setting.Lock()
	defer r.setting.Unlock()
	next := map[string]wire.Removal{}
	if all := r.marks.Load(); all != nil {
		next = maps.Clone(*all)
	}
	if delete(next, tenant); m != nil {
		next[tenant] = *m
	}
	r.marks.Store(&next)
	if len(next) == 0 {
		r.marks.Store(nil)
	}
}

// readRemovals reads what changed since it was called last; everything after a
// reconnect.
func (b *Broker) readRemovals(ctx context.Context, everything bool) error {
	r := &b.removals
	r.mu.Lock()
	defer r.mu.Unlock()
	after, seen := r.after, map[string]bool{}
	whole := everything || time.Since(r.whole) > removalsWhole
	if whole {
		after = 0
	}
	began := time.Now()
	for more := true; more; {
		var entries []ledger.StateEntry
		var err error
		if entries, more, err = b.led.StateChanges(ctx, subject.LedgerStateAll(subject.BucketRemoved, "", false), after, removalsPage); err != nil {
			return fmt.Errorf("broker: which tenants are removed: %w", err)
		}
		if len(entries) > 0 {
			b.led.ForgetStored()
		}
		for i := range entries {
			e := &entries[i]
			if after = e.Revision; e.Deleted {
				r.set(e.Key.Name, nil)
				continue
			}
			m, err := wire.DecodeRemoval(e.Value)
			if err != nil { // one such entry must not stop what every other tenant does
				b.opts.Logger.ErrorContext(ctx, "cannot read how far the removal of a tenant is: it stays closed; remove it again with askbus tenant remove TENANT --yes",
					slog.String("tenant", e.Key.Name), slog.String("key", e.Key.Name+" of "+subject.BucketRemoved), slog.Any("error", err))
			}
			seen[e.Key.Name] = true
			r.set(e.Key.Name, &m)
		}
	}
	if r.after = after; !whole {
		return nil
	}
	r.whole = began
	if all := r.marks.Load(); all != nil {
		for tenant := range *all {
			if !seen[tenant] {
				r.set(tenant, nil)
			}
		}
	}
	return nil
}

// ended are the verbs that still work while a tenant is being closed: agents and
// screens hear how its asks ended, and surfaces close their cards.
func ended(v subject.Verb) bool {
	switch v {
	case subject.VerbGet, subject.VerbWait, subject.VerbList, subject.VerbFile, subject.VerbNext, subject.VerbDone, subject.VerbExtend, subject.VerbLater,
		subject.VerbReceipt, subject.VerbDelivered, subject.VerbWithdraw, subject.VerbAbort:
		return true
	}
	return false
}

// admits refuses what nobody may do any more in a removed tenant.
func (b *Broker) admits(tenant string, v subject.Verb) error {
	m, ok := b.removals.of(tenant)
	switch {
	case !ok, v == subject.VerbRemove, v == subject.VerbReadmit, m.State == wire.RemovalClosing && ended(v):
		return nil
	case m.State == wire.RemovalDone:
		return ask.Refuse(ask.CodeForbidden, "an operator removed the tenant %s: nothing is asked, answered or kept in it; it can be used again after \"askbus tenant readmit %s\"", tenant, tenant)
	case m.State == wire.RemovalUnreadable:
		return ask.Refuse(ask.CodeForbidden, "the bus cannot read how far the removal of the tenant %s is: nothing works in it until an operator removes it again with \"askbus tenant remove %s --yes\"", tenant, tenant)
	}
	return ask.Refuse(ask.CodeForbidden, "an operator is removing the tenant %s: nothing new is asked, answered or kept in it", tenant)
}

// admitsEntry is [Broker.admits] for an entry of shared state. A tenant that is being
// closed keeps all of it: its surfaces still run.
func (b *Broker) admitsEntry(tenant string) error {
	if m, ok := b.removals.of(tenant); !ok || m.State == wire.RemovalClosing {
		return nil
	}
	return b.admits(tenant, subject.VerbPut)
}
