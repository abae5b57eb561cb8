package board

import (
	"context"
	"errors"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// snapshot is the set of pending asks at one read, and what became of known
// asks that are no longer pending.
type snapshot struct {
	pending  []ask.Record
	resolved []ask.Record
	known    map[ask.Key]known // known when it began
	more     bool
}

func (s *snapshot) read(ctx context.Context, r *source) error {
	if !r.nc.IsConnected() {
		return nats.ErrConnectionReconnecting
	}
	seen := map[ask.Key]bool{}
	for rec, err := range r.All(ctx, responder.Query{State: ask.StatePending, PageSize: 200}) {
		if err != nil {
			return err
		}
		seen[rec.Ask.Key()] = true
		s.pending = append(s.pending, rec)
		if len(s.pending) > r.opts.Limit {
			s.more = true
			break
		}
	}
	for k := range s.known {
		if seen[k] {
			continue
		}
		rec, err := r.Get(ctx, k) // how it ended
		switch {
		case errors.Is(err, ask.ErrNotFound):
			rec = ask.Record{State: ask.StateResolved, Ask: ask.Ask{ID: k.ID, Tenant: k.Tenant, Session: k.Session}}
		case err != nil:
			return err
		case rec.State != ask.StateResolved:
			continue // asked again since, or beyond the limit
		}
		s.resolved = append(s.resolved, rec)
	}
	return nil
}

// apply tells the difference between a snapshot and what was told.
func (w *watch) apply(s snapshot) {
	w.more = s.more
	for _, rec := range s.resolved {
		k := rec.Ask.Key()
		if now, still := w.known[k]; still && now == s.known[k] {
			w.resolved(rec)
		}
	}
	for _, rec := range s.pending {
		w.pending(rec)
	}
	w.off = false
	w.handle(Event{Kind: Synced, More: w.more})
}
