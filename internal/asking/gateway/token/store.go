package token

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// ErrUnknown refuses a token that is not stored.
var ErrUnknown error = ask.Refusal(ask.CodeUnauthorized, ask.FaultTokenUnknown)

// expired refuses a token. It says both times: this process's clock may be the wrong one.
func expired(t *Token, now time.Time) error {
	return ask.Refusal(ask.CodeUnauthorized, ask.FaultTokenExpired, t.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

// Store checks tokens with the gateway's credential. It follows the tokens in shared state: a
// revoked one is rejected at every replica, and [Store.OnEnd] reports it within a second. After a
// minute without contact to the broker it rejects all. It is safe for concurrent use while Run
// runs.
type Store struct {
	cache *state.Cache
	uses  *state.Bucket
	log   *slog.Logger

	mu   sync.Mutex
	used map[string]time.Time // since the last write
}

// useEvery is the interval of writing tokens' last uses.
const useEvery = time.Minute

// usesLife is how long a token's last use is stored.
const usesLife = 400 * 24 * time.Hour

// NewStore makes a store on the gateway's connection. It sends nothing.
func NewStore(nc *nats.Conn, opts state.CacheOptions) *Store {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
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

// lookupLimit bounds the wait for the broker for an unknown token, which may just have been issued.
const lookupLimit = 3 * time.Second

// Check returns the token of a secret. An [*ask.Error] refuses it; any
// other error says that tokens cannot be checked.
func (s *Store) Check(ctx context.Context, secret string, now time.Time) (Token, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	t, err := find(ctx, secret, now, s.cache.Lookup)
	if err != nil {
		return Token{}, err
	}
	s.mu.Lock()
	s.used[t.ID] = now
	s.mu.Unlock()
	return t, nil
}

// find returns the token of a secret, if it is stored and has not expired.
func find(ctx context.Context, secret string, now time.Time, get func(context.Context, state.Key) (state.Entry, error)) (Token, error) {
	id, proof, ok := split(secret)
	if !ok || !ask.ValidToken(id) {
		return Token{}, ErrUnknown
	}
	e, err := get(ctx, state.Key{Name: id})
	if errors.Is(err, ask.ErrNotFound) {
		return Token{}, ErrUnknown
	}
	if err != nil {
		return Token{}, err
	}
	t, err := decode(e.Value)
	switch {
	case err != nil:
		return Token{}, fmt.Errorf("token %s is damaged: %w", id, err)
	case t.ID != id || !t.proves(proof):
		return Token{}, ErrUnknown
	case t.Expired(now):
		return Token{}, expired(&t, now)
	}
	return t, nil
}

// OnEnd calls f once, in its own goroutine, when a checked token is revoked or expires
// ([state.Gone]), or can no longer be checked ([state.Unknown]). Call stop.
func (s *Store) OnEnd(t *Token, f func(state.Ending)) (stop func()) {
	var once sync.Once
	end := func(why state.Ending) { once.Do(func() { f(why) }) }
	unwatch := s.cache.OnEnd(state.Key{Name: t.ID}, end)
	if t.Expires.IsZero() {
		return unwatch
	}
	timer := time.AfterFunc(max(0, time.Until(t.Expires)), func() { end(state.Gone) })
	return func() {
		timer.Stop()
		unwatch()
	}
}

// Read reports whether the tokens have been read, if only once.
func (s *Store) Read() bool { return s.cache.Read() }

// Watches returns the number of active calls of [Store.OnEnd].
func (s *Store) Watches() int { return s.cache.Watches() }

// writeUses periodically writes the last uses of tokens, for lists.
func (s *Store) writeUses(ctx context.Context) {
	for backoff.Sleep(ctx, useEvery) == nil {
		s.flush(ctx)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 500*time.Millisecond)
	defer cancel()
	s.flush(last)
}

func (s *Store) flush(ctx context.Context) {
	s.mu.Lock()
	used := s.used
	s.used = map[string]time.Time{}
	s.mu.Unlock()
	for id, at := range used {
		if _, err := s.uses.Put(ctx, state.Key{Name: id}, use{at.UTC().Truncate(time.Second)}, usesLife); err != nil {
			s.log.WarnContext(ctx, "cannot write the last uses of tokens", slog.Any("error", err))
			return
		}
	}
}

// decode decodes a stored token strictly: a misspelt scope must not be taken for a wider one.
func decode(data []byte) (Token, error) {
	var t Token
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, err
	}
	return t, t.Validate()
}
