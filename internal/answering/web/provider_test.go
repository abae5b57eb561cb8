package web_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/auth/openid"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/testkit/openidtest"
	"github.com/askbus/askbus/pkg/ask"
)

// withProvider returns an inbox with sign-in at a provider.
func withProvider(t *testing.T, b *bus, at *openidtest.Provider, rules *auth.Rules, change ...func(*web.Options)) inbox {
	t.Helper()
	return serve(t, b, append(change, func(o *web.Options) {
		p, err := openid.New(openid.Options{
			Name: "Acme", Issuer: at.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, Redirect: o.BaseURL + web.ProviderPath, Rules: rules,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Provider = p
	})...)
}

func TestSignInAtAProvider(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(question("a", text("t", "And you?")), 0)
	at := openidtest.Start(t)
	in := withProvider(t, b, at, auth.GroupRules("groups", []string{"platform"}))

	t.Run("the outcome names the person and the proof", func(t *testing.T) {
		t.Parallel()
		u := in.stranger(t)
		if res := u.get("/ask/" + k.String()); res.status != http.StatusUnauthorized || !contains(res.body, "Continue with") || !contains(res.body, "Acme") || !contains(res.body, "to=%2Fask%2F") {
			t.Fatalf("%d %s", res.status, res.body)
		}
		if res := u.get("/login/oidc?to=/ask/" + k.String()); res.status != http.StatusOK || res.path != "/ask/"+k.String() {
			t.Fatalf("it leads to %d %s", res.status, res.path)
		}
		u.post("/ask/"+k.String()+"/answer", url.Values{"text:t": {"fine"}, "answer_id": {"x"}})
		if o := b.outcome(k); o == nil || o.By.Principal != at.Principal("mei") || o.By.Proof != "oidc" || o.By.Groups[0] != "platform" {
			t.Errorf("the outcome is %+v", o)
		}
	})
	t.Run("a callback that this browser did not begin", func(t *testing.T) {
		t.Parallel()
		victim, attacker := in.stranger(t), in.stranger(t)
		var back string
		attacker.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if r.URL.Path == web.ProviderPath {
				back = r.URL.RequestURI()
				return http.ErrUseLastResponse
			}
			return nil
		}
		attacker.get("/login/oidc")
		victim.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for name, prepare := range map[string]func(){"no flow": func() {}, "a flow of its own": func() { victim.get("/login/oidc") }} {
			prepare()
			if res := victim.get(back); res.status != http.StatusUnauthorized || !contains(res.body, "You are not signed in.") {
				t.Errorf("%s: %d", name, res.status)
			}
		}
		if res := attacker.get(back + "x"); res.status != http.StatusUnauthorized {
			t.Errorf("another state: %d", res.status)
		}
		if res := attacker.get(back); res.status != http.StatusUnauthorized { // each flow ends once
			t.Errorf("the same flow again: %d", res.status)
		}
	})
	t.Run("the provider's error is shown as text", func(t *testing.T) {
		t.Parallel()
		u := in.stranger(t)
		var state string
		u.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if s := r.URL.Query().Get("state"); s != "" {
				state = s
			}
			return http.ErrUseLastResponse
		}
		u.get("/login/oidc")
		location := u.do(http.MethodGet, "/login/oidc", nil).header.Get("Location")
		state = mustURL(t, location).Query().Get("state")
		res := u.get(web.ProviderPath + "?" + url.Values{"state": {state}, "error": {"access_denied"}, "error_description": {"<b>no</b>"}}.Encode())
		if res.status != http.StatusUnauthorized || !contains(res.body, "access_denied &lt;b&gt;no") {
			t.Errorf("%d %s", res.status, res.body)
		}
	})
}

// A person with two tabs signs in in both: neither ends the other's sign-in, and
// a sign-in that is cancelled still knows where it was to lead.
func TestTabsSignInAtOnce(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	u := withProvider(t, newBus(), at, auth.GroupRules("groups", []string{"platform"})).stranger(t)
	follow := u.client.CheckRedirect
	begin := func(to string) (back string) {
		t.Helper()
		u.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if r.URL.Path != web.ProviderPath {
				return nil
			}
			back = r.URL.RequestURI()
			return http.ErrUseLastResponse
		}
		u.get("/login/oidc?" + url.Values{"to": {to}}.Encode())
		u.client.CheckRedirect = follow
		return back
	}
	first, second, cancelled := begin("/history?q=x"), begin("/waiting"), begin("/?show=team")
	state := mustURL(t, cancelled).Query().Get("state")
	if res := u.get(web.ProviderPath + "?" + url.Values{"state": {state}, "error": {"access_denied"}}.Encode()); res.status != http.StatusUnauthorized || !contains(res.body, "to=%2F%3Fshow%3Dteam") {
		t.Errorf("a cancelled sign-in: %d %s", res.status, res.body)
	}
	for back, page := range map[string]string{first: "/history?q=x", second: "/waiting"} {
		if res := u.get(back); res.status != http.StatusOK || res.path != page {
			t.Errorf("a tab for %s is at %d %s", page, res.status, res.path)
		}
	}
	for range 20 { // begun, and left at the provider
		begin("/")
	}
	if n := len(u.client.Jar.Cookies(mustURL(t, u.in.URL))); n > 9 {
		t.Errorf("20 sign-ins that were begun left %d cookies", n)
	}
}

// Who signs out of a shared browser is not signed in again there by the next one's click: the provider is told to ask. A
// sign-in that ends by itself changes nothing.
func TestWhoSignedOutIsAskedForAtTheProvider(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	u := withProvider(t, newBus(), at, auth.GroupRules("groups", []string{"platform"})).stranger(t)
	var prompt string
	follow := u.client.CheckRedirect
	u.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), at.URL) {
			prompt = r.URL.Query().Get("prompt")
		}
		if follow != nil {
			return follow(r, via)
		}
		return nil
	}
	for i, want := range []string{"", "", "login", ""} {
		if res := u.get("/login/oidc"); res.status != http.StatusOK || res.path != "/" || prompt != want {
			t.Errorf("sign-in %d: %d %s, with the prompt %q, not %q", i, res.status, res.path, prompt, want)
		}
		if i == 1 {
			u.post("/logout", nil)
		}
	}
}

// Strangers begin as many sign-ins as they like. None that proves nobody's
// identity leaves an entry in shared state, which has room for a limited number
// of them and would then have none for anybody's sign-in.
func TestStrangersSignInsLeaveNoEntry(t *testing.T) {
	t.Parallel()
	b, at := newBus(), openidtest.Start(t)
	in := withProvider(t, b, at, auth.GroupRules("groups", []string{"platform"}), func(o *web.Options) { o.Passkeys = nobodysPasskeys{} })
	before := b.people.usedUp()
	for range 20 {
		u := in.stranger(t)
		u.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for _, query := range []url.Values{{"code": {"of nobody"}}, {"state": {"x"}}, {"error": {"access_denied"}}} {
			state := mustURL(t, u.get("/login/oidc").header.Get("Location")).Query().Get("state")
			if query.Get("state") == "" {
				query.Set("state", state)
			}
			if res := u.get(web.ProviderPath + "?" + query.Encode()); state == "" || res.status != http.StatusUnauthorized {
				t.Errorf("%s: status %d", query, res.status)
			}
		}
		said := struct {
			Kept string `json:"kept"`
		}{}
		if status, body := u.sends("/login/passkey/options", `{}`); status != http.StatusOK || json.Unmarshal(body, &said) != nil {
			t.Fatalf("a ceremony: status %d", status)
		}
		if status, body := u.sends("/login/passkey", `{"kept":"`+said.Kept+`","answer":{}}`); status != http.StatusUnprocessableEntity || !strings.Contains(string(body), "of nobody") {
			t.Errorf("a passkey of nobody: status %d: %s", status, body)
		}
	}
	if n := b.people.usedUp() - before; n > 0 {
		t.Errorf("strangers left %d entries", n)
	}
	if res := in.stranger(t).get("/login/oidc"); res.status != http.StatusOK || b.people.usedUp() != before+1 {
		t.Errorf("a person's sign-in: status %d, %d entries", res.status, b.people.usedUp()-before)
	}
}

// nobodysPasskeys accepts no passkey.
type nobodysPasskeys struct{ web.Passkeys }

func (nobodysPasskeys) Origin() string                       { return "http://localhost" }
func (nobodysPasskeys) Any() bool                            { return true }
func (nobodysPasskeys) BeginLogin() (_, _ []byte, err error) { return []byte(`{}`), []byte(`{}`), nil }

func (nobodysPasskeys) FinishLogin(context.Context, []byte, []byte) (auth.Person, error) {
	return auth.Person{}, ask.Refuse(ask.CodeInvalid, "this passkey is of nobody")
}

func (nobodysPasskeys) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// sends posts JSON.
func (u user) sends(path, body string) (status int, said []byte) {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), http.MethodPost, u.in.URL+path, strings.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := u.client.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	if said, err = io.ReadAll(res.Body); err != nil {
		u.t.Fatal(err)
	}
	return res.StatusCode, said
}

// Whoever is refused reads why in their language, and gets back to where they can try again.
func TestARefusedSignInSaysWhyInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	at.Lies(func(c map[string]any) { c["groups"] = []string{"sales"} })
	u := withProvider(t, newBus(), at, auth.GroupRules("groups", []string{"platform"})).stranger(t)
	chinese := []string{"Accept-Language", "zh-CN"}
	if res := u.do(http.MethodGet, "/login/oidc", nil, chinese...); res.status != http.StatusForbidden || !contains(res.body, "此收件箱没有让你进入的规则。") || !contains(res.body, `href="/"`) {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := u.do(http.MethodGet, web.ProviderPath+"?state=x", nil, chinese...); res.status != http.StatusUnauthorized || !contains(res.body, "这次登录不是由此浏览器发起的，或已超过十分钟。") {
		t.Errorf("%d %s", res.status, res.body)
	}
}

func TestRefusedSignInsAtAProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie    func(map[string]any)
		status int
	}{
		"of no group":      {func(c map[string]any) { c["groups"] = []string{"sales"} }, http.StatusForbidden},
		"another nonce":    {func(c map[string]any) { c["nonce"] = "x" }, http.StatusUnauthorized},
		"another audience": {func(c map[string]any) { c["aud"] = "x" }, http.StatusUnauthorized},
		"expired":          {func(c map[string]any) { c["exp"] = 1 }, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := openidtest.Start(t)
			at.Lies(c.lie)
			u := withProvider(t, newBus(), at, auth.GroupRules("groups", []string{"platform"})).stranger(t)
			if res := u.get("/login/oidc"); res.status != c.status || len(u.client.Jar.Cookies(mustURL(t, u.in.URL))) != 0 {
				t.Errorf("%d %s", res.status, res.body)
			}
		})
	}
	t.Run("while the provider is away", func(t *testing.T) {
		t.Parallel()
		at := openidtest.Start(t)
		in := withProvider(t, newBus(), at, auth.GroupRules("groups", []string{"*"}))
		at.Close()
		if res := in.stranger(t).get("/login/oidc"); res.status != http.StatusServiceUnavailable || !contains(res.body, `href="/"`) { // to try again: the address may be one that works once
			t.Errorf("%d %s", res.status, res.body)
		}
		if res := in.signedIn(t, mei).get("/"); res.status != http.StatusOK {
			t.Errorf("a person who is already signed in: %d", res.status)
		}
	})
}

func TestTheProviderSignsPeopleOut(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	in := withProvider(t, newBus(), at, auth.GroupRules("groups", []string{"platform"}))
	u := in.stranger(t)
	if res := u.get("/login/oidc"); res.status != http.StatusOK {
		t.Fatal(res.status)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.client.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	provider := in.stranger(t)
	for _, forged := range []string{"", "x.y.z", at.LogoutToken(map[string]any{"aud": "x"}), at.LogoutToken(map[string]any{"nonce": "n"}), openidtest.Start(t).LogoutToken(nil)} {
		if res := provider.post("/login/oidc/logout", url.Values{"logout_token": {forged}}); res.status != http.StatusBadRequest {
			t.Errorf("%.20q: %d", forged, res.status)
		}
	}
	if res := u.get("/"); res.status != http.StatusOK {
		t.Fatalf("a forged message signed somebody out: %d", res.status)
	}
	if res := provider.post("/login/oidc/logout", url.Values{"logout_token": {at.LogoutToken(nil)}}); res.status != http.StatusOK {
		t.Fatal(res.status, res.body)
	}
	buf := make([]byte, 1024)
	for err == nil { // until the open stream ends
		_, err = res.Body.Read(buf)
	}
	if res := u.get("/"); res.status != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", res.status)
	}
}

func TestSignInByProxy(t *testing.T) {
	t.Parallel()
	prefix := func(s string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(s)} }
	rules, err := auth.ParseRules([]byte("rules: [{when: {groups: [platform]}, role: reader, tenants: [acme]}]"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBus()
	b.ask(ask.Ask{ID: "a", Tenant: "acme", Questions: []ask.Question{text("t", "For acme?")}}, 0)
	b.ask(ask.Ask{ID: "b", Tenant: "other", Questions: []ask.Question{text("t", "A hidden one?")}}, 0)
	near := serve(t, b, func(o *web.Options) {
		o.Proxy = &web.Proxy{Header: "X-Forwarded-User", Groups: "X-Forwarded-Groups", Networks: prefix("127.0.0.0/8"), Rules: rules}
	})
	u := near.stranger(t)
	res := u.do(http.MethodGet, "/?show=all", nil, "X-Forwarded-User", "mei@example.com", "X-Forwarded-Groups", "x, platform")
	if res.status != http.StatusOK || !contains(res.body, "For acme?") || contains(res.body, "A hidden") || !contains(res.body, "mei@example.com") {
		t.Errorf("%d %s", res.status, res.body)
	}
	for name, headers := range map[string][]string{
		"no rule":           {"X-Forwarded-User", "tom"},
		"nobody":            {"X-Forwarded-User", ""},
		"somebody with two": {"X-Forwarded-User", "mei, tom", "X-Forwarded-Groups", "platform"},
	} {
		if res := u.do(http.MethodGet, "/", nil, headers...); res.status != http.StatusForbidden || contains(res.body, "For acme") {
			t.Errorf("%s: %d", name, res.status)
		}
	}
	far := serve(t, b, func(o *web.Options) { o.Proxy = &web.Proxy{Header: "X-Forwarded-User", Networks: prefix("10.0.0.0/8")} })
	if res := far.stranger(t).do(http.MethodGet, "/", nil, "X-Forwarded-User", "mei"); res.status != http.StatusUnauthorized || contains(res.body, "For acme") {
		t.Errorf("the header from another address: %d", res.status)
	}
	for name, bad := range map[string]*web.Proxy{
		"ASKBUS_WEB_PROXY_NETWORKS": {Header: "X-Forwarded-User"},
		"it contains every address": {Header: "X-Forwarded-User", Networks: prefix("0.0.0.0/0")},
		"ASKBUS_WEB_PROXY_HEADER":   {Networks: prefix("10.0.0.0/8")},
		"ASKBUS_WEB_PROXY_REALM":    {Header: "X-Forwarded-User", Realm: "of staff", Networks: prefix("10.0.0.0/8")},
	} {
		if _, err := web.New(b, b, web.Options{CookieKey: cookieKey, Sessions: &b.people, Proxy: bad}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The people of two proxies are different people where the operator names them, and no user's name leads into another realm.
func TestPeopleOfTwoProxies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ realm, user, principal string }{
		{"", "mei", "proxy:mei"},
		{"staff", "mei", "proxy:staff#mei"},
		{"staff", "x#mei", "proxy:staff#x#mei"},
		{"", "staff#mei", ""},
	} {
		b := newBus()
		k := b.ask(ask.Ask{ID: "a", Tenant: "acme", Questions: []ask.Question{text("t", "And you?")}}, 0)
		in := serve(t, b, func(o *web.Options) {
			o.Proxy = &web.Proxy{Header: "X-Forwarded-User", Realm: c.realm, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		})
		res := in.stranger(t).do(http.MethodPost, "/ask/"+k.String()+"/answer", url.Values{"text:t": {"fine"}, "answer_id": {"x"}}, "X-Forwarded-User", c.user)
		by := ""
		if o := b.outcome(k); o != nil {
			by = o.By.Principal
		}
		if by != c.principal {
			t.Errorf("%s of realm %q answers as %q (%d)", c.user, c.realm, by, res.status)
		}
	}
}

// The header counts only if the connection itself comes from the proxy, once,
// and as it is: what a client adds makes nobody somebody else.
func TestAProxysHeaderIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	rules, err := auth.ParseRules([]byte("rules: [{when: {groups: [platform], user: ['mei*']}, role: responder, tenants: [acme]}]"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBus()
	b.ask(ask.Ask{ID: "a", Tenant: "acme", Questions: []ask.Question{text("t", "For acme?")}}, 0)
	h := serve(t, b, func(o *web.Options) {
		o.Proxy = &web.Proxy{Header: "X-Forwarded-User", Groups: "X-Forwarded-Groups", Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/64")}, Rules: rules}
	}).Config.Handler
	for name, c := range map[string]struct {
		from   string
		header http.Header
		status int
	}{
		"of the proxy":                          {"10.0.0.5:1", nil, 200},
		"of the proxy, as IPv6 writes IPv4":     {"[::ffff:10.0.0.5]:1", nil, 200},
		"of the proxy, over IPv6":               {"[fd00::1]:1", nil, 200},
		"of another address":                    {"192.0.2.1:1", nil, 401},
		"of another network of IPv6":            {"[fd00:0:0:1::1]:1", nil, 401},
		"of the proxy's network with a zone":    {"[fe80::1%10.0.0.5]:1", nil, 401},
		"of another address that names a proxy": {"192.0.2.1:1", http.Header{"X-Forwarded-For": {"10.0.0.5"}, "X-Real-Ip": {"10.0.0.5"}, "Forwarded": {"for=10.0.0.5"}}, 401},
		"behind several proxies":                {"10.0.0.5:1", http.Header{"X-Forwarded-For": {"192.0.2.1, 10.0.0.9", "10.0.0.7"}}, 200},
		"twice":                                 {"10.0.0.5:1", http.Header{"X-Forwarded-User": {"mei", "mei"}}, 403},
		"twice in one line":                     {"10.0.0.5:1", http.Header{"X-Forwarded-User": {"mei,ceo"}}, 403},
		"groups twice":                          {"10.0.0.5:1", http.Header{"X-Forwarded-Groups": {"sales", "platform"}}, 403},
		"with a space inside":                   {"10.0.0.5:1", http.Header{"X-Forwarded-User": {"mei ceo"}}, 403},
		"with a hidden character":               {"10.0.0.5:1", http.Header{"X-Forwarded-User": {"mei\u200b"}}, 403},
		"with a line break":                     {"10.0.0.5:1", http.Header{"X-Forwarded-User": {"mei\nceo"}}, 403},
		"in other letters that look alike":      {"10.0.0.5:1", http.Header{"X-Forwarded-User": {"me\u0456"}}, 403},
		"with a group that looks alike":         {"10.0.0.5:1", http.Header{"X-Forwarded-Groups": {"pl\u0430tform"}}, 403},
		"with a group in capitals":              {"10.0.0.5:1", http.Header{"X-Forwarded-Groups": {"Platform"}}, 403},
		"very long":                             {"10.0.0.5:1", http.Header{"X-Forwarded-User": {"mei" + strings.Repeat("i", 500)}}, 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/?show=all", nil)
		r.RemoteAddr = c.from
		r.Header.Set("X-Forwarded-User", "mei")
		r.Header.Set("X-Forwarded-Groups", "platform")
		maps.Copy(r.Header, c.header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || strings.Contains(w.Body.String(), "For acme?") != (c.status == 200) {
			t.Errorf("%s: status %d, want %d", name, w.Code, c.status)
		}
	}
}
