package exchange

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// Review is the verdict of a cluster's API server on a token.
type Review struct {
	Authenticated bool
	Audiences     []string // the requested ones for which it is valid
	User          string
	Groups        []string
	Extra         map[string][]string
}

// Bounds of the rate of reviews. It is steady, so that forged tokens do not use
// up the reviews of a whole minute.
const (
	reviewsPerSecond = 10
	reviewsAtOnce    = 100
)

var errReviews = errors.New("too many reviews at the moment")

// askServer lets the API server verify a token; the server also refuses the
// tokens of deleted pods. The claims are built from the server's reply; only the
// expiry, which the server has checked, is read from the token itself. The error
// is an [*ask.Error], or wraps [ask.ErrUnavailable] if the server does not reply.
func (v *verifier) askServer(ctx context.Context, raw string) (Proof, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	if v.server != nil && v.server.forged(ctx, raw) {
		return Proof{}, ask.Refuse(ask.CodeUnauthorized, "the token's signature does not verify with the keys of %s", v.Name)
	}
	if !v.reviewed.Take(v.now()) {
		return Proof{}, unreachable(v.Name, errReviews)
	}
	r, err := v.review(ctx, raw, v.Audience)
	switch {
	case err != nil:
		return Proof{}, unreachable(v.Name, err)
	case !r.Authenticated || !slices.Contains(r.Audiences, v.Audience):
		return Proof{}, ask.Refuse(ask.CodeUnauthorized, "the API server refuses this token: it has expired, its pod is gone, or it is not for the audience %q", v.Audience)
	}
	expires := endOf(raw)
	if now := v.now(); !now.Before(expires) {
		return Proof{}, tooOld(expires, now)
	}
	return Proof{Provider: v.Name, Subject: r.User, Expires: expires, Claims: r.claims(v.Issuer, v.Audience)}, nil
}

// claims returns the claims as they are in a service account's token.
func (r *Review) claims(issuer, audience string) map[string]any {
	one := func(name string) any {
		if v := r.Extra["authentication.kubernetes.io/"+name]; len(v) == 1 {
			return v[0]
		}
		return nil
	}
	groups := make([]any, len(r.Groups))
	for i, g := range r.Groups {
		groups[i] = g
	}
	claims := map[string]any{"iss": issuer, "aud": audience, "sub": r.User, "groups": groups}
	if rest, ok := strings.CutPrefix(r.User, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(rest, ":")
		claims["kubernetes.io"] = map[string]any{
			"namespace": namespace, "serviceaccount": map[string]any{"name": name},
			"pod": map[string]any{"name": one("pod-name"), "uid": one("pod-uid")}, "node": map[string]any{"name": one("node-name"), "uid": one("node-uid")},
		}
	}
	return claims
}

// endOf returns the claim exp of a token that the API server has verified, or the
// zero time if it has none.
func endOf(raw string) time.Time {
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if assertion.Unverified(raw, &claims) != nil || claims.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expires), 0)
}
