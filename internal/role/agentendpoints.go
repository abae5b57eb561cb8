package role

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/telemetry"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// agentEndpoints returns the HTTP handlers for agents' hosts: MCP and the hook. The returned part ends
// their waits.
func (r *Process) agentEndpoints(nc *nats.Conn, g *gateway.Gateway, base, inbox string, issuers *exchange.Source) (map[string]http.Handler, daemon.Part, error) {
	asks, err := client.New(nc, client.Options{Logger: r.Log, TracerProvider: r.tracing})
	if err != nil {
		return nil, daemon.Part{}, err
	}
	open := sharedBus{asks}
	opts := mcpserver.Options{Logger: r.Log, Version: cli.BuildVersion(), Span: telemetry.Tools(r.tracing), Link: func(k ask.Key) string { return inbox + "/ask/" + k.String() }}
	hookOpts := hook.Options{Logger: r.Log}
	// The keys of --dir make the credentials with which hosts' dialogs answer.
	if rights.HasKeys(r.a.Dir) && r.a.Creds == "" {
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
	mcp := mcpserver.HTTP{BaseURL: base, Ended: func(ctx context.Context) bool { return access.Ended(ctx) != nil }, Caller: func(req *http.Request) (mcpserver.Caller, error) { return mcpCaller(g, req) }}
	if issuers != nil {
		mcp.Issuers, mcp.Scopes = issuers.Issuers, issuers.Scopes
	}
	handlers := map[string]http.Handler{
		mcpserver.Path:                          mcpserver.New(open, opts).Handler(life, mcp),
		mcpserver.MetadataPath:                  mcp.Metadata(),
		mcpserver.MetadataPath + mcpserver.Path: mcp.Metadata(),
		hook.Path:                               hook.New(open, hookOpts).Handler(func(req *http.Request) (func(string) (hook.Call, error), error) { return hookCaller(g, req) }),
	}
	return handlers, daemon.Part{Name: "mcp", Run: func(ctx context.Context) error {
		<-ctx.Done()
		end()
		asks.Close()
		return nil
	}}, nil
}

// sharedBus opens every session over one connection, with the gateway's rights.
type sharedBus struct{ *client.Client }

func (b sharedBus) Open(_ context.Context, tenant, session string) (client.Session, error) {
	return b.Session(tenant, session), nil
}

// answering lets the dialogs of agents' hosts answer through a responder.
type answering struct{ *responder.Responder }

func (r *Process) hostDialog(typ string) (answering, error) {
	nc, _, err := r.as(rights.Role{Name: rights.RoleResponder, Type: typ})
	if err != nil {
		return answering{}, err
	}
	resp, err := responder.New(nc, typ, responder.Options{Logger: r.Log, TracerProvider: r.tracing})
	return answering{resp}, err
}

// Decline declines the ask in a person's name.
func (a answering) Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error) {
	return a.Cancel(ctx, k, responder.Decline{AnswerID: r.AnswerID, Reason: reason, By: r.By})
}

// mcpCaller returns the caller of /mcp. The session comes from the header Askbus-Session, the
// query, or the token.
func mcpCaller(g *gateway.Gateway, req *http.Request) (_ mcpserver.Caller, err error) {
	t, err := g.Caller(req)
	if err != nil {
		return mcpserver.Caller{}, err
	}
	defer func() { g.Refused(req, &t, err) }()
	session := named(req)
	if session == "" {
		session = ownSession(&t)
	}
	tenant, err := mayAsk(&t, req, session)
	if err != nil {
		return mcpserver.Caller{}, err
	}
	who := mcpserver.Caller{Tenant: tenant, Session: session, Agent: mcpserver.AgentPath(req.Header.Get("Askbus-Agent")), Unproven: access.NoHost}
	host, shows, err := g.Host(req, tenant, session)
	if err != nil || !shows {
		return who, err // answering here needs the host's token
	}
	who.Human, who.Mark = host.HostBy(), host.Mark
	who.Forms, _ = strconv.ParseBool(req.URL.Query().Get("elicit"))
	return who, nil
}

// hookCaller authenticates a call of /v1/hook. The returned function gives the call for a session
// of the host.
func hookCaller(g *gateway.Gateway, req *http.Request) (func(session string) (hook.Call, error), error) {
	t, err := g.Caller(req)
	if err != nil {
		return nil, err
	}
	return func(session string) (hook.Call, error) { return hookCall(g, req, &t, session) }, nil
}

func hookCall(g *gateway.Gateway, req *http.Request, t *token.Token, session string) (_ hook.Call, err error) {
	defer func() { g.Refused(req, t, err) }()
	if name := named(req); name != "" {
		session = name
	}
	if own, one := t.Session(); one {
		session = own // not the host's name for it
	}
	if session == "" {
		session = ownSession(t)
	}
	tenant, err := mayAsk(t, req, session)
	if err != nil {
		return hook.Call{}, err
	}
	call := hook.Call{Tenant: tenant, Session: session, Unproven: access.NoHost}
	host, shows, err := g.Host(req, tenant, session)
	if err == nil && shows {
		call.Human, call.Mark = host.HostBy(), host.Mark
	}
	return call, err
}

// named returns the session that a request names, as a token.
func named(req *http.Request) string {
	session := cmp.Or(req.Header.Get("Askbus-Session"), req.URL.Query().Get("session"))
	if session == "" {
		return ""
	}
	return ask.Token(session)
}

// ownSession returns the default session of a token: the one it is for, or one derived from the
// token's id.
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
	tenant = cmp.Or(tenant, ask.DefaultTenant)
	if !ask.ValidToken(tenant) || !t.MayAsk(tenant, session) {
		return "", ask.Refuse(ask.CodeForbidden, "this token %s; it may not ask for session %.64s of tenant %.64s", t.Scope(), session, tenant)
	}
	return tenant, nil
}
