package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/askbus/askbus/internal/httpserver"
	"github.com/askbus/askbus/pkg/ask"
)

// signInView is the page that lets people in: every way that this inbox has.
type signInView struct {
	Title    string
	Problem  string
	Provider string // what its button says; empty: none
	Leave    string // where that button leads
	Passkeys bool   // some people have one
	Elsewise string // the address at which a passkey works, when it is not this one
	To       string // the page that was asked for
	Here     string // where another language leads to
	Command  string // prints a login link
	Only     bool   // the command is the only way
}

// signIn shows the ways in, with what went wrong before.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, problem string) {
	v := signInView{Title: answeredIn(w).Say("Sign in"), Problem: problem, Command: s.command("login"), To: s.wanted(r)}
	if p := s.opts.Provider; p != nil {
		v.Provider, v.Leave = p.Name(), providerPath+"?to="+url.QueryEscape(v.To)
	}
	if p := s.opts.Passkeys; p != nil && p.Any() {
		v.Passkeys = true
		if origin := p.Origin(); httpserver.Host(r.Host) != hostOfURL(origin) {
			v.Elsewise = origin + "/login?to=" + url.QueryEscape(v.To)
		}
	}
	v.Here = "/"
	if v.Provider != "" || v.Passkeys {
		v.Here = v.To
	}
	v.Only = v.Provider == "" && !v.Passkeys
	s.render(w, http.StatusUnauthorized, "signin", v)
}

// signInPage is GET /login without a link.
func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	if _, err := s.whoIs(r, false); err == nil {
		http.Redirect(w, r, landing(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // landing lets paths of our own through only
		return
	}
	s.signIn(w, r, "")
}

// wanted is where somebody who signs in wants to be.
func (s *Server) wanted(r *http.Request) string {
	if to := r.URL.Query().Get("to"); to != "" {
		return landing(to)
	}
	if r.Method == http.MethodGet {
		return landing(r.URL.Path)
	}
	return "/"
}

// forbidden is for somebody who is known, and not let in.
func (s *Server) forbidden(w http.ResponseWriter, r *http.Request, err error) {
	l := answeredIn(w)
	s.opts.Logger.WarnContext(r.Context(), "somebody is not let in", reason(err))
	s.plain(w, http.StatusForbidden, plainPage{Title: l.Say("You are not let in here"), Lines: []string{sentence(err), l.Say("If you should be, the administrator of this inbox can change that.")}})
}

// sentence is a refusal as people read it.
func sentence(err error) string {
	detail := err.Error()
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Detail != "" {
		detail = e.Detail
	}
	if detail = ask.CleanLine(detail); detail == "" {
		return ""
	}
	r := []rune(detail)
	return upper(r[0]) + string(r[1:]) + "."
}

func hostOfURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return httpserver.Host(u.Host)
}
