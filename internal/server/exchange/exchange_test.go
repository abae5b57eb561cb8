package exchange_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/go-jose/go-jose/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// signer is an issuer's key.
type signer struct {
	t   testing.TB
	key *ecdsa.PrivateKey
	id  string
}

func newSigner(t testing.TB, id string) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{t, key, id}
}

func (s *signer) jwks() []byte {
	data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: s.id, Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

// sign signs claims, with changes.
func (s *signer) sign(claims map[string]any, changes ...map[string]any) string {
	s.t.Helper()
	all := maps.Clone(claims)
	for _, c := range changes {
		maps.Copy(all, c)
		maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	}
	body, err := json.Marshal(all)
	if err != nil {
		s.t.Fatal(err)
	}
	maker, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: s.id}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	signed, err := maker.Sign(body)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

const cluster = "https://kubernetes.default.svc.cluster.local"

// pod returns the claims of a pod's service account token.
func pod(namespace, name string) map[string]any {
	return map[string]any{
		"iss": cluster, "aud": []string{"askbus"}, "sub": "system:serviceaccount:" + namespace + ":agent",
		"iat": time.Now().Unix(), "nbf": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": namespace, "pod": map[string]any{"name": name}, "serviceaccount": map[string]any{"name": "agent"}},
	}
}

// place is a bus with an issuer, and a gateway's connection.
type place struct {
	bus     *natstest.Bus
	gateway *nats.Conn
	dir     string
	key     *signer
	fetched *atomic.Int32 // requests for the documents of the issuer with a URL
	site    string        // its URL
	siteKey *signer
	rules   *exchange.Source
}

func open(t *testing.T, opts exchange.Options) place {
	t.Helper()
	pl := place{bus: natstest.Start(t, natstest.Options{Memory: true}), dir: t.TempDir(), key: newSigner(t, "k1"), siteKey: newSigner(t, "s1"), fetched: new(atomic.Int32)}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pl.fetched.Add(1)
		if r.URL.Path == "/keys" {
			_, _ = w.Write(pl.siteKey.jwks())
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": pl.site, "jwks_uri": pl.site + "/keys", "authorization_endpoint": pl.site, "token_endpoint": pl.site, "id_token_signing_alg_values_supported": []string{"ES256"}})
	}))
	t.Cleanup(site.Close)
	pl.site = site.URL
	pl.write(t, "jwks.json", string(pl.key.jwks()))
	rules := `
issuers:
  - { name: cluster, issuer: "` + cluster + `", audience: askbus, jwks_file: jwks.json }
  - { name: site, issuer: "` + pl.site + `", audience: askbus }
rules:
  - issuer: cluster
    match: { "kubernetes.io/namespace": team-*, sub: "system:serviceaccount:*" }
    tenant: "{kubernetes.io/namespace}"
    sessions: ["{kubernetes.io/pod/name}"]
    life: 30m
  - issuer: site
    match: { groups: agents }
    tenant: acme
    sessions: ["ci-*"]
  - issuer: site
    match: { groups: surfaces }
    role: responder
    type: teams
    tenant: acme
`
	source, err := exchange.Open(pl.write(t, "rules.yaml", rules), exchange.SourceOptions{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := rights.LoadIssuer(pl.bus.Dir)
	if err != nil {
		t.Fatal(err)
	}
	opts.Verifier = keys.Verifier()
	opts.Source, pl.rules = source, source
	if opts.Logger == nil {
		opts.Logger = natstest.Logger()
	}
	opts.Tokens = func(_ context.Context, secret string) (exchange.Proof, error) {
		if secret != "askb_good_token" {
			return exchange.Proof{}, ask.Refuse(ask.CodeUnauthorized, "this token is unknown or revoked")
		}
		return exchange.Token("good", "acme", []string{"s1", "ci-*"}, []string{"oidc:id.example.com#mei@example.com"}, time.Now().Add(time.Minute)), nil
	}
	opts.Sign = func(g exchange.Grant, _ string) ([]byte, string, error) {
		c, err := keys.HandOut(pl.bus.URL(), rights.Role{Name: g.Role, Type: g.Type, Tenant: g.Tenant, Session: g.Session}, g.May, g.Life, g.Note)
		if err != nil {
			return nil, "", err
		}
		body, err := json.Marshal(client.Credential(c))
		return body, "", err
	}
	i := exchange.New(pl.bus.Connect(rights.Role{Name: rights.RoleIssuer}), opts)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	pl.gateway = pl.bus.Connect(rights.Role{Name: rights.RoleGateway})
	natstest.Eventually(t, "the issuer answers", func() bool {
		_, err := pl.swap(t, "askb_hello", "")
		return !errors.Is(err, ask.ErrUnavailable)
	})
	return pl
}

func (pl place) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(pl.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (pl place) swap(t *testing.T, token, session string) (client.Credential, error) {
	t.Helper()
	body, err := exchange.Swap(t.Context(), pl.gateway, token, session)
	if err != nil {
		return client.Credential{}, err
	}
	var c client.Credential
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatal(err)
	}
	return c, nil
}

func TestATokenBecomesTheCredentialOfItsSession(t *testing.T) {
	t.Parallel()
	pl := open(t, exchange.Options{})
	soon := time.Now().Add(5 * time.Minute)
	person := map[string]any{"iss": pl.site, "aud": "askbus", "sub": "u1", "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"staff", "agents"}}
	for name, c := range map[string]struct {
		token, session, want string
		until                time.Time
	}{
		"a service account's, of its pod":      {pl.key.sign(pod("team-a", "migrate-x7")), "", "agent/team-a/migrate-x7", time.Now().Add(30 * time.Minute)},
		"one that names its only session":      {pl.key.sign(pod("team-a", "migrate-x7")), "migrate-x7", "agent/team-a/migrate-x7", time.Now().Add(30 * time.Minute)},
		"one that ends before the rule's life": {pl.key.sign(pod("team-b", "p"), map[string]any{"exp": soon.Unix()}), "", "agent/team-b/p", soon},
		"an OIDC issuer's, by its address":     {pl.siteKey.sign(person), "ci-7", "agent/acme/ci-7", time.Now().Add(time.Hour)},
		"a surface's":                          {pl.siteKey.sign(person, map[string]any{"groups": "surfaces"}), "", "responder/teams/acme", time.Now().Add(time.Hour)},
		"an API token":                         {"askb_good_token", "ci-1", "agent/acme/ci-1", time.Now().Add(time.Minute)},
	} {
		cred, err := pl.swap(t, c.token, c.session)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if cred.Name != c.want || cred.Expires.After(c.until.Add(time.Second)) || cred.Expires.Before(c.until.Add(-time.Minute)) {
			t.Errorf("%s: %s until %s; want %s until %s", name, cred.Name, cred.Expires, c.want, c.until)
		}
		nc, err := client.Connect(cred, natstest.Logger())
		if err != nil {
			t.Errorf("%s: connect: %v", name, err)
			continue
		}
		nc.Close()
	}
	list, err := rights.Issued(pl.bus.Dir)
	if err != nil || len(list) != 6 {
		t.Errorf("%d credentials are in the list, %v", len(list), err)
	}
}

// text is a log that can be read while it is written.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

func TestOnlyWhoAskedCanReadTheCredential(t *testing.T) {
	t.Parallel()
	log := &text{}
	pl := open(t, exchange.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	other := pl.bus.Connect(rights.Role{Name: rights.RoleGateway})
	heard, err := other.SubscribeSync("_INBOX.g.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Flush(); err != nil {
		t.Fatal(err)
	}
	token := pl.key.sign(pod("team-a", "migrate-x7"))
	cred, err := pl.swap(t, token, "")
	if err != nil {
		t.Fatal(err)
	}
	seed := cred.Creds[strings.Index(cred.Creds, "SU"):]
	secrets := []string{seed[:58], token, cred.Creds[:200]}
	reply, err := heard.NextMsg(waittest.Limit)
	if err != nil {
		t.Fatalf("another gateway hears nothing, so this test shows nothing: %v", err)
	}
	for _, s := range secrets {
		if strings.Contains(string(reply.Data), s) || strings.Contains(string(reply.Data), base64.StdEncoding.EncodeToString([]byte(s[:30]))) {
			t.Error("another gateway reads the credential")
		}
		if strings.Contains(log.String(), s) {
			t.Error("the log has a token or a credential")
		}
	}
	var sealed struct {
		By   string `json:"by"`
		Data []byte `json:"data"`
	}
	if err := json.Unmarshal(reply.Data, &sealed); err != nil {
		t.Fatal(err)
	}
	own, err := nkeys.CreateCurveKeys()
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := own.Open(sealed.Data, sealed.By); err == nil {
		t.Errorf("another key opens it: %s", opened)
	}
	for _, want := range []string{"level=INFO", "issued a credential", "tenant=team-a", "session=migrate-x7", "issuer=cluster", "token_subject=system:serviceaccount:team-a:agent"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	// Without a key to encrypt to, nothing is issued.
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := pl.gateway.Request("issuev1.credential", body, 10*time.Second)
	if err != nil || !strings.Contains(string(plain.Data), "key to encrypt") {
		t.Errorf("without a key: %v, %s", err, plain.Data)
	}
}

func TestInvalidTokensAreRefused(t *testing.T) {
	t.Parallel()
	pl := open(t, exchange.Options{})
	good := pod("team-a", "p1")
	forger := newSigner(t, "k1")
	signed := pl.key.sign(good)
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	parts := strings.Split(signed, ".")
	other := strings.Split(pl.key.sign(pod("team-a", "p2")), ".")
	shared, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: pl.key.jwks()}, nil) // the public key as a secret
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	confused, err := shared.Sign(body)
	if err != nil {
		t.Fatal(err)
	}
	symmetric, err := confused.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	change := func(name string, v any) string { return pl.key.sign(good, map[string]any{name: v}) }
	wild := pod("team-a", "*")
	for name, c := range map[string]struct {
		token, session string
		code, says     string
	}{
		"forged with another key":        {forger.sign(good), "", ask.CodeUnauthorized, "signature does not verify"},
		"with claims of another":         {parts[0] + "." + other[1] + "." + parts[2], "", ask.CodeUnauthorized, "signature does not verify"},
		"expired":                        {change("exp", time.Now().Add(-time.Minute).Unix()), "", ask.CodeUnauthorized, "Z, and the issuer's clock says 20"},
		"without an end":                 {change("exp", nil), "", ask.CodeUnauthorized, "does not say when it expires"},
		"not valid yet":                  {change("nbf", time.Now().Add(time.Hour).Unix()), "", ask.CodeUnauthorized, "not valid yet"},
		"issued in the future":           {change("iat", time.Now().Add(time.Hour).Unix()), "", ask.CodeUnauthorized, "iat is in the future"},
		"with an end in a string":        {change("exp", fmt.Sprint(time.Now().Add(time.Hour).Unix())), "", ask.CodeUnauthorized, "exp is not a number"},
		"for another audience":           {change("aud", []string{"vault"}), "", ask.CodeUnauthorized, `for the audience "askbus"`},
		"of an unknown issuer":           {change("iss", "https://evil.example.com"), "", ask.CodeUnauthorized, "does not trust the issuer"},
		"of one issuer with another key": {pl.siteKey.sign(good), "", ask.CodeUnauthorized, "signature does not verify"},
		"alg none":                       {head + "." + parts[1] + ".", "", ask.CodeUnauthorized, "unsupported signature algorithm"},
		"a shared key":                   {symmetric, "", ask.CodeUnauthorized, "unsupported signature algorithm"},
		"oversized":                      {signed + strings.Repeat("A", exchange.MaxToken), "", ask.CodeTooLarge, "at most 8192"},
		"no token at all":                {"hello", "", ask.CodeUnauthorized, "neither an API token"},
		"a damaged one":                  {"a.b.c", "", ask.CodeUnauthorized, "damaged JWT"},
		"an unknown API token":           {"askb_x_y", "s1", ask.CodeUnauthorized, "unknown or revoked"},
		"of a namespace without a rule":  {pl.key.sign(pod("prod", "p1")), "", ask.CodeForbidden, "no rule"},
		"a claim that is a wildcard":     {pl.key.sign(wild), "", ask.CodeForbidden, "cannot be part of a name"},
		"a claim that is a subject":      {pl.key.sign(pod("team-a", "a.b")), "", ask.CodeForbidden, "cannot be part of a name"},
		"an empty claim":                 {pl.key.sign(pod("team-a", "")), "", ask.CodeForbidden, "cannot be part of a name"},
		"a claim of letters like ours":   {pl.key.sign(pod("te\u0430m-a", "p")), "", ask.CodeForbidden, "no rule"},
		"a claim with such a letter":     {pl.key.sign(pod("team-\u0430", "p")), "", ask.CodeForbidden, "cannot be part of a name"},
		"a claim in capitals":            {pl.key.sign(pod("TEAM-a", "p")), "", ask.CodeForbidden, "no rule"},
		"a very long claim":              {pl.key.sign(pod("team-"+strings.Repeat("a", 100), "p")), "", ask.CodeForbidden, "cannot be part of a name"},
		"a list instead of a text":       {change("kubernetes.io", map[string]any{"namespace": []string{"team-a", "prod"}, "pod": map[string]any{"name": "p"}}), "", ask.CodeForbidden, "no claim kubernetes.io/namespace"},
		"a claim that is a path":         {change("kubernetes.io", map[string]any{"namespace": map[string]any{"team-a": "x"}}), "", ask.CodeForbidden, "no rule"},
		"another session":                {signed, "p2", ask.CodeForbidden, "not session p2"},
		"every session":                  {"askb_good_token", "*", ask.CodeInvalid, "/session"},
		"no session of several":          {"askb_good_token", "", ask.CodeInvalid, "/session"},
	} {
		_, err := pl.swap(t, c.token, c.session)
		e, ok := errors.AsType[*ask.Error](err)
		if !ok || e.Code != c.code || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%s: %v; want %s, %q", name, err, c.code, c.says)
		}
		if err != nil && len(c.token) > 100 && strings.Contains(err.Error(), c.token[:100]) {
			t.Errorf("%s: the refusal repeats the token", name)
		}
	}
	if list, err := rights.Issued(pl.bus.Dir); err != nil || len(list) > 0 {
		t.Errorf("credentials were issued: %v, %v", list, err)
	}
}

func TestKeysAreReadAgain(t *testing.T) {
	t.Parallel()
	pl := open(t, exchange.Options{})
	next := newSigner(t, "k2")
	if _, err := pl.swap(t, next.sign(pod("team-a", "p")), ""); err == nil {
		t.Fatal("an unknown key counts")
	}
	pl.write(t, "jwks.json", string(next.jwks()))
	if _, err := pl.swap(t, next.sign(pod("team-a", "p")), ""); err != nil {
		t.Errorf("after the file was replaced: %v", err)
	}
}

// However many forged tokens come, the issuer's keys are fetched at a bounded
// rate, and each token is refused: that its key is unknown is known.
func TestFetchesOfKeysAreBounded(t *testing.T) {
	t.Parallel()
	pl := open(t, exchange.Options{})
	forger := newSigner(t, "unknown")
	for i := range 100 {
		_, err := pl.swap(t, forger.sign(map[string]any{"iss": pl.site, "aud": "askbus", "sub": "x", "exp": time.Now().Add(time.Hour).Unix()}), "s")
		if !unauthorized(err) {
			t.Fatalf("forged token %d: %v", i, err)
		}
	}
	if n := pl.fetched.Load(); n > 40 { // of at most two minutes
		t.Errorf("the issuer was asked %d times", n)
	}
}

func TestCredentialsOfOneSubjectAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	pl := open(t, exchange.Options{PerSubject: 3, Now: func() time.Time { return now }})
	for i := range 4 {
		_, err := pl.swap(t, pl.key.sign(pod("team-a", "p")), "")
		if refused := errors.Is(err, ask.ErrQuota); refused != (i == 3) {
			t.Errorf("exchange %d: %v", i, err)
		}
	}
	if _, err := pl.swap(t, pl.key.sign(pod("team-b", "p")), ""); err != nil {
		t.Errorf("another subject: %v", err)
	}
}

// A refused exchange is reported with its subject as far as verified, without
// the token.
func TestRefusedExchangesAreReported(t *testing.T) {
	t.Parallel()
	told := make(chan string, 100)
	pl := open(t, exchange.Options{PerSubject: 1, Refused: func(what string, p exchange.Proof, e *ask.Error) {
		told <- fmt.Sprintf("%s of %s %s: %s", what, p.Provider, p.Subject, e.Code)
	}})
	for len(told) > 0 {
		<-told // from the check that it runs
	}
	sub := "system:serviceaccount:sales:agent"
	for range 2 {
		_, _ = pl.swap(t, pl.key.sign(map[string]any{"iss": cluster, "aud": "askbus", "sub": sub, "exp": time.Now().Add(time.Hour).Unix()}), "s")
	}
	_, _ = pl.swap(t, "askb_bad_token", "s1")
	_, _ = pl.swap(t, "askb_good_token", "s1")
	_, _ = pl.swap(t, "askb_good_token", "s1")
	close(told)
	var got []string
	for line := range told {
		got = append(got, line)
	}
	no := "exchange of cluster " + sub + ": forbidden"
	if want := []string{no, no, "exchange of  : unauthorized", "exchange of api-token good: quota"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestManyExchangesLeaveNothingBehind is not parallel: it counts goroutines.
func TestManyExchangesLeaveNothingBehind(t *testing.T) {
	pl := open(t, exchange.Options{})
	try := func() { _, _ = pl.swap(t, "askb_bad_token", "s1") }
	try()
	subscriptions, goroutines := pl.bus.Subscriptions(), runtime.NumGoroutine()
	for range 2000 {
		try()
	}
	if now := pl.bus.Subscriptions(); now > subscriptions+50 { // a server that has just started adds some of its own
		t.Errorf("%d subscriptions, %d before", now, subscriptions)
	}
	if now := runtime.NumGoroutine(); now > goroutines+50 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
}

func TestInvalidRulesAreErrors(t *testing.T) {
	t.Parallel()
	good := "issuers: [{name: k, issuer: 'https://x', audience: a}]\nrules: [{issuer: k, match: {sub: s}, tenant: t, sessions: [s]}]\n"
	if _, err := exchange.ParseRules([]byte(good), ".", ""); err != nil {
		t.Fatal(err)
	}
	for wrong, says := range map[string]string{
		strings.Replace(good, "audience: a", "audiences: a", 1):            "audiences",
		strings.Replace(good, ", audience: a", "", 1):                      "issuers[0].audience",
		strings.Replace(good, "https://x", "http://x", 1):                  "issuers[0].issuer",
		strings.Replace(good, "{issuer: k, match", "{issuer: j, match", 1): "rules[0].issuer",
		strings.Replace(good, "match: {sub: s}, ", "", 1):                  "rules[0].match",
		strings.Replace(good, "{sub: s}", "{sub: '*'}", 1):                 "rules[0].match",
		strings.Replace(good, "tenant: t", "tenant: '*'", 1):               "rules[0].tenant",
		strings.Replace(good, "[s]", "['a*b']", 1):                         "rules[0].sessions[0]",
		strings.Replace(good, "tenant: t", "tenant: t, role: operator", 1): "rules[0].role",
		strings.Replace(good, "tenant: t", "tenant: t, life: 48h", 1):      "rules[0].life",
	} {
		if _, err := exchange.ParseRules([]byte(wrong), ".", ""); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %s", wrong, err, says)
		}
	}
}

// Anybody can send tokens that name an issuer whose keys are slow to fetch. They
// must not use up the slots of API tokens and of other issuers' tokens.
func TestTokensOfAnIssuerThatDoesNotAnswerLeaveRoom(t *testing.T) {
	t.Parallel()
	pl := open(t, exchange.Options{})
	silent := make(chan struct{})
	release := sync.OnceFunc(func() { close(silent) })
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(release)
	rules, err := os.ReadFile(filepath.Join(pl.dir, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pl.write(t, "rules.yaml", strings.Replace(string(rules), "rules:\n", "  - { name: slow, issuer: slow, audience: askbus, jwks_url: \""+slow.URL+"\" }\nrules:\n  - { issuer: slow, match: { sub: x }, tenant: t, sessions: [s] }\n", 1))
	natstest.Eventually(t, "the rules are read again", func() bool { return slices.Contains(pl.rules.Issuers(), "slow") })
	forged := newSigner(t, "x").sign(map[string]any{"iss": "slow", "aud": "askbus", "sub": "x", "exp": time.Now().Add(time.Hour).Unix()})
	refused := make(chan error, 60)
	for range 60 { // more than the issuer has slots
		go func() {
			_, err := exchange.Swap(context.WithoutCancel(t.Context()), pl.gateway, forged, "")
			refused <- err
		}()
	}
	for range 60 - 16 {
		err := <-refused
		if text := fmt.Sprint(err); !strings.Contains(text, `of "slow" are being verified`) && !strings.Contains(text, "32 exchanges are in progress") { // all came at once
			t.Errorf("got %v", err)
		}
	}
	if _, err := pl.swap(t, pl.key.sign(pod("team-a", "p")), ""); err != nil {
		t.Errorf("a token of another issuer: %v", err)
	}
	if _, err := pl.swap(t, "askb_good_token", "s1"); err != nil {
		t.Errorf("an API token: %v", err)
	}
	release()
	for range 16 {
		if err := <-refused; err == nil {
			t.Error("a forged token was exchanged")
		}
	}
}

// Keys are fetched only over TLS, even if the issuer's own discovery document
// names a plain address.
func TestKeysAreReadOverTLSOnly(t *testing.T) {
	t.Parallel()
	var site *httptest.Server
	asked := 0
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": site.URL, "jwks_uri": "http://192.0.2.1/keys", "authorization_endpoint": site.URL, "token_endpoint": site.URL})
	}))
	t.Cleanup(site.Close)
	path := filepath.Join(t.TempDir(), "rules.yaml")
	rules := "issuers: [{name: k, issuer: \"" + site.URL + "\", audience: a}]\nrules: [{issuer: k, match: {sub: s}, tenant: t, sessions: [s]}]\n"
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := exchange.Open(path, exchange.SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token := newSigner(t, "x").sign(map[string]any{"iss": site.URL, "aud": "a", "sub": "s", "exp": time.Now().Add(time.Hour).Unix()})
	if _, err := s.Holder(t.Context(), token); !errors.Is(err, ask.ErrUnavailable) || !strings.Contains(err.Error(), "not https") || asked != 1 {
		t.Errorf("%v, after %d requests", err, asked)
	}
}
