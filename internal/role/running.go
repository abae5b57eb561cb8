package role

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/push"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/server/certificate"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
)

// Process is a long-running process under construction: its parts in the order of their
// dependencies, and the contents of context.json.
type Process struct {
	a          *cli.App
	stopped    <-chan struct{}
	Log        *slog.Logger
	metrics    *metrics.Set
	tracing    trace.TracerProvider // nil: nothing is traced
	before     cli.Context          // context.json at start
	After      cli.Context          // what this process writes into it
	parts      []daemon.Part
	last       []daemon.Part  // started last, stopped first
	mounts     *http.ServeMux // served at the inbox's address
	files      []func() error // why a file of the operator cannot be read as it is now
	bus        []nats.Option  // connect to the server in this process
	keys       *rights.Issuer // of the server in this process
	Closes     []func()
	clockAhead time.Duration       // torture: offset of the clock
	tls        *certificate.Keeper // of the listeners; nil: no TLS
	insecure   bool                // allow other machines to reach them without TLS
	linkHost   string              // in links, if we listen on all addresses; empty: 127.0.0.1
	pages      string              // URL of the inbox for browsers
	signedIn   chan struct{}       // signals a sign-in at the inbox
	twin       net.Listener        // of the inbox, at the other loopback address; see [Process.listen]
	first      bool                // this is "askbus up", whose person may be helped with the first steps
	// ownFingerprint is that of a certificate that this process made; empty: there is none.
	ownFingerprint string
	second         bool // another inbox of this directory runs and keeps its address in context.json
}

// NewRunning begins a process that ctx stops.
func NewRunning(ctx context.Context, a *cli.App) *Process {
	before, err := cli.ReadContext(a.Dir)
	if err != nil {
		a.Note("askbus: warning: %v", err)
	}
	return &Process{signedIn: make(chan struct{}, 1), a: a, stopped: ctx.Done(), Log: a.Logger(), metrics: metrics.New(), before: before, tracing: a.Tracing()}
}

// Run writes context.json and runs the parts until a signal.
func (r *Process) Run(ctx context.Context, ready func()) error {
	err := cli.UpdateContext(r.a.Dir, func(c *cli.Context) {
		if r.After.NATSURL != "" {
			c.NATSURL, c.Operator = r.After.NATSURL, r.After.Operator
			c.NATSCAFile, c.NATSServerName = r.After.NATSCAFile, r.After.NATSServerName
		}
		first := !r.second || r.After.HTTPURL == c.HTTPURL || !served(ctx, c.HTTPURL)
		if r.After.HTTPURL != "" && first {
			c.HTTPURL = r.After.HTTPURL
		}
		c.InteractURL = cmp.Or(r.After.InteractURL, c.InteractURL)
		for role, url := range r.After.Ops {
			c.SetOps(role, url)
		}
	})
	if err != nil {
		return err
	}
	for _, note := range r.a.Moved { // only now: a process that does not start has moved nothing
		r.a.Note("askbus: %s", note)
	}
	if r.tls != nil { // before it says that it is ready: until then a SIGHUP ends the process
		all, stop := context.WithCancel(context.WithoutCancel(ctx)) // it may come while the process drains
		defer stop()
		again := daemon.Hangups(all)
		r.parts = append(r.parts, daemon.Part{Name: "certificate", Run: func(ctx context.Context) error { return r.tls.Run(ctx, again) }})
	}
	if ready != nil {
		ready()
	}
	return daemon.Run(ctx, append(r.parts, r.last...)...)
}

// Close closes what the process holds open, the last opened first.
func (r *Process) Close() {
	for _, end := range slices.Backward(r.Closes) {
		end()
	}
}

// server starts the embedded server.
func (r *Process) server(s *upSettings, cluster *natsd.Cluster) (*natsd.Server, error) {
	bytes, err := file.ParseSize(s.MaxStore)
	if err == nil {
		err = natsd.CheckBudget(bytes)
	}
	if err != nil {
		return nil, cli.Usage("--max-store: %w", err)
	}
	if s.NATSMessages == 0 || s.NATSMessages < -1 {
		return nil, cli.Usage("--nats-messages: invalid limit %d: use a number above 0, or -1 for none", s.NATSMessages)
	}
	quotas, err := r.quotas(s.Policy)
	if err != nil {
		return nil, err
	}
	if err := r.guard("NATS", s.NATSAddr, "--nats-addr"); err != nil {
		return nil, err
	}
	if s.LeafAddr != "" {
		if err := r.guard("NATS for leaf nodes", s.LeafAddr, "--leaf-addr"); err != nil {
			return nil, err
		}
	}
	use, moved := sticky(s.NATSAddr, r.before.NATSURL)
	opts := natsd.Options{
		Dir: r.a.Dir, Addr: use, MaxStore: bytes, Cluster: cluster, LeafAddr: s.LeafAddr, Logger: r.Log,
		Wait: s.StoreWait, Stopped: r.stopped,
		Bounds: natsd.Bounds{Messages: s.NATSMessages, Connections: func(tenant string) (int, int) { return quotas().Connections(tenant) }},
	}
	if r.tls != nil {
		opts.TLS = r.tls.NATS()
	}
	srv, err := natsd.Start(opts)
	if err != nil {
		return nil, err
	}
	r.Closes = append(r.Closes, srv.Close)
	r.metrics.Server(srv.Figures)
	r.bus = append(r.bus, nats.InProcessServer(srv))
	if moved {
		r.a.Moved = append(r.a.Moved, fmt.Sprintf("the previous NATS port is taken; now at %s", srv.Addr()))
	}
	r.keys, r.After.NATSURL = srv.Issuer(), srv.URL()
	r.noteTrust(srv.URL())
	operator, err := r.credential(rights.Role{Name: rights.RoleOperator})
	if err != nil {
		return nil, err
	}
	r.After.Operator = &operator
	r.parts = append(r.parts, daemon.Part{Name: "operator's credential", Run: r.renewOperator})
	return srv, nil
}

// renewOperator renews the credential in context.json, which is valid for a day.
func (r *Process) renewOperator(ctx context.Context) error {
	for backoff.Sleep(ctx, 8*time.Hour) == nil {
		operator, err := r.credential(rights.Role{Name: rights.RoleOperator})
		if err == nil {
			err = cli.UpdateContext(r.a.Dir, func(c *cli.Context) { c.Operator = &operator })
		}
		if err != nil {
			r.Log.Error("cannot renew the operator's credential in context.json", slog.Any("error", err))
		}
	}
	return nil
}

// waitSaid is how often a role says again that it waits for its server.
const waitSaid = 30 * time.Second

// connect connects with a credential; the connection closes after the parts have stopped.
func (r *Process) connect(c client.Credential) (*nats.Conn, error) {
	nc, err := r.dial(c)
	if err == nil {
		r.Closes = append(r.Closes, nc.Close)
		r.watchExpiry(c)
	}
	return nc, err
}

// credential returns this process's own for a role: of the server that it runs, else of the settings.
func (r *Process) credential(role rights.Role) (client.Credential, error) {
	if r.keys == nil {
		return r.a.CredOf(role)
	}
	c, err := r.keys.Credential(r.After.NATSURL, role)
	return client.Credential(c), err
}

// as connects in a role. It returns what the credential says of it, such as its tenant.
func (r *Process) as(role rights.Role) (*nats.Conn, rights.Role, error) {
	c, err := r.credential(role)
	if err != nil {
		return nil, role, err
	}
	nc, err := r.connect(c)
	of, _ := rights.ParseUser(c.Name) // unknown roles stay empty
	return nc, of, err
}

// watchExpiry measures when a credential that was given expires; others are made, or swapped for a token, again and again.
func (r *Process) watchExpiry(c client.Credential) {
	if r.a.Creds == "" {
		return
	}
	if who, err := identify(c); err == nil && !who.Expires.IsZero() {
		r.metrics.Credential(who.Name, func() time.Time {
			now, _ := identify(c) // a file that cannot be read just now says nothing
			return now.Expires
		})
	}
}

func (r *Process) dial(c client.Credential) (*nats.Conn, error) {
	if r.bus != nil {
		c.URL = strings.Replace(c.URL, "tls://", "nats://", 1) // in-process
	} else {
		c = r.a.Trust(c)
	}
	nc, err := connection.Connect(connection.Credential(c), r.Log, r.bus...)
	begun := time.Now()
	end, say := begun.Add(r.a.NATS.Wait), begun
	for try := 0; notYet(err) && time.Now().Before(end); try++ {
		if !time.Now().Before(say) {
			r.Log.Warn("nothing answers at the NATS server: trying again", slog.String("url", c.URL), slog.Any("error", err), slog.Duration("at_most", time.Until(end).Round(time.Second)))
			say = time.Now().Add(waitSaid)
		}
		select {
		case <-time.After(min(backoff.Delay(100*time.Millisecond, try), time.Until(end))):
		case <-r.stopped:
			return nil, fmt.Errorf("stopped while nothing answered at %s: %w", c.URL, context.Canceled)
		}
		nc, err = connection.Connect(connection.Credential(c), r.Log, r.bus...)
	}
	if errors.Is(err, nats.ErrNoServers) {
		if r.a.Creds != "" { // of a server elsewhere
			return nil, fmt.Errorf("nothing answers at %s; check that the server runs, and that its address is right and can be reached from here", c.URL)
		}
		return nil, fmt.Errorf("nothing answers at %s; is \"%s\" running?", c.URL, r.a.Hint("server"))
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	return nc, nil
}

// identify reads a given credential, or its file as it is now.
func identify(c client.Credential) (connection.Identity, error) {
	if c.Renew == nil {
		return connection.Identify(c.Creds)
	}
	now, err := c.Renew()
	if err != nil {
		return connection.Identity{}, err
	}
	return connection.Identify(now)
}

// notYet reports whether a connection failed as it does while its server starts: nothing listens,
// the server's name is not in DNS yet or DNS fails, or a proxy before it closes or drops the connection.
func notYet(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && (dial.Op == "dial" || dial.Op == "read") || errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF)
}

// inbox makes the web inbox on its own connection, and returns whether it can serve people.
func (r *Process) inbox(ln net.Listener, w config.Web, p config.Push, l *config.Listen, cookieKey []byte) (ready func() error, err error) {
	nc, role, err := r.as(rights.Role{Name: rights.RoleResponder, Type: "web"})
	if err != nil {
		return nil, err
	}
	resp, err := responder.New(nc, "web", responder.Options{Tenant: role.Tenant, Session: role.Session, Logger: r.Log, TracerProvider: r.tracing})
	if err != nil {
		return nil, err
	}
	base := r.base(ln)
	if role.Session != "" {
		return nil, cli.Usage("the credential is for session %s; an inbox stores sign-ins and needs one for a tenant or for all", role.Session)
	}
	pages, err := web.PagesAt(cookieKey, base)
	if err != nil {
		return nil, err
	}
	ways, err := r.signIns(nc, role.Tenant, base, pages, w)
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	atOnce := auth.Options{Idle: w.Web.Idle, Life: w.Web.Life, Tenant: role.Tenant, Logger: r.Log}
	if ways.provider != nil {
		r.parts = append(r.parts, daemon.Part{Name: "sign-in provider", Run: ways.provider.Run})
		atOnce.Issuer, atOnce.Refresh, atOnce.Every, atOnce.Key = w.Web.OIDC.Issuer, ways.provider.Refresh, w.Web.OIDC.Refresh, tokenKey(cookieKey)
	}
	sessions, err := auth.NewSessions(nc, atOnce)
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	pushKeys, err := push.DeriveKeys(cookieKey)
	if err != nil {
		return nil, err
	}
	options := web.Options{
		CookieKey: cookieKey, Sessions: beginnings{sessions, r.signedIn}, Push: push.NewStore(nc, pushKeys, push.Options{Hosts: p.Push.Hosts, Contact: p.Push.Contact, Tenant: role.Tenant, Logger: r.Log}), Flags: strings.TrimSpace(strings.TrimPrefix(r.a.Hint(""), "askbus")), Identity: cli.LocalUser(w.Groups), Hosts: w.Web.Hosts, BaseURL: base, Undo: r.a.Undo, Logger: r.Log,
	}
	options.Note = inboxEvents(r.reports(nc, "inbox", audit.Surface("web", role.Tenant)))
	if r.first {
		options.Setup = r.setup(w)
	}
	options.Fingerprint = r.ownFingerprint
	options.Terminals = terminalSignIns{sessions, nc, role.Tenant}
	ways.into(&options)
	if pages != base {
		if options.Host, err = web.HostOf(cookieKey); err != nil {
			return nil, err
		}
	}
	pending := cli.NewBoard(resp, role)
	if shared := pending.SharedStandIns(); shared != nil {
		options.StandIns = shared
	}
	options.Links = board.NewSharedLinks(resp)
	srv, err := web.New(pending, resp, options)
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	r.After.HTTPURL, r.pages = base, pages
	// The inbox stops first: it ends the live streams, which would block the HTTP server's
	// shutdown.
	handler := r.mounted(r.metrics.HTTP("inbox", mostConnections(l), srv.Handler()))
	serve, leave := daemon.Leaving("http", ln, handler, limits(l), grace(l), l.HTTPLinger)
	r.parts, r.last = append(r.parts, serve), append(r.last, leave)
	if r.twin != nil {
		r.parts = append(r.parts, daemon.HTTP("http at the other loopback address", r.twin, handler, limits(l), 5*time.Second))
	}
	r.parts = append(r.parts, daemon.Part{Name: "web", Run: srv.Run})
	return func() error { return errors.Join(natsReady(nc), sessions.Ready()) }, nil
}
