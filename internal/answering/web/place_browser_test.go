package web_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/auth/passkey"
	"github.com/askbus/askbus/internal/answering/web"
	shared "github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// thief is another user's server on the machine. It keeps the cookies that
// browsers send it, as names and values.
type thief struct {
	*httptest.Server
	cookies chan []*http.Cookie
}

func startThief(t *testing.T) thief {
	t.Helper()
	th := thief{cookies: make(chan []*http.Cookie, 100)}
	th.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/favicon.ico" {
			th.cookies <- r.Cookies()
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><link rel=icon href=data:,><p>the thief's page"))
	}))
	t.Cleanup(th.Close)
	return th
}

// lure opens the thief's pages at the hosts of the machine in a person's
// browser. It fails if any cookie that arrives is a sign-in at the inbox.
func (th thief) lure(b tab, in inbox, more ...string) {
	b.t.Helper()
	_, port, _ := net.SplitHostPort(th.Listener.Addr().String())
	for _, at := range append([]string{"127.0.0.1:" + port + "/", "localhost:" + port + "/", "127.0.0.1:" + port + "/ask/default/s1/a"}, more...) {
		b.do(chromedp.Navigate("http://" + strings.ReplaceAll(at, "PORT", port)))
		b.sees("the thief's page")
		for _, c := range <-th.cookies {
			own, _ := web.HostOf(cookieKey)
			for _, host := range []string{"", "localhost", own} {
				for _, path := range []string{"/", "/~0123456789abcdefghijkl/"} {
					if res := direct(b.t, http.MethodGet, in.URL+path, "Host", host, "Cookie", c.String()); res.StatusCode == http.StatusOK {
						b.t.Errorf("the thief at %s has the sign-in: %s", at, c)
					}
				}
			}
		}
	}
}

// A browser goes to the inbox's own host by itself, and no other server of the
// machine gets its sign-in.
func TestBrowserOtherPortsGetNoSignIn(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(question("a", text("t", "Mine to see?")), 0)
	in, th := serveOwn(t, cookieKey, b), startThief(t)
	own, _ := web.HostOf(cookieKey)
	tab := in.open(t, mei).live()
	tab.sees("Mine to see?")
	if host := tab.js(`location.hostname`); host != own {
		t.Errorf("the page is at %s", host)
	}
	th.lure(tab, in)
	// Every address of before still leads there, signed in.
	tab.do(chromedp.Navigate(in.URL + "/ask/" + k.String()))
	tab.live().sees("Mine to see?")
	tab.do(chromedp.Navigate(strings.Replace(in.URL, "127.0.0.1", "localhost", 1) + "/history"))
	tab.wait(`location.hostname === "` + own + `" && location.pathname === "/history"`)
}

// unresolving makes a browser one that does not find names below localhost, as
// Safari may be.
func unresolving(b tab) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: safari}); err != nil {
		b.t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		b.t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "http://*.localhost:*/*", Block: true}}}); err != nil {
		b.t.Fatal(err)
	}
}

// A browser that does not find the host stays at 127.0.0.1, below a path that
// only its pages of that origin know.
func TestBrowserWithoutTheHostStaysBelowABoundPath(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(question("a", text("t", "Mine to see?")), 0)
	other := b.ask(question("b", ask.Question{ID: "q", Text: "And here?", Options: []ask.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}}), 0)
	in, th := serveOwn(t, cookieKey, b), startThief(t)
	tab := in.openIn(t, browsertest.Open(t), mei, unresolving).live() // the stream is below the path as well
	bound := tab.js(`location.pathname`)
	if !strings.HasPrefix(bound, "/~") || tab.js(`location.hostname`) != "127.0.0.1" {
		t.Fatalf("the page is at %s", tab.js(`location.href`))
	}
	th.lure(tab, in, "127.0.0.1:PORT/~0123456789abcdefghijkl/")
	// A link from elsewhere finds the path again, and answers work.
	tab.do(chromedp.Navigate(in.URL + "/ask/" + other.String()))
	tab.live().sees("And here?")
	tab.js(`document.querySelector("a.brand").click(), ""`)
	tab.wait(fmt.Sprintf(`location.pathname.startsWith(%q)`, bound))
	tab.do(chromedp.Navigate(in.URL + "/ask/" + other.String()))
	tab.live()
	tab.js(`[...document.querySelectorAll("label")].find((l) => l.innerText.includes("Yes")).click(), ""`)
	tab.js(`document.querySelector("article form").requestSubmit(), ""`)
	for end := time.Now().Add(time.Minute); b.outcome(other) == nil; {
		if time.Now().After(end) {
			t.Fatalf("no answer; the page says %s", tab.Text())
		}
		tab.wait(`true`)
	}
	b.ask(question("c", text("t", "A later one?")), 0)
	tab.sees("A later one?") // by the stream
	tab.js(`document.querySelector('a[href$="/history"]').click(), ""`)
	tab.wait(`/^\/~[^/]+\/history$/.test(location.pathname)`)
	_ = k
	// A path that another page made up is not taken.
	tab.do(chromedp.Navigate(in.URL + "/~0123456789abcdefghijkl/"))
	tab.wait(fmt.Sprintf(`location.pathname === %q`, bound))
	tab.live()
	tab.do(chromedp.Navigate(in.URL + "/~0123456789abcdefghijkl//127.0.0.2:9/"))
	tab.wait(fmt.Sprintf(`location.origin === %q && location.pathname.startsWith(%q)`, in.URL, bound))
	tab.do(chromedp.Navigate(in.URL + "/"))
	tab.live()
	tab.click("[data-logout] button")
	tab.sees("askbus login")
}

// forwarded returns a port of this machine that leads to another one, as
// "ssh -L", "kubectl port-forward" and the published port of a container do.
func forwarded(t *testing.T, to string) (port string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				return
			}
			for _, pair := range [][2]net.Conn{{from, there}, {there, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port
}

// Through a forwarded port a person gets to the own host at that port.
func TestBrowserThroughAForwardedPort(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("a", text("t", "Mine to see?")), 0)
	in := serveOwn(t, cookieKey, b)
	port := forwarded(t, in.Listener.Addr().String())
	in.Server = &httptest.Server{URL: "http://localhost:" + port, Listener: in.Listener, Config: in.Config}
	tab := in.open(t, mei).live()
	tab.sees("Mine to see?")
	own, _ := web.HostOf(cookieKey)
	if at := tab.js(`location.host`); at != own+":"+port {
		t.Errorf("the page is at %s", at)
	}
}

// A passkey belongs to the own host, and signs in there.
func TestBrowserAPasskeyBelongsToTheOwnHost(t *testing.T) {
	t.Parallel()
	onBus := natstest.Start(t, natstest.Options{})
	b := newBus()
	b.ask(question("a", text("t", "Mine to see?")), 0)
	var pages string
	in := serve(t, b, atOwnHost(cookieKey), func(o *web.Options) {
		var err error
		if pages, err = web.PagesAt(cookieKey, o.BaseURL); err != nil {
			t.Fatal(err)
		}
		if o.Passkeys, err = passkey.New(shared.Open(onBus.Responder("web"), shared.Responder("web", ""), shared.Passkeys), pages, natstest.Logger()); err != nil {
			t.Fatal(err)
		}
	})
	invitation, err := web.InviteLink(cookieKey, in.URL, auth.Person{By: ask.By{Principal: "passkey:mei", Name: "Mei"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	page := browsertest.Open(t)
	tab := tab{page, t, page.Context(), in}
	authenticator(tab)
	tab.do(chromedp.Navigate(invitation)) // at 127.0.0.1
	tab.sees("Welcome, Mei")
	if at := tab.js(`location.origin`); at != pages {
		t.Errorf("the invitation is at %s", at)
	}
	tab.click(`[data-passkey="join"]`)
	tab.live().sees("Mine to see?")
	tab.click("[data-logout] button")
	tab.wait(`!!document.querySelector('[data-passkey="sign-in"]')?.offsetParent`)
	tab.click(`[data-passkey="sign-in"]`)
	tab.live().sees("Mine to see?")
}
