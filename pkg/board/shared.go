package board

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
)

// What follows applies what any replica of any surface wrote to the bus's shared state. While the broker is down, what was
// known last stays.

// cache makes a replica of a bucket. It sends nothing.
func (r *source) cache(bucket string, changed func(old, now *state.Entry)) *state.Cache {
	return state.NewCache(state.Open(r.nc, state.Responder(r.typ, r.opts.Tenant), bucket), state.CacheOptions{Changed: changed, Logger: r.opts.Logger})
}

// askOf returns the ask whose session and id end an entry's name, and what is before them.
func askOf(old, now *state.Entry, tokens int) (k ask.Key, before string, ok bool) {
	e := cmp.Or(now, old)
	parts := strings.SplitN(e.Key.Name, ".", tokens)
	if len(parts) < tokens {
		return k, "", false
	}
	return ask.Key{Tenant: e.Key.Tenant, Session: parts[tokens-2], ID: parts[tokens-1]}, parts[0], true
}

// followSnooze follows the bucket of snoozes.
func (b *Board) followSnooze(old, now *state.Entry) {
	k, who, ok := askOf(old, now, 3)
	var z snooze
	switch {
	case !ok:
		return
	case now == nil:
		b.snoozes.remove(who, k)
	case json.Unmarshal(now.Value, &z) != nil || z.Key != k:
		return
	default:
		b.snoozes.set(who, z)
	}
	b.changed(k)
}

// followHandover follows the bucket of handovers.
func (b *Board) followHandover(old, now *state.Entry) {
	k, _, ok := askOf(old, now, 2)
	var h Handover
	switch {
	case !ok:
	case now == nil:
		b.setHandover(k, nil)
	case json.Unmarshal(now.Value, &h) == nil && h.Key == k && h.To != "":
		b.setHandover(k, &h)
	}
}
