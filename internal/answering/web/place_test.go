package web_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/process/httpserver"
)

// atOwnHost gives an inbox a host of its own.
func atOwnHost(key []byte) func(*web.Options) {
	return func(o *web.Options) {
		o.CookieKey = key
		o.Host, _ = web.HostOf(key)
	}
}

// serveOwn serves an inbox that has a host of its own. Its URL is the listener's.
func serveOwn(t *testing.T, key []byte, b *bus) inbox {
	t.Helper()
	return serve(t, b, atOwnHost(key))
}

// otherKey is of another directory.
var otherKey = []byte("fedcba9876543210fedcba9876543210")

// direct sends one request without following redirects, and returns the
// response, whose body is closed.
func direct(t *testing.T, method, at string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := httpserver.LocalTransport()
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// signInOwn signs in with a link to the listener's address, and returns the
// client and the pages' URL.
func signInOwn(t *testing.T, key []byte, in inbox) (*http.Client, *url.URL) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: httpserver.LocalTransport()}
	t.Cleanup(c.CloseIdleConnections)
	link, err := web.LoginLink(key, in.URL, mei, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || !httpserver.LocalName(res.Request.URL.Host) {
		t.Fatalf("signed in at %s with %d", res.Request.URL, res.StatusCode)
	}
	return c, res.Request.URL
}

func TestPagesHaveAHostOfTheirOwn(t *testing.T) {
	t.Parallel()
	in := serveOwn(t, cookieKey, newBus())
	port := mustURL(t, in.URL).Port()
	own, _ := web.HostOf(cookieKey)
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port, "LOCALHOST.:" + port, "other.localhost:" + port, "[::1]:" + port} {
		for _, path := range []string{"/", "/login?t=a.b%3D&to=/ask/default/s/a", "/ask/default/s1/a", "/history?q=x", "/nosuch", "/sw.js"} {
			res := direct(t, http.MethodGet, in.URL+path, "Host", host)
			if res.StatusCode != http.StatusTemporaryRedirect || res.Header.Get("Location") != "http://"+own+":"+port+path || len(res.Cookies()) > 0 {
				t.Errorf("%s%s: %d %v", host, path, res.StatusCode, res.Header)
			}
		}
		if res := direct(t, http.MethodPost, in.URL+"/language", "Host", host); res.StatusCode != http.StatusMisdirectedRequest || len(res.Cookies()) > 0 {
			t.Errorf("a form at %s: %d", host, res.StatusCode)
		}
	}
	// A forwarded port is the browser's.
	if res := direct(t, http.MethodGet, in.URL+"/a", "Host", "localhost:9000"); res.Header.Get("Location") != "http://"+own+":9000/a" {
		t.Errorf("through a forwarded port: %v", res.Header)
	}
	if res := direct(t, http.MethodGet, in.URL+"/a", "Host", "localhost"); res.Header.Get("Location") != "http://"+own+"/a" {
		t.Errorf("at port 80: %v", res.Header)
	}
	// What programs call is served at 127.0.0.1.
	if res := direct(t, http.MethodPost, in.URL+"/terminal/token"); res.StatusCode == http.StatusMisdirectedRequest || res.StatusCode == http.StatusTemporaryRedirect {
		t.Errorf("a terminal: %d", res.StatusCode)
	}
	if res := direct(t, http.MethodGet, in.URL+"/manifest.webmanifest"); res.StatusCode != http.StatusOK {
		t.Errorf("the manifest: %d", res.StatusCode)
	}
	c, pages := signInOwn(t, cookieKey, in)
	link, _ := web.LoginLink(cookieKey, pages.Scheme+"://"+pages.Host, mei, time.Now())
	cookie := direct(t, http.MethodGet, link).Cookies()[0]
	if cookie.Domain != "" || cookie.Path != "/" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is %+v", cookie)
	}
	// It is worth nothing at a host that others share, nor at another directory.
	if got := direct(t, http.MethodGet, in.URL+"/", "Cookie", cookie.Name+"="+cookie.Value); got.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("the cookie at 127.0.0.1: %d", got.StatusCode)
	}
	if got := direct(t, http.MethodGet, in.URL+"/~0123456789abcdefghijkl/", "Cookie", cookie.Name+"="+cookie.Value); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie below a bound path: %d", got.StatusCode)
	}
	beside := serveOwn(t, otherKey, newBus())
	otherHost, _ := web.HostOf(otherKey)
	if otherHost == own {
		t.Error("two directories have one host")
	}
	at := "http://" + otherHost + ":" + mustURL(t, beside.URL).Port() + "/"
	if len(c.Jar.Cookies(mustURL(t, at))) > 0 || len(c.Jar.Cookies(mustURL(t, in.URL))) > 0 || len(c.Jar.Cookies(mustURL(t, "http://localhost/"))) > 0 {
		t.Error("the cookie is sent to another host")
	}
	if got := direct(t, http.MethodGet, at, "Cookie", cookie.Name+"="+cookie.Value); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie at another directory's inbox: %d", got.StatusCode)
	}
}

// A browser that is not known to find names below localhost gets a page that
// tries.
func TestABrowserThatMayNotFindTheHostTries(t *testing.T) {
	t.Parallel()
	in := serveOwn(t, cookieKey, newBus())
	own, _ := web.HostOf(cookieKey)
	for agent, want := range map[string]int{
		"": 307, "curl/8.0": 307, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": 307,
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36": 307, safari: 200,
	} {
		res := direct(t, http.MethodGet, in.URL+"/history", "User-Agent", agent)
		if res.StatusCode != want || len(res.Cookies()) > 0 {
			t.Errorf("%q: %d %v", agent, res.StatusCode, res.Header)
		}
		if csp := res.Header.Get("Content-Security-Policy"); want == 200 && !strings.Contains(csp, "connect-src 'self' http://"+own+":") {
			t.Errorf("the page may not try: %s", csp)
		}
	}
	// Below a bound path a cookie is valid at that path only.
	link, _ := web.LoginLink(cookieKey, in.URL+"/~0123456789abcdefghijkl", mei, time.Now())
	res := direct(t, http.MethodGet, link)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/~0123456789abcdefghijkl/" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	cookie := res.Cookies()[0]
	if cookie.Path != "/~0123456789abcdefghijkl/" || cookie.Domain != "" {
		t.Errorf("the cookie is %+v", cookie)
	}
	for path, want := range map[string]int{"/~0123456789abcdefghijkl/": 200, "/~0123456789abcdefghijkX/": 401, "/": 307, "/~short/": 307} {
		if got := direct(t, http.MethodGet, in.URL+path, "Cookie", cookie.Name+"="+cookie.Value); got.StatusCode != want {
			t.Errorf("the cookie at %s: %d, want %d", path, got.StatusCode, want)
		}
	}
	if got := direct(t, http.MethodGet, in.URL+"/", "Host", own, "Cookie", cookie.Name+"="+cookie.Value); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie at the own host: %d", got.StatusCode)
	}
}

const safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15"
