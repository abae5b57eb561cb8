package access

import (
	"net/http"
	"sync"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
)

// shares counts the concurrent requests of each token and of each tenant, including waits and
// sockets, so that one caller leaves room for others.
type shares struct {
	what                string // is divided
	perToken, perTenant int

	mu sync.Mutex
	of map[holder]int
}

// holder is a token's id or a tenant.
type holder struct{ token, tenant string }

// newShares divides a number of requests, or of files: at most half for one token, and three quarters for
// one tenant.
func newShares(what string, all int) *shares {
	return &shares{what: what, perToken: max(1, all/2), perTenant: max(1, all*3/4), of: map[holder]int{}}
}

// acquire counts a request until release is called, or refuses it. Operators' tokens have no tenant.
func (s *shares) acquire(t *token.Token) (release func(), err error) {
	one, all := holder{token: t.ID}, holder{tenant: t.Tenant}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.of[one] >= s.perToken:
		return nil, ask.Refusal(ask.CodeQuota, ask.FaultTooManyAtOnce, s.of[one], s.what, "this_token")
	case t.Tenant != "" && s.of[all] >= s.perTenant:
		return nil, ask.Refusal(ask.CodeQuota, ask.FaultTooManyAtOnce, s.of[all], s.what, "tenant "+t.Tenant)
	}
	s.of[one]++
	if t.Tenant != "" {
		s.of[all]++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, h := range []holder{one, all} {
			if s.of[h]--; s.of[h] <= 0 {
				delete(s.of, h)
			}
		}
	}, nil
}

// share counts a request for its token while it is in progress.
func (a *Control) share(r *http.Request, t *token.Token) error {
	b := tokensOf(r)
	if b == nil {
		return nil
	}
	release, err := a.shares.acquire(t)
	if err == nil {
		b.atEnd(release)
	}
	return err
}
