package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// Bounds of tokens and of issuers' documents.
const (
	MaxToken  = 8 << 10 // bytes
	maxKeys   = 1 << 20 // bytes of a key set or a discovery document
	fetchTime = 3 * time.Second
	fetches   = 20          // of one issuer's documents at once, and in each minute then
	known     = time.Minute // how long what was fetched counts as all keys of an issuer, while there are too many fetches
)

// algorithms returns the accepted signature algorithms: neither none nor one
// with a shared key.
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}
}

// verifier verifies the tokens of one provider. It is safe for concurrent use.
type verifier struct {
	Provider
	now  func() time.Time
	http *http.Client

	review   func(ctx context.Context, token, audience string) (Review, error)
	reviewed *ratelimit.Steady
	server   *serverKeys // nil: forged tokens are reviewed too

	lock  chan struct{}         // a mutex; a caller stops waiting when its request ends
	ready *oidc.IDTokenVerifier // nil until the discovery document is read

	read atomic.Pointer[time.Time] // when the fetched keys last did not verify a token; nil: never
}

func newVerifier(p Provider, opts SourceOptions) *verifier {
	v := &verifier{Provider: p, now: opts.Now, review: opts.Review, reviewed: ratelimit.NewSteady(reviewsPerSecond, reviewsAtOnce), lock: make(chan struct{}, 1), http: &http.Client{
		Timeout:       fetchTime,
		Transport:     &bounded{limit: ratelimit.NewSteady(fetches/time.Minute.Seconds(), fetches), now: opts.Now, host: p.Name},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if opts.ReviewKeys != nil {
		v.server = &serverKeys{read: opts.ReviewKeys, now: opts.Now, log: opts.Logger, limit: ratelimit.New(fetches)}
	}
	return v
}

// verify verifies a token. The error is an [*ask.Error].
func (v *verifier) verify(ctx context.Context, raw string) (Proof, error) {
	if v.TokenReview {
		return v.askServer(ctx, raw)
	}
	check, err := v.oidc(ctx)
	if err != nil {
		return Proof{}, unreachable(v.Name, err)
	}
	t, err := check.Verify(ctx, raw)
	if err != nil {
		return Proof{}, v.refusal(err)
	}
	p := Proof{Provider: v.Name, Subject: t.Subject, Expires: t.Expiry}
	var body json.RawMessage
	if err := t.Claims(&body); err != nil {
		return Proof{}, ask.Refuse(ask.CodeUnauthorized, "the claims of the token cannot be read")
	}
	if err := assertion.CheckTimes(body, v.now()); err != nil {
		return Proof{}, ask.Refuse(ask.CodeUnauthorized, "the token is not valid: %s", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&p.Claims); err != nil {
		return Proof{}, ask.Refuse(ask.CodeUnauthorized, "the claims of the token cannot be read")
	}
	return p, v.scoped(p.Claims)
}

// scoped refuses a token that lacks one of the provider's scopes.
func (v *verifier) scoped(claims map[string]any) error {
	var has []string
	for _, name := range []string{"scope", "scp"} {
		switch s := claims[name].(type) {
		case string:
			has = append(has, strings.Fields(s)...)
		case []any:
			for _, s := range s {
				if s, ok := text(s); ok {
					has = append(has, s)
				}
			}
		}
	}
	for _, want := range v.Scopes {
		if !slices.Contains(has, want) {
			return ask.Refuse(wire.CodeScope, "the token lacks the scope %q", want)
		}
	}
	return nil
}

// tooOld refuses a token that has expired. It says both times: the issuer's clock may be the wrong one.
func tooOld(expired, now time.Time) error {
	if expired.Unix() <= 0 {
		return ask.Refuse(ask.CodeUnauthorized, "the token does not say when it expires; get one with an exp")
	}
	return ask.Refuse(ask.CodeUnauthorized, "the token expired at %s, and the issuer's clock says %s; get a fresh one", expired.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

// refusal says why a token is refused, without quoting it.
func (v *verifier) refusal(err error) error {
	if old, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
		return tooOld(old.Expiry, v.now())
	}
	switch s := err.Error(); {
	case strings.Contains(s, "expected audience"):
		return ask.Refuse(ask.CodeUnauthorized, "the token is for another audience; get one for the audience %q", v.Audience)
	case strings.Contains(s, "unexpected signature algorithm"), strings.Contains(s, "unsupported algorithm"), strings.Contains(s, "unexpected algorithm"):
		return ask.Refuse(ask.CodeUnauthorized, "the token has an unsupported signature algorithm; use one of %s", strings.Join(algorithms(), ", "))
	case strings.Contains(s, "before the nbf"):
		return ask.Refuse(ask.CodeUnauthorized, "the token is not valid yet; compare the clocks")
	case strings.Contains(s, errFetch.Error()) && v.knowsKeys(): // forged tokens used up the fetches
	case strings.Contains(s, errFetch.Error()), strings.Contains(s, "fetching keys"), strings.Contains(s, errKeyFile.Error()):
		return unreachable(v.Name, err)
	case strings.Contains(s, "failed to verify id token signature"): // the key set says so only of keys that it has just fetched
		v.read.Store(new(v.now()))
	}
	return ask.Refuse(ask.CodeUnauthorized, "the token's signature does not verify with the keys of %s", v.Name)
}

// knowsKeys reports whether the issuer's keys were fetched recently: a key that
// was not among them is not the issuer's.
func (v *verifier) knowsKeys() bool {
	at := v.read.Load()
	return at != nil && v.now().Sub(*at) < known
}

// unreachable wraps the reason why an issuer's keys cannot be read: for the
// log, not for the sender of the token.
func unreachable(name string, err error) error {
	return fmt.Errorf("the keys of %s cannot be read: %w: %w", name, ask.ErrUnavailable, err)
}

// oidc returns the verifier, made at its first use: a provider that is down at
// the start is tried again.
func (v *verifier) oidc(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	select {
	case v.lock <- struct{}{}:
		defer func() { <-v.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if v.ready != nil {
		return v.ready, nil
	}
	config := &oidc.Config{ClientID: v.Audience, SupportedSigningAlgs: algorithms(), Now: v.now}
	// The key set outlives this request.
	life := oidc.ClientContext(context.WithoutCancel(ctx), v.http)
	switch {
	case v.JWKSFile != "":
		v.ready = oidc.NewVerifier(v.Issuer, keyFile(v.JWKSFile), config)
	case v.JWKSURL != "":
		v.ready = oidc.NewVerifier(v.Issuer, oidc.NewRemoteKeySet(life, v.JWKSURL), config)
	default:
		found, err := oidc.NewProvider(life, v.Issuer)
		if err != nil {
			return nil, err
		}
		v.ready = found.VerifierContext(life, config)
	}
	return v.ready, nil
}

// keyFile is a file with a JSON Web Key Set. It is read at each use, so that a
// ConfigMap can be replaced.
type keyFile string

var errKeyFile = errors.New("key file")

// VerifySignature implements [oidc.KeySet].
func (f keyFile) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	data, err := os.ReadFile(string(f))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeyFile, err)
	}
	keys, err := publicKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeyFile, err)
	}
	return keys.VerifySignature(ctx, raw)
}

// publicKeys parses a JSON Web Key Set and drops keys that are not public.
func publicKeys(data []byte) (oidc.StaticKeySet, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(data, &set); err != nil {
		return oidc.StaticKeySet{}, err
	}
	var keys oidc.StaticKeySet
	for _, k := range set.Keys {
		if k.Valid() && k.IsPublic() {
			keys.PublicKeys = append(keys.PublicKeys, k.Key)
		}
	}
	return keys, nil
}

var errFetch = errors.New("too many fetches")

// bounded limits how often an issuer is requested, and the size of its replies:
// forged tokens with unknown keys must not cause unlimited requests. It reads
// only over TLS or on this machine, also where a discovery document says
// otherwise: an attacker who replaces the keys in transit could forge any token.
type bounded struct {
	limit *ratelimit.Steady
	now   func() time.Time
	host  string
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !secure(r.URL.String()) {
		return nil, fmt.Errorf("%s names the address %s, which is not https", b.host, r.URL.Redacted())
	}
	if !b.limit.Take(b.now()) {
		return nil, fmt.Errorf("%w from %s at the moment", errFetch, b.host)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, maxKeys), res.Body}
	return res, nil
}

// issuerOf returns the unverified claim iss: it only selects the keys to try.
func issuerOf(raw string) (string, error) {
	if strings.Count(raw, ".") != 2 {
		return "", ask.Refuse(ask.CodeUnauthorized, "this is neither an API token (askb_…) nor a JWT")
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if assertion.Unverified(raw, &claims) != nil || claims.Issuer == "" {
		return "", ask.Refuse(ask.CodeUnauthorized, "the token is a damaged JWT, or has no claim iss")
	}
	return claims.Issuer, nil
}
