package exchange

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/ratelimit"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// unreadLife is how long an API server's refusal to show its keys counts.
const unreadLife = time.Minute

// serverKeys are the public keys of an API server, with which it signs the
// tokens of service accounts. They say which tokens are forged without asking
// the server about each; which of the others still count, only the server
// knows. It is safe for concurrent use.
type serverKeys struct {
	read  func(ctx context.Context) ([]byte, error) // a JSON Web Key Set
	now   func() time.Time
	log   *slog.Logger
	limit *ratelimit.PerMinute // reads

	mu     sync.Mutex
	keys   oidc.StaticKeySet
	unread time.Time // when they could not be read; zero: they could
}

// forged reports whether a token is certainly not of this server. A token that
// no known key verifies has the keys read again, a bounded number of times.
func (s *serverKeys) forged(ctx context.Context, raw string) bool {
	keys, known := s.current(ctx, false)
	if _, err := keys.VerifySignature(ctx, raw); !known || err == nil {
		return false
	}
	keys, known = s.current(ctx, true)
	_, err := keys.VerifySignature(ctx, raw)
	return known && err != nil
}

// current returns the keys, and whether they are known; again reads them again.
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
	var set jose.JSONWebKeySet
	if err == nil {
		err = json.Unmarshal(data, &set)
	}
	var read oidc.StaticKeySet
	for _, k := range set.Keys {
		if k.Valid() && k.IsPublic() {
			read.PublicKeys = append(read.PublicKeys, k.Key)
		}
	}
	if err != nil || len(read.PublicKeys) == 0 {
		s.log.WarnContext(ctx, "cannot read the API server's keys; forged tokens are reviewed like others", slog.Any("error", err))
		s.unread = now
		return &oidc.StaticKeySet{}, false
	}
	s.keys, s.unread = read, time.Time{}
	return &oidc.StaticKeySet{PublicKeys: s.keys.PublicKeys}, true
}
