package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"unicode"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// signInView is the data of the sign-in page, with every method of this inbox.
type signInView struct {
	Title       string
	Problem     string
	Provider    string // label of its button; empty: none
	ProviderURL string // URL of that button
	Passkeys    bool   // a passkey is registered
	Origin      string // the address at which passkeys are valid: scripts lead there
	To          string // the page that was requested
	Here        string // the page to return to after a change of language
	Command     string // prints a login link
	Only        bool   // the command is the only method
}

// signIn shows the sign-in page, with the problem of the last attempt.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, problem string) {
	s.signInTo(w, wanted(r), problem)
}

// signInTo shows the sign-in page, and continues at to afterwards.
func (s *Server) signInTo(w http.ResponseWriter, to, problem string) {
	v := signInView{Title: answeredIn(w).Say("Sign in"), Problem: problem, Command: s.command("login"), To: to}
	if p := s.opts.Provider; p != nil {
		v.Provider, v.ProviderURL = p.Name(), providerPath+"?to="+url.QueryEscape(v.To)
	}
	if p := s.opts.Passkeys; p != nil && p.Any() {
		v.Passkeys, v.Origin = true, p.Origin()
	}
	v.Here = "/"
	if v.Provider != "" || v.Passkeys {
		v.Here = v.To
	}
	v.Only = v.Provider == "" && !v.Passkeys
	s.render(w, http.StatusUnauthorized, "signin", v)
}

// signInPage handles GET /login without a link.
func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	if _, err := s.whoIs(r, false); err == nil {
		http.Redirect(w, r, landing(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // landing allows only paths of this inbox
		return
	}
	s.signIn(w, r, "")
}

// wanted returns the page that a signed-out person requested.
func wanted(r *http.Request) string {
	if to := r.URL.Query().Get("to"); to != "" {
		return landing(to)
	}
	if r.Method == http.MethodGet {
		return landing(r.URL.Path + "?" + r.URL.RawQuery)
	}
	return "/"
}

// forbidden refuses a person who is identified but not allowed.
func (s *Server) forbidden(w http.ResponseWriter, r *http.Request, err error) {
	l := answeredIn(w)
	s.opts.Logger.WarnContext(r.Context(), "sign-in refused", slog.Any("error", err))
	s.plain(w, http.StatusForbidden, plainPage{Back: !s.opts.Proxy.vouches(r), Title: l.Say("You do not have access here"), Lines: []string{sentence(l, err), l.Say("If you should have access, the administrator of this inbox can grant it.")}})
}

// sentence returns a refusal for people.
func sentence(l *lang.Language, err error) string {
	text := detail(err)
	if refused, ok := errors.AsType[*auth.RefusedError](err); ok {
		text = l.Say(refused.Text, refused.Args...)
	}
	r := []rune(ask.CleanLine(text))
	if len(r) == 0 {
		return ""
	}
	return l.Say("%s.", string(unicode.ToUpper(r[0]))+string(r[1:]))
}
