// Package openidtest is a small OpenID Connect provider for tests, without
// passwords: everybody signs in as Mei, or as the test says.
package openidtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The only client.
const (
	ClientID     = "askbus"
	ClientSecret = "a secret of the test"
)

// Provider is a running provider.
type Provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu       sync.Mutex
	claims   map[string]any
	info     map[string]any // only returned by userinfo
	change   func(map[string]any)
	codes    map[string]url.Values
	refresh  map[string]bool // still valid
	tampered bool
}

// Start starts a provider.
func Start(t testing.TB) *Provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{
		key: key, codes: map[string]url.Values{}, refresh: map[string]bool{},
		claims: map[string]any{"sub": "mei", "name": "Mei", "groups": []string{"platform"}, "email": "mei@example.com", "email_verified": true, "sid": "s1"},
		change: func(map[string]any) {},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.about)
	mux.HandleFunc("GET /jwks", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userinfo)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Principal returns who a person with this subject, or value of another claim, is on the bus.
func (p *Provider) Principal(value string) string {
	return "oidc:" + strings.TrimPrefix(p.URL, "http://") + "#" + value
}

// Says sets the claims of everybody who signs in or is signed in.
func (p *Provider) Says(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.claims, claims)
}

// SaysAtUserinfo sets claims that only userinfo returns.
func (p *Provider) SaysAtUserinfo(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info = claims
}

// Lies changes ID tokens before they are signed.
func (p *Provider) Lies(change func(claims map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = change
}

// Tampers breaks the signatures of ID tokens.
func (p *Provider) Tampers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tampered = true
}

// Ends invalidates all refresh tokens.
func (p *Provider) Ends() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.refresh)
}

func (p *Provider) about(w http.ResponseWriter, _ *http.Request) {
	write(w, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/jwks",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"ES256"},
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := p.key.PublicKey.Bytes()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, map[string]any{"keys": []any{map[string]any{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k1", "x": encode(point[1:33]), "y": encode(point[33:]),
	}}})
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != ClientID || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "not as it should be: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != ClientID || secret != url.QueryEscape(ClientSecret) {
		refuse(w, "invalid_client")
		return
	}
	claims := maps.Clone(p.claims)
	now := time.Now()
	maps.Copy(claims, map[string]any{"iss": p.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	switch r.FormValue("grant_type") {
	case "authorization_code":
		q, ok := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if !ok || encode(sum[:]) != q.Get("code_challenge") || r.FormValue("redirect_uri") != q.Get("redirect_uri") {
			refuse(w, "invalid_grant")
			return
		}
		claims["nonce"] = q.Get("nonce")
	case "refresh_token":
		old := r.FormValue("refresh_token")
		if !p.refresh[old] {
			refuse(w, "invalid_grant")
			return
		}
		delete(p.refresh, old) // each is valid once
	}
	p.change(claims)
	next := rand.Text()
	p.refresh[next] = true
	token := p.sign(claims)
	if p.tampered {
		token = token[:len(token)-4] + "AAAA"
	}
	write(w, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 3600, "id_token": token, "refresh_token": next})
}

func (p *Provider) userinfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer access" {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	said := map[string]any{"sub": p.claims["sub"]}
	maps.Copy(said, p.info)
	write(w, said)
}

// LogoutToken returns a message that somebody has signed out; change forges
// one.
func (p *Provider) LogoutToken(change map[string]any) string {
	now := time.Now()
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": rand.Text(), "sub": "mei", "sid": "s1",
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return p.sign(claims)
}

func (p *Provider) sign(claims map[string]any) string {
	body, _ := json.Marshal(claims)
	text := encode([]byte(`{"alg":"ES256","kid":"k1","typ":"JWT"}`)) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		return err.Error()
	}
	return text + "." + encode(slices.Concat(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))))
}

func refuse(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
