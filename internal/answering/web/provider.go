package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/pkg/ask"
)

// providerPath is where a sign-in at the provider begins. The addresses that
// the provider calls are below it.
const providerPath = "/login/oidc"

// ProviderPath is the redirect URI's path, below the base URL.
const ProviderPath = providerPath + "/callback"

const (
	flowLife       = 10 * time.Minute
	maxLogoutToken = 16 << 10
)

// leftCookie marks a browser in which somebody has signed out: the next one may be another person, and the provider would
// sign the same one in again without asking.
func (s *Server) leftCookie() string { return s.keys.cookieName + "_left" }

// maxFlows is how many sign-ins may be in progress in one browser.
const maxFlows = 8

// flow is a sign-in in progress. The browser keeps it in a cookie of its own, so
// that several tabs can sign in at once; its secrets are derived, so replicas
// store nothing.
type flow struct {
	id    string
	to    string
	until time.Time
}

var errNotBegun = auth.Tell(ask.CodeInvalid, "this browser did not begin this sign-in, or it took longer than ten minutes")

// tag names the flow's cookie. It comes back with the flow's secrets.
func (f flow) tag() string { return f.id[:8] }

// start sets the cookie of a new flow. The oldest make room.
func (s *Server) start(w http.ResponseWriter, r *http.Request, to string) (flow, error) {
	p := passFor(ask.By{Name: to}, s.opts.Now(), flowLife)
	p.ID = rand.Text()
	f := flow{p.ID, to, time.Unix(p.Expires, 0)}
	sealed, err := p.seal(s.keys.flow)
	if err != nil {
		return f, err
	}
	begun := slices.DeleteFunc(r.Cookies(), func(c *http.Cookie) bool { return !strings.HasPrefix(c.Name, s.flowCookie("")) })
	for _, c := range begun[:max(0, len(begun)-maxFlows+1)] { // browsers send the oldest first
		s.setCookie(w, r, c.Name, "", -1)
	}
	s.setCookie(w, r, s.flowCookie(f.tag()), sealed, int(flowLife/time.Second))
	return f, nil
}

func (s *Server) flowCookie(tag string) string { return s.keys.cookieName + "_flow_" + tag }

// flowOf returns the browser's flow whose tag came back, and removes its cookie.
// Call once before anybody is signed in by it.
func (s *Server) flowOf(w http.ResponseWriter, r *http.Request, tag string) (flow, error) {
	c, err := r.Cookie(s.flowCookie(tag))
	var p pass
	if err == nil {
		p, err = unseal(c.Value, s.keys.flow, s.opts.Now())
	}
	if err != nil {
		return flow{}, errNotBegun
	}
	s.setCookie(w, r, c.Name, "", -1)
	return flow{p.ID, p.Name, time.Unix(p.Expires, 0)}, nil
}

// useFlow uses a flow up: it can be finished once, at any replica. It writes an
// entry in shared state, of which there is a limited number, so it is called
// only for somebody who has proven who they are: a flow costs a stranger
// nothing.
func (s *Server) useFlow(ctx context.Context, f flow) error {
	first, err := s.opts.Sessions.UseOnce(ctx, f.id, f.until)
	if err == nil && !first {
		err = auth.Tell(ask.CodeInvalid, "this sign-in has ended already")
	}
	return err
}

// secret derives a flow's secret for one purpose, in 43 characters.
func (s *Server) secret(f flow, purpose string) string {
	return base64.RawURLEncoding.EncodeToString(derive(s.keys.flow, purpose+" "+f.id))
}

func (s *Server) secrets(f flow) auth.Flow {
	return auth.Flow{State: f.tag() + "." + s.secret(f, "state"), Nonce: s.secret(f, "nonce"), Verifier: s.secret(f, "verifier")}
}

// toProvider redirects the browser to the provider.
func (s *Server) toProvider(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Sec-Purpose") != "" || r.Method == http.MethodHead {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	f, err := s.start(w, r, landing(r.URL.Query().Get("to")))
	if err != nil {
		s.providerUnavailable(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	secrets := s.secrets(f)
	_, err = r.Cookie(s.leftCookie())
	secrets.Login = err == nil
	at, err := s.opts.Provider.Begin(ctx, secrets)
	if err != nil {
		s.providerUnavailable(w, r, err)
		return
	}
	http.Redirect(w, r, at, http.StatusSeeOther) //nolint:gosec // the configured provider
}

// fromProvider handles the provider's redirect back.
func (s *Server) fromProvider(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*callTimeout)
	defer cancel()
	q := r.URL.Query()
	tag, _, _ := strings.Cut(q.Get("state"), ".")
	f, err := s.flowOf(w, r, tag)
	var in auth.SignIn
	switch {
	case err != nil:
	case !equal(q.Get("state"), s.secrets(f).State):
		err = errNotBegun
	case q.Get("error") != "":
		err = auth.Tell(ask.CodeInvalid, "the provider says: %s", ask.Clip(ask.CleanLine(q.Get("error")+" "+q.Get("error_description")), 200))
	default:
		in, err = s.opts.Provider.Finish(ctx, s.secrets(f), q.Get("code"))
	}
	if err == nil {
		err = s.useFlow(ctx, f)
	}
	if err == nil {
		err = s.startSession(ctx, w, r, in)
	}
	switch {
	case err == nil:
		s.setCookie(w, r, s.leftCookie(), "", -1)
		http.Redirect(w, r, landing(f.to), http.StatusSeeOther)
	case errors.Is(err, ask.ErrForbidden):
		s.noteRefused(r, byProvider, in.By, err)
		s.forbidden(w, r, err)
	case errors.Is(err, ask.ErrInvalid):
		s.noteRefused(r, byProvider, in.By, err)
		s.opts.Logger.WarnContext(r.Context(), "sign-in at the provider failed", slog.Any("error", err))
		s.signInTo(w, landing(f.to), answeredIn(w).Say("You are not signed in. %s Try again.", sentence(answeredIn(w), err)))
	default:
		s.providerUnavailable(w, r, err)
	}
}

func (s *Server) providerUnavailable(w http.ResponseWriter, r *http.Request, err error) {
	s.cannotSignIn(w, r, err, answeredIn(w).Say("The sign-in provider or the bus does not answer. Try again in a few seconds."))
}

// loggedOut handles the provider's back-channel logout.
func (s *Server) loggedOut(w http.ResponseWriter, r *http.Request) {
	select {
	case s.logouts <- struct{}{}:
		defer func() { <-s.logouts }()
	default:
		w.Header().Set("Retry-After", "2")
		http.Error(w, "too many at once", http.StatusServiceUnavailable)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLogoutToken)
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	out, err := s.opts.Provider.Logout(ctx, r.PostFormValue("logout_token"))
	n := 0
	if err == nil {
		n, err = s.opts.Sessions.EndOf(ctx, out)
	}
	switch {
	case err == nil:
		s.opts.Logger.InfoContext(r.Context(), "the provider signed somebody out", slog.Int("sessions", n))
	case errors.Is(err, ask.ErrInvalid):
		s.noteRefused(r, "sign-out by the provider", ask.By{}, err)
		s.opts.Logger.WarnContext(r.Context(), "logout token rejected", slog.Any("error", err))
		http.Error(w, `{"error":"invalid_request"}`, http.StatusBadRequest)
	default:
		s.opts.Logger.ErrorContext(r.Context(), "cannot carry out the provider's logout", slog.Any("error", err))
		http.Error(w, `{"error":"temporarily_unavailable"}`, http.StatusServiceUnavailable)
	}
}

// equal compares secrets in constant time.
func equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
