package board

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// SharedSnoozes stores snoozes in the bus's shared state, so that every surface
// and every replica leaves out the same asks. It needs the credential of a
// responder of one tenant or of all, not of a single session. While the broker
// is down, the last known snoozes apply.
type SharedSnoozes struct {
	r     *source
	cache *state.Cache
	book  snoozeBook
	tell  func(ask.Key) // set while it runs
}

// NewSharedSnoozes makes the store of a responder. It sends nothing.
func NewSharedSnoozes(of *responder.Responder) *SharedSnoozes {
	r := newSource(of)
	s := &SharedSnoozes{r: r, tell: func(ask.Key) {}}
	s.cache = state.NewCache(state.Open(r.nc, state.Responder(r.typ, r.opts.Tenant), state.Snoozes), state.CacheOptions{Changed: s.follow, Logger: r.opts.Logger})
	return s
}

// Put implements [SnoozeStore]. The error is [ask.ErrQuota],
// [ask.ErrForbidden] if the credential may not speak for this person,
// [ask.ErrNotFound] or [ask.ErrResolved] if the ask is no longer pending, or
// [ask.ErrUnavailable] if the broker cannot be reached.
func (s *SharedSnoozes) Put(ctx context.Context, by ask.By, z Snooze) error {
	who := subject.SnoozerToken(by.Principal)
	if !z.Until.IsZero() {
		if err := s.book.checkQuota(who, z.Key); err != nil {
			return err
		}
	}
	if err := s.r.note(ctx, z.Key, subject.VerbSnooze, wire.Snooze{By: by, Life: z.Life, Until: z.Until, ID: cloudevent.NewID()}); err != nil {
		return err
	}
	if z.Until.IsZero() {
		s.book.remove(who, z.Key)
	} else {
		s.book.set(who, z)
	}
	return nil
}

// Of implements [SnoozeStore].
func (s *SharedSnoozes) Of(_ context.Context, principal string) ([]Snooze, error) {
	return s.book.of(subject.SnoozerToken(principal)), nil
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
