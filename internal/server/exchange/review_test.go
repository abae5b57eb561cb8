package exchange_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/kube"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
)

// apiServer serves the TokenReview and the keys of an API server.
type apiServer struct {
	mu     sync.Mutex
	tokens map[string]string // token -> pod
	keys   []byte            // that it serves; nil: it refuses to
	asked  int               // reviews
	shown  int               // requests for its keys
	down   bool
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method == http.MethodGet && r.URL.Path == "/openid/v1/jwks" {
		a.shown++
		if a.keys == nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write(a.keys)
		return
	}
	a.asked++
	var in struct {
		Kind string `json:"kind"`
		Spec struct {
			Token     string   `json:"token"`
			Audiences []string `json:"audiences"`
		} `json:"spec"`
	}
	if r.Method != http.MethodPost || r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" || json.NewDecoder(r.Body).Decode(&in) != nil || in.Kind != "TokenReview" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if a.down || r.Header.Get("Authorization") != "Bearer the issuer's own" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message":"tokenreviews.authentication.k8s.io is forbidden"}`))
		return
	}
	status := map[string]any{"authenticated": false, "error": "invalid bearer token"}
	if pod, known := a.tokens[in.Spec.Token]; known {
		status = map[string]any{"authenticated": true, "user": map[string]any{
			"username": "system:serviceaccount:team-a:agent", "groups": []string{"system:serviceaccounts", "system:serviceaccounts:team-a"},
			"extra": map[string]any{"authentication.kubernetes.io/pod-name": []string{pod}},
		}}
		if slices.Contains(in.Spec.Audiences, "askbus") {
			status["audiences"] = []string{"askbus"}
		}
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status})
}

// reviewed makes a source whose tokens an API server reviews, over HTTPS.
func reviewed(t *testing.T, audience string, change ...func(*exchange.SourceOptions)) (*apiServer, *exchange.Source) {
	t.Helper()
	a := &apiServer{tokens: map[string]string{}}
	srv := httptest.NewTLSServer(a)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), "token": []byte("the issuer's own\n"),
		"rules.yaml": []byte(`
issuers: [{ name: cluster, issuer: "` + cluster + `", audience: ` + audience + `, token_review: true }]
rules:
  - issuer: cluster
    match: { "kubernetes.io/namespace": team-*, groups: "system:serviceaccounts:team-a" }
    tenant: "{kubernetes.io/namespace}"
    sessions: ["{kubernetes.io/pod/name}"]
`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(srv.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	api, err := kube.New(dir, host, port)
	if err != nil {
		t.Fatal(err)
	}
	opts := exchange.SourceOptions{ReviewKeys: api.Keys, Review: func(ctx context.Context, token, audience string) (exchange.Review, error) {
		r, err := api.Review(ctx, token, audience)
		return exchange.Review{Authenticated: r.Authenticated, Audiences: r.Audiences, User: r.User.Name, Groups: r.User.Groups, Extra: r.User.Extra}, err
	}}
	for _, c := range change {
		c(&opts)
	}
	s, err := exchange.Open(filepath.Join(dir, "rules.yaml"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return a, s
}

func unauthorized(err error) bool {
	e, ok := errors.AsType[*ask.Error](err)
	return ok && e.Code == ask.CodeUnauthorized
}

// The claims come from the API server's review, not from the token itself.
func TestTheAPIServerReviewsTokens(t *testing.T) {
	t.Parallel()
	a, s := reviewed(t, "askbus")
	nobodys := newSigner(t, "x")
	claims := pod("prod", "another")
	good := nobodys.sign(claims)
	a.tokens[good] = "migrate-x7"
	h, err := s.Holder(t.Context(), good)
	if err != nil || h.Tenant != "team-a" || strings.Join(h.Sessions, " ") != "migrate-x7" || h.Subject != "system:serviceaccount:team-a:agent" || time.Until(h.Expires) > time.Hour {
		t.Fatalf("%+v, %v", h, err)
	}
	expired := nobodys.sign(claims, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})
	endless := nobodys.sign(claims, map[string]any{"exp": nil})
	a.tokens[expired], a.tokens[endless] = "migrate-x7", "migrate-x7"
	other := nobodys.sign(claims, map[string]any{"iss": "https://elsewhere"})
	a.tokens[other] = "migrate-x7"
	for name, c := range map[string]struct{ token, says string }{
		"unknown to the server": {nobodys.sign(claims, map[string]any{"jti": "1"}), "refuses this token"},
		"expired":               {expired, "Z, and the issuer's clock says 20"},
		"without an end":        {endless, "does not say when it expires"},
		"of another issuer":     {other, "does not trust the issuer"},
	} {
		if _, err := s.Holder(t.Context(), c.token); !unauthorized(err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	delete(a.tokens, good) // the pod is gone, long before the token's end
	if _, err := s.Holder(t.Context(), good); !unauthorized(err) {
		t.Errorf("of a pod that is gone: %v", err)
	}
	a.down = true
	if _, err := s.Holder(t.Context(), good); !errors.Is(err, ask.ErrUnavailable) || !strings.Contains(err.Error(), "tokenreviews.authentication.k8s.io is forbidden") {
		t.Errorf("without the right to ask: %v", err)
	}
}

// The server authenticates a token for another audience, but the source refuses
// it.
func TestAReviewedTokenIsForOurAudience(t *testing.T) {
	t.Parallel()
	a, s := reviewed(t, "another")
	token := newSigner(t, "x").sign(pod("team-a", "p"))
	a.tokens[token] = "p"
	if _, err := s.Holder(t.Context(), token); !unauthorized(err) || !strings.Contains(err.Error(), `not for the audience "another"`) {
		t.Error(err)
	}
}

// If the API server does not serve its keys, the reviews of forged tokens are
// bounded, and some are left for other tokens at any time.
func TestReviewsAreBounded(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	a, s := reviewed(t, "askbus", func(o *exchange.SourceOptions) { o.Now = func() time.Time { return clock } })
	good, forged := newSigner(t, "k").sign(pod("team-a", "p")), newSigner(t, "x").sign(pod("team-a", "p"))
	a.tokens[good] = "p"
	for range 1300 {
		_, _ = s.Holder(t.Context(), forged)
	}
	if a.asked != 100 || a.shown != 1 {
		t.Errorf("the API server had %d reviews and was asked %d times for its keys", a.asked, a.shown)
	}
	if _, err := s.Holder(t.Context(), good); !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("at the same moment: %v", err)
	}
	clock = clock.Add(100 * time.Millisecond)
	if _, err := s.Holder(t.Context(), good); err != nil {
		t.Errorf("0.1 s later: %v", err)
	}
}

// Tokens that the API server has not signed are not sent to it, so that they use
// up no reviews.
func TestForgedTokensAreNotReviewed(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	a, s := reviewed(t, "askbus", func(o *exchange.SourceOptions) { o.Now = func() time.Time { return clock } })
	server, next := newSigner(t, "k1"), newSigner(t, "k2")
	forged := newSigner(t, "k1").sign(pod("team-a", "p"))
	good, later := server.sign(pod("team-a", "p")), next.sign(pod("team-a", "p"))
	a.tokens[good], a.tokens[later] = "p", "p"
	a.keys = server.jwks()
	for range 1300 {
		if _, err := s.Holder(t.Context(), forged); !unauthorized(err) || !strings.Contains(err.Error(), "does not verify") {
			t.Fatalf("forged: %v", err)
		}
	}
	if a.asked > 0 || a.shown > 1+20 {
		t.Errorf("%d forged tokens were reviewed, and the keys were read %d times in one minute", a.asked, a.shown)
	}
	if _, err := s.Holder(t.Context(), good); err != nil || a.asked != 1 {
		t.Errorf("a good one: %v after %d reviews", err, a.asked)
	}
	a.keys, clock = next.jwks(), clock.Add(time.Minute)
	if _, err := s.Holder(t.Context(), later); err != nil {
		t.Errorf("one of the server's next key: %v", err)
	}
	a.keys, clock = nil, clock.Add(time.Minute)
	reviews := a.asked
	if _, err := s.Holder(t.Context(), forged); !unauthorized(err) || a.asked != reviews+1 {
		t.Errorf("while the keys cannot be read: %v after %d reviews", err, a.asked-reviews)
	}
}

// A forged token has the keys read again. While an API server takes its time for
// that, tokens that the known keys verify do not wait.
func TestASlowReadOfTheKeysDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	reading, release := make(chan struct{}), make(chan struct{})
	a, s := reviewed(t, "askbus", func(o *exchange.SourceOptions) {
		read := o.ReviewKeys
		o.ReviewKeys = func(ctx context.Context) ([]byte, error) {
			if slow.Load() {
				close(reading)
				<-release
			}
			return read(ctx)
		}
	})
	server := newSigner(t, "k1")
	first, second := server.sign(pod("team-a", "p")), server.sign(pod("team-a", "q"))
	a.tokens[first], a.tokens[second] = "p", "q"
	a.keys = server.jwks()
	if _, err := s.Holder(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	slow.Store(true)
	forged := newSigner(t, "k1").sign(pod("team-a", "p"))
	stranger, other := make(chan error, 1), make(chan error, 1)
	left, leave := context.WithCancel(t.Context())
	go func() { _, err := s.Holder(left, forged); stranger <- err }()
	<-reading
	go func() { _, err := s.Holder(t.Context(), second); other <- err }()
	select {
	case err := <-other:
		if err != nil {
			t.Errorf("a good token during the read: %v", err)
		}
	case <-time.After(waittest.Limit):
		t.Error("a good token waits for the read that a forged one began")
	}
	leave() // does not end the read for the others
	close(release)
	if err := <-stranger; !unauthorized(err) {
		t.Errorf("the forged one: %v", err)
	}
}

func TestReviewsNeedAPod(t *testing.T) {
	t.Parallel()
	rules := "issuers: [{name: k, issuer: k, audience: a, token_review: true}]\nrules: [{issuer: k, match: {sub: s}, tenant: t, sessions: [s]}]\n"
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exchange.Open(path, exchange.SourceOptions{}); err == nil || !strings.Contains(err.Error(), "not a pod") {
		t.Error(err)
	}
	if _, err := exchange.ParseRules([]byte(strings.Replace(rules, "token_review", "jwks_file: f, token_review", 1)), ".", ""); err == nil || !strings.Contains(err.Error(), "use one of the three") {
		t.Error(err)
	}
}
