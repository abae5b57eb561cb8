package web

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// Values of Event.Kind.
const (
	EventRefused   = "refused"
	EventSignedIn  = "signed in" // by a proxy; other sign-ins create a session, which the audit sees
	EventDeclined  = "declined several"
	EventDismissed = "dismissed several"
)

// Ways to sign in, as the audit names them.
const (
	byLink     = "sign-in by link"
	byProvider = "sign-in by oidc"
	byPasskey  = "sign-in by passkey" //nolint:gosec // no secret
	byProxy    = "sign-in by proxy"
	byTerminal = "sign-in of a terminal"
	byInvite   = "invitation"
)

// Event reports something that the audit cannot read from the state the inbox
// keeps on the bus.
type Event struct {
	Kind    string
	What    string // [EventRefused]: what was tried, such as "sign-in by link"
	Code    string // [EventRefused]: as in a problem body
	Why     string // in English
	By      ask.By // the principal
	Known   bool   // whether By was already proven
	Tenant  string // of the ask, if the event is about one
	Session string
	Address string // of the browser
}

func (s *Server) note(r *http.Request, e Event) {
	if s.opts.Note != nil {
		e.Address = httpserver.Host(r.RemoteAddr)
		s.opts.Note(e)
	}
}

// noteRefused notes a refused request if err is about identity or permission.
// An invalid sign-in counts.
func (s *Server) noteRefused(r *http.Request, what string, by ask.By, err error) {
	if errors.Is(err, ask.ErrInvalid) {
		err = ask.Refuse(ask.CodeUnauthorized, "%s", detail(err))
	}
	if errors.Is(err, ask.ErrForbidden) || errors.Is(err, ask.ErrQuota) {
		e, _ := errors.AsType[*ask.Error](err)
		code := ask.CodeForbidden
		if e != nil {
			code = e.Code
		}
		s.note(r, Event{Kind: EventRefused, What: what, Code: code, Why: detail(err), By: by})
	}
}

// notePerson notes that a signed-in person was refused an action.
func (s *Server) notePerson(r *http.Request, what, code, why string, me board.Viewer, k ask.Key) {
	s.note(r, Event{Kind: EventRefused, What: what, Code: code, Why: why, By: me.By, Known: true, Tenant: k.Tenant, Session: k.Session})
}

func detail(err error) string {
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Detail != "" {
		return e.Detail
	}
	return err.Error()
}

// A proxy identifies the person on every request. One sign-in per principal and
// hour is noted.
const (
	proxyEvery = time.Hour
	maxProxied = 4096 // principals that are remembered
)

// proxied remembers which principals were noted as signed in by the proxy.
type proxied struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// first reports whether this is the principal's first request in this hour.
func (p *proxied) first(principal string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.seen[principal]; ok && now.Sub(at) < proxyEvery {
		return false
	}
	if p.seen == nil || len(p.seen) >= maxProxied {
		p.seen = map[string]time.Time{}
	}
	p.seen[principal] = now
	return true
}
