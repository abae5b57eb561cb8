package main

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/audit"
	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/internal/exchange"
	"github.com/askbus/askbus/internal/gateway"
	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/internal/mcpserver"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/state"
	"github.com/askbus/askbus/internal/telemetry"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// gatewaySettings are the settings of "askbus gateway".
type gatewaySettings struct {
	config.Listen
	config.Doors
	config.Web
}

func (a *app) gatewayCmd() *cobra.Command {
	var s gatewaySettings
	cmd := &cobra.Command{
		Use: "gateway", Short: "Start the HTTP and WebSocket gateway against a running server; any number of replicas", Args: cobra.NoArgs,
		Example: "  askbus gateway --http-addr 127.0.0.1:8422",
		Long: `Starts the HTTP and WebSocket gateway ("askbus up" serves it at the address of the
inbox). With --dir of an "askbus server" it makes its credential with the keys
there; elsewhere ASKBUS_CREDS is what "askbus auth gateway" prints. "askbus token issue" makes
the bearer tokens.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runGateway(cmd.Context(), s) },
	}
	load(&s, cmd)
	f := cmd.Flags()
	f.StringVar(&s.HTTPAddr, "http-addr", s.HTTPAddr, "address to listen on")
	f.StringVar(&s.OpsAddr, "ops-addr", s.OpsAddr, "address of /healthz, /readyz and pprof")
	doorFlags(&s.Doors, cmd)
	tlsFlags(&s.Listen, cmd)
	return cmd
}

func doorFlags(d *config.Doors, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&d.CORSOrigins, "cors-origin", d.CORSOrigins, "web origins whose pages may call the HTTP API")
	f.StringSliceVar(&d.EmbedOrigins, "embed-origin", d.EmbedOrigins, "web origins that may frame /embed")
	f.StringVar(&d.InteractAddr, "interact-addr", d.InteractAddr, "loopback address at which programs of this machine ask in the dialect interact without a token (default none)")
	f.StringVar(&d.MCP.Rules, "mcp-rules", d.MCP.Rules, "rules file (YAML): which OAuth issuers' access tokens count at /mcp, and for which sessions")
	f.StringVar(&d.InteractSession, "interact-session", d.InteractSession, "the session of those asks")
}

func (a *app) runGateway(ctx context.Context, s gatewaySettings) error {
	r := a.newRunning()
	defer r.close()
	cred, err := a.gatewayCred()
	if err != nil {
		return err
	}
	if err := r.secure(&s.Listen); err != nil {
		return err
	}
	ln, err := r.listen(ctx, "gateway", s.HTTPAddr, "")
	if err != nil {
		return err
	}
	issuers, err := r.mcpIssuers(s.MCP.Rules, r.base(ln)+mcpserver.Path)
	if err != nil {
		_ = ln.Close()
		return err
	}
	nc, doors, err := r.doors(cred, ln, s.Doors, s.Web, issuers)
	if err != nil {
		_ = ln.Close()
		return err
	}
	if err := r.unlocked(ctx, doors, s.Doors); err != nil {
		_ = ln.Close()
		return err
	}
	beside, part, err := r.agentDoors(nc, doors, r.base(ln), issuers) //nolint:contextcheck // they end with the part that they come with
	if err != nil {
		_ = ln.Close()
		return err
	}
	r.parts = append(r.parts, daemon.HTTP("http", ln, telemetry.Doors(r.tracing, doors.Beside(beside)), s.limits(), 5*time.Second), daemon.Part{Name: "gateway", Run: doors.Run}, part)
	if err := r.ops(ctx, "gateway", s.OpsAddr, func() error { return natsReady(nc) }); err != nil {
		return err
	}
	return r.run(ctx, func() { a.say("askbus: gateway at %s, ops at %s", httpURL(ln), r.after.Ops["gateway"]) })
}

func (a *app) gatewayCred() (client.Credential, error) {
	if a.Creds == "" {
		return a.local(natsd.Role{Name: natsd.RoleGateway})
	}
	c, err := readCreds(a.Creds)
	if a.NATS.URL != "" {
		c.URL = a.NATS.URL
	}
	return c, err
}

// doors makes the gateway on its own connection. The caller serves and runs it.
func (r *running) doors(c client.Credential, ln net.Listener, d config.Doors, w config.Web, issuers *exchange.Source) (*nats.Conn, *gateway.Gateway, error) {
	nc, err := r.connect(c)
	if err != nil {
		return nil, nil, err
	}
	g, err := gateway.New(nc, token.NewStore(nc, state.CacheOptions{Logger: r.log}), gateway.Options{
		Refused: gatewayRefusals(r.reports(nc, "gateway", audit.Gateway())),
		BaseURL: r.base(ln), Hosts: w.Web.Hosts, CORSOrigins: d.CORSOrigins, EmbedOrigins: d.EmbedOrigins, Logger: r.log, Tracing: r.tracing,
		Foreign: foreignToken(issuers),
		Swap: func(ctx context.Context, token, session string) ([]byte, error) {
			return exchange.Swap(ctx, nc, token, session)
		},
	})
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	return nc, g, nil
}

// base returns the URL at which callers reach a listener.
func (r *running) base(ln net.Listener) string {
	if r.a.HTTP.URL != "" {
		return strings.TrimRight(r.a.HTTP.URL, "/")
	}
	return r.httpURL(ln)
}

// mountDoors serves the gateway at the inbox's address.
func (r *running) mountDoors(ctx context.Context, c client.Credential, ln net.Listener, d config.Doors, w config.Web) error {
	issuers, err := r.mcpIssuers(d.MCP.Rules, r.base(ln)+mcpserver.Path)
	if err != nil {
		return err
	}
	nc, doors, err := r.doors(c, ln, d, w, issuers)
	if err != nil {
		return err
	}
	if err := r.unlocked(ctx, doors, d); err != nil {
		return err
	}
	beside, part, err := r.agentDoors(nc, doors, r.base(ln), issuers) //nolint:contextcheck // they end with the part that they come with
	if err != nil {
		return err
	}
	h := telemetry.Doors(r.tracing, doors.Beside(beside))
	for _, pattern := range append(gateway.Paths(), mcpserver.Path, mcpserver.MetadataPath, mcpserver.MetadataPath+mcpserver.Path) {
		r.mount(pattern, h)
	}
	// The gateway stops first: its waits would block the HTTP server's shutdown.
	r.last = append(r.last, daemon.Part{Name: "gateway", Run: doors.Run}, part)
	return nil
}

// mount serves h at the inbox's address.
func (r *running) mount(pattern string, h http.Handler) {
	if r.mounts == nil {
		r.mounts = http.NewServeMux()
	}
	r.mounts.Handle(pattern, h)
}

// beside returns the inbox with everything that is mounted at its address.
func (r *running) beside(inbox http.Handler) http.Handler {
	if r.mounts == nil {
		return inbox
	}
	r.mounts.Handle("/", inbox)
	return r.mounts
}
