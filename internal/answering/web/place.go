package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
)

// A browser sends the cookies of a host to every port of that host. At
// 127.0.0.1 and localhost each user of a machine may have a server, so a
// sign-in there would be everybody's (ADR 0098). Pages have two places instead:
// a host of their own below localhost, or, in a browser that does not find that
// host, a path that only this origin knows; see [Server.bound].

// HostOf returns the host of the pages of the inboxes with this cookie key on
// one machine: 16 characters derived from the key, below localhost. Browsers
// find it without a resolver.
func HostOf(cookieKey []byte) (string, error) {
	keys, err := deriveKeys(cookieKey)
	if err != nil {
		return "", err
	}
	return keys.host, nil
}

// PagesAt returns the base URL of the pages of an inbox with this cookie key:
// base, with the host from [HostOf] if it is 127.0.0.1, [::1] or localhost and
// has no TLS.
func PagesAt(cookieKey []byte, base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || !slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, httpserver.Host(u.Host)) {
		return base, nil //nolint:nilerr // the caller that opens the URL reports it
	}
	host, err := HostOf(cookieKey)
	if err != nil {
		return "", err
	}
	u.Host = withPort(host, u.Host)
	return u.String(), nil
}

// withPort returns host with the port of hostport, if it has one.
func withPort(host, hostport string) string {
	if _, port, err := net.SplitHostPort(hostport); err == nil && port != "" {
		return net.JoinHostPort(host, port)
	}
	return host
}

// hostFrom returns the host of [HostOf].
func hostFrom(cookieKey []byte) string {
	sum := derive(cookieKey, "askbus web host v1")
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])) + ".localhost"
}

// shared reports whether other servers of this machine may have the host of a
// request, so that nobody may be signed in there.
func (s *Server) shared(r *http.Request) bool {
	host := httpserver.Host(r.Host)
	if s.opts.Host == "" || host == s.opts.Host || slices.ContainsFunc(s.opts.Hosts, func(h string) bool { return httpserver.Host(h) == host && httpserver.LocalName(h) }) {
		return false
	}
	return (httpserver.LoopbackHost(r.Host) || httpserver.LocalName(r.Host)) && !s.opts.Proxy.vouches(r)
}

// placed sends requests for pages at a shared host to the host of their own,
// before any cookie, or serves them below a bound path. Programs have no
// cookies: what they call, and the static files, are served everywhere.
func (s *Server) placed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == reachPath {
			s.reach(w, r)
			return
		}
		if !s.shared(r) {
			next.ServeHTTP(w, r)
			return
		}
		if key, path, ok := boundPath(r.URL.Path); ok {
			s.bound(next, key, path).ServeHTTP(w, r)
			return
		}
		r.Header.Del("Cookie") // no cookie counts here
		switch own := s.own(r); {
		case forPrograms(r):
			next.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			l := answeredIn(w)
			s.plain(w, http.StatusMisdirectedRequest, plainPage{Title: l.Say("This page has another address"), Lines: []string{l.Say("Nothing was done. Open the inbox at %s.", own.Scheme+"://"+own.Host)}})
		case findsLocalNames(r.UserAgent()):
			http.Redirect(w, r, own.String(), http.StatusTemporaryRedirect)
		default:
			s.find(w, r, own)
		}
	})
}

// own returns the URL of a request at the pages' own host. The port is the one
// that the browser used, which a forwarded port changes.
func (s *Server) own(r *http.Request) *url.URL {
	return &url.URL{Scheme: "http", Host: withPort(s.opts.Host, r.Host), Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
}

// forPrograms reports whether a request is for what needs no sign-in by cookie.
func forPrograms(r *http.Request) bool {
	if r.Method == http.MethodPost {
		return slices.Contains([]string{TerminalPath + "/token", TerminalPath + "/credential", TerminalPath + "/logout", providerPath + "/logout"}, r.URL.Path)
	}
	return strings.HasPrefix(r.URL.Path, "/static/") || r.URL.Path == "/manifest.webmanifest"
}

// findsLocalNames reports whether a client may be redirected to a name below
// localhost. Chromium and Firefox take such names for this machine without
// asking anybody; programs are not browsers, and read the address. The page for
// other browsers tries first; it works in these as well.
func findsLocalNames(agent string) bool {
	return !strings.HasPrefix(agent, "Mozilla/") || strings.Contains(agent, "Chrome/") || strings.Contains(agent, "Firefox/")
}

// reachPath answers the page that tries whether a browser finds the own host, and
// the command that tries whether an address leads to this inbox.
const reachPath = "/reach"

// reachHeader proves to who has the cookie key that the answer is of this inbox.
const reachHeader = "Askbus-Reached"

func (s *Server) reach(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin") // it says nothing
	if nonce := r.URL.Query().Get("nonce"); nonce != "" && len(nonce) <= 64 {
		w.Header().Set(reachHeader, s.keys.reached(nonce))
	}
	w.WriteHeader(http.StatusNoContent)
}

func (k *keys) reached(nonce string) string {
	return hex.EncodeToString(derive(k.reach, nonce))
}

// Reaches checks that an address leads to an inbox with this cookie key, whichever
// proxies and tunnels are in between. The error says what to do.
func Reaches(ctx context.Context, client *http.Client, cookieKey []byte, address string) error {
	keys, err := deriveKeys(cookieKey)
	if err != nil {
		return err
	}
	nonce := rand.Text()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+reachPath+"?nonce="+nonce, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", address, err)
	}
	defer res.Body.Close() //nolint:errcheck // not read
	switch {
	case hmac.Equal([]byte(res.Header.Get(reachHeader)), []byte(keys.reached(nonce))):
		return nil
	case res.StatusCode == http.StatusMisdirectedRequest:
		return fmt.Errorf("%s leads to an inbox that does not know this name: start it with ASKBUS_WEB_HOSTS=%s", address, req.URL.Hostname())
	}
	return fmt.Errorf("%s answers (%s), but does not lead to the inbox of this directory", address, ask.CleanLine(res.Status))
}

// findView is the data of the page that tries whether a browser finds the own
// host.
type findView struct {
	Title string
	Own   string // URL of the requested page at the own host
	Reach string // URL that answers there
}

// find serves that page: it goes to the own host, or stays here below a bound
// path.
func (s *Server) find(w http.ResponseWriter, _ *http.Request, own *url.URL) {
	reach := url.URL{Scheme: own.Scheme, Host: own.Host, Path: reachPath}
	w.Header().Set("Content-Security-Policy", strings.Replace(csp, "connect-src 'self'", "connect-src 'self' "+own.Scheme+"://"+own.Host, 1))
	s.render(w, http.StatusOK, "find", findView{Title: answeredIn(w).Say("Opening the inbox"), Own: own.String(), Reach: reach.String()})
}

// bound serves pages below a path that only one browser's pages of this origin
// know: a script there made it up and keeps it in the storage of the origin,
// which other ports cannot read. The cookie has that path, so that the browser
// sends it nowhere else, and is valid only with it. Path is the part after it.
func (s *Server) bound(next http.Handler, key, path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), boundKey{}, key))
		at := *r.URL
		at.Path, at.RawPath = path, ""
		r.URL = &at
		var out http.ResponseWriter = &under{w, key}
		if p, packs := w.(packing); packs {
			out = packing{&under{p.ResponseWriter, key}}
		}
		next.ServeHTTP(out, r)
	})
}

// boundPath splits a bound path: "/~KEY/PATH".
func boundPath(path string) (key, rest string, ok bool) {
	m := bounds.FindStringSubmatch(path)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// bounds matches 128 random bits or more.
var bounds = regexp.MustCompile(`^/~([A-Za-z0-9_-]{22,64})(/.*)$`)

type boundKey struct{}

// place returns where a request's cookie is valid: the own host, a bound path,
// or, without an own host, everywhere.
func (s *Server) place(r *http.Request) string {
	if key, ok := r.Context().Value(boundKey{}).(string); ok {
		return "~" + key
	}
	if httpserver.Host(r.Host) == s.opts.Host {
		return s.opts.Host
	}
	return ""
}

// cookiePath returns the path of cookies that sign somebody in.
func cookiePath(r *http.Request) string {
	if key, ok := r.Context().Value(boundKey{}).(string); ok {
		return "/~" + key + "/"
	}
	return "/"
}

// under is a response below a bound path: redirects stay below it.
type under struct {
	http.ResponseWriter
	key string
}

// WriteHeader puts the bound path before a redirect within the inbox.
func (u *under) WriteHeader(status int) {
	if to := u.Header().Get("Location"); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
		u.Header().Set("Location", "/~"+u.key+to)
	}
	u.ResponseWriter.WriteHeader(status)
}

// Unwrap supports [http.ResponseController].
func (u *under) Unwrap() http.ResponseWriter { return u.ResponseWriter }
