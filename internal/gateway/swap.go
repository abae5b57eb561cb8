package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/askbus/askbus/internal/gateway/access"
	"github.com/askbus/askbus/internal/ratelimit"
	"github.com/askbus/askbus/pkg/ask"
)

// Limits of exchanges.
const (
	swapsAtOnce    = 64
	refusedAMinute = 60 // per remote address, or /64 of IPv6
)

// swaps forwards tokens to an issuer, which verifies them and returns credentials. It delays an
// address whose tokens are refused repeatedly, but not one that sends many valid tokens.
type swaps struct {
	swap    func(ctx context.Context, token, session string) ([]byte, error)
	now     func() time.Time
	slots   chan struct{}
	refused *ratelimit.PerMinute
}

func newSwaps(swap func(context.Context, string, string) ([]byte, error), now func() time.Time) *swaps {
	return &swaps{swap, now, make(chan struct{}, swapsAtOnce), ratelimit.NewOpen(refusedAMinute)}
}

// serve swaps the bearer's token. The request has no body, so it reads nothing from an
// unauthenticated client.
func (s *swaps) serve(w http.ResponseWriter, r *http.Request, _ *access.Caller) error {
	secret, ok := access.Bearer(r)
	session := r.URL.Query().Get("session")
	switch {
	case !ok:
		return ask.Refuse(ask.CodeUnauthorized, `missing token; send that of the service account, of the OIDC issuer, or an API token as "Authorization: Bearer …"`)
	case s.swap == nil:
		return ask.Refuse(ask.CodeUnavailable, "this gateway has no issuer of credentials")
	case r.ContentLength != 0:
		return access.Fault("the body must be empty; name the session with ?session=")
	case session != "" && !ask.ValidToken(session):
		return access.Fault("invalid session %s: use 1 to %d of A-Z a-z 0-9 _ -", access.Quote(session), ask.MaxToken)
	}
	from := ratelimit.Network(r.RemoteAddr)
	if s.refused.Full(from, s.now()) {
		return ask.Refuse(ask.CodeQuota, "%d tokens from your address were refused within a minute; wait a minute and use a valid one", refusedAMinute)
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return ask.Refuse(ask.CodeUnavailable, "%d exchanges are in progress, the limit of this gateway; try again", cap(s.slots))
	}
	body, err := s.swap(r.Context(), secret, session)
	if err != nil {
		if access.Problem(err).Code != ask.CodeUnavailable {
			s.refused.Take(from, s.now())
		}
		return err
	}
	access.SendJSON(w, http.StatusOK, body)
	return nil
}
