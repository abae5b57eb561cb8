package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// Sessions stores sign-in sessions and which login links were used, shared by
// all replicas. All methods are safe for concurrent use.
type Sessions interface {
	// Begin signs somebody in and returns the secret id of the session.
	Begin(ctx context.Context, in auth.SignIn) (id string, err error)
	// Find returns the person of a session; active means that the person does
	// something. The error is [ask.ErrNotFound] if the session has ended or
	// never existed; other errors mean that it could not be looked up.
	Find(ctx context.Context, id string, active bool) (auth.Person, error)
	// End ends a session. It is not an error if the session has already ended.
	End(ctx context.Context, id string) error
	// Watch closes ended when a session ends or can no longer be verified.
	Watch(id string) (ended <-chan struct{}, stop func())
	// UseOnce reports whether this is the first use of a login link.
	UseOnce(ctx context.Context, id string, until time.Time) (first bool, err error)
	// EndOf ends the sessions that a provider names and returns their number.
	EndOf(ctx context.Context, out auth.Logout) (int, error)
	// Run applies changes by other replicas until ctx ends.
	Run(ctx context.Context) error
}

const (
	linkLife   = 10 * time.Minute
	maxQuery   = 1000                // bytes of a query that a sign-in carries along
	cookieLife = 30 * 24 * time.Hour // the session may end earlier
)

// LoginLink returns a link that signs by in at the inbox with this cookie key.
// It is valid for ten minutes and one use, at any replica. [Options.Identity]
// fills in empty fields of by.
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

// AskFirst makes a login link lead to a page that asks before it signs anybody in. Chats
// and mail systems follow the links of messages, and would use the link up.
func AskFirst(link string) string { return link + "&ask=1" }

// confirmPage is the page of a link that asks first.
type confirmPage struct{ Title, Token, To, Name, As string }

// login handles a login link: opened, or with the button of its page pressed.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead || r.Header.Get("Sec-Purpose") != "" {
		w.WriteHeader(http.StatusNoContent) // link previews and prefetches do not use the link up
		return
	}
	token, to := r.URL.Query().Get("t"), r.URL.Query().Get("to")
	if r.Method == http.MethodPost {
		token, to = r.PostFormValue("t"), r.PostFormValue("to")
	} else if !r.URL.Query().Has("t") {
		s.signInPage(w, r)
		return
	}
	now := s.opts.Now()
	p, err := unseal(token, s.keys.login, now)
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
	if r.Method != http.MethodPost && r.URL.Query().Has("ask") {
		w.Header().Set("Referrer-Policy", "same-origin") // without TLS, browsers name the origin of a form nowhere else
		s.render(w, http.StatusOK, "confirm", confirmPage{Title: answeredIn(w).Say("Sign in"), Token: token, To: landing(to), Name: card.Name(by), As: by.Principal})
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
		if me, err := s.whoIs(r, false); err == nil && me.By.Principal == by.Principal { // opened twice
			http.Redirect(w, r, landing(to), http.StatusSeeOther) //nolint:gosec // landing allows only paths of this inbox
			return
		}
		s.noteRefused(r, byLink, by, ask.Refuse(ask.CodeUnauthorized, "the login link was used already"))
		s.signIn(w, r, answeredIn(w).Say("This login link was used already. Each one works once."))
		return
	}
	if err := s.startSession(ctx, w, r, auth.SignIn{Person: auth.Person{By: by}}); err != nil {
		s.cannotSignIn(w, r, err, answeredIn(w).Say("The link has been used: ask for another one."))
		return
	}
	http.Redirect(w, r, landing(to), http.StatusSeeOther) //nolint:gosec // landing allows only paths of this inbox
}

// startSession starts a session and sets its cookie.
func (s *Server) startSession(ctx context.Context, w http.ResponseWriter, r *http.Request, in auth.SignIn) error {
	in.Client = r.UserAgent()
	id, err := s.opts.Sessions.Begin(ctx, in)
	if err != nil {
		return err
	}
	s.setCookie(w, r, s.keys.cookieName, s.keys.sign(id, s.place(r)), int(cookieLife/time.Second))
	s.opts.Logger.InfoContext(ctx, "signed in", slog.String("principal", in.By.Principal), slog.String("proof", in.By.Proof))
	return nil
}

// cannotSignIn answers that the bus is unreachable or full.
func (s *Server) cannotSignIn(w http.ResponseWriter, r *http.Request, err error, then string) {
	s.opts.Logger.ErrorContext(r.Context(), "cannot sign somebody in", slog.Any("error", err))
	w.Header().Set("Retry-After", "5")
	s.plain(w, http.StatusServiceUnavailable, plainPage{Back: true, Title: answeredIn(w).Say("Cannot sign you in just now"), Lines: []string{then, answeredIn(w).Say("The details are in the inbox's log.")}})
}

// landing returns the page that a login leads to: one of this inbox, with what
// its address filters by, a waiting terminal, a chat to be linked, or else the
// inbox.
func landing(to string) string {
	page, query, _ := strings.Cut(to, "?")
	request, terminal := strings.CutPrefix(page, TerminalPath+"/")
	code, linking := strings.CutPrefix(page, ChatsPath+"/")
	switch {
	case terminal:
		if _, ok := readTerminalRequest(request); ok {
			return page
		}
	case page == SetupPath, page == ChatsPath, linking && codeForm.MatchString(code):
		return page
	case page == "/", page == "/history", page == "/waiting", page == "/away",
		strings.HasPrefix(page, "/ask/") && path.Clean(page) == page && !strings.ContainsAny(page, "#\\"):
		if fields, err := url.ParseQuery(query); err == nil && len(fields) > 0 && len(query) <= maxQuery {
			return page + "?" + fields.Encode()
		}
		return page
	}
	return "/"
}

func complete(by, with ask.By) ask.By {
	by.Principal, by.Name, by.Proof = cmp.Or(by.Principal, with.Principal), cmp.Or(by.Name, with.Name), cmp.Or(by.Proof, with.Proof)
	if by.Groups == nil {
		by.Groups = with.Groups
	}
	return by
}

// logout ends the session at every replica and closes its streams.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if id, ok := s.sessionID(r); ok {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
		defer cancel()
		if s.opts.Push != nil { // before the session ends, so that a failure can be retried
			if err := s.opts.Push.SignedOut(ctx, id); err != nil {
				s.opts.Logger.WarnContext(ctx, "cannot remove the push subscription at sign-out; it remains until it expires", slog.Any("error", err))
			}
		}
		if err := s.opts.Sessions.End(ctx, id); err != nil {
			s.opts.Logger.ErrorContext(r.Context(), "cannot sign somebody out", slog.Any("error", err))
			s.plain(w, http.StatusServiceUnavailable, plainPage{Title: answeredIn(w).Say("You are still signed in"), Lines: []string{answeredIn(w).Say("The bus does not answer just now. Try again.")}, Back: true})
			return
		}
	}
	s.setCookie(w, r, s.keys.cookieName, "", -1)
	if s.opts.Provider != nil {
		s.setCookie(w, r, s.leftCookie(), "1", int(cookieLife/time.Second))
	}
	if s.opts.Proxy.vouches(r) {
		s.plain(w, http.StatusOK, plainPage{Title: answeredIn(w).Say("Sign out where you signed in"), Lines: []string{answeredIn(w).Say("A proxy in front of this inbox says who you are. Sign out there.")}, Back: true})
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// secure reports whether the browser connects over TLS.
func (s *Server) secure(r *http.Request) bool {
	return r.TLS != nil || s.base.Scheme == "https" && httpserver.Host(r.Host) == httpserver.Host(s.base.Host)
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, name, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where the request is: plain http on loopback is common
		Name: name, Value: value, Path: cookiePath(r), MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: s.secure(r),
	})
}

// sessionID returns the id in a request's cookie if the signature is valid.
// Forged ids are not looked up.
func (s *Server) sessionID(r *http.Request) (id string, ok bool) {
	c, err := r.Cookie(s.keys.cookieName)
	if err != nil {
		return "", false
	}
	return s.keys.signed(c.Value, s.place(r))
}

var errSignedOut = errors.New("signed out")

// whoIs returns the signed-in person. The error is errSignedOut, or means that
// the session could not be looked up.
func (s *Server) whoIs(r *http.Request, active bool) (board.Viewer, error) {
	if s.opts.Proxy.vouches(r) {
		p, err := s.opts.Proxy.person(r)
		if err == nil && s.proxied.first(p.By.Principal, s.opts.Now()) {
			s.note(r, Event{Kind: EventSignedIn, By: p.By, Known: true})
		}
		return board.Viewer{By: p.By, Access: p.Access}, err
	}
	id, ok := s.sessionID(r)
	if !ok {
		return board.Viewer{}, errSignedOut
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	p, err := s.opts.Sessions.Find(ctx, id, active)
	if errors.Is(err, ask.ErrNotFound) {
		return board.Viewer{}, errSignedOut
	}
	return board.Viewer{By: p.By, Access: p.Access}, err
}

// person wraps a handler that requires a signed-in person.
func (s *Server) person(next func(http.ResponseWriter, *http.Request, board.Viewer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := s.whoIs(r, r.URL.Path != "/events") // an open page is not activity
		switch {
		case errors.Is(err, errSignedOut):
			s.signIn(w, r, "")
			return
		case errors.Is(err, ask.ErrForbidden):
			s.noteRefused(r, byProxy, by.By, err)
			s.forbidden(w, r, err)
			return
		case err != nil && r.Context().Err() != nil:
			return // the browser has left
		case err != nil:
			s.opts.Logger.ErrorContext(r.Context(), "cannot find out who is signed in", slog.Any("error", err))
			w.Header().Set("Retry-After", "2")
			s.plain(w, http.StatusServiceUnavailable, plainPage{Title: answeredIn(w).Say("Cannot check who you are just now"), Lines: []string{answeredIn(w).Say("The bus does not answer. Nothing is lost: load this page again.")}})
			return
		}
		if err := httpserver.Identify(r, "web:"+by.By.Principal); err != nil {
			s.notePerson(r, "connection", ask.CodeQuota, err.Error(), by, ask.Key{})
			s.plain(w, http.StatusTooManyRequests, plainPage{Title: answeredIn(w).Say("Too many connections"), Lines: []string{answeredIn(w).Say("You have too many pages of this inbox open. Close some, then try again.")}, Back: true})
			return
		}
		if s.opts.Links != nil {
			for _, one := range s.opts.Links.Of(by.By) {
				by.Linked = append(by.Linked, one.Principal)
			}
		}
		if s.opts.StandIns != nil {
			by.StandIns = s.opts.StandIns.Of
		}
		next(w, r, reader(by, r))
	}
}
