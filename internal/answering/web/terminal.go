package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// Terminals signs terminals in as the people who confirm it at this inbox. All
// methods are safe for concurrent use.
type Terminals interface {
	// LetIn confirms a terminal from the session with this id. It returns a
	// code that the holder of the challenge's verifier can use once.
	LetIn(ctx context.Context, session, challenge, client string) (code string, err error)
	// Redeem exchanges a code for the terminal's secret. The error is
	// [ask.ErrForbidden] if the code is not valid.
	Redeem(ctx context.Context, code, verifier string) (secret string, err error)
	// Credential returns a bus credential for a terminal, as JSON, limited to a
	// tenant if one is named. The error is [ask.ErrNotFound] if the terminal's
	// sign-in has ended.
	Credential(ctx context.Context, secret, tenant string) ([]byte, error)
	EndTerminal(ctx context.Context, secret string) error
}

// TerminalPath is the page for confirming a terminal, below the base URL; the
// request follows it. The endpoints that terminals call are below it.
const TerminalPath = "/terminal"

// TerminalRequest is what a terminal asks its person to confirm. It is part of
// a link that anybody can make, so nothing in it is trusted: the code of a
// confirmation is useless without the verifier.
type TerminalRequest struct {
	Challenge string `json:"c"`           // see [auth.Challenge]
	Client    string `json:"m"`           // the terminal's name for itself, such as mei@laptop
	Tenant    string `json:"t,omitempty"` // the tenant to answer for; empty: everything the person may
	Port      int    `json:"p,omitempty"` // of the loopback address where the terminal waits; 0: it waits for a typed code
	State     string `json:"s,omitempty"` // returned to that address
}

// Limits of requests by terminals.
const (
	maxTerminalRequest = 1000    // characters in the path
	maxTerminalBody    = 4 << 10 // bytes
	maxClient          = 80
	guesses            = 60 // refused codes per address and minute; beyond it the address is suspect
	suspects           = 5  // codes per second that are looked up, of all suspect addresses
	confirmations      = 10 // per person and minute
)

// Path returns the request as it is written in a link.
func (t *TerminalRequest) Path() (string, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return TerminalPath + "/" + base64.RawURLEncoding.EncodeToString(body), nil
}

var plainToken = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// readTerminalRequest parses the request of a link.
func readTerminalRequest(text string) (t TerminalRequest, ok bool) {
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxTerminalRequest || json.Unmarshal(body, &t) != nil {
		return t, false
	}
	t.Client = ask.Clip(ask.CleanLine(t.Client), maxClient)
	return t, len(t.Challenge) == 43 && plainToken.MatchString(t.Challenge) && (t.Tenant == "" || ask.ValidToken(t.Tenant)) &&
		(t.Port == 0 || t.Port >= 1024 && t.Port <= 65535 && plainToken.MatchString(t.State))
}

// terminalView is the data of the page on which a person confirms a terminal.
type terminalView struct {
	Title   string
	Client  string
	Name    string // of the person
	As      string // their principal
	Groups  string
	Every   bool // the terminal sees every tenant
	Tenant  string
	Here    bool   // the terminal waits on this machine
	Code    string // to type in the terminal; empty: not confirmed yet
	Problem string
}

// terminalPage shows a person which terminal asks to be signed in, and with
// what access.
func (s *Server) terminalPage(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	if v, _, ok := s.terminalRequest(w, r, me); ok {
		s.render(w, http.StatusOK, "terminal", v)
	}
}

// terminalRequest parses the request of a page. If ok is false, it has already
// written the response.
func (s *Server) terminalRequest(w http.ResponseWriter, r *http.Request, me board.Viewer) (v terminalView, t TerminalRequest, ok bool) {
	refuse := func(status int, title string, lines ...string) (terminalView, TerminalRequest, bool) {
		s.plain(w, status, plainPage{Me: card.Name(me.By), Title: title, Lines: lines, Back: true})
		return terminalView{}, TerminalRequest{}, false
	}
	t, ok = readTerminalRequest(r.PathValue("request"))
	switch {
	case s.opts.Terminals == nil:
		return refuse(http.StatusNotFound, answeredIn(w).Say("Terminals cannot sign in here"), answeredIn(w).Say("This inbox has not been set up for it."))
	case !ok:
		return refuse(http.StatusBadRequest, answeredIn(w).Say("This link is damaged"), answeredIn(w).Say("Run askbus login again, and open the link that it prints."))
	case s.opts.Proxy.vouches(r):
		return refuse(http.StatusForbidden, answeredIn(w).Say("This terminal cannot be signed in"), answeredIn(w).Say("A proxy in front of this inbox says who you are with each request. A terminal asks later, when the proxy cannot say whether you are still let in."))
	}
	tenant, err := auth.TerminalTenant(me.Access, t.Tenant)
	if err != nil {
		return refuse(http.StatusForbidden, answeredIn(w).Say("This terminal cannot be signed in"), sentence(answeredIn(w), err))
	}
	if t.Port != 0 { // the form's redirect leads to this address
		w.Header().Set("Content-Security-Policy", strings.Replace(csp, "form-action 'self'", "form-action 'self' "+loopback(t.Port), 1))
	}
	return terminalView{
		Title: answeredIn(w).Say("Sign in a terminal"), Client: t.Client, Name: card.Name(me.By), As: me.By.Principal, Groups: strings.Join(me.By.Groups, ", "),
		Every: tenant == "", Tenant: tenant, Here: t.Port != 0,
	}, t, true
}

func loopback(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// letIn handles the person's confirmation.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	v, t, ok := s.terminalRequest(w, r, me)
	if !ok {
		return
	}
	id, signedIn := s.sessionID(r)
	switch {
	case !signedIn:
		s.signIn(w, r, "")
		return
	case r.PostFormValue("as") != me.By.Principal:
		v.Problem = answeredIn(w).Say("You are now signed in as somebody else than when this page was opened. Check again whom this terminal would sign in.")
		s.render(w, http.StatusConflict, "terminal", v)
		return
	case !s.letting.Take(me.By.Principal, s.opts.Now()):
		s.notePerson(r, byTerminal, ask.CodeQuota, "too many terminals in this minute", me, ask.Key{})
		v.Problem = answeredIn(w).Say("You have signed in many terminals in this minute. Wait a minute, then try again.")
		s.render(w, http.StatusTooManyRequests, "terminal", v)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	code, err := s.opts.Terminals.LetIn(ctx, id, t.Challenge, "terminal "+t.Client)
	switch {
	case errors.Is(err, ask.ErrNotFound):
		s.signIn(w, r, "")
		return
	case errors.Is(err, ask.ErrQuota):
		s.notePerson(r, byTerminal, ask.CodeQuota, detail(err), me, ask.Key{})
		v.Problem = sentence(answeredIn(w), err)
		s.render(w, http.StatusTooManyRequests, "terminal", v)
		return
	case err != nil:
		s.cannotSignIn(w, r, err, answeredIn(w).Say("Try again in a few seconds."))
		return
	}
	s.opts.Logger.InfoContext(r.Context(), "terminal confirmed", slog.String("principal", me.By.Principal))
	if t.Port != 0 && r.PostFormValue("how") != "code" {
		http.Redirect(w, r, loopback(t.Port)+"/?"+url.Values{"code": {code}, "state": {t.State}}.Encode(), http.StatusSeeOther)
		return
	}
	v.Title, v.Code = answeredIn(w).Say("Type this code"), code
	s.render(w, http.StatusOK, "terminal", v)
}

// terminalCall is the body of a request by a terminal. Terminals have no
// cookie, and their secret is not a browser's.
type terminalCall struct {
	Code     string `json:"code"`
	Verifier string `json:"verifier"`
	Tenant   string `json:"tenant"`
}

// terminal handles a request that a terminal makes.
func (s *Server) terminal(do func(ctx context.Context, secret string, c terminalCall) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var c terminalCall
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTerminalBody)).Decode(&c); err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || len(c.Tenant) > ask.MaxToken {
			s.replyTerminal(w, r, ask.Refuse(ask.CodeInvalid, "this is not what \"askbus login\" sends"))
			return
		}
		secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		reply, err := do(ctx, secret, c)
		if errors.Is(err, ask.ErrNotFound) {
			err = ask.Refuse(ask.CodeUnauthorized, "this terminal is signed out; sign in again with \"askbus login\"")
		}
		if err != nil {
			s.replyTerminal(w, r, err)
			return
		}
		writeJSON(w, http.StatusOK, reply)
	}
}

// replyTerminal sends a refusal in a form that programs read.
func (s *Server) replyTerminal(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*ask.Error](err)
	if !ok {
		s.opts.Logger.ErrorContext(r.Context(), "cannot serve a terminal", slog.Any("error", err))
		e = ask.Refuse(ask.CodeUnavailable, "the bus does not answer just now; try again")
	}
	if e.Code != ask.CodeInvalid {
		s.noteRefused(r, byTerminal, ask.By{}, e)
	}
	status := map[string]int{
		ask.CodeInvalid: http.StatusBadRequest, ask.CodeUnauthorized: http.StatusUnauthorized, ask.CodeForbidden: http.StatusForbidden, ask.CodeQuota: http.StatusTooManyRequests,
	}[e.Code]
	status = cmp.Or(status, http.StatusServiceUnavailable)
	writeJSON(w, status, map[string]any{"status": status, "code": e.Code, "detail": e.Detail})
}

// redeem gives a terminal its secret for a code. It counts refused codes: each
// costs a read on the bus, even though guessing cannot succeed. An address may
// be that of many people, so more refused codes make further ones slow, not
// void.
func (s *Server) redeem(w http.ResponseWriter, r *http.Request) {
	from := ratelimit.Network(r.RemoteAddr)
	s.terminal(func(ctx context.Context, _ string, c terminalCall) (any, error) {
		if now := s.opts.Now(); s.guessed.Full(from, now) && !s.suspect.Take(now) {
			return nil, ask.Refuse(ask.CodeQuota, "too many wrong codes came from this address; wait a minute and try again")
		}
		err := error(ask.Refuse(ask.CodeUnauthorized, "this is not a code of this inbox"))
		var secret string
		if plainToken.MatchString(c.Code) && plainToken.MatchString(c.Verifier) {
			secret, err = s.opts.Terminals.Redeem(ctx, c.Code, c.Verifier)
		}
		if errors.Is(err, ask.ErrForbidden) {
			s.guessed.Take(from, s.opts.Now())
		}
		return map[string]string{"secret": secret}, err
	})(w, r)
}

// checkSecret refuses malformed secrets, which need no lookup.
func checkSecret(secret string) error {
	if rest, ok := strings.CutPrefix(secret, auth.TerminalSecret); !ok || !plainToken.MatchString(rest) {
		return ask.Refuse(ask.CodeUnauthorized, "this is not the secret of a terminal")
	}
	return nil
}

func (s *Server) terminalCredential(ctx context.Context, secret string, c terminalCall) (any, error) {
	if err := checkSecret(secret); err != nil {
		return nil, err
	}
	body, err := s.opts.Terminals.Credential(ctx, secret, c.Tenant)
	return json.RawMessage(body), err
}

func (s *Server) terminalLogout(ctx context.Context, secret string, _ terminalCall) (any, error) {
	if err := checkSecret(secret); err != nil {
		return nil, err
	}
	return struct{}{}, s.opts.Terminals.EndTerminal(ctx, secret)
}
