package exchange

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/ratelimit"
	"github.com/coreos/go-oidc/v3/oidc"
)

// unreadLife is how long the keys are not read again after they could not be
// read.
const unreadLife = time.Minute

// serverKeys are the public keys with which an API server's tokens of service
// accounts are verified. They reveal forged tokens without a review; whether
// another token is still valid, only a review can tell. It is safe for
// concurrent use.
type serverKeys struct {
	read  func(ctx context.Context) ([]byte, error) // a JSON Web Key Set
	now   func() time.Time
	log   *slog.Logger
	limit *ratelimit.PerMinute // reads

	mu     sync.Mutex
	keys   oidc.StaticKeySet
	unread time.Time // when they could not be read; zero if they could
}

// forged reports whether a token is certainly not from this server. If no known
// key verifies a token, the keys are read again, a bounded number of times.
func (s *serverKeys) forged(ctx context.Context, raw string) bool {
	keys, known := s.current(ctx, false)
	if _, err := keys.VerifySignature(ctx, raw); !known || err == nil {
		return false
	}
	keys, known = s.current(ctx, true)
	_, err := keys.VerifySignature(ctx, raw)
	return known && err != nil
}

// current returns the keys, and whether they are known. If again is set, it
// reads them again.
func (s *serverKeys) current(ctx context.Context, again bool) (keys *oidc.StaticKeySet, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch {
	case !s.unread.IsZero() && now.Sub(s.unread) < unreadLife:
		return &oidc.StaticKeySet{}, false
	case len(s.keys.PublicKeys) > 0 && (!again || !s.limit.Take("", now)):
		return &oidc.StaticKeySet{PublicKeys: s.keys.PublicKeys}, true
	}
	data, err := s.read(ctx)
	var read oidc.StaticKeySet
	if err == nil {
		read, err = publicKeys(data)
	}
	if err != nil || len(read.PublicKeys) == 0 {
		s.log.WarnContext(ctx, "cannot read the API server's keys; it reviews forged tokens too", slog.Any("error", err))
		s.unread = now
		return &oidc.StaticKeySet{}, false
	}
	s.keys, s.unread = read, time.Time{}
	return &oidc.StaticKeySet{PublicKeys: s.keys.PublicKeys}, true
}
