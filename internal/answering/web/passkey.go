package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/pkg/ask"
)

// Passkeys signs people in with passkeys. All methods are safe for concurrent
// use. Errors with [ask.ErrInvalid] mean that the browser's data was rejected.
type Passkeys interface {
	// Origin is the origin at which the passkeys are valid.
	Origin() string
	// Any reports whether any passkey is registered.
	Any() bool
	// BeginRegister and BeginLogin return the options for the browser and the
	// state to keep until the ceremony ends.
	BeginRegister(ctx context.Context, p auth.Person) (options, keep []byte, err error)
	BeginLogin() (options, keep []byte, err error)
	// FinishRegister calls use once, after the passkey is verified and before
	// it is stored.
	FinishRegister(ctx context.Context, p auth.Person, kept, answer []byte, use func() error) (auth.Person, error)
	FinishLogin(ctx context.Context, kept, answer []byte) (auth.Person, error)
	// Run applies changes by other replicas until ctx ends.
	Run(ctx context.Context) error
}

// InviteLife is how long an invitation is valid.
const InviteLife = 7 * 24 * time.Hour

// InviteLink returns a link at which somebody registers a passkey for p. It is
// valid for [InviteLife] and one passkey.
func InviteLink(cookieKey []byte, origin string, p auth.Person, now time.Time) (string, error) {
	keys, err := deriveKeys(cookieKey)
	if err != nil {
		return "", err
	}
	pass := passFor(p.By, now, InviteLife)
	pass.ID, pass.Access = rand.Text(), p.Access
	token, err := pass.seal(keys.invite)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(origin, "/") + "/join?t=" + url.QueryEscape(token), nil
}

// joinView is the data of the invitation page.
type joinView struct {
	Title  string
	Name   string
	Token  string
	Origin string // the address at which the passkey is valid: scripts lead there
}

// join shows the page of an invitation. It does not use the invitation up.
func (s *Server) join(w http.ResponseWriter, r *http.Request) {
	p, err := unseal(r.URL.Query().Get("t"), s.keys.invite, s.opts.Now())
	if err != nil {
		s.noteRefused(r, byInvite, ask.By{}, ask.Refuse(ask.CodeUnauthorized, "the invitation is older than seven days or not from this inbox"))
		s.plain(w, http.StatusForbidden, plainPage{Title: answeredIn(w).Say("This invitation is not valid"), Lines: []string{answeredIn(w).Say("It is older than seven days, or not from this inbox. Ask for another one.")}})
		return
	}
	s.render(w, http.StatusOK, "join", joinView{Title: answeredIn(w).Say("Welcome"), Name: ask.CleanLine(p.Name), Token: r.URL.Query().Get("t"), Origin: s.opts.Passkeys.Origin()})
}

// ceremony is a browser's request in a passkey ceremony.
type ceremony struct {
	Token  string          `json:"t"` // of the invitation
	To     string          `json:"to"`
	Kept   string          `json:"kept"` // the state that [Server.tell] sent
	Answer json.RawMessage `json:"answer"`
}

func (s *Server) ceremony(r *http.Request) (c ceremony, err error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return c, ask.Refuse(ask.CodeInvalid, "this is not JSON")
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 64<<10)).Decode(&c); err != nil {
		return c, ask.Refuse(ask.CodeInvalid, "this cannot be read")
	}
	return c, nil
}

// replyOptions answers the first step with the options for the browser's authenticator
// and the signed state of the ceremony, which the browser returns. Replicas
// store nothing.
func (s *Server) replyOptions(w http.ResponseWriter, r *http.Request, to string, options, keep []byte) error {
	f, err := s.start(w, r, to)
	if err != nil {
		return err
	}
	body := base64.RawURLEncoding.EncodeToString(keep)
	writeJSON(w, http.StatusOK, map[string]any{"options": json.RawMessage(options), "kept": f.tag() + "." + body + "." + s.secret(f, "passkey "+body)})
	return nil
}

// begun returns this browser's flow, and the state that tell sent in it.
func (s *Server) begun(w http.ResponseWriter, r *http.Request, c ceremony) (f flow, keep []byte, err error) {
	tag, rest, _ := strings.Cut(c.Kept, ".")
	if f, err = s.flowOf(w, r, tag); err != nil {
		return f, nil, err
	}
	body, mac, _ := strings.Cut(rest, ".")
	if !equal(mac, s.secret(f, "passkey "+body)) {
		return f, nil, errNotBegun
	}
	keep, err = base64.RawURLEncoding.DecodeString(body)
	return f, keep, err
}

// invited verifies an invitation and returns its person.
func (s *Server) invited(token string) (auth.Person, pass, error) {
	p, err := unseal(token, s.keys.invite, s.opts.Now())
	if err != nil {
		return auth.Person{}, p, auth.Tell(ask.CodeInvalid, "this invitation is no longer valid")
	}
	return auth.Person{By: p.by(), Access: p.Access}, p, nil
}

func (s *Server) joinOptions(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	c, err := s.ceremony(r)
	var who auth.Person
	if err == nil {
		who, _, err = s.invited(c.Token)
	}
	var options, keep []byte
	if err == nil {
		options, keep, err = s.opts.Passkeys.BeginRegister(ctx, who)
	}
	if err == nil {
		err = s.replyOptions(w, r, "/", options, keep)
	}
	s.failed(w, r, who.By, err)
}

// joined stores a new passkey, uses the invitation up and signs the person in.
func (s *Server) joined(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	var who auth.Person
	err := func() error {
		c, err := s.ceremony(r)
		if err != nil {
			return err
		}
		var p pass
		if who, p, err = s.invited(c.Token); err != nil {
			return err
		}
		f, kept, err := s.begun(w, r, c)
		if err != nil {
			return err
		}
		who, err = s.opts.Passkeys.FinishRegister(ctx, who, kept, c.Answer, func() error {
			if err := s.useFlow(ctx, f); err != nil {
				return err
			}
			first, err := s.opts.Sessions.UseOnce(ctx, p.ID, time.Unix(p.Expires, 0))
			if err == nil && !first {
				err = auth.Tell(ask.CodeInvalid, "this invitation was used already; ask for another one")
			}
			return err
		})
		if err != nil {
			return err
		}
		return s.welcome(ctx, w, r, who, "/")
	}()
	s.failed(w, r, who.By, err)
}

func (s *Server) passkeyOptions(w http.ResponseWriter, r *http.Request) {
	c, err := s.ceremony(r)
	var options, keep []byte
	if err == nil {
		options, keep, err = s.opts.Passkeys.BeginLogin()
	}
	if err == nil {
		err = s.replyOptions(w, r, landing(c.To), options, keep)
	}
	s.failed(w, r, ask.By{}, err)
}

func (s *Server) passkey(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	var who auth.Person
	err := func() error {
		c, err := s.ceremony(r)
		if err != nil {
			return err
		}
		f, kept, err := s.begun(w, r, c)
		if err != nil {
			return err
		}
		if who, err = s.opts.Passkeys.FinishLogin(ctx, kept, c.Answer); err != nil {
			return err
		}
		if err := s.useFlow(ctx, f); err != nil {
			return err
		}
		return s.welcome(ctx, w, r, who, f.to)
	}()
	s.failed(w, r, who.By, err)
}

func (s *Server) welcome(ctx context.Context, w http.ResponseWriter, r *http.Request, who auth.Person, to string) error {
	if err := s.startSession(ctx, w, r, auth.SignIn{Person: who}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"to": landing(to)})
	return nil
}

// failed sends the error to the script, if there is one. By is who was invited,
// or whose passkey was named.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, by ask.By, err error) {
	switch {
	case err == nil:
	case errors.Is(err, ask.ErrInvalid):
		what := byPasskey
		if strings.HasPrefix(r.URL.Path, "/join") {
			what = byInvite
		}
		s.noteRefused(r, what, by, err)
		s.opts.Logger.WarnContext(r.Context(), "passkey rejected", slog.String("principal", by.Principal), slog.Any("error", err))
		writeJSON(w, http.StatusUnprocessableEntity, map[string]string{"problem": sentence(answeredIn(w), err)})
	default:
		s.opts.Logger.ErrorContext(r.Context(), "cannot sign a person in", slog.Any("error", err))
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"problem": answeredIn(w).Say("The bus does not answer just now. Try again in a few seconds.")})
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client disconnected
}
