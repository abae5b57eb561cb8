package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// What a token that does not pass is.
var (
	ErrUnknown = errors.New("this token is unknown or revoked")
	ErrExpired = errors.New("this token has expired")
)

// Store checks tokens, with the gateway's credential. It follows the tokens in
// shared state: one that is revoked opens nothing from then on at any replica,
// and what it opened is told within a second. Without contact to the broker for
// a minute it lets nobody in. It is safe for concurrent use between the start
// and the end of Run.
type Store struct {
	cache *state.Cache
	uses  *state.Bucket
	log   *slog.Logger

	mu   sync.Mutex
	used map[string]time.Time // since it was last written
}

// useEvery is how often the last use of tokens is written.
const useEvery = time.Minute

// usesLife is how long it is remembered when a token was last used.
const usesLife = 400 * 24 * time.Hour

// NewStore makes one over the gateway's connection. It sends nothing.
func NewStore(nc *nats.Conn, opts state.CacheOptions) *Store {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{
		cache: state.NewCache(state.Open(nc, state.Gateway(), state.Tokens), opts),
		uses:  state.Open(nc, state.Gateway(), state.TokenUses), log: opts.Logger, used: map[string]time.Time{},
	}
}

// Run follows the tokens until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	var writing sync.WaitGroup
	defer writing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	writing.Go(func() { s.writeUses(ctx) })
	return s.cache.Run(ctx)
}

// lookupLimit is how long a check waits for the broker when a token is unknown
// here: it may have been issued just now.
const lookupLimit = 3 * time.Second

// Check finds the token that secret is. The error is [ErrUnknown] or
// [ErrExpired], or says that tokens cannot be checked.
func (s *Store) Check(ctx context.Context, secret string, now time.Time) (Token, error) {
	id, proof, ok := split(secret)
	if !ok || !ask.ValidToken(id) {
		return Token{}, ErrUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	e, err := s.cache.Lookup(ctx, state.Key{Name: id})
	if errors.Is(err, ask.ErrNotFound) {
		return Token{}, ErrUnknown
	}
	if err != nil {
		return Token{}, err
	}
	t, err := read(e.Value, id, proof, now)
	if err != nil {
		return Token{}, err
	}
	s.mu.Lock()
	s.used[id] = now
	s.mu.Unlock()
	return t, nil
}

// read is the token that is kept under an id, when proof is its secret and it is
// still good.
func read(value []byte, id, proof string, now time.Time) (Token, error) {
	t, err := decode(value)
	switch {
	case err != nil:
		return Token{}, fmt.Errorf("token %s is damaged: %w", id, err)
	case t.ID != id || !t.proves(proof):
		return Token{}, ErrUnknown
	case t.Expired(now):
		return Token{}, ErrExpired
	}
	return t, nil
}

// OnEnd calls f, once, in a goroutine of its own, when a token that was checked
// is revoked, expires, or can no longer be checked. Stop must be called.
func (s *Store) OnEnd(t *Token, f func()) (stop func()) {
	once := sync.OnceFunc(f)
	unwatch := s.cache.OnEnd(state.Key{Name: t.ID}, once)
	if t.Expires.IsZero() {
		return unwatch
	}
	timer := time.AfterFunc(max(0, time.Until(t.Expires)), once)
	return func() {
		timer.Stop()
		unwatch()
	}
}

// Watches is how many calls of [Store.OnEnd] stand.
func (s *Store) Watches() int { return s.cache.Watches() }

// writeUses writes when tokens were last used, now and then: for lists alone.
func (s *Store) writeUses(ctx context.Context) {
	tick := time.NewTicker(useEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 500*time.Millisecond)
			s.flush(last)
			cancel()
			return
		case <-tick.C:
			s.flush(ctx)
		}
	}
}

func (s *Store) flush(ctx context.Context) {
	s.mu.Lock()
	used := s.used
	s.used = map[string]time.Time{}
	s.mu.Unlock()
	for id, at := range used {
		if _, err := s.uses.Put(ctx, state.Key{Name: id}, use{at.UTC().Truncate(time.Second)}, usesLife); err != nil {
			s.log.WarnContext(ctx, "cannot write when tokens were last used", slog.Any("error", err))
			return
		}
	}
}
