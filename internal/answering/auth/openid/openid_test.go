package openid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/auth/openid"
	"github.com/askbus/askbus/internal/testkit/openidtest"
	"github.com/askbus/askbus/pkg/ask"
)

func provider(t *testing.T, at *openidtest.Provider, change ...func(*openid.Options)) *openid.Provider {
	t.Helper()
	opts := openid.Options{
		Issuer: at.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret,
		Redirect: "http://127.0.0.1:1/login/oidc/callback", Rules: auth.GroupRules("groups", []string{"platform"}),
	}
	for _, c := range change {
		c(&opts)
	}
	p, err := openid.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var flow = auth.Flow{State: "state", Nonce: "nonce", Verifier: strings.Repeat("v", 43)}

// code visits the provider as a browser does, and returns the code.
func code(t *testing.T, p *openid.Provider, f auth.Flow) string {
	t.Helper()
	at, err := p.Begin(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil || back.Query().Get("state") != f.State {
		t.Fatal(res.Status, back, err)
	}
	return back.Query().Get("code")
}

func TestTheProviderIsToldWhenToAsk(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	offline := func(o *openid.Options) { o.Scopes = []string{"openid", "offline_access"} }
	for _, c := range []struct {
		login  bool
		change []func(*openid.Options)
		want   string
	}{{false, nil, ""}, {true, nil, "login"}, {false, []func(*openid.Options){offline}, "consent"}, {true, []func(*openid.Options){offline}, "login consent"}} {
		f := flow
		f.Login = c.login
		to, err := provider(t, at, c.change...).Begin(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := url.Parse(to); err != nil || u.Query().Get("prompt") != c.want {
			t.Errorf("%+v: %s %v", c, to, err)
		}
	}
}

func TestAPersonIsWhoTheProviderSays(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	p := provider(t, at)
	in, err := p.Finish(t.Context(), flow, code(t, p, flow))
	if err != nil {
		t.Fatal(err)
	}
	if in.By.Principal != at.Principal("mei") || in.By.Name != "Mei" || in.By.Proof != "oidc" || !slices.Equal(in.By.Groups, []string{"platform"}) {
		t.Errorf("%+v", in.By)
	}
	if !in.Access.Decides(in.By, ask.Key{Tenant: "any", Session: "s"}, nil) || in.Subject != "mei" || in.Session != "s1" || in.Token == "" {
		t.Errorf("%+v", in)
	}
	if d := time.Until(in.Until); d < 11*time.Hour || d > 12*time.Hour {
		t.Errorf("it lasts %s", d)
	}
	if _, err := p.Finish(t.Context(), flow, "a code that was used"); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a code of nobody: %v", err)
	}
	other := flow
	other.Verifier = strings.Repeat("w", 43)
	if _, err := p.Finish(t.Context(), other, code(t, p, flow)); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a code with another verifier: %v", err)
	}
}

// A subject names a person at its provider only, and so does an address: another provider's are other people.
func TestPeopleOfTwoProvidersAreTwoPeople(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*openid.Options){"by subject": func(*openid.Options) {}, "by address": func(o *openid.Options) { o.PrincipalClaim = "email" }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			for range 2 {
				at := openidtest.Start(t)
				p := provider(t, at, change)
				in, err := p.Finish(t.Context(), flow, code(t, p, flow))
				if err != nil {
					t.Fatal(err)
				}
				out, err := p.Logout(t.Context(), at.LogoutToken(nil))
				if err != nil || in.Issuer != at.URL || out.Issuer != at.URL {
					t.Errorf("%+v, %+v, %v", in, out, err)
				}
				seen[in.By.Principal] = true
			}
			if len(seen) != 2 {
				t.Error("the two are one:", seen)
			}
		})
	}
}

func TestInvalidTokensAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie  func(map[string]any)
		says string
	}{
		"another nonce":            {func(c map[string]any) { c["nonce"] = "x" }, "nonce"},
		"no nonce":                 {func(c map[string]any) { delete(c, "nonce") }, "nonce"},
		"another audience":         {func(c map[string]any) { c["aud"] = "another" }, "audience"},
		"many audiences, not ours": {func(c map[string]any) { c["aud"], c["azp"] = []string{"askbus", "another"}, "another" }, "another client"},
		"many audiences, no azp":   {func(c map[string]any) { c["aud"] = []string{"askbus", "another"} }, "another client"},
		"expired":                  {func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }, "expired"},
		"issued in the future":     {func(c map[string]any) { c["iat"] = time.Now().Add(time.Hour).Unix() }, "iat is in the future"},
		"an end in a string":       {func(c map[string]any) { c["exp"] = fmt.Sprint(time.Now().Add(time.Hour).Unix()) }, "exp is not a number"},
		"another issuer":           {func(c map[string]any) { c["iss"] = "https://evil.example" }, "issue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := openidtest.Start(t)
			at.Lies(c.lie)
			p := provider(t, at)
			if _, err := p.Finish(t.Context(), flow, code(t, p, flow)); !errors.Is(err, ask.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a broken signature", func(t *testing.T) {
		t.Parallel()
		at := openidtest.Start(t)
		at.Tampers()
		p := provider(t, at)
		if _, err := p.Finish(t.Context(), flow, code(t, p, flow)); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhatClaimsMake(t *testing.T) {
	t.Parallel()
	rules, err := auth.ParseRules([]byte("rules:\n- when: {email: ['*@example.com']}\n  role: reader\n  tenants: [acme]\n"))
	if err != nil {
		t.Fatal(err)
	}
	email := func(o *openid.Options) { o.PrincipalClaim, o.Rules = "email", rules }
	for name, c := range map[string]struct {
		claims, info map[string]any
		change       func(*openid.Options)
		want         string // what names the person; empty: refused
	}{
		"an e-mail address":         {nil, nil, email, "mei@example.com"},
		"one that is not verified":  {map[string]any{"email_verified": false}, nil, email, ""},
		"a long number":             {map[string]any{"uid": json.Number("9007199254740993")}, nil, func(o *openid.Options) { o.PrincipalClaim = "uid" }, "9007199254740993"},
		"a list":                    {map[string]any{"sub": "mei", "ids": []string{"mei", "ceo"}}, nil, func(o *openid.Options) { o.PrincipalClaim = "ids" }, ""},
		"an empty claim":            {map[string]any{"uid": ""}, nil, func(o *openid.Options) { o.PrincipalClaim = "uid" }, ""},
		"a very long claim":         {map[string]any{"uid": strings.Repeat("m", 300)}, nil, func(o *openid.Options) { o.PrincipalClaim = "uid" }, ""},
		"another kind of principal": {map[string]any{"uid": "os:mei"}, nil, func(o *openid.Options) { o.PrincipalClaim = "uid" }, "os:mei"},
		"one elsewhere":             {map[string]any{"email": "mei@evil.example"}, nil, email, ""},
		"groups at userinfo alone":  {map[string]any{"groups": nil}, map[string]any{"groups": []string{"platform"}}, func(*openid.Options) {}, ""},
		"groups that the token lacks": {map[string]any{"roles": []string{"x"}}, map[string]any{"teams": []string{"platform"}}, func(o *openid.Options) {
			o.GroupsClaim, o.Rules = "teams", auth.GroupRules("teams", []string{"platform"})
		}, "mei"},
		"groups below a path":          {map[string]any{"realm_access": map[string]any{"roles": []string{"platform"}}}, nil, func(o *openid.Options) { o.Rules = auth.GroupRules("realm_access.roles", []string{"platform"}) }, "mei"},
		"no group":                     {map[string]any{"groups": []string{}}, nil, func(*openid.Options) {}, ""},
		"everybody":                    {map[string]any{"groups": []string{}}, nil, func(o *openid.Options) { o.Rules = auth.GroupRules("groups", []string{"*"}) }, "mei"},
		"a principal with a space":     {map[string]any{"sub": "mei tom"}, nil, func(*openid.Options) {}, ""},
		"a principal that hides signs": {map[string]any{"sub": "mei\u202e"}, nil, func(*openid.Options) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := openidtest.Start(t)
			at.Says(c.claims)
			at.SaysAtUserinfo(c.info)
			p := provider(t, at, c.change)
			in, err := p.Finish(t.Context(), flow, code(t, p, flow))
			if c.want == "" && !errors.Is(err, ask.ErrForbidden) || c.want != "" && (err != nil || in.By.Principal != at.Principal(c.want)) {
				t.Errorf("%+v, %v", in, err)
			}
		})
	}
}

// An address counts as verified if the document that has it says so.
func TestAnAddressIsVerifiedWhereItStands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info map[string]any
		want string
	}{
		"the same address at userinfo":  {map[string]any{"email": "ceo@example.com", "email_verified": true}, "ceo@example.com"},
		"another address at userinfo":   {map[string]any{"email": "mei@evil.example", "email_verified": true}, ""},
		"no address at userinfo":        {map[string]any{"email_verified": true}, ""},
		"nothing at userinfo":           {nil, ""},
		"a text instead of a true":      {map[string]any{"email": "ceo@example.com", "email_verified": "yes"}, ""},
		"a list of the address's names": {map[string]any{"email": []string{"ceo@example.com"}, "email_verified": true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := openidtest.Start(t)
			at.Lies(func(claims map[string]any) {
				claims["email"] = "ceo@example.com"
				delete(claims, "email_verified")
			})
			at.SaysAtUserinfo(c.info)
			p := provider(t, at, func(o *openid.Options) { o.PrincipalClaim = "email" })
			in, err := p.Finish(t.Context(), flow, code(t, p, flow))
			if (err == nil) != (c.want != "") || err == nil && in.By.Principal != at.Principal(c.want) {
				t.Errorf("%+v, %v", in, err)
			}
		})
	}
}

// Codes and secrets go over TLS only, also where a discovery document says
// otherwise.
func TestAProviderIsCalledOverTLSOnly(t *testing.T) {
	t.Parallel()
	var site *httptest.Server
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": site.URL, "authorization_endpoint": site.URL, "token_endpoint": "http://192.0.2.1/token", "jwks_uri": site.URL, "userinfo_endpoint": "http://192.0.2.1/userinfo",
		})
	}))
	t.Cleanup(site.Close)
	p := provider(t, openidtest.Start(t), func(o *openid.Options) { o.Issuer = site.URL })
	if _, err := p.Finish(t.Context(), flow, "code"); err == nil || !strings.Contains(err.Error(), "not https") {
		t.Errorf("a code: %v", err)
	}
	if _, err := p.Refresh(t.Context(), "token"); err == nil || !strings.Contains(err.Error(), "not https") {
		t.Errorf("a refresh: %v", err)
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	p := provider(t, at)
	in, err := p.Finish(t.Context(), flow, code(t, p, flow))
	if err != nil {
		t.Fatal(err)
	}
	at.Says(map[string]any{"groups": []string{"platform", "oncall"}})
	got, err := p.Refresh(t.Context(), in.Token)
	if err != nil || !slices.Contains(got.By.Groups, "oncall") || got.Token == in.Token || got.Token == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.Refresh(t.Context(), in.Token); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("a token that was used: %v", err)
	}
	at.Says(map[string]any{"groups": []string{"sales"}})
	if _, err := p.Refresh(t.Context(), got.Token); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("who left the group: %v", err)
	}
	at.Close()
	if _, err := p.Refresh(t.Context(), got.Token); err == nil || errors.Is(err, ask.ErrForbidden) {
		t.Errorf("while the provider is away: %v", err)
	}
}

// logged gets what is logged, and ends what logs.
type logged struct {
	strings.Builder
	end func()
}

func (l *logged) Write(line []byte) (int, error) {
	defer l.end()
	return l.Builder.Write(line)
}

func TestAProviderThatIsAwayIsLoggedBeforeAnybodySignsIn(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	at.Close()
	ctx, end := context.WithCancel(t.Context())
	said := &logged{end: end}
	if err := provider(t, at, func(o *openid.Options) { o.Logger = slog.New(slog.NewTextHandler(said, nil)) }).Run(ctx); err != nil || !strings.Contains(said.String(), "nobody can sign in at the provider") {
		t.Errorf("%v: %s", err, said)
	}
}

func TestLogoutTokens(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	p := provider(t, at)
	if out, err := p.Logout(t.Context(), at.LogoutToken(nil)); err != nil || out.Subject != "mei" || out.Session != "s1" || out.Issued.IsZero() {
		t.Errorf("%+v, %v", out, err)
	}
	for name, change := range map[string]map[string]any{
		"another audience": {"aud": "x"}, "another issuer": {"iss": "https://evil.example"}, "expired": {"exp": 1}, "no event": {"events": nil},
		"an ID token": {"nonce": "n"}, "nobody": {"sub": nil, "sid": nil}, "no time": {"iat": nil},
		"issued in the future": {"iat": time.Now().Add(time.Hour).Unix()}, "an end in a string": {"exp": fmt.Sprint(time.Now().Add(time.Hour).Unix())},
	} {
		if _, err := p.Logout(t.Context(), at.LogoutToken(change)); !errors.Is(err, ask.ErrInvalid) && err == nil {
			t.Errorf("%s was believed", name)
		}
	}
	if _, err := p.Logout(t.Context(), openidtest.Start(t).LogoutToken(map[string]any{"iss": at.URL})); err == nil {
		t.Error("a token of another key was believed")
	}
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	t.Parallel()
	good := openid.Options{Issuer: "https://id.example", ClientID: "c", Redirect: "https://x/y", Rules: auth.GroupRules("g", []string{"*"})}
	for name, change := range map[string]func(*openid.Options){
		"an issuer without TLS": func(o *openid.Options) { o.Issuer = "http://id.example" },
		"no issuer":             func(o *openid.Options) { o.Issuer = "id.example" },
		"two issuers":           func(o *openid.Options) { o.Issuer = "https://id.example,https://contractors.example" },
		"no client":             func(o *openid.Options) { o.ClientID = "" },
		"no rules":              func(o *openid.Options) { o.Rules = nil },
		"scopes without openid": func(o *openid.Options) { o.Scopes = []string{"email"} },
	} {
		opts := good
		change(&opts)
		if _, err := openid.New(opts); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := openid.New(good); err != nil {
		t.Error(err)
	}
}
