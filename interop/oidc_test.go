package interop_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/chromedp"
)

// provider starts the foreign provider for an inbox.
func provider(t *testing.T, inbox string) (*script, string) {
	t.Helper()
	s := run(t, "oidc/provider.mjs", map[string]any{"inbox": inbox})
	return s, s.until("an issuer", func(e event) bool { return e.Issuer != "" }).Issuer
}

// change sets what the provider returns from now on.
func (s *script) change(what map[string]any) {
	s.t.Helper()
	s.send(what)
	s.until("a change", func(e event) bool { return e.Changed })
}

// person is somebody with a browser of their own, without scripts.
type person struct {
	t    *testing.T
	name string
	*http.Client
}

// somebody returns a person whose browser stops at addresses that begin with
// stop, where no application runs.
func somebody(t *testing.T, name, stop string) person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return person{t, name, &http.Client{Jar: jar, Transport: httpserver.LocalTransport(), CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if stop != "" && strings.HasPrefix(r.URL.String(), stop) {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	hidden     = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
)

// open follows a link through the provider's pages: to sign in, and to let the
// application know who it is. It returns where that ends.
func (p person) open(at string) (*http.Response, string) {
	p.t.Helper()
	res, err := p.Get(at)
	for range 5 {
		if err != nil {
			p.t.Fatal(err)
		}
		data, err2 := io.ReadAll(res.Body)
		_ = res.Body.Close()
		page := string(data)
		if err2 != nil {
			p.t.Fatal(err2)
		}
		form := formAction.FindStringSubmatch(page)
		if form == nil || !strings.Contains(form[1], "/interaction/") && !strings.Contains(form[1], "/session/") {
			return res, page
		}
		action, err3 := res.Request.URL.Parse(form[1])
		if err3 != nil {
			p.t.Fatal(err3)
		}
		fields := url.Values{"login": {p.name}, "password": {"any"}, "logout": {"yes"}}
		for _, h := range hidden.FindAllStringSubmatch(page, -1) {
			fields.Set(h[1], h[2])
		}
		res, err = p.PostForm(action.String(), fields)
	}
	p.t.Fatalf("the provider's pages do not end: %s", res.Request.URL)
	return nil, ""
}

// stream opens the live stream of the inbox; the channel tells that it has ended.
func (p person) stream(base string) <-chan struct{} {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, base+"/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := p.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		p.t.Fatalf("the stream: %v %v", res, err)
	}
	p.t.Cleanup(func() { _ = res.Body.Close() })
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, res.Body)
	}()
	return over
}

func (p person) ends(over <-chan struct{}, why string) {
	p.t.Helper()
	began := time.Now()
	select {
	case <-over:
		p.t.Logf("%s: the live stream of %s ended %s later", why, p.name, time.Since(began).Round(time.Millisecond))
	case <-time.After(time.Minute):
		p.t.Fatalf("%s: the live stream of %s goes on", why, p.name)
	}
}

// inbox starts a provider, and an askbus whose people sign in there.
func inbox(t *testing.T) (*bus, *script, string) {
	t.Helper()
	at, err := freeaddr.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	p, issuer := provider(t, "http://"+at[0])
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	b := upWith(t, []string{
		"ASKBUS_WEB_OIDC_ISSUER=" + issuer, "ASKBUS_WEB_OIDC_CLIENT_ID=askbus", "ASKBUS_WEB_OIDC_CLIENT_SECRET_FILE=" + write("secret", "a secret of the test"),
		"ASKBUS_WEB_OIDC_SCOPES=openid,profile,email,groups,offline_access", "ASKBUS_WEB_OIDC_REFRESH=2s",
		"ASKBUS_WEB_RULES=" + write("rules.yaml", "rules:\n- when: {groups: [platform]}\n  role: responder\n  tenants: [default]\n- when: {groups: [readers]}\n  role: reader\n  tenants: [default]\n"),
		"ASKBUS_ISSUER_RULES=" + write("issuer.yaml", "issuers: [{name: company, issuer: '"+issuer+"', audience: 'urn:askbus'}]\nrules: [{issuer: company, match: {client_id: ci}, tenant: default, sessions: ['ci-*']}]\n"),
		"ASKBUS_MCP_RULES=" + write("mcp.yaml", "issuers: [{name: company, issuer: '"+issuer+"', scopes: [askbus]}]\nrules: [{issuer: company, match: {groups: platform}, tenant: default, sessions: ['{sub}-*']}]\n"),
	}, "--http-addr", at[0])
	return b, p, issuer
}

// principal returns who a person of the provider is on the bus.
func principal(issuer, subject string) string {
	return "oidc:" + strings.TrimPrefix(issuer, "http://") + "#" + subject
}

// TestSomebodySignsInAtAForeignProvider signs in with a real browser at an
// unmodified provider, and answers.
func TestSomebodySignsInAtAForeignProvider(t *testing.T) {
	b, _, issuer := inbox(t)
	tab := browsertest.Open(t)
	tab.Do(chromedp.Navigate(b.url + "/login/oidc"))
	tab.Wait(`!!document.querySelector('input[name=login]')`)
	tab.Do(chromedp.SendKeys(`input[name=login]`, "mei"), chromedp.SendKeys(`input[name=password]`, "any"))
	click(tab, `document.querySelector("button[type=submit]")`)
	tab.Wait(`document.body.innerText.includes("groups")`) // what she lets askbus know
	click(tab, `document.querySelector("button[type=submit]")`)
	tab.Wait(`document.readyState === "complete" && location.href.startsWith("` + b.pages + `") && !location.pathname.startsWith("/login")`)
	s := b.connect(mcpClients()[0], "s1", nil, asking(300, nil))
	click(tab, `[...document.querySelectorAll("label")].find(l => l.innerText.includes("SQLite"))`)
	click(tab, `[...document.querySelectorAll("button")].find(x => x.innerText.trim().startsWith("Answer"))`)
	if r := s.result(); r.IsError || !strings.Contains(r.Text, "answered by Mei on the web\n") {
		t.Errorf("the result is %+v", r)
	}
	select {
	case rec := <-b.ended:
		if by := rec.Outcome.By; by.Principal != principal(issuer, "mei") || by.Proof != ask.ProofOIDC || strings.Join(by.Groups, " ") != "platform" {
			t.Errorf("answered by %+v", by)
		}
	case <-time.After(time.Minute):
		t.Fatal("nobody was told of the outcome")
	}
}

// TestAForeignProviderEndsASignIn checks that a later refusal of the provider
// ends a session.
func TestAForeignProviderEndsASignIn(t *testing.T) {
	t.Parallel()
	b, p, issuer := inbox(t)
	eve := somebody(t, "eve", "")
	if res, page := eve.open(b.url + "/login/oidc"); res.StatusCode != http.StatusForbidden {
		t.Errorf("somebody in no group that counts: %s %s", res.Status, page)
	}
	in := func(name string) (person, <-chan struct{}) {
		t.Helper()
		who := somebody(t, name, "")
		if res, page := who.open(b.url + "/login/oidc"); res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Request.URL.String(), b.pages) {
			t.Fatalf("%s: %s at %s: %s", name, res.Status, res.Request.URL, page)
		}
		return who, who.stream(b.pages)
	}
	out := func(who person) {
		t.Helper()
		if res, _ := who.open(b.url + "/"); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s afterwards: %s", who.name, res.Status)
		}
	}

	t.Log("signing out there: the back channel")
	mei, stream := in("mei")
	other, otherStream := in("mei") // another browser: another session at the provider
	if res, page := mei.open(issuer + "/session/end"); !strings.HasSuffix(res.Request.URL.Path, "/success") {
		t.Fatalf("signing out at the provider: %s %s", res.Request.URL, page)
	}
	mei.ends(stream, "she signed out at the provider")
	if e := p.until("a logout", func(e event) bool { return e.Logout != "" || e.Error != "" }); e.Logout != "mei" {
		t.Errorf("the provider says %+v", e)
	}
	out(mei)
	if res, _ := other.open(b.url + "/"); res.StatusCode != http.StatusOK {
		t.Errorf("her other browser: %s", res.Status)
	}

	t.Log("asking again: refresh tokens")
	p.until("a refresh", func(e event) bool { return e.Grant == "refresh_token" && e.Error == "" })
	p.change(map[string]any{"groups": map[string]any{"mei": []string{"sales"}}})
	other.ends(otherStream, "her groups changed")
	out(other)
	tom, stream := in("tom")
	p.change(map[string]any{"gone": []string{"tom"}})
	tom.ends(stream, "the provider does not know him any more")
	out(tom)
}

// Unmodified MCP clients find the provider by themselves: from the refusal to the
// metadata, to the provider's discovery, over registration and PKCE to a token.
func TestMCPClientsSignInAtAForeignProvider(t *testing.T) { //nolint:tparallel // its clients share an inbox
	t.Parallel()
	b, _, issuer := inbox(t)
	const callback = "http://127.0.0.1:1/callback"
	for name, c := range map[string]struct {
		sdk             int
		client, session string
	}{
		"sdk 1, registered by itself": {1, "", "mei-1"}, "sdk 1, known before": {1, "an-editor", "mei-2"}, "client 2, registered by itself": {2, "", "mei-3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bus{t: t, binary: b.binary, dir: b.dir, url: b.url, screen: b.screen, asked: b.asked, ended: b.ended}
			s := run(t, "oidc/mcp.mjs", map[string]any{
				"sdk": c.sdk, "url": b.url + "/mcp?session=" + c.session, "client": c.client,
				"call": map[string]any{"name": "AskUserQuestion", "arguments": question(map[string]any{"wait_seconds": 100})},
			})
			link := s.until("a link to the provider", func(e event) bool { return e.Authorize != "" || e.Refused != "" })
			if !strings.HasPrefix(link.Authorize, issuer+"/auth?") || !strings.Contains(link.Authorize, "code_challenge_method=S256") || !strings.Contains(link.Authorize, "resource="+url.QueryEscape(b.url+"/mcp")) {
				t.Fatalf("%+v", link)
			}
			res, page := somebody(t, "mei", callback).open(link.Authorize)
			back, err := res.Location()
			if err != nil {
				t.Fatalf("the provider: %s %s %v", res.Status, page, err)
			}
			s.send(map[string]any{"code": back.Query().Get("code"), "iss": back.Query().Get("iss")})
			token := s.until("a token", func(e event) bool { return e.Token != "" || e.Refused != "" })
			if token.Token == "" {
				t.Fatalf("%+v", token)
			}
			rec := b.next()
			if rec.Ask.Session != c.session || rec.Ask.Tenant != "default" {
				t.Errorf("asked for %s", rec.Ask.Key())
			}
			b.choose(rec, "o2")
			if r := s.until("a result", func(e event) bool { return e.Index != nil || e.Refused != "" }); r.IsError || !strings.Contains(r.Text, `"Which database?"="SQLite"`) {
				t.Errorf("the result is %+v", r)
			}
			if status := b.bearer(t, "/v1/asks?session="+c.session, token.Token); status != http.StatusUnauthorized {
				t.Errorf("the token at another endpoint: %d", status)
			}
			if status := b.bearer(t, "/mcp?session=tom-1", token.Token); status != http.StatusForbidden {
				t.Errorf("the token for a session of somebody else: %d", status)
			}
		})
	}

	// The same provider and person, for somebody else's resource; and for none.
	verifier := strings.Repeat("v", 64)
	sum := sha256.Sum256([]byte(verifier))
	tokens := func(resource string) (access, id string) {
		t.Helper()
		q := url.Values{
			"client_id": {"an-editor"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid askbus"}, "state": {"s"}, "resource": {resource},
			"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		}
		res, page := somebody(t, "mei", callback).open(issuer + "/auth?" + q.Encode())
		back, err := res.Location()
		if err != nil {
			t.Fatal(page, err)
		}
		got, err := http.PostForm(issuer+"/token", url.Values{
			"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {callback}, "client_id": {"an-editor"}, "code_verifier": {verifier}, "resource": {resource},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		var said struct {
			Access string `json:"access_token"`
			ID     string `json:"id_token"`
		}
		if err := json.NewDecoder(got.Body).Decode(&said); err != nil || said.Access == "" || said.ID == "" {
			t.Fatal(err, fmt.Sprint(said))
		}
		return said.Access, said.ID
	}
	good, id := tokens(b.url + "/mcp")
	elsewhere, _ := tokens("https://elsewhere.example/mcp")
	for name, c := range map[string]struct {
		token string
		want  int
	}{"for us": {good, http.StatusOK}, "for another resource": {elsewhere, http.StatusUnauthorized}, "an ID token": {id, http.StatusUnauthorized}, "one of ours": {b.token("mei-1"), http.StatusOK}} {
		if status := b.bearer(t, "/mcp?session=mei-1", c.token); status != c.want {
			t.Errorf("a token %s: %d", name, status)
		}
	}
}

// bearer lists the tools with a token and returns the status.
func (b *bus) bearer(t *testing.T, path, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
