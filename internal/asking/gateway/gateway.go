package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/internal/asking/gateway/httpapi"
	"github.com/askbus/askbus/internal/asking/gateway/panel"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/asking/gateway/wsapi"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
)

// Type is the responder type of answers through the gateway.
const Type = "gateway"

// Options tunes a [Gateway]. The zero value is ready to use.
type Options struct {
	// BaseURL is the public URL; its host is accepted. Default: http://localhost.
	BaseURL string
	// InboxURL is the web inbox, where a person can answer. Default: BaseURL.
	InboxURL string
	// Hosts are accepted host names besides loopback and BaseURL's. Others are refused, so that no
	// foreign page can point its own name at this machine.
	Hosts []string
	// CORSOrigins are the web origins whose pages may call the API; default none.
	CORSOrigins []string
	// EmbedOrigins are the web origins that may frame /embed; default none.
	EmbedOrigins []string

	BodyTimeout  time.Duration // for a request's whole body; default 15 s
	MaxRequests  int           // concurrent requests; default 20,000
	MaxSockets   int           // at once; default 10,000
	MaxPerToken  int           // sockets of one token; default 2,000
	PerMinute    int           // new sockets of one token in a minute; default: as many as MaxPerToken, so that all may come back
	MaxPerSocket int           // open asks that one socket shows or awaits; default 1,000

	// Swap swaps a token for the NATS credential of a session, as JSON; the error is an
	// [*ask.Error]. Default: no swapping.
	Swap func(ctx context.Context, token, session string) ([]byte, error)

	// Refused is called with every request that is refused with 401, 403 or 429. It must not block.
	// Default: none.
	Refused func(access.Refusal)

	// Foreign makes an agent's token of the token of another issuer, which counts for
	// MCP; the error is an [*ask.Error], or says that it cannot be checked. Default:
	// only tokens of ours count.
	Foreign func(ctx context.Context, token string) (token.Token, error)

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discard

	Tracing trace.TracerProvider // default: none
}

// MaxRequests is how many requests a gateway has under way at most, by default.
const MaxRequests = 20_000

func (o *Options) fill() {
	num := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	o.BaseURL = cmp.Or(o.BaseURL, "http://localhost")
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	if o.BodyTimeout <= 0 {
		o.BodyTimeout = 15 * time.Second
	}
	num(&o.MaxRequests, MaxRequests)
	num(&o.MaxSockets, 10_000)
	num(&o.MaxPerToken, 2_000)
	num(&o.PerMinute, o.MaxPerToken)
	num(&o.MaxPerSocket, 1_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// Gateway serves the HTTP API, the WebSocket and the panel. It is safe for
// concurrent use.
type Gateway struct {
	tokens  *token.Store
	access  *access.Control
	asks    *asking.Asks
	board   *board.Board
	api     *httpapi.API
	sockets *wsapi.Server
	panel   panel.Panel
	swaps   *swaps
}

// New makes a gateway on a connection with the gateway's credential. It starts nothing;
// [Gateway.Run] also runs tokens.
func New(nc *nats.Conn, tokens *token.Store, opts Options) (*Gateway, error) {
	opts.fill()
	for _, origin := range append(opts.CORSOrigins, opts.EmbedOrigins...) {
		if err := checkOrigin(origin); err != nil {
			return nil, err
		}
	}
	control, err := access.New(tokens, access.Options{
		BaseURL: opts.BaseURL, Hosts: opts.Hosts, CORSOrigins: opts.CORSOrigins,
		BodyTimeout: opts.BodyTimeout, MaxRequests: opts.MaxRequests, Now: opts.Now, Logger: opts.Logger, Refused: opts.Refused, Foreign: opts.Foreign,
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	resp, err := responder.New(nc, Type, responder.Options{Logger: opts.Logger, TracerProvider: opts.Tracing})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	agents, err := client.New(nc, client.Options{Logger: opts.Logger, TracerProvider: opts.Tracing})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	link := func(k ask.Key) string { return cmp.Or(opts.InboxURL, opts.BaseURL) + "/ask/" + k.String() }
	asks, pending := asking.New(agents, opts.Logger), board.New(resp, board.Options{})
	return &Gateway{
		tokens: tokens, access: control, asks: asks, board: pending, panel: panel.Panel{Origins: opts.EmbedOrigins}, swaps: newSwaps(opts.Swap, tokens.Check, opts.Now),
		api: httpapi.New(nc, control, asks, resp, pending, httpapi.Options{BaseURL: opts.BaseURL, Link: link, Now: opts.Now, Logger: opts.Logger}),
		sockets: wsapi.New(control, asks, resp, pending, wsapi.Options{
			MaxSockets: opts.MaxSockets, MaxPerToken: opts.MaxPerToken, PerMinute: opts.PerMinute, MaxPerSocket: opts.MaxPerSocket, Link: link, Now: opts.Now, Logger: opts.Logger,
		}),
	}, nil
}

// checkOrigin returns an error unless s is exactly a web origin.
func checkOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != s || strings.ContainsAny(s, "*;, '\"") {
		return fmt.Errorf("gateway: invalid web origin %q: use one such as https://chat.example.com", s)
	}
	return nil
}

// Run feeds the sockets until ctx ends; then it refuses new requests, answers waits with their
// status, closes all sockets, and returns nil. Call it once.
func (g *Gateway) Run(ctx context.Context) error {
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	checking, uncheck := context.WithCancel(context.WithoutCancel(ctx))
	defer uncheck()
	tokens := make(chan error, 1)
	go func() {
		defer cancel()
		tokens <- g.tokens.Run(checking)
	}()
	err := g.follow(following)
	g.access.Stop()
	g.asks.Close()
	g.api.Close()
	g.sockets.Close()
	uncheck() // last, because without it nobody knows whether a token is still valid
	err = errors.Join(err, <-tokens)
	switch {
	case ctx.Err() != nil:
		return nil // stopped
	case err == nil:
		return errors.New("gateway: the watch on the bus ended unexpectedly")
	default:
		return fmt.Errorf("gateway: watch the bus: %w", err)
	}
}

// Ready returns an error until the gateway can check tokens.
func (g *Gateway) Ready() error {
	if !g.tokens.Read() {
		return errors.New("the tokens have not been read yet")
	}
	return nil
}

// follow follows the asks until ctx ends.
func (g *Gateway) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan struct{})
	go func() {
		defer close(told)
		g.board.Subscribe(ctx, board.Filter{}, g.sockets.Publish)
	}()
	err := g.board.Run(ctx)
	cancel()
	<-told
	return err
}

// Paths returns the gateway's paths as patterns of [http.ServeMux], for servers with other handlers
// at the same address.
func Paths() []string {
	return []string{"/v1/", "/t/", "/api/interact/", "/ws", "/embed", "/embed/", "/openapi.yaml", "/asyncapi.yaml", "/schemas", "/schemas/", "/a2a", httpapi.AgentCardPath}
}

// Handler serves all of [Paths].
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range g.api.Routes() {
		mux.Handle(path, g.access.Authenticated(methods))
	}
	mux.Handle("/ws", g.access.Authenticated(access.Methods{"GET": g.sockets.Connect}))
	mux.Handle("/embed", g.access.Authenticated(access.Methods{"GET": g.panel.Page}))
	for path, methods := range map[string]access.Methods{
		"/embed/{name}":       {"GET": panel.Asset},
		"/v1/credentials":     {"POST": g.swaps.serve},
		"/openapi.yaml":       {"GET": document(openAPI)},
		httpapi.AgentCardPath: {"GET": g.api.AgentCard},
		"/asyncapi.yaml":      {"GET": document(asyncAPI)},
		"/schemas":            {"GET": schemas},
		"/schemas/{$}":        {"GET": schemas},
		"/schemas/{name}":     {"GET": schema},
		"/":                   {"*": nowhere},
	} {
		mux.Handle(path, g.access.Open(methods))
	}
	return g.access.Guard(mux)
}

// Caller authenticates a call of a handler of [Gateway.With]. The error is an [*ask.Error].
func (g *Gateway) Caller(r *http.Request) (token.Token, error) { return g.access.Caller(r) }

// Refused reports that a handler of [Gateway.With] refuses the token that [Gateway.Caller]
// returned.
func (g *Gateway) Refused(r *http.Request, t *token.Token, err error) { g.access.Refused(r, t, err) }

// Host returns the token of the host that sends a request about a session; see
// [access.Control.Host].
func (g *Gateway) Host(r *http.Request, tenant, session string) (token.Token, bool, error) {
	return g.access.Host(r, tenant, session)
}

func nowhere(http.ResponseWriter, *http.Request, *access.Caller) error {
	return ask.Refusal(ask.CodeNotFound, ask.FaultUnknownPath)
}
