package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// Type is the responder type of what is answered through these doors.
const Type = "gateway"

// Options tunes a [Gateway]. The zero value is ready to use.
type Options struct {
	// BaseURL is where callers reach the doors; its host is accepted.
	// Default: http://localhost.
	BaseURL string
	// Hosts are further host names to answer for, beside loopback and
	// BaseURL's. Others are refused, so that no foreign page can point its own
	// name at this machine.
	Hosts []string
	// CORSOrigins are the web origins whose pages may call the doors; default none.
	CORSOrigins []string
	// EmbedOrigins are the web origins that may frame /embed; default none.
	EmbedOrigins []string

	MaxWait      time.Duration // one wait; default and most: 10 min
	BodyTimeout  time.Duration // for a request's whole body; default 15 s
	KeepAlive    time.Duration // between signs of life on a wait, to clients that read them; default 1 min
	Ping         time.Duration // between pings of a socket, and how long one may take; default 30 s
	MaxRequests  int           // under way at once; default 20,000
	MaxSockets   int           // at once; default 10,000
	MaxPerToken  int           // sockets of one token; default 2,000
	MaxPerSocket int           // open asks that one socket shows or waits for; default 1,000

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discard
}

func (o *Options) fill() {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	num := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	if o.BaseURL == "" {
		o.BaseURL = "http://localhost"
	}
	def(&o.MaxWait, ask.MaxHold)
	o.MaxWait = min(o.MaxWait, ask.MaxHold)
	def(&o.BodyTimeout, 15*time.Second)
	def(&o.KeepAlive, time.Minute)
	def(&o.Ping, 30*time.Second)
	num(&o.MaxRequests, 20_000)
	num(&o.MaxSockets, 10_000)
	num(&o.MaxPerToken, 2_000)
	num(&o.MaxPerSocket, 1_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Gateway serves the doors. It is safe for concurrent use.
type Gateway struct {
	opts    Options
	base    *url.URL
	tokens  *token.File
	nc      *nats.Conn
	resp    *responder.Responder
	clients *clients
	again   *again
	sockets *sockets
	slots   chan struct{}
	drain   chan struct{} // closed when Run ends: waits return what they have
}

// New makes the doors over a connection with the gateway's credential. It
// starts nothing; see [Gateway.Run].
func New(nc *nats.Conn, tokens *token.File, opts Options) (*Gateway, error) {
	opts.fill()
	if tokens == nil {
		return nil, errors.New("gateway: no tokens, so nobody could knock")
	}
	base, err := url.Parse(strings.TrimRight(opts.BaseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("gateway: base URL %q is not like http://host:port", opts.BaseURL)
	}
	for _, origin := range append(opts.CORSOrigins, opts.EmbedOrigins...) {
		if err := checkOrigin(origin); err != nil {
			return nil, err
		}
	}
	resp, err := responder.New(nc, Type, responder.Options{Limit: watched, Logger: opts.Logger})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g := &Gateway{
		opts: opts, base: base, tokens: tokens, nc: nc, resp: resp,
		clients: newClients(nc, opts.Logger), again: newAgain(),
		slots: make(chan struct{}, opts.MaxRequests), drain: make(chan struct{}),
	}
	g.sockets = newSockets(g)
	return g, nil
}

// watched is how many pending asks the doors keep an eye on for live sockets.
// Sockets read what they show by themselves, so more than that is only late.
const watched = 100_000

// checkOrigin sees that s is a web origin and nothing more.
func checkOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != s || strings.ContainsAny(s, "*;, '\"") {
		return fmt.Errorf("gateway: %q is no web origin such as https://chat.example.com", s)
	}
	return nil
}

// Run feeds the live sockets until ctx ends; then waits and sockets end, and it
// returns nil. A gateway runs once.
func (g *Gateway) Run(ctx context.Context) error {
	err := g.resp.Watch(ctx, g.sockets.tell)
	close(g.drain)
	g.sockets.close()
	g.clients.close()
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // told to stop
	case err == nil:
		return errors.New("gateway: watching the bus ended by itself")
	default:
		return fmt.Errorf("gateway: watch the bus: %w", err)
	}
}

// Paths are the paths of the doors, as patterns of [http.ServeMux], for
// whoever serves something else at the same address.
func Paths() []string {
	return []string{"/v1/", "/t/", "/api/interact/", "/ws", "/embed", "/embed/", "/openapi.yaml", "/asyncapi.yaml", "/schemas/"}
}

// Handler serves the doors.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	door := func(path string, doors methods) { mux.Handle(path, g.door(doors)) }
	door("/v1/asks", methods{"GET": g.list, "POST": g.ask})
	door("/v1/asks/{session}/{id}", methods{"GET": g.get, "DELETE": g.withdraw})
	door("/v1/asks/{session}/{id}/answer", methods{"POST": g.answer})
	door("/v1/asks/{session}/{id}/decline", methods{"POST": g.decline})
	door("/v1/history", methods{"GET": g.history})
	door("/v1/events", methods{"POST": g.events})
	door("/v1/permission", methods{"POST": g.permission})
	door("/api/interact/ask", methods{"POST": g.interact})
	door("/ws", methods{"GET": g.socket})
	door("/embed", methods{"GET": g.embed})
	mux.Handle("/embed/{name}", g.open(methods{"GET": embedAsset}))
	mux.Handle("/openapi.yaml", g.open(methods{"GET": document(openAPI)}))
	mux.Handle("/asyncapi.yaml", g.open(methods{"GET": document(asyncAPI)}))
	mux.Handle("/schemas/{name}", g.open(methods{"GET": schema}))
	mux.Handle("/", g.open(methods{"*": nowhere}))
	return g.guard(mux)
}

func nowhere(http.ResponseWriter, *http.Request, *caller) error {
	return ask.Refuse(http.StatusNotFound, ask.CodeNotFound, "there is no such door; /openapi.yaml describes those that there are")
}
