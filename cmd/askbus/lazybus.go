package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// lazyBus is the connection of a process that an agent's host starts: it is
// made when it is first needed, so that a bus which is not up yet ends nothing,
// and made anew when the bus has moved.
type lazyBus struct {
	a  *app
	mu sync.Mutex
	b  *bus
}

// get connects, or says why not.
func (l *lazyBus) get() (*bus, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b != nil && (l.b.nc.IsConnected() || !l.moved()) {
		return l.b, nil
	}
	b, err := l.a.dial()
	if err != nil {
		return nil, ask.Refuse(503, ask.CodeUnavailable, "%v", err)
	}
	if l.b != nil {
		l.b.nc.Close()
	}
	l.b = b
	return b, nil
}

// moved reports whether the directory now names another server.
func (l *lazyBus) moved() bool {
	cred, err := l.a.credential()
	return err == nil && cred.URL != l.b.cred.URL
}

// Open gives the asks of one session, for one call.
func (l *lazyBus) Open(_ context.Context, tenant, session string) (*client.Client, error) {
	b, err := l.get()
	if err != nil {
		return nil, err
	}
	return client.New(b.nc, tenant, session, client.Options{Logger: l.a.log()})
}

func (l *lazyBus) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b != nil {
		l.b.nc.Close()
	}
}

// hostDialog answers in the name of who sits at an agent's own host: at its
// terminal ([ask.ResponderNative]) or at a form ([ask.ResponderElicit]).
type hostDialog struct {
	lazy *lazyBus
	typ  string

	mu sync.Mutex
	nc *nats.Conn // of its own, when the bus's credential does not answer
}

// errNoHostCreds says what would let a host's dialog answer.
var errNoHostCreds = errors.New(`this credential asks, but does not answer; set ASKBUS_HOST_CREDS to one of "askbus creds responder --type native" (or elicit)`)

func (h *hostDialog) responder(tenant, session string) (*responder.Responder, error) {
	opts := responder.Options{Tenant: tenant, Session: session, Logger: h.lazy.a.log()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nc == nil {
		cred, err := h.credential(tenant, session)
		if err != nil {
			return nil, err
		}
		if cred == nil {
			b, err := h.lazy.get()
			if err != nil {
				return nil, err
			}
			return responder.New(b.nc, h.typ, opts)
		}
		if h.nc, err = client.Connect(*cred, h.lazy.a.log(), nats.RetryOnFailedConnect(false)); err != nil {
			return nil, err
		}
	}
	return responder.New(h.nc, h.typ, opts)
}

// credential is what the dialog answers with: the setting, or one for just
// this session derived from the directory's key; nil when the bus's own
// connection, an operator's, may answer.
func (h *hostDialog) credential(tenant, session string) (*client.Credential, error) {
	a := h.lazy.a
	if a.host.HostCreds != "" {
		cred, err := readCreds(a.host.HostCreds)
		if cred.URL == "" {
			cred.URL = a.NATS.URL
		}
		if b, err := h.lazy.get(); cred.URL == "" && err == nil {
			cred.URL = b.cred.URL
		}
		return &cred, err
	}
	own, err := a.credential()
	if err != nil {
		return nil, err
	}
	if role, err := natsd.ParseUser(own.User); err == nil && role.Name == natsd.RoleOperator {
		return nil, nil //nolint:nilnil // the bus's own
	}
	if _, err := os.Stat(filepath.Join(a.Dir, "key")); err != nil {
		return nil, errNoHostCreds
	}
	cred, err := a.local(natsd.Role{Name: natsd.RoleResponder, Type: h.typ, Tenant: tenant, Session: session})
	cred.URL = own.URL
	return &cred, err
}

// Answer sends what somebody answered.
func (h *hostDialog) Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error) {
	resp, err := h.responder(k.Tenant, k.Session)
	if err != nil {
		return ask.Outcome{}, err
	}
	return resp.Answer(ctx, k, r)
}

// Decline sends that somebody declined.
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

// hostHome is the tenant and session of an agent whose host started us: those
// of the credential, the settings, or else what fallback says.
func (a *app) hostHome(fallback func() string) (tenant, session string, err error) {
	tenant, session = a.Tenant, a.session
	if session == "" {
		session = os.Getenv("__VF_PROJECT_AI_SESSION_ID__")
	}
	if session == "" {
		session = fallback()
	}
	if a.Creds != "" {
		cred, err := readCreds(a.Creds)
		if err != nil {
			return "", "", usage("%w", err)
		}
		if role, err := natsd.ParseUser(cred.User); err == nil && role.Tenant != "" {
			tenant = role.Tenant
			if role.Session != "" {
				session = role.Session
			}
		}
	}
	if !ask.ValidToken(tenant) {
		return "", "", usage("tenant %q is no token; use A-Z a-z 0-9 _ -", tenant)
	}
	if session != "" {
		session = ask.Token(session)
	}
	return tenant, session, nil
}

// sitting is who sits at the host, as far as this process can know.
func sitting() ask.By {
	by := localUser(nil)
	by.Proof = ask.ProofHostDialog
	return by
}

// askLink is where a person answers an ask.
func (a *app) askLink(k ask.Key) string {
	url := a.inboxURL()
	if url == "" {
		return ""
	}
	return strings.TrimRight(url, "/") + "/ask/" + k.Tenant + "/" + k.Session + "/" + k.ID
}
