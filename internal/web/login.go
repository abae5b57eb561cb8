package web

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

const (
	linkLife   = 10 * time.Minute
	cookieLife = 30 * 24 * time.Hour
	maxUsed    = 10_000 // login ids remembered at once
)

// LoginLink makes a link that signs by in at the inbox with this cookie key.
// It is good for ten minutes and once per process. Whatever by leaves out is
// filled in from [Options.Identity].
func LoginLink(cookieKey []byte, baseURL string, by ask.By, now time.Time) (string, error) {
	keys, err := deriveKeys(cookieKey)
	if err != nil {
		return "", err
	}
	p := passFor(by, now, linkLife)
	p.ID = rand.Text()
	token, err := p.seal(keys.login)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(baseURL, "/") + "/login?t=" + url.QueryEscape(token), nil
}

// usedTokens remembers which login links were used, until they expire.
type usedTokens struct {
	mu   sync.Mutex
	seen map[string]int64
}

func newUsedTokens() *usedTokens { return &usedTokens{seen: make(map[string]int64)} }

// use reports whether the id is used for the first time. When too many are
// remembered it refuses, so that none is ever forgotten while it is good.
func (u *usedTokens) use(id string, expires int64, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for old, exp := range u.seen {
		if exp <= now.Unix() {
			delete(u.seen, old)
		}
	}
	if _, used := u.seen[id]; used || id == "" || len(u.seen) >= maxUsed {
		return false
	}
	u.seen[id] = expires
	return true
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead || r.Header.Get("Sec-Purpose") != "" {
		w.WriteHeader(http.StatusNoContent) // somebody only looks ahead: keep the link good
		return
	}
	now := s.opts.Now()
	p, err := unseal(r.URL.Query().Get("t"), s.keys.login, now)
	if err != nil {
		s.signIn(w, "This login link has expired or is not from this inbox.")
		return
	}
	if !s.logins.use(p.ID, p.Expires, now) {
		s.signIn(w, "This login link was used already. Each one works once.")
		return
	}
	by := complete(p.by(), s.opts.Identity)
	if by.Principal == "" {
		s.signIn(w, "This login link names nobody.")
		return
	}
	cookie, err := passFor(by, now, cookieLife).seal(s.keys.cookie)
	if err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "cannot sign a cookie", slog.Any("error", err))
		s.plain(w, http.StatusInternalServerError, plainPage{Title: "Cannot sign you in", Lines: []string{"The details are in the inbox's log."}})
		return
	}
	s.setCookie(w, r, cookie, int(cookieLife/time.Second))
	s.opts.Logger.InfoContext(r.Context(), "signed in", slog.String("principal", by.Principal))
	http.Redirect(w, r, landing(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // landing lets paths of our own through only
}

// landing is where a login leads: to an ask of this inbox, else to all of them.
func landing(to string) string {
	if strings.HasPrefix(to, "/ask/") && path.Clean(to) == to && !strings.ContainsAny(to, "?#\\") {
		return to
	}
	return "/"
}

func complete(by, with ask.By) ask.By {
	if by.Principal == "" {
		by.Principal = with.Principal
	}
	if by.Name == "" {
		by.Name = with.Name
	}
	if by.Groups == nil {
		by.Groups = with.Groups
	}
	if by.Proof == "" {
		by.Proof = with.Proof
	}
	return by
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.setCookie(w, r, "", -1)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where the request is: plain http on loopback is the usual case
		Name: s.keys.cookieName, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil || s.opts.TrustProxy && r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

var errSignedOut = errors.New("signed out")

func (s *Server) whoIs(r *http.Request) (ask.By, error) {
	c, err := r.Cookie(s.keys.cookieName)
	if err != nil {
		return ask.By{}, errSignedOut
	}
	p, err := unseal(c.Value, s.keys.cookie, s.opts.Now())
	if err != nil {
		return ask.By{}, err
	}
	if p.Principal == "" {
		return ask.By{}, errSignedOut
	}
	return p.by(), nil
}

// person lets only people with a valid cookie through.
func (s *Server) person(next func(http.ResponseWriter, *http.Request, ask.By)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := s.whoIs(r)
		if err != nil {
			s.signIn(w, "")
			return
		}
		next(w, r, by)
	}
}
