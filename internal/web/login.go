package web

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/auth"
	"github.com/askbus/askbus/internal/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Sessions keeps who is signed in, and which login links were used. What it
// says holds at every replica. All methods are safe for concurrent use.
type Sessions interface {
	// Begin signs somebody in and returns the secret id of the session.
	Begin(ctx context.Context, in auth.SignIn) (id string, err error)
	// Find says whose session it is; active means that the person does something.
	// The error is [ask.ErrNotFound] when it has ended or never was, and another
	// one when that cannot be said.
	Find(ctx context.Context, id string, active bool) (auth.Person, error)
	// End signs out. That the session has ended is not an error.
	End(ctx context.Context, id string) error
	// Watch closes ended when a session ends or can no longer be believed.
	Watch(id string) (ended <-chan struct{}, stop func())
	// UseOnce reports whether a login link is used for the first time.
	UseOnce(ctx context.Context, id string, until time.Time) (first bool, err error)
	// EndOf ends the sessions that a provider names, and says how many.
	EndOf(ctx context.Context, out auth.Logout) (int, error)
	// Run follows what other replicas do until ctx ends.
	Run(ctx context.Context) error
}

const (
	linkLife   = 10 * time.Minute
	cookieLife = 30 * 24 * time.Hour // the session may end earlier
)

// LoginLink makes a link that signs by in at the inbox with this cookie key.
// It is good for ten minutes and once, at whichever replica. Whatever by leaves out is
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

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead || r.Header.Get("Sec-Purpose") != "" {
		w.WriteHeader(http.StatusNoContent) // somebody only looks ahead: keep the link good
		return
	}
	if !r.URL.Query().Has("t") {
		s.signInPage(w, r)
		return
	}
	now := s.opts.Now()
	p, err := unseal(r.URL.Query().Get("t"), s.keys.login, now)
	if err != nil {
		s.noteRefused(r, byLink, ask.By{}, ask.Refuse(ask.CodeUnauthorized, "the login link has expired or is not from this inbox"))
		s.signIn(w, r, answeredIn(w).Say("This login link has expired or is not from this inbox."))
		return
	}
	by := complete(p.by(), s.opts.Identity)
	if by.Principal == "" {
		s.signIn(w, r, answeredIn(w).Say("This login link names nobody."))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	first, err := s.opts.Sessions.UseOnce(ctx, p.ID, time.Unix(p.Expires, 0))
	switch {
	case err != nil:
		s.cannotSignIn(w, r, err, answeredIn(w).Say("Try the same link again."))
		return
	case !first:
		s.noteRefused(r, byLink, by, ask.Refuse(ask.CodeUnauthorized, "the login link was used already"))
		s.signIn(w, r, answeredIn(w).Say("This login link was used already. Each one works once."))
		return
	}
	if err := s.begin(ctx, w, r, auth.SignIn{Person: auth.Person{By: by}}); err != nil {
		s.cannotSignIn(w, r, err, answeredIn(w).Say("The link is used up: ask for another one."))
		return
	}
	http.Redirect(w, r, landing(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // landing lets paths of our own through only
}

// begin starts a session and gives its cookie to the browser.
func (s *Server) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, in auth.SignIn) error {
	in.Client = r.UserAgent()
	id, err := s.opts.Sessions.Begin(ctx, in)
	if err != nil {
		return err
	}
	s.setCookie(w, r, s.keys.sign(id), int(cookieLife/time.Second))
	s.opts.Logger.InfoContext(ctx, "signed in", slog.String("principal", in.By.Principal), slog.String("proof", in.By.Proof))
	return nil
}

// cannotSignIn says that the bus does not answer, or has no room.
func (s *Server) cannotSignIn(w http.ResponseWriter, r *http.Request, err error, then string) {
	s.opts.Logger.ErrorContext(r.Context(), "cannot sign somebody in", slog.Any("error", err))
	w.Header().Set("Retry-After", "5")
	s.plain(w, http.StatusServiceUnavailable, plainPage{Title: answeredIn(w).Say("Cannot sign you in just now"), Lines: []string{then, answeredIn(w).Say("The details are in the inbox's log.")}})
}

// landing is where a login leads: to an ask of this inbox or to a terminal that
// waits, else to all asks.
func landing(to string) string {
	if terminalPath.MatchString(to) {
		return to
	}
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

// logout ends the session at every replica, and the streams that are open in it.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if id, ok := s.sessionID(r); ok {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
		defer cancel()
		if s.opts.Push != nil { // before the sign-in is gone: a failure can be tried again
			if err := s.opts.Push.SignedOut(ctx, id); err != nil {
				s.opts.Logger.WarnContext(ctx, "a browser that signs out is still rung until its subscription expires", slog.Any("error", err))
			}
		}
		if err := s.opts.Sessions.End(ctx, id); err != nil {
			s.opts.Logger.ErrorContext(r.Context(), "cannot sign somebody out", slog.Any("error", err))
			s.plain(w, http.StatusServiceUnavailable, plainPage{Title: answeredIn(w).Say("You are still signed in"), Lines: []string{answeredIn(w).Say("The bus does not answer just now. Try again.")}, Back: true})
			return
		}
	}
	s.setCookie(w, r, "", -1)
	if s.opts.Proxy.vouches(r) {
		s.plain(w, http.StatusOK, plainPage{Title: answeredIn(w).Say("Sign out where you signed in"), Lines: []string{answeredIn(w).Say("A proxy in front of this inbox says who you are. Sign out there.")}, Back: true})
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// secure reports whether a browser reaches us over TLS.
func (s *Server) secure(r *http.Request) bool {
	return r.TLS != nil || s.base.Scheme == "https" && httpserver.Host(r.Host) == httpserver.Host(s.base.Host) ||
		s.opts.TrustProxy && r.Header.Get("X-Forwarded-Proto") == "https"
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where the request is: plain http on loopback is the usual case
		Name: s.keys.cookieName, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: s.secure(r),
	})
}

// sessionID is the id in a request's cookie, if it is one that we signed: what
// others make up is not looked up.
func (s *Server) sessionID(r *http.Request) (id string, ok bool) {
	c, err := r.Cookie(s.keys.cookieName)
	if err != nil {
		return "", false
	}
	return s.keys.signed(c.Value)
}

var errSignedOut = errors.New("signed out")

// whoIs finds out who is signed in. The error is errSignedOut, or says that it
// cannot be found out.
func (s *Server) whoIs(r *http.Request, active bool) (responder.Viewer, error) {
	if s.opts.Proxy.vouches(r) {
		p, err := s.opts.Proxy.person(r)
		if err == nil && s.proxied.first(p.By.Principal, s.opts.Now()) {
			s.note(r, Event{Kind: EventSignedIn, By: p.By, Known: true})
		}
		return responder.Viewer{By: p.By, Access: p.Access}, err
	}
	id, ok := s.sessionID(r)
	if !ok {
		return responder.Viewer{}, errSignedOut
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	p, err := s.opts.Sessions.Find(ctx, id, active)
	if errors.Is(err, ask.ErrNotFound) {
		return responder.Viewer{}, errSignedOut
	}
	return responder.Viewer{By: p.By, Access: p.Access}, err
}

// person lets only people through who are signed in.
func (s *Server) person(next func(http.ResponseWriter, *http.Request, responder.Viewer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := s.whoIs(r, r.URL.Path != "/events") // a page that is only open does nothing
		switch {
		case errors.Is(err, errSignedOut):
			s.signIn(w, r, "")
			return
		case errors.Is(err, ask.ErrForbidden):
			s.noteRefused(r, byProxy, by.By, err)
			s.forbidden(w, r, err)
			return
		case err != nil:
			s.opts.Logger.ErrorContext(r.Context(), "cannot find out who is signed in", slog.Any("error", err))
			w.Header().Set("Retry-After", "2")
			s.plain(w, http.StatusServiceUnavailable, plainPage{Title: answeredIn(w).Say("Cannot check who you are just now"), Lines: []string{answeredIn(w).Say("The bus does not answer. Nothing is lost: load this page again.")}})
			return
		}
		if err := httpserver.Identify(r, "web:"+by.By.Principal); err != nil {
			s.notePerson(r, "connection", ask.CodeQuota, err.Error(), by, ask.Key{})
			s.plain(w, http.StatusTooManyRequests, plainPage{Title: answeredIn(w).Say("Too many connections"), Lines: []string{answeredIn(w).Say("As many pages of this inbox are open in your name as may be. Close some, then try again.")}, Back: true})
			return
		}
		next(w, r, reader(by, r))
	}
}
