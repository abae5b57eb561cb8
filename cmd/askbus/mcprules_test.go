package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// oauthIssuer is an authorization server, of which only what a resource server
// reads is there: its discovery document and its keys.
type oauthIssuer struct {
	t   *testing.T
	url string
	key *ecdsa.PrivateKey
}

func newOAuthIssuer(t *testing.T) oauthIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o := oauthIssuer{t: t, key: key}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": o.url, "jwks_uri": o.url + "/keys", "authorization_endpoint": o.url, "token_endpoint": o.url, "id_token_signing_alg_values_supported": []string{"ES256"}})
	}))
	t.Cleanup(srv.Close)
	o.url = srv.URL
	return o
}

// token signs an access token of Mei for a resource, with changes.
func (o oauthIssuer) token(resource string, changes map[string]any) string {
	o.t.Helper()
	claims := map[string]any{
		"iss": o.url, "aud": resource, "sub": "mei", "client_id": "an-editor", "scope": "openid askbus", "groups": []string{"platform"},
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	maker, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: o.key, KeyID: "k"}}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		o.t.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		o.t.Fatal(err)
	}
	signed, err := maker.Sign(body)
	if err != nil {
		o.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		o.t.Fatal(err)
	}
	return text
}

// mcpRules writes rules that let the issuer's tokens ask for two kinds of
// sessions.
func (o oauthIssuer) mcpRules() string {
	o.t.Helper()
	path := filepath.Join(o.t.TempDir(), "mcp.yaml")
	if err := os.WriteFile(path, []byte(`
issuers: [{ name: company, issuer: "`+o.url+`", scopes: [askbus] }]
rules: [{ issuer: company, match: { groups: platform }, tenant: default, sessions: ["{sub}-*", s1] }]
`), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

func TestAnAccessTokenCountsForMCPAlone(t *testing.T) {
	t.Parallel()
	company, other := newOAuthIssuer(t), newOAuthIssuer(t)
	pl, bus := up(t, "--mcp-rules", company.mcpRules())
	resource := pl.context().HTTPURL + "/mcp"
	good := company.token(resource, nil)

	// The metadata that tells a client where to get a token.
	res, err := http.Get(pl.context().HTTPURL + "/.well-known/oauth-protected-resource/mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	about, err := io.ReadAll(res.Body)
	if err != nil || decode(t, string(about))["resource"] != resource || !strings.Contains(string(about), `"authorization_servers":["`+company.url+`"],"scopes_supported":["askbus"]`) {
		t.Errorf("%v %s", err, about)
	}

	accept := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
	list := func(path, bearer string) (int, string, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, pl.context().HTTPURL+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = accept.Clone()
		if bearer != "" {
			req.Header.Set("Authorization", "Bearer "+bearer)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("WWW-Authenticate"), string(text)
	}
	wrongKey := other.token(resource, map[string]any{"iss": company.url})
	for name, c := range map[string]struct {
		path, bearer    string
		status          int
		challenge, says string
	}{
		"a good one":                   {"/mcp", good, 200, "", "AskUserQuestion"},
		"a good one, another session":  {"/mcp?session=mei-7", good, 200, "", "AskUserQuestion"},
		"a token of ours":              {"/mcp?session=s1", pl.token("--role", "agent", "--session", "s1"), 200, "", "AskUserQuestion"},
		"none":                         {"/mcp", "", 401, `Bearer realm="askbus", scope="askbus", resource_metadata="` + resource[:len(resource)-4] + `/.well-known/oauth-protected-resource/mcp"`, "missing token"},
		"for another audience":         {"/mcp", company.token("https://elsewhere.example/mcp", nil), 401, `error="invalid_token"`, "another audience"},
		"for a part of our name":       {"/mcp", company.token(pl.context().HTTPURL, nil), 401, `error="invalid_token"`, "another audience"},
		"expired":                      {"/mcp", company.token(resource, map[string]any{"exp": time.Now().Add(-time.Second).Unix()}), 401, `error="invalid_token"`, "expired"},
		"without an end":               {"/mcp", company.token(resource, map[string]any{"exp": nil}), 401, `error="invalid_token"`, "does not say when it expires"},
		"of another issuer":            {"/mcp", other.token(resource, nil), 401, `error="invalid_token"`, "does not trust the issuer"},
		"signed by another issuer":     {"/mcp", wrongKey, 401, `error="invalid_token"`, "signature does not verify"},
		"without the scope":            {"/mcp", company.token(resource, map[string]any{"scope": "openid"}), 403, `error="insufficient_scope", scope="askbus"`, "lacks the scope"},
		"of somebody without a rule":   {"/mcp", company.token(resource, map[string]any{"groups": "sales"}), 403, "", "no rule"},
		"for a session beyond it":      {"/mcp?session=tom-7", good, 403, "", "may not ask for session tom-7"},
		"of a subject that is a star":  {"/mcp", company.token(resource, map[string]any{"sub": "*"}), 403, "", "cannot be part of a name"},
		"in the path":                  {"/t/" + good + "/mcp", "", 401, `Bearer realm="askbus"`, "unknown or revoked"},
		"at the HTTP API":              {"/v1/asks?session=s1", good, 401, `Bearer realm="askbus"`, "unknown or revoked"},
		"at the hook":                  {"/v1/hook", good, 401, `Bearer realm="askbus"`, "unknown or revoked"},
		"in exchange for a credential": {"/v1/credentials?session=s1", good, 400, "", "the body must be empty"},
		"at A2A":                       {"/a2a", good, 401, `Bearer realm="askbus"`, "unknown or revoked"},
	} {
		status, challenge, text := list(c.path, c.bearer)
		if status != c.status || !strings.Contains(challenge, c.challenge) || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %q %s; want %d %q %q", name, status, challenge, text, c.status, c.challenge, c.says)
		}
	}
	if strings.Contains(bus.err.String(), good[:60]) {
		t.Error("the log has a token")
	}
}

// A call that waits ends with the token that it came with: an access token that
// expires, and one of ours that is revoked.
func TestACallThatWaitsEndsWithItsToken(t *testing.T) { //nolint:tparallel // subtests in turn: parallel ones begin after every other test, and its server would run until then
	t.Parallel()
	company := newOAuthIssuer(t)
	pl, _ := up(t, "--mcp-rules", company.mcpRules())
	own := pl.must(0, "token", "issue", "--session", "s1")
	id, _ := own["id"].(string)
	secret, _ := own["token"].(string)
	for name, c := range map[string]struct {
		bearer func() string // called when its turn comes: it may expire soon
		then   func()
	}{
		"one that expires": {func() string {
			return company.token(pl.context().HTTPURL+"/mcp", map[string]any{"exp": time.Now().Add(8 * time.Second).Unix()})
		}, func() {}},
		"one of ours": {func() string { return secret }, func() { pl.must(0, "token", "revoke", id) }},
	} {
		t.Run(name, func(t *testing.T) {
			waits(t, pl, c.bearer(), c.then)
		})
	}
}

func waits(t *testing.T, pl place, bearer string, then func()) {
	t.Helper()
	question := "Which, " + t.Name()[len(t.Name())-4:] + "?"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, pl.context().HTTPURL+"/mcp?session=s1",
		strings.NewReader(strings.Replace(mcpCall(question), `"wait_seconds":1`, `"wait_seconds":500`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = credentialHeaders(bearer)
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() // the header came, so the call is under way
	pl.pending("s1")
	then()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || strings.Contains(string(text), "answered by") { // it ends
		t.Errorf("%s: %s", res.Status, text)
	}
}
