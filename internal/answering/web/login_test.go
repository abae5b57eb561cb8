package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("secret", ask.Question{ID: "q", Text: "A secret question?"}), 0)
	in := serve(t, b)

	t.Run("nothing of any ask is shown without a cookie", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/", "/events", "/ask/default/s1/secret", "/ask/default/s1/nosuch", "/nosuch"} {
			res := in.stranger(t).get(path)
			if res.status != http.StatusUnauthorized || contains(res.body, "secret") || !contains(res.body, "askbus login") {
				t.Errorf("%s: %d %s", path, res.status, res.body)
			}
		}
	})
	t.Run("a link works once", func(t *testing.T) {
		t.Parallel()
		link := strings.TrimPrefix(in.link(t, mei), in.URL)
		u := in.stranger(t)
		for _, time := range []string{"first", "again, in the same browser"} {
			if res := u.get(link); res.status != http.StatusOK || res.path != "/" || !contains(res.body, "A secret question?") {
				t.Errorf("%s: %d %s", time, res.status, res.path)
			}
		}
		second := in.stranger(t).get(link)
		if second.status != http.StatusUnauthorized || !contains(second.body, "used already") {
			t.Errorf("second: %d %s", second.status, second.body)
		}
	})
	t.Run("a link preview does not use a link up", func(t *testing.T) {
		t.Parallel()
		link := strings.TrimPrefix(in.link(t, mei), in.URL)
		u := in.stranger(t)
		u.do(http.MethodHead, link, nil)
		u.do(http.MethodGet, link, nil, "Sec-Purpose", "prefetch")
		if res := u.get(link); res.status != http.StatusOK {
			t.Errorf("after a preview: %d", res.status)
		}
	})
	t.Run("a link that asks first is used by its button only, once", func(t *testing.T) {
		t.Parallel()
		link := web.AskFirst(strings.TrimPrefix(in.link(t, mei), in.URL))
		u := in.stranger(t)
		for range 2 { // the chat that looks at it, and the person
			if res := u.get(link); res.status != http.StatusOK || !contains(res.body, "Sign in this device") || !contains(res.body, mei.Principal) || contains(res.body, "secret") {
				t.Fatalf("%d %s", res.status, res.body)
			}
		}
		_, token, _ := strings.Cut(strings.TrimSuffix(link, "&ask=1"), "t=")
		form := url.Values{"t": {token}, "to": {"/ask/default/s1/secret"}}
		if res := u.do(http.MethodPost, link, form, "Origin", "https://elsewhere.example.com"); res.status != http.StatusForbidden {
			t.Errorf("pressed by another page: %d", res.status)
		}
		if res := u.post("/login", form); res.status != http.StatusOK || res.path != "/ask/default/s1/secret" {
			t.Errorf("pressed: %d %s", res.status, res.path)
		}
		if res := in.stranger(t).post("/login", form); res.status != http.StatusUnauthorized || !contains(res.body, "used already") {
			t.Errorf("pressed again: %d %s", res.status, res.body)
		}
	})
	t.Run("an address is known to lead to this inbox", func(t *testing.T) {
		t.Parallel()
		if err := web.Reaches(t.Context(), http.DefaultClient, cookieKey, in.URL); err != nil {
			t.Error(err)
		}
		if err := web.Reaches(t.Context(), http.DefaultClient, []byte(strings.Repeat("x", 32)), in.URL); err == nil || !contains(err.Error(), "does not lead to the inbox of this directory") {
			t.Errorf("another inbox: %v", err)
		}
		if err := web.Reaches(t.Context(), http.DefaultClient, cookieKey, "http://127.0.0.1:1"); err == nil {
			t.Error("nothing answers")
		}
	})
	t.Run("a link of another key, an old one and a forged one are refused", func(t *testing.T) {
		t.Parallel()
		other, err := web.LoginLink([]byte(strings.Repeat("x", 32)), "", mei, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		old, err := web.LoginLink(cookieKey, "", mei, time.Now().Add(-11*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range []string{other, old, "/login", "/login?t=e30.e30", old[:len(old)-2]} {
			if res := in.stranger(t).get(link); res.status != http.StatusUnauthorized || contains(res.body, "secret") {
				t.Errorf("%s: %d", link, res.status)
			}
		}
	})
	t.Run("a login token is not accepted as a cookie", func(t *testing.T) {
		t.Parallel()
		u := in.signedIn(t, mei)
		name := u.client.Jar.Cookies(mustURL(t, in.URL))[0].Name
		_, token, _ := strings.Cut(in.link(t, mei), "t=")
		if res := in.stranger(t).do(http.MethodGet, "/", nil, "Cookie", name+"="+token); res.status != http.StatusUnauthorized {
			t.Errorf("got %d", res.status)
		}
	})
	t.Run("signing out forgets the cookie", func(t *testing.T) {
		t.Parallel()
		u := in.signedIn(t, mei)
		if res := u.post("/logout", nil); res.status != http.StatusUnauthorized {
			t.Errorf("after signing out: %d", res.status)
		}
	})
	t.Run("every replica with the key accepts the cookie", func(t *testing.T) {
		t.Parallel()
		twin := serve(t, b)
		u := in.signedIn(t, mei)
		cookie := u.client.Jar.Cookies(mustURL(t, in.URL))[0]
		if res := twin.stranger(t).do(http.MethodGet, "/", nil, "Cookie", cookie.Name+"="+cookie.Value); res.status != http.StatusOK {
			t.Errorf("the other replica: %d", res.status)
		}
	})
	t.Run("the cookie is closed to scripts and other sites", func(t *testing.T) {
		t.Parallel()
		u := in.stranger(t)
		u.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		got := u.do(http.MethodGet, strings.TrimPrefix(in.link(t, mei), in.URL), nil).header.Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"} {
			if !contains(got, want) {
				t.Errorf("cookie %q has no %s", got, want)
			}
		}
		if contains(got, "Secure") {
			t.Errorf("cookie %q is Secure over plain http", got)
		}
	})
}

func TestLoginLinkRefusesInvalidInput(t *testing.T) {
	t.Parallel()
	by := ask.By{Principal: "os:mei"}
	for range 200 {
		by.Groups = append(by.Groups, strings.Repeat("g", 100))
	}
	if _, err := web.LoginLink(cookieKey, "", by, time.Now()); err == nil {
		t.Error("too many groups were accepted")
	}
	if _, err := web.LoginLink([]byte("short"), "", mei, time.Now()); err == nil {
		t.Error("a short key was accepted")
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	in := serve(t, newBus(), func(o *web.Options) { o.Hosts = []string{"inbox.example.com"} })
	u := in.signedIn(t, mei)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8420": 200, "127.0.0.1:1": 200, "[::1]:8420": 200, "inbox.example.com": 200, "INBOX.example.com:443": 200,
		"evil.example.com": 421, "127.0.0.1.evil.example": 421, "10.0.0.1:8420": 421, "localhost.evil.example": 421, "127.0.0.1:8420.evil.example": 421,
	} {
		res := u.do(http.MethodGet, "/static/x/app.js", nil, "Host", host)
		if res.status != want {
			t.Errorf("host %s: %d, want %d", host, res.status, want)
		}
		if want == 421 && !contains(res.body, "ASKBUS_WEB_HOSTS") {
			t.Errorf("host %s: the page names no setting: %s", host, res.body)
		}
	}
	res := u.do(http.MethodPost, "/logout", nil, "Sec-Fetch-Site", "cross-site")
	if res.status != http.StatusForbidden {
		t.Errorf("a write from another site: %d", res.status)
	}
	for _, sent := range [][]string{{"Origin", "http://127.0.0.1:9"}, {"Origin", "null"}, {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, {"Sec-Fetch-Site", "cross-site"}} {
		for _, path := range []string{"/", "/events", "/history/export"} {
			if res := u.do(http.MethodGet, path, nil, sent...); res.status != http.StatusForbidden {
				t.Errorf("a read by a page of another origin (%s) of %s: %d", sent, path, res.status)
			}
		}
	}
	for _, sent := range [][]string{{"Origin", in.URL}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}} {
		if res := u.do(http.MethodGet, "/", nil, sent...); res.status != http.StatusOK {
			t.Errorf("a person's own page (%s): %d", sent, res.status)
		}
	}
	header := u.get("/").header
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	} {
		if !contains(header.Get(name), want) {
			t.Errorf("%s is %q", name, header.Get(name))
		}
	}
}

func TestALoginLeadsToAnAskOfThisInboxOnly(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("a", text("t", "And you?")), 0)
	for to, want := range map[string]string{
		"/ask/default/s1/a": "/ask/default/s1/a", "": "/", "https://evil.example": "/", "//evil.example": "/",
		"/ask/../logout": "/", "/ask//evil.example": "/", `/ask/\evil.example`: "/", "/events": "/",
	} {
		in := serve(t, bus)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.link(t, mei)+"&to="+url.QueryEscape(to), nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("to %q: %d %q, want %q", to, res.StatusCode, got, want)
		}
	}
}
