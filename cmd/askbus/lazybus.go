package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// lazyBus is the connection of a process that an agent's host starts. It connects on first use, so
// that the process survives a bus that is not up yet, and reconnects when the directory names
// another server.
type lazyBus struct {
	a  *app
	mu sync.Mutex
	b  *bus
}

// get returns the connection, or the error of connecting.
func (l *lazyBus) get() (*bus, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b != nil && (l.b.nc.IsConnected() || !l.moved()) {
		return l.b, nil
	}
	b, err := l.a.dialAs(natsd.Role{Name: natsd.RoleAgent, Tenant: l.a.Tenant})
	if err != nil {
		return nil, ask.Refuse(ask.CodeUnavailable, "%v", err)
	}
	if l.b != nil {
		l.b.close()
	}
	l.b = b
	return b, nil
}

// moved reports whether the directory now names another server.
func (l *lazyBus) moved() bool {
	cred, err := l.a.credential()
	return err == nil && cred.URL != l.b.cred.URL
}

// Open returns the asks of one session, for one call.
func (l *lazyBus) Open(_ context.Context, tenant, session string) (client.Session, error) {
	b, err := l.get()
	if err != nil {
		return client.Session{}, err
	}
	return b.asks.Session(tenant, session), nil
}

func (l *lazyBus) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b != nil {
		l.b.close()
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
	opts := responder.Options{Tenant: tenant, Session: session, Logger: h.lazy.a.log()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nc == nil || h.own && (h.tenant != tenant || h.session != session) {
		cred, own, err := h.credential(tenant, session)
		if err != nil {
			return nil, err
		}
		nc, err := client.Connect(h.lazy.a.trust(cred), h.lazy.a.log(), nats.RetryOnFailedConnect(false))
		if err != nil {
			return nil, err
		}
		if h.nc != nil {
			h.nc.Close()
		}
		h.nc, h.own, h.tenant, h.session = nc, own, tenant, session
		role, _ := natsd.ParseUser(cred.Name) // unknown roles stay empty
		h.host = role.Name == natsd.RoleHost
	}
	opts.Host = h.host
	return responder.New(h.nc, h.typ, opts)
}

// credential returns the credential of the dialog: the configured one, or one for just this session
// made with the directory's keys (own).
func (h *hostDialog) credential(tenant, session string) (cred client.Credential, own bool, err error) {
	a := h.lazy.a
	if a.host.HostCreds != "" {
		cred, err := readCreds(a.host.HostCreds)
		if cred.URL == "" {
			cred.URL = a.NATS.URL
		}
		if b, err := h.lazy.get(); cred.URL == "" && err == nil {
			cred.URL = b.cred.URL
		}
		return cred, false, err
	}
	if !natsd.HasKeys(a.Dir) {
		return client.Credential{}, false, errNoHostCreds
	}
	bus, err := a.credential()
	if err != nil {
		return client.Credential{}, false, err
	}
	cred, err = a.local(natsd.Role{Name: natsd.RoleHost, Tenant: tenant, Session: session})
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
// credential, the settings, or else the fallback.
func (a *app) hostHome(fallback func() string) (tenant, session string, err error) {
	tenant, session = a.Tenant, a.session
	if session == "" {
		session = os.Getenv("__VF_PROJECT_AI_SESSION_ID__")
	}
	if session == "" {
		session = fallback()
	}
	if a.Creds != "" || a.Exchange.URL != "" {
		cred, err := a.credential()
		if err != nil {
			return "", "", usage("%w", err)
		}
		if role, err := natsd.ParseUser(cred.Name); err == nil && role.Tenant != "" {
			tenant = role.Tenant
			if role.Session != "" {
				session = role.Session
			}
		}
	}
	if !ask.ValidToken(tenant) {
		return "", "", usage("invalid tenant %q: use A-Z a-z 0-9 _ -", tenant)
	}
	if session != "" {
		session = ask.Token(session)
	}
	return tenant, session, nil
}

// sitting returns the person at the host, as far as this process can tell.
func sitting() ask.By {
	by := localUser(nil)
	by.Proof = ask.ProofHostDialog
	return by
}

// askLink returns the URL at which a person answers an ask, or "" if no inbox is known.
func (a *app) askLink(k ask.Key) string {
	url := a.inboxURL()
	if url == "" {
		return ""
	}
	return strings.TrimRight(url, "/") + "/ask/" + k.String()
}
