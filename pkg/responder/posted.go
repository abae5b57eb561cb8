package responder

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of finding the ask of a post.
const (
	maxKeys     = 20_000 // of posts, remembered
	maxKeyPages = 20     // pages of 500 asks in one state that are read for a key that is not remembered
)

// Posted returns the ask of a post by its [Post.Key], for services whose buttons hold too few bytes for an
// ask and its life. A key that this process has not posted is looked up among the oldest 10,000 pending
// asks, then among as many ended ones. The error is [ask.ErrNotFound] if the key is of none of them, and
// [ask.ErrAskedAgain], with the newer record, if it is of an earlier life.
func (r *Responder) Posted(ctx context.Context, key string) (ask.Record, error) {
	if k, ok := r.keys.Get(key); ok {
		rec, err := r.Get(ctx, k)
		if err == nil && PostKey(r.typ, k, rec.Life) != key {
			err = ask.ErrAskedAgain
		}
		return rec, err
	}
	if len(key) != len(PostKey("", ask.Key{}, "")) {
		return ask.Record{}, ask.ErrNotFound
	}
	for _, state := range []ask.State{ask.StatePending, ask.StateResolved} {
		q := Query{Tenant: r.opts.Tenant, Session: r.opts.Session, State: state, PageSize: 500}
		for range maxKeyPages {
			page, err := r.List(ctx, q)
			if err != nil {
				return ask.Record{}, fmt.Errorf("ask of a post: %w", err)
			}
			for i := range page.Items {
				k := page.Items[i].Ask.Key()
				if PostKey(r.typ, k, page.Items[i].Life) == key {
					r.keys.Add(key, k)
					return r.Posted(ctx, key)
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	return ask.Record{}, ask.ErrNotFound
}
