package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/internal/gateway"
	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/internal/hook"
	"github.com/askbus/askbus/internal/mcpserver"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// agentDoors are the doors for agents' hosts that stand beside the gateway's:
// MCP and the hook. The returned part ends their waits.
func (r *running) agentDoors(nc *nats.Conn, g *gateway.Gateway, base string) (map[string]http.Handler, daemon.Part, error) {
	open := sharedBus{nc, r}
	opts := mcpserver.Options{Logger: r.log, Version: version, Link: func(k ask.Key) string { return base + "/ask/" + k.String() }}
	hookOpts := hook.Options{Logger: r.log}
	// A key at hand gives the credentials with which hosts' dialogs answer.
	if _, err := os.Stat(filepath.Join(r.a.Dir, "key")); err == nil && r.a.Creds == "" {
		elicit, err := r.hostDialog(ask.ResponderElicit)
		if err != nil {
			return nil, daemon.Part{}, err
		}
		native, err := r.hostDialog(ask.ResponderNative)
		if err != nil {
			return nil, daemon.Part{}, err
		}
		opts.Decider, hookOpts.Answerer = elicit, native
	}
	life, end := context.WithCancel(context.Background())
	door := mcpserver.HTTP{BaseURL: base, Caller: func(req *http.Request) (mcpserver.Caller, error) { return mcpCaller(g, req) }}
	doors := map[string]http.Handler{
		mcpserver.Path:                          mcpserver.New(open, opts).Handler(life, door),
		mcpserver.MetadataPath:                  door.Metadata(),
		mcpserver.MetadataPath + mcpserver.Path: door.Metadata(),
		hook.Path:                               hook.New(open, hookOpts).Handler(func(req *http.Request, session string) (hook.Call, error) { return hookCaller(g, req, session) }),
	}
	return doors, daemon.Part{Name: "mcp", Run: func(ctx context.Context) error {
		<-ctx.Done()
		end()
		return nil
	}}, nil
}

// sharedBus opens every session over one connection with the gateway's rights.
type sharedBus struct {
	nc *nats.Conn
	r  *running
}

func (b sharedBus) Open(_ context.Context, tenant, session string) (*client.Client, error) {
	return client.New(b.nc, tenant, session, client.Options{Logger: b.r.log})
}

// answering is a responder for the dialogs of agents' hosts.
type answering struct{ *responder.Responder }

func (r *running) hostDialog(typ string) (answering, error) {
	cred, err := r.local(natsd.Role{Name: natsd.RoleResponder, Type: typ})
	if err != nil {
		return answering{}, err
	}
	nc, err := r.connect(cred)
	if err != nil {
		return answering{}, err
	}
	resp, err := responder.New(nc, typ, responder.Options{Logger: r.log})
	return answering{resp}, err
}

// local is a credential of the server that this process runs or knows.
func (r *running) local(role natsd.Role) (client.Credential, error) {
	if r.after.NATSURL == "" {
		return r.a.local(role)
	}
	key, err := natsd.LoadKey(r.a.Dir)
	if err != nil {
		return client.Credential{}, err
	}
	return derived(key, r.after.NATSURL, role)
}

// Decline sends that somebody declined.
func (a answering) Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error) {
	return a.Cancel(ctx, k, responder.Decline{AnswerID: r.AnswerID, Reason: reason, By: r.By})
}

// mcpCaller is who calls /mcp. The session is the header Askbus-Session, the
// query's, or what the token is for.
func mcpCaller(g *gateway.Gateway, req *http.Request) (mcpserver.Caller, error) {
	t, err := g.Caller(req)
	if err != nil {
		return mcpserver.Caller{}, err
	}
	session := named(req)
	if session == "" {
		session = ownSession(&t)
	}
	tenant, err := mayAsk(&t, req, session)
	if err != nil {
		return mcpserver.Caller{}, err
	}
	forms, _ := strconv.ParseBool(req.URL.Query().Get("elicit"))
	return mcpserver.Caller{
		Tenant: tenant, Session: session, Agent: mcpserver.AgentPath(req.Header.Get("Askbus-Agent")), Human: t.By(""), Forms: forms,
	}, nil
}

// hookCaller is who calls /v1/hook about a session of its host.
func hookCaller(g *gateway.Gateway, req *http.Request, session string) (hook.Call, error) {
	t, err := g.Caller(req)
	if err != nil {
		return hook.Call{}, err
	}
	if name := named(req); name != "" {
		session = name
	}
	if own, one := t.Session(); one {
		session = own // whatever the host calls it
	}
	if session == "" {
		session = ownSession(&t)
	}
	tenant, err := mayAsk(&t, req, session)
	return hook.Call{Tenant: tenant, Session: session, Human: t.By("")}, err
}

// named is the session that a request names, as a token.
func named(req *http.Request) string {
	session := req.Header.Get("Askbus-Session")
	if session == "" {
		session = req.URL.Query().Get("session")
	}
	if session == "" {
		return ""
	}
	return ask.Token(session)
}

// ownSession is the session of somebody who names none: the one of the token,
// or one that is the token's own.
func ownSession(t *token.Token) string {
	if session, one := t.Session(); one {
		return session
	}
	begin := ""
	if i := slices.IndexFunc(t.Sessions, func(s string) bool { return strings.HasSuffix(s, token.Every) }); i >= 0 {
		begin = strings.TrimSuffix(t.Sessions[i], token.Every)
	}
	return ask.Token(begin + "mcp-" + t.ID)
}

func mayAsk(t *token.Token, req *http.Request, session string) (tenant string, err error) {
	tenant = t.Tenant
	if name := req.Header.Get("Askbus-Tenant"); name != "" && t.Role == token.Operator {
		tenant = name
	}
	if tenant == "" {
		tenant = ask.DefaultTenant
	}
	if !ask.ValidToken(tenant) || !t.MayAsk(tenant, session) {
		return "", ask.Refuse(http.StatusForbidden, ask.CodeForbidden, "%s", fmt.Sprintf("this token %s; it may not ask for session %.64s of tenant %.64s", t.Scope(), session, tenant))
	}
	return tenant, nil
}
