package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/auth/passkey"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/server/rights"

	shared "github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// authenticator adds a virtual authenticator with user verification to a tab.
func authenticator(b tab) { addAuthenticator(b) }

func addAuthenticator(b tab) webauthn.AuthenticatorID {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
		b.t.Fatal(err)
	}
	added, err := chromedp.Call(b.ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		HasCmtgKey: true, // otherwise a credential of chromedp, which always names it, cannot be added
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	return added.AuthenticatorID
}

// copyOf adds an authenticator that has a copy of a passkey.
func copyOf(key *webauthn.Credential) func(tab) {
	return func(b tab) {
		b.t.Helper()
		key = &webauthn.Credential{CredentialID: key.CredentialID, IsResidentCredential: true, RpID: key.RpID, PrivateKey: key.PrivateKey, UserHandle: key.UserHandle, SignCount: key.SignCount}
		if _, err := chromedp.Call(b.ctx, webauthn.AddCredential, webauthn.AddCredentialParams{AuthenticatorID: addAuthenticator(b), Credential: key}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// withPasskeys returns an inbox at localhost that stores its passkeys on a real
// bus.
func withPasskeys(t *testing.T, b *bus, onBus *natstest.Bus, change ...func(*web.Options)) inbox {
	t.Helper()
	in := serve(t, b, append(change, func(o *web.Options) {
		origin, err := passkey.Origin(o.BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		if o.Passkeys, err = passkey.New(shared.Open(onBus.Responder("web"), shared.Responder("web", ""), shared.Passkeys), origin, natstest.Logger()); err != nil {
			t.Fatal(err)
		}
		o.BaseURL = origin
	})...)
	in.URL = strings.Replace(in.URL, "127.0.0.1", "localhost", 1)
	return in
}

//nolint:tparallel // in order: the last one removes the passkey
func TestBrowserAnInvitedPersonSignsInWithAPasskey(t *testing.T) {
	t.Parallel()
	onBus := natstest.Start(t, natstest.Options{})
	b := newBus()
	k := b.ask(ask.Ask{ID: "a", Tenant: "acme", Questions: []ask.Question{text("t", "For acme?")}}, 0)
	b.ask(ask.Ask{ID: "b", Tenant: "other", Questions: []ask.Question{text("t", "A hidden one?")}}, 0)
	seen := &events{}
	in := withPasskeys(t, b, onBus, func(o *web.Options) { o.Note = seen.note })
	invited := auth.Person{By: ask.By{Principal: "passkey:mei", Name: "Mei", Groups: []string{"platform"}}, Access: ask.Access{{Tenants: []string{"acme"}}}}
	link, err := web.InviteLink(cookieKey, in.URL, invited, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var device webauthn.AuthenticatorID
	tab := in.open(t, mei, func(b tab) { device = addAuthenticator(b) }).live()
	tab.click("[data-logout] button")
	tab.sees("askbus login")
	if tab.js(`String(document.body.innerText.includes("passkey"))`) != "false" {
		t.Error("passkeys are offered although none is registered")
	}
	tab.do(chromedp.Navigate(link))
	tab.sees("Welcome, Mei")
	tab.js(`(() => { const send = window.fetch; window.fetch = (at, o) => {
		if (String(at).endsWith("/join")) {
			window.fetch = send;
			const body = JSON.parse(o.body);
			body.answer.response.clientDataJSON = body.answer.response.attestationObject;
			o = { ...o, body: JSON.stringify(body) };
		}
		return send(at, o);
	}; return "" })()`)
	tab.click(`[data-passkey="join"]`)
	tab.sees("is not valid") // and does not use the invitation up
	tab.click(`[data-passkey="join"]`)
	tab.live().sees("For acme?")
	if tab.js(`String(document.body.innerText.includes("A hidden one"))`) != "false" {
		t.Error("more is seen than the invitation says")
	}
	tab.click("[data-logout] button")
	tab.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
	tab.do(chromedp.Navigate(in.URL + "/ask/" + k.String()))
	tab.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
	tab.click(`[data-passkey="sign-in"]`)
	tab.wait(`location.pathname === "/ask/` + k.String() + `"`)
	tab.sees("For acme?")
	tab.wait(`!!document.querySelector('article textarea, article input[type=text]')`)
	tab.click("article textarea, article input[type=text]")
	tab.keys("yes")
	tab.click("article form button[type=submit], article form .send, article form button:not([type=button])")
	tab.wait(`!document.body.innerText.includes("For acme?") || document.body.innerText.includes("just now")`)
	if o := b.outcome(k); o == nil || o.By.Principal != "passkey:mei" || o.By.Proof != "passkey" || o.By.Groups[0] != "platform" {
		t.Errorf("the outcome is %+v", o)
	}

	t.Run("an invitation is used once", func(t *testing.T) {
		other := in.open(t, mei, authenticator).live()
		other.do(chromedp.Navigate(link))
		other.click(`[data-passkey="join"]`)
		other.sees("This invitation was used already")
	})
	t.Run("a copied passkey does not sign in, and the audit names its person", func(t *testing.T) {
		kept, err := chromedp.Call(tab.ctx, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: device})
		if err != nil || len(kept.Credentials) != 1 {
			t.Fatalf("%+v, %v", kept, err)
		}
		tab.do(chromedp.Navigate(in.URL + "/"))
		tab.live().click("[data-logout] button")
		tab.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
		tab.click(`[data-passkey="sign-in"]`)
		tab.live()
		thief := in.open(t, mei, copyOf(kept.Credentials[0])).live()
		thief.click("[data-logout] button")
		thief.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
		seen.take()
		thief.click(`[data-passkey="sign-in"]`)
		thief.sees("This passkey has been copied")
		if noted := seen.take(); len(noted) != 1 || noted[0].By.Principal != "passkey:mei" || noted[0].Known {
			t.Errorf("noted %+v", noted)
		}
	})
	t.Run("a removed passkey does not sign in", func(t *testing.T) {
		holders := passkey.NewHolders(onBus.Connect(rights.Role{Name: rights.RoleOperator}))
		list, err := holders.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Principal != "passkey:mei" || list[0].Keys != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		tab.do(chromedp.Navigate(in.URL + "/"))
		tab.live().click("[data-logout] button")
		tab.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
		if found, err := holders.Remove(t.Context(), "passkey:mei"); err != nil || !found {
			t.Fatal(found, err)
		}
		tab.click(`[data-passkey="sign-in"]`)
		tab.sees("Nobody here has this passkey")
	})
}

// A proxy with its usual settings tells the inbox its own name for it, not the
// host at which people are.
func TestBrowserPasskeysWorkBehindAProxyThatNamesAnotherHost(t *testing.T) {
	t.Parallel()
	var behind *url.URL
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }})
	t.Cleanup(proxy.Close)
	at := strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1)
	b := newBus()
	b.ask(question("a", text("t", "And you?")), 0)
	in := withPasskeys(t, b, natstest.Start(t, natstest.Options{}), func(o *web.Options) { o.BaseURL = at })
	behind = mustURL(t, strings.Replace(in.URL, "localhost", "127.0.0.1", 1))
	link, err := web.InviteLink(cookieKey, at, auth.Person{By: ask.By{Principal: "passkey:mei", Name: "Mei"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	in.URL = at
	tab := in.open(t, mei, authenticator).live()
	tab.do(chromedp.Navigate(link))
	tab.sees("Welcome, Mei")
	tab.click(`[data-passkey="join"]`)
	tab.live().click("[data-logout] button")
	tab.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
	tab.click(`[data-passkey="sign-in"]`)
	tab.live().sees("And you?")

	// At another address the page leads to where the passkeys are.
	tab.do(chromedp.Navigate(behind.String() + strings.TrimPrefix(link, at)))
	tab.wait(`location.hostname === "localhost"`)
	tab.sees("Welcome, Mei")
	tab.do(chromedp.Navigate(behind.String() + "/waiting"))
	tab.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
	tab.click(`[data-passkey="sign-in"]`)
	tab.wait(`location.href === "` + at + `/waiting"`) // where this browser is signed in already
}

func TestInvalidInvitationsAndPasskeysAreRefused(t *testing.T) {
	t.Parallel()
	onBus := natstest.Start(t, natstest.Options{})
	in := withPasskeys(t, newBus(), onBus)
	u := in.stranger(t)
	who := auth.Person{By: ask.By{Principal: "passkey:mei"}}
	old, err := web.InviteLink(cookieKey, in.URL, who, time.Now().Add(-8*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	login, err := web.LoginLink(cookieKey, in.URL, mei, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(login, "t=")
	for name, path := range map[string]string{"an old one": strings.TrimPrefix(old, in.URL), "a login link": "/join?t=" + token, "nothing": "/join"} {
		if res := u.get(path); res.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, res.status)
		}
	}
	for path, body := range map[string]string{
		"/join/options": `{"t":"` + token + `"}`, "/join": `{"t":"x","answer":{}}`, "/login/passkey": `{"kept":"x.y","answer":{}}`, "/login/passkey/options": `{`,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := u.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnprocessableEntity || len(u.client.Jar.Cookies(mustURL(t, in.URL))) != 0 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if res := u.post("/login/passkey/options", url.Values{"to": {"/"}}); res.status != http.StatusUnprocessableEntity {
		t.Errorf("a form: %d", res.status)
	}
	for base, want := range map[string]string{
		"http://127.0.0.1:8420": "http://localhost:8420", "http://[::1]:8420": "http://localhost:8420", "http://localhost:1": "http://localhost:1",
		"https://inbox.example.com": "https://inbox.example.com", "http://inbox.example.com": "", "https://10.0.0.1": "",
	} {
		if got, err := passkey.Origin(base); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", base, got, err)
		}
	}
}
