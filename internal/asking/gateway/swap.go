package gateway

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/pkg/ask"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Limits of exchanges.
const (
	swapsAtOnce     = 64
	suspectsAtOnce  = 16  // of these, from suspect addresses
	refusedAMinute  = 60  // per remote address, or /64 of IPv6; beyond it the address is suspect
	suspectsASecond = 200 // tokens that are verified, of all suspect addresses
	swapsPerToken   = 300 // per minute, of a token that is known to be valid
	acceptedLife    = 2 * time.Hour
	acceptedAtMost  = 1 << 15
)

// swaps forwards tokens to an issuer, which verifies them and returns
// credentials. Everybody behind a proxy has one address, so a stranger's
// invalid tokens must not keep out the valid ones beside them: a token that is
// known to be valid has a rate of its own, and an address with many refused
// tokens still has others verified, at a rate that bounds what strangers cost.
// Nothing in an unverified token tells more, because any claim can be copied into
// a forged one; X-Forwarded-For needs known proxies, and does not help behind a
// NAT.
type swaps struct {
	swap     func(ctx context.Context, token, session string) ([]byte, error)
	check    func(ctx context.Context, secret string, now time.Time) (token.Token, error) // of API tokens
	now      func() time.Time
	slots    chan struct{}
	narrow   chan struct{}        // of slots, for suspect addresses
	refused  *ratelimit.PerMinute // tokens, by address
	suspects *ratelimit.Steady
	each     *ratelimit.PerMinute                     // exchanges, by valid token
	accepted *lru.Cache[[sha256.Size]byte, time.Time] // tokens by their hash, and when the issuer accepted them last
}

func newSwaps(swap func(context.Context, string, string) ([]byte, error), check func(context.Context, string, time.Time) (token.Token, error), now func() time.Time) *swaps {
	accepted, _ := lru.New[[sha256.Size]byte, time.Time](acceptedAtMost) // fails for sizes below 1 only
	return &swaps{
		swap: swap, check: check, now: now, slots: make(chan struct{}, swapsAtOnce), narrow: make(chan struct{}, suspectsAtOnce), accepted: accepted,
		refused: ratelimit.NewOpen(refusedAMinute), suspects: ratelimit.NewSteady(suspectsASecond, suspectsASecond), each: ratelimit.NewOpen(swapsPerToken),
	}
}

// serve swaps the bearer's token. The request has no body, so it reads nothing from an
// unauthenticated client.
func (s *swaps) serve(w http.ResponseWriter, r *http.Request, _ *access.Caller) error {
	secret, ok := access.Bearer(r)
	session := r.URL.Query().Get("session")
	switch {
	case !ok:
		return ask.Refusal(ask.CodeUnauthorized, ask.FaultNoSwapToken)
	case s.swap == nil:
		return ask.Refusal(ask.CodeUnavailable, ask.FaultNoIssuer)
	case r.ContentLength != 0:
		return ask.Refusal(ask.CodeInvalid, ask.FaultBodyNotEmpty)
	case session != "" && !ask.ValidToken(session):
		return ask.Refusal(ask.CodeInvalid, ask.FaultBadName, "session", ask.Clip(session, 80), ask.MaxToken)
	}
	from := ratelimit.Network(r.RemoteAddr)
	valid, err := s.valid(r.Context(), secret)
	if err != nil {
		return s.count(from, err)
	}
	leave, err := s.enter(from, valid)
	if err != nil {
		return err
	}
	defer leave()
	body, err := s.swap(r.Context(), secret, session)
	if err != nil {
		if access.Problem(err).Code == ask.CodeUnauthorized {
			s.accepted.Remove(sha256.Sum256([]byte(secret)))
		}
		if valid != "" {
			return err // its own rate counts it
		}
		return s.count(from, err)
	}
	s.accepted.Add(sha256.Sum256([]byte(secret)), s.now())
	access.SendJSON(w, http.StatusOK, body)
	return nil
}

// count counts a refused token for its address, and returns the refusal.
func (s *swaps) count(from string, err error) error {
	if access.Problem(err).Code != ask.CodeUnavailable {
		s.refused.Take(from, s.now())
	}
	return err
}

// valid returns the key of a token's own rate if the token is known to be valid
// without the issuer: an API token of this bus, or one that the issuer accepted
// before. The issuer verifies each again. Empty: only the issuer knows. The
// error refuses an invalid API token.
func (s *swaps) valid(ctx context.Context, secret string) (string, error) {
	if !strings.HasPrefix(secret, token.Prefix) {
		sum := sha256.Sum256([]byte(secret))
		if at, ok := s.accepted.Get(sum); !ok || s.now().Sub(at) >= acceptedLife {
			return "", nil
		}
		return string(sum[:]), nil
	}
	t, err := s.check(ctx, secret, s.now())
	if err != nil {
		return "", err
	}
	return "token " + t.ID, nil
}

// enter takes a slot for an exchange, until leave is called.
func (s *swaps) enter(from, valid string) (leave func(), err error) {
	now := s.now()
	leave = func() {}
	switch {
	case valid != "":
		if !s.each.Take(valid, now) {
			return nil, ask.Refusal(ask.CodeQuota, ask.FaultTooManyAMinute, "this_token", swapsPerToken, "exchanges")
		}
	case s.refused.Full(from, now):
		if !s.suspects.Take(now) || !acquire(s.narrow) {
			return nil, ask.Refusal(ask.CodeQuota, ask.FaultRefusedTokens, refusedAMinute)
		}
		leave = func() { <-s.narrow }
	}
	if !acquire(s.slots) {
		leave()
		return nil, ask.Refusal(ask.CodeUnavailable, ask.FaultTooManyAtOnce, cap(s.slots), "exchanges", "this_gateway")
	}
	first := leave
	return func() {
		<-s.slots
		first()
	}, nil
}

func acquire(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}
