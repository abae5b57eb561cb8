package role

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/telemetry"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// gatewaySettings are the settings of "askbus gateway".
type gatewaySettings struct {
	config.Listen
	config.Gateway
	config.Web
}

// GatewayCmd is "askbus gateway".
func GatewayCmd(a *cli.App) *cobra.Command {
	var s gatewaySettings
	cmd := &cobra.Command{
		Use: "gateway", Short: "Start the HTTP and WebSocket gateway against a running server; any number of replicas", Args: cobra.NoArgs,
		Example: "  askbus gateway --http-addr 127.0.0.1:8422",
		Long: `Starts the HTTP and WebSocket gateway ("askbus up" serves it at the address of the
inbox). With --dir of an "askbus server" it makes its credential with the keys
there; elsewhere ASKBUS_CREDS is what "askbus auth gateway" prints. "askbus token issue" makes
the bearer tokens.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGateway(cmd.Context(), a, s) },
	}
	cli.Load(&s, cmd)
	cmd.Flags().StringVar(&s.HTTPAddr, "http-addr", s.HTTPAddr, "address to listen on")
	opsFlag(cmd, &s.OpsAddr)
	gatewayFlags(&s.Gateway, cmd)
	tlsFlags(&s.Listen, cmd)
	return cmd
}

func gatewayFlags(d *config.Gateway, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&d.CORSOrigins, "cors-origin", d.CORSOrigins, "web origins whose pages may call the HTTP API")
	f.StringSliceVar(&d.EmbedOrigins, "embed-origin", d.EmbedOrigins, "web origins that may frame /embed")
	f.StringVar(&d.InteractAddr, "interact-addr", d.InteractAddr, "loopback address at which programs of this machine ask in the dialect interact without a token (default none)")
	f.StringVar(&d.MCP.Rules, "mcp-rules", d.MCP.Rules, "rules file (YAML): which OAuth issuers' access tokens count at /mcp, and for which sessions")
	f.StringVar(&d.InteractSession, "interact-session", d.InteractSession, "the session of those asks")
}

func runGateway(ctx context.Context, a *cli.App, s gatewaySettings) error {
	r := NewRunning(ctx, a)
	defer r.Close()
	if err := r.secure(&s.Listen); err != nil {
		return err
	}
	ln, err := r.listen(ctx, "gateway", s.HTTPAddr, "")
	if err != nil {
		return err
	}
	nc, g, h, parts, err := r.gateway(ctx, ln, s.Gateway, s.Web, &s.Listen)
	if err != nil {
		_ = ln.Close()
		return err
	}
	serve, leave := daemon.Leaving("http", ln, h, limits(&s.Listen), grace(&s.Listen), s.HTTPLinger)
	r.parts = append(append(r.parts, serve), parts...)
	r.last = append(r.last, leave)
	return r.serve(ctx, "gateway", s.OpsAddr, func() error { return errors.Join(natsReady(nc), g.Ready()) }, "gateway at "+httpURL(ln))
}

// gateway makes the gateway, with the endpoints for agents' hosts, on its own connection. The
// caller serves the handler and runs the parts.
func (r *Process) gateway(ctx context.Context, ln net.Listener, d config.Gateway, w config.Web, l *config.Listen) (*nats.Conn, *gateway.Gateway, http.Handler, []daemon.Part, error) {
	base, hosts := r.base(ln), w.Web.Hosts
	if d.Gateway.URL != "" {
		if u, err := url.Parse(base); err == nil { // people come there, and in "up" agents may
			hosts = append(slices.Clip(hosts), u.Host)
		}
		base = strings.TrimRight(d.Gateway.URL, "/")
	}
	issuers, err := r.mcpIssuers(d.MCP.Rules, base+mcpserver.Path)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	nc, _, err := r.as(rights.Role{Name: rights.RoleGateway})
	if err != nil {
		return nil, nil, nil, nil, err
	}
	g, err := gateway.New(nc, token.NewStore(nc, state.CacheOptions{Logger: r.Log}), gateway.Options{
		Refused: gatewayRefusals(r.reports(nc, "gateway", audit.Gateway())),
		BaseURL: base, InboxURL: r.inboxAt(ln), Hosts: hosts, CORSOrigins: d.CORSOrigins, EmbedOrigins: d.EmbedOrigins, Logger: r.Log, Tracing: r.tracing,
		Foreign: foreignToken(issuers),
		Swap: func(ctx context.Context, token, session string) ([]byte, error) {
			return exchange.Swap(ctx, nc, token, session)
		},
	})
	if err != nil {
		return nil, nil, nil, nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if err := r.unlocked(ctx, g, d); err != nil {
		return nil, nil, nil, nil, err
	}
	more, part, err := r.agentEndpoints(nc, g, base, r.inboxAt(ln), issuers) //nolint:contextcheck // they end with the part that they come with
	if err != nil {
		return nil, nil, nil, nil, err
	}
	return nc, g, r.metrics.HTTP("gateway", min(gateway.MaxRequests, mostConnections(l)), telemetry.HTTP(r.tracing, g.With(more))), []daemon.Part{{Name: "gateway", Run: g.Run}, part}, nil
}

// base returns the URL at which callers reach a listener.
func (r *Process) base(ln net.Listener) string {
	if r.a.HTTP.URL != "" {
		return strings.TrimRight(r.a.HTTP.URL, "/")
	}
	return r.httpURL(ln)
}

// inboxAt returns the URL of the web inbox: where the settings say, or the directory's processes, or else here.
func (r *Process) inboxAt(ln net.Listener) string {
	return cmp.Or(strings.TrimRight(r.a.HTTP.URL, "/"), r.before.HTTPURL, r.httpURL(ln))
}

// mountGateway serves the gateway at the inbox's address.
func (r *Process) mountGateway(ctx context.Context, ln net.Listener, d config.Gateway, w config.Web, l *config.Listen) error {
	_, _, h, parts, err := r.gateway(ctx, ln, d, w, l)
	if err != nil {
		return err
	}
	for _, pattern := range append(gateway.Paths(), mcpserver.Path, mcpserver.MetadataPath, mcpserver.MetadataPath+mcpserver.Path) {
		r.mount(pattern, h)
	}
	// The gateway stops first: its waits would block the HTTP server's shutdown.
	r.last = append(r.last, parts...)
	return nil
}

// mount serves h at the inbox's address.
func (r *Process) mount(pattern string, h http.Handler) {
	if r.mounts == nil {
		r.mounts = http.NewServeMux()
	}
	r.mounts.Handle(pattern, h)
}

// mounted returns the inbox with everything that is mounted at its address.
func (r *Process) mounted(inbox http.Handler) http.Handler {
	if r.mounts == nil {
		return inbox
	}
	r.mounts.Handle("/", inbox)
	return r.mounts
}
