package responder

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/state"
	"github.com/askbus/askbus/pkg/ask"
)

// SharedSnoozes stores snoozes in the bus's shared state, so that every surface
// and every replica leaves out the same asks. It needs the credential of a
// responder of one tenant or of all, not of a single session. While the broker
// is down, the last known snoozes apply.
type SharedSnoozes struct {
	bucket *state.Bucket
	cache  *state.Cache
	book   snoozeBook
	tell   func(ask.Key) // set while it runs
}

// SharedSnoozes makes the store. It sends nothing.
func (r *Responder) SharedSnoozes() *SharedSnoozes {
	s := &SharedSnoozes{tell: func(ask.Key) {}}
	s.bucket = state.Open(r.nc, state.Responder(r.typ, r.opts.Tenant), state.Snoozes)
	s.cache = state.NewCache(s.bucket, state.CacheOptions{Changed: s.follow, Logger: r.opts.Logger})
	return s
}

// Put implements [SnoozeStore]. The error is [ask.ErrQuota], or
// [ask.ErrUnavailable] if the broker cannot be reached.
func (s *SharedSnoozes) Put(ctx context.Context, principal string, z Snooze) error {
	who := tokenOf(principal)
	k := state.Key{Tenant: z.Key.Tenant, Name: who + "." + z.Key.Session + "." + z.Key.ID}
	if z.Until.IsZero() {
		if err := s.bucket.Delete(ctx, k); err != nil {
			return err
		}
		s.book.remove(who, z.Key)
		return nil
	}
	if err := s.book.checkQuota(who, z.Key); err != nil {
		return err
	}
	if _, err := s.bucket.Put(ctx, k, z, max(time.Second, time.Until(z.Until))); err != nil {
		return err
	}
	s.book.set(who, z)
	return nil
}

// Of implements [SnoozeStore].
func (s *SharedSnoozes) Of(_ context.Context, principal string) ([]Snooze, error) {
	return s.book.of(tokenOf(principal)), nil
}

// Run implements [SnoozeStore]. A store runs once.
func (s *SharedSnoozes) Run(ctx context.Context, changed func(ask.Key)) error {
	s.tell = changed
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.book.run(ctx, changed)
	}()
	err := s.cache.Run(ctx)
	cancel()
	<-over
	return err
}

// follow applies what any replica wrote.
func (s *SharedSnoozes) follow(old, now *state.Entry) {
	e := now
	if e == nil {
		e = old
	}
	who, rest, _ := strings.Cut(e.Key.Name, ".")
	session, id, ok := strings.Cut(rest, ".")
	k := ask.Key{Tenant: e.Key.Tenant, Session: session, ID: id}
	var z Snooze
	switch {
	case !ok:
		return
	case now == nil:
		s.book.remove(who, k)
	case json.Unmarshal(now.Value, &z) != nil || z.Key != k:
		return
	default:
		s.book.set(who, z)
	}
	s.tell(k)
}

// tokenOf returns a token for a person's key, since principals are not tokens.
func tokenOf(principal string) string {
	sum := sha256.Sum256([]byte("askbus snooze\x00" + principal))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}
