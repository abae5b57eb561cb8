package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/webhook"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// changed follows the bucket.
func (a *App) changed(old, now *state.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now == nil {
		delete(a.late, old.Key)
		return
	}
	if held := a.late[now.Key]; strings.HasPrefix(now.Key.Name, wire.WebhookFailuresPrefix) || held != nil && held.revision >= now.Revision {
		return
	}
	w := &waiting{revision: now.Revision, seen: a.opts.Now()}
	if json.Unmarshal(now.Value, &w.delivery) != nil || w.key() != now.Key {
		return // of a newer version
	}
	if old := a.late[now.Key]; old != nil {
		w.busy = old.busy
	}
	a.late[now.Key] = w
	a.rouse()
}

// rouse makes the loop look for what is due. It never blocks.
func (a *App) rouse() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// repeat delivers what is due of the bucket, and registers the names of the file once the bus stores
// work for this type, until ctx ends.
func (a *App) repeat(ctx context.Context, ready <-chan struct{}) {
	work, cancel := connection.WithGrace(ctx, webhook.Limit+5*time.Second)
	defer cancel()
	defer a.running.Wait()
	tick := time.NewTicker(a.opts.Look)
	defer tick.Stop()
	var refused time.Time // when registering last failed
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-tick.C:
		}
		select {
		case <-ready:
			if f := a.file(); f != a.registered && time.Since(refused) > 3*time.Second {
				if err := a.register(ctx, f); err != nil {
					refused = time.Now()
					a.log.WarnContext(ctx, "cannot register the names of callbacks; trying again", slog.Any("error", err))
				} else {
					a.registered = f
				}
			}
		default:
		}
		for _, w := range a.due() {
			a.running.Go(func() { a.again(work, w) })
		}
	}
}

// register makes the names of the file those that asks may use.
func (a *App) register(ctx context.Context, f *File) error {
	known, err := a.names.List(ctx)
	if err != nil {
		return err
	}
	want := map[state.Key]wire.Callback{}
	for i := range f.Callbacks {
		if e := &f.Callbacks[i]; a.opts.Tenant == "" || a.opts.Tenant == e.Tenant {
			want[state.Key{Tenant: e.Tenant, Name: e.Name}] = wire.Callback{Tokens: e.Tokens, Address: wire.CallbackAddress(e.URL)}
		}
	}
	for i := range known {
		k := known[i].Key
		c, keep := want[k]
		if !keep {
			if err := a.names.Delete(ctx, k); err != nil {
				return err
			}
			continue
		}
		var has wire.Callback
		if json.Unmarshal(known[i].Value, &has) == nil && has.Address == c.Address && slices.Equal(has.Tokens, c.Tokens) {
			delete(want, k)
		}
	}
	for k, c := range want {
		if _, err := a.names.Put(ctx, k, c, 0); err != nil {
			return err
		}
	}
	return nil
}

// due takes a place for each delivery that is due and has one, the earliest first.
func (a *App) due() (all []*waiting) {
	now := a.opts.Now()
	a.mu.Lock()
	for _, w := range a.late {
		if !w.busy && !w.Next.After(now) && (w.Claim == "" || !now.Before(w.seen.Add(claimed))) {
			all = append(all, w)
		}
	}
	a.mu.Unlock()
	slices.SortFunc(all, func(x, y *waiting) int { return x.Next.Compare(y.Next) })
	return slices.DeleteFunc(all, func(w *waiting) bool {
		_, free := a.admit(w.receiver(), false)
		if free {
			a.mu.Lock()
			w.busy = true
			a.mu.Unlock()
		}
		return !free
	})
}

// errPast says that the ledger no longer has what is to be delivered.
var errPast = errors.New("the ask is past its retention")

// again claims a delivery of the bucket and makes one attempt.
func (a *App) again(ctx context.Context, w *waiting) {
	a.mu.Lock()
	d, revision, g := w.delivery, w.revision, a.gates[w.receiver()]
	a.mu.Unlock()
	key := d.key()
	forget := func() {
		a.mu.Lock()
		delete(a.late, key)
		a.mu.Unlock()
	}
	release := func() {
		a.mu.Lock()
		if now := a.late[key]; now != nil {
			now.busy = false
		}
		a.mu.Unlock()
	}
	d.Claim = a.me
	revision, err := a.bucket.Update(ctx, key, &d, revision, keep)
	if err != nil {
		a.leave(g, nil, false)
		switch {
		case errors.Is(err, ask.ErrConflict): // another replica has it, or it is gone
			a.refresh(ctx, key)
		default:
			a.mu.Lock()
			w.Next = a.opts.Now().Add(a.opts.Look) // here only
			a.mu.Unlock()
			a.log.WarnContext(ctx, "cannot claim a webhook; trying again", slog.String("ask_id", d.ID), slog.Any("error", err))
		}
		release()
		return
	}
	defer release()
	until := a.opts.Now().Add(claimed / 2)
	rec, err := a.bus.Get(ctx, d.ask())
	switch {
	case errors.Is(err, ask.ErrNotFound), err == nil && rec.Life != d.Life:
		err = errPast
	case err != nil, a.opts.Now().After(until): // the bus is away, or this process was stopped for a while
		a.leave(g, nil, false)
		return // the claim lapses
	default:
		err = a.attempt(ctx, &d, &rec)
		if ctx.Err() != nil {
			a.leave(g, nil, false)
			return
		}
	}
	a.leave(g, err, !errors.Is(err, errPast))
	if err == nil || !a.next(ctx, &d, err) {
		err = a.bucket.DeleteRevision(ctx, key, revision)
		if err == nil || errors.Is(err, ask.ErrConflict) {
			forget()
		}
	} else {
		_, err = a.bucket.Update(ctx, key, &d, revision, keep)
	}
	if err != nil && !errors.Is(err, ask.ErrConflict) {
		a.log.WarnContext(ctx, "cannot settle a webhook; it is sent again with the same id", slog.String("ask_id", d.ID), slog.Any("error", err))
	}
}

// refresh reads an entry whose claim failed.
func (a *App) refresh(ctx context.Context, key state.Key) {
	e, err := a.bucket.Get(ctx, key)
	switch {
	case err == nil:
		a.changed(nil, &e)
	case errors.Is(err, ask.ErrNotFound):
		a.mu.Lock()
		delete(a.late, key)
		a.mu.Unlock()
	}
}
