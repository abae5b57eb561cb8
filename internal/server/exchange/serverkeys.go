package exchange

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/coreos/go-oidc/v3/oidc"
)

// unreadLife is how long the keys are not read again after they could not be
// read.
const unreadLife = time.Minute

// readLimit bounds one read of an API server's keys.
const readLimit = 10 * time.Second

// serverKeys are the public keys with which an API server's tokens of service
// accounts are verified. They reveal forged tokens without a review; whether
// another token is still valid, only a review can tell. It is safe for
// concurrent use.
type serverKeys struct {
	read  func(ctx context.Context) ([]byte, error) // a JSON Web Key Set
	now   func() time.Time
	log   *slog.Logger
	limit *ratelimit.PerMinute // reads

	mu      sync.Mutex // not held during a read
	keys    oidc.StaticKeySet
	unread  time.Time     // when they could not be read; zero if they could
	reading chan struct{} // closed when the current read ends; nil: none is running
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
// reads them again. One caller reads; callers that need its result wait
// for it, and others do not.
func (s *serverKeys) current(ctx context.Context, again bool) (keys *oidc.StaticKeySet, known bool) {
	s.mu.Lock()
	now := s.now()
	switch running := s.reading; {
	case !s.unread.IsZero() && now.Sub(s.unread) < unreadLife:
		defer s.mu.Unlock()
		return &oidc.StaticKeySet{}, false
	case len(s.keys.PublicKeys) > 0 && (!again || running == nil && !s.limit.Take("", now)):
		defer s.mu.Unlock()
		return &oidc.StaticKeySet{PublicKeys: s.keys.PublicKeys}, true
	case running != nil:
		s.mu.Unlock()
		select {
		case <-running:
			return s.last()
		case <-ctx.Done():
			return &oidc.StaticKeySet{}, false
		}
	}
	done := make(chan struct{})
	s.reading = done
	s.mu.Unlock()
	read, err := s.fetch(ctx)
	s.mu.Lock()
	if err != nil || len(read.PublicKeys) == 0 {
		s.log.WarnContext(ctx, "cannot read the API server's keys; it reviews forged tokens too", slog.Any("error", err))
		s.unread = now
	} else {
		s.keys, s.unread = read, time.Time{}
	}
	s.reading = nil
	close(done)
	s.mu.Unlock()
	return s.last()
}

// last returns the keys of the last read, and whether it succeeded.
func (s *serverKeys) last() (keys *oidc.StaticKeySet, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unread.IsZero() {
		return &oidc.StaticKeySet{}, false
	}
	return &oidc.StaticKeySet{PublicKeys: s.keys.PublicKeys}, true
}

// fetch reads the keys. A caller who leaves does not end it, because others wait
// for its result.
func (s *serverKeys) fetch(ctx context.Context) (keys oidc.StaticKeySet, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readLimit)
	defer cancel()
	data, err := s.read(ctx)
	if err != nil {
		return keys, err
	}
	return publicKeys(data)
}
