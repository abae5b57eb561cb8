package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// lazyBus is the connection of a process that an agent's host starts. It connects on first use, so
// that the process survives a bus that is not up yet, and reconnects when the directory names
// another server.
type lazyBus struct {
	a  *cli.App
	mu sync.Mutex
	b  *cli.Bus
}

// get returns the connection, or the error of connecting.
func (l *lazyBus) get() (*cli.Bus, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b != nil && (l.b.NC.IsConnected() || !l.moved()) {
		return l.b, nil
	}
	b, err := l.a.DialAs(rights.Role{Name: rights.RoleAgent, Tenant: l.a.Tenant})
	if err != nil {
		return nil, ask.Refuse(ask.CodeUnavailable, "%v", err)
	}
	if l.b != nil {
		l.b.Close()
	}
	l.b = b
	return b, nil
}

// moved reports whether the directory now names another server.
func (l *lazyBus) moved() bool {
	cred, err := l.a.Credential()
	return err == nil && cred.URL != l.b.Cred.URL
}

// Open returns the asks of one session, for one call.
func (l *lazyBus) Open(_ context.Context, tenant, session string) (client.Session, error) {
	b, err := l.get()
	if err != nil {
		return client.Session{}, err
	}
	return b.Asks.Session(tenant, session), nil
}

func (l *lazyBus) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b != nil {
		l.b.Close()
	}
}

// hostDialog answers for the person at an agent's own host: at its terminal ([ask.ResponderNative])
// or at a form ([ask.ResponderElicit]).
type hostDialog struct {
	lazy *lazyBus
	typ  string

	mu              sync.Mutex
	nc              *nats.Conn // separate from the asking one, which may not answer
	host            bool       // the credential is a host's
	own             bool       // the credential is for this session only
	tenant, session string
}

// errNoHostCreds reports a missing credential for a host's dialog.
var errNoHostCreds = errors.New(`this credential may ask but not answer; set ASKBUS_HOST_CREDS to one of "askbus auth host" for this session`)

func (h *hostDialog) responder(tenant, session string) (*responder.Responder, error) {
	opts := responder.Options{Tenant: tenant, Session: session, Logger: h.lazy.a.Logger()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nc == nil || h.own && (h.tenant != tenant || h.session != session) {
		cred, own, err := h.credential(tenant, session)
		if err != nil {
			return nil, err
		}
		nc, err := h.lazy.a.Connect(cred)
		if err != nil {
			return nil, err
		}
		if h.nc != nil {
			h.nc.Close()
		}
		h.nc, h.own, h.tenant, h.session = nc, own, tenant, session
		role, _ := rights.ParseUser(cred.Name) // unknown roles stay empty
		h.host = role.Name == rights.RoleHost
	}
	opts.Host = h.host
	return responder.New(h.nc, h.typ, opts)
}

// credential returns the credential of the dialog: the configured one, or one for just this session
// made with the directory's keys (own).
func (h *hostDialog) credential(tenant, session string) (cred client.Credential, own bool, err error) {
	a := h.lazy.a
	if a.Host.HostCreds != "" {
		cred, err := cli.ReadCreds(a.Host.HostCreds)
		cred.URL = cmp.Or(cred.URL, a.NATS.URL)
		if b, err := h.lazy.get(); cred.URL == "" && err == nil {
			cred.URL = b.Cred.URL
		}
		return cred, false, err
	}
	if !rights.HasKeys(a.Dir) {
		return client.Credential{}, false, errNoHostCreds
	}
	bus, err := a.Credential()
	if err != nil {
		return client.Credential{}, false, err
	}
	cred, err = a.Local(rights.Role{Name: rights.RoleHost, Tenant: tenant, Session: session})
	cred.URL = bus.URL
	return cred, true, err
}

// Answer sends a person's answer.
func (h *hostDialog) Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error) {
	resp, err := h.responder(k.Tenant, k.Session)
	if err != nil {
		return ask.Outcome{}, err
	}
	return resp.Answer(ctx, k, r)
}

// Receipt notes what the dialog did with an ask.
func (h *hostDialog) Receipt(ctx context.Context, k ask.Key, r ask.Receipt) error {
	resp, err := h.responder(k.Tenant, k.Session)
	if err != nil {
		return err
	}
	return resp.Receipt(ctx, k, r)
}

// Decline declines the ask in a person's name.
func (h *hostDialog) Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error) {
	resp, err := h.responder(k.Tenant, k.Session)
	if err != nil {
		return ask.Outcome{}, err
	}
	return resp.Cancel(ctx, k, responder.Decline{AnswerID: r.AnswerID, Reason: reason, By: r.By})
}

func (h *hostDialog) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nc != nil {
		h.nc.Close()
	}
}

// hostHome returns the tenant and session of an agent whose host started us: those of the
// credential, the settings, or else the session that is given.
func hostHome(a *cli.App, otherwise string) (tenant, session string, err error) {
	tenant, session = a.Tenant, cmp.Or(a.Session, a.Host.ProjectSession, otherwise)
	if a.Creds != "" || a.Exchange.URL != "" {
		cred, err := a.Credential()
		if err != nil {
			return "", "", cli.Usage("%w", err)
		}
		if role, err := rights.ParseUser(cred.Name); err == nil && role.Tenant != "" {
			tenant = role.Tenant
			session = cmp.Or(role.Session, session)
		}
	}
	if !ask.ValidToken(tenant) {
		return "", "", cli.Usage("invalid tenant %q: use A-Z a-z 0-9 _ -", tenant)
	}
	if session != "" {
		session = ask.Token(session)
	}
	return tenant, session, nil
}

// askLink returns the URL at which a person answers an ask, or "" if no inbox is known.
func askLink(a *cli.App, k ask.Key) string {
	url := a.InboxURL()
	if url == "" {
		return ""
	}
	return strings.TrimRight(url, "/") + "/ask/" + k.String()
}
