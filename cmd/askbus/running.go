package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/audit"
	"github.com/askbus/askbus/internal/auth"
	"github.com/askbus/askbus/internal/backoff"
	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/bytesize"
	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/certificate"
	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/internal/httpserver"
	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/livefile"
	"github.com/askbus/askbus/internal/metrics"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/push"
	"github.com/askbus/askbus/internal/quota"
	"github.com/askbus/askbus/internal/web"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
)

// running is a long-running process under construction: its parts in the order of their
// dependencies, and the contents of context.json.
type running struct {
	a          *app
	stopped    <-chan struct{}
	log        *slog.Logger
	metrics    *metrics.Set
	tracing    trace.TracerProvider // nil: nothing is traced
	before     config.Context       // context.json at start
	after      config.Context       // what this process writes into it
	parts      []daemon.Part
	last       []daemon.Part  // started last, stopped first
	mounts     *http.ServeMux // served at the inbox's address
	bus        []nats.Option  // connect to the server in this process
	keys       *natsd.Issuer  // of the server in this process
	closes     []func()
	clockAhead time.Duration       // torture: offset of the clock
	tls        *certificate.Keeper // of the listeners; nil: no TLS
	insecure   bool                // allow other machines to reach them without TLS
	linkHost   string              // in links, if we listen on all addresses; empty: 127.0.0.1
	second     bool                // another inbox of this directory runs and keeps its address in context.json
}

// newRunning begins a process that ctx stops.
func (a *app) newRunning(ctx context.Context) *running {
	before, err := config.ReadContext(a.Dir)
	if err != nil {
		a.say("askbus: warning: %v", err)
	}
	return &running{a: a, stopped: ctx.Done(), log: a.log(), metrics: metrics.New(), before: before, tracing: a.tracing()}
}

// run writes context.json and runs the parts until a signal.
func (r *running) run(ctx context.Context, ready func()) error {
	err := config.UpdateContext(r.a.Dir, func(c *config.Context) {
		if r.after.NATSURL != "" {
			c.NATSURL, c.Operator = r.after.NATSURL, r.after.Operator
			c.NATSCAFile, c.NATSServerName = r.after.NATSCAFile, r.after.NATSServerName
		}
		first := !r.second || r.after.HTTPURL == c.HTTPURL || !served(ctx, c.HTTPURL)
		if r.after.HTTPURL != "" && first {
			c.HTTPURL = r.after.HTTPURL
		}
		for role, url := range r.after.Ops {
			c.SetOps(role, url)
		}
	})
	if err != nil {
		return err
	}
	for _, note := range r.a.moved { // only now: a process that does not start has moved nothing
		r.a.say("askbus: %s", note)
	}
	if ready != nil {
		ready()
	}
	if r.tls != nil {
		r.parts = append(r.parts, daemon.Part{Name: "certificate", Run: func(ctx context.Context) error { return r.tls.Run(ctx, daemon.Hangups(ctx)) }})
	}
	return daemon.Run(ctx, append(r.parts, r.last...)...)
}

func (r *running) close() {
	for _, end := range slices.Backward(r.closes) {
		end()
	}
}

// server starts the embedded server.
func (r *running) server(s *upSettings, cluster *natsd.Cluster) (*natsd.Server, error) {
	bytes, err := bytesize.Parse(s.MaxStore)
	if err == nil {
		err = natsd.CheckBudget(bytes)
	}
	if err != nil {
		return nil, usage("--max-store: %w", err)
	}
	if s.NATSMessages == 0 || s.NATSMessages < -1 {
		return nil, usage("--nats-messages: invalid limit %d: use a number above 0, or -1 for none", s.NATSMessages)
	}
	quotas, err := r.quotas(s.Policy)
	if err != nil {
		return nil, err
	}
	if err := r.guard("NATS", s.NATSAddr, "--nats-addr"); err != nil {
		return nil, err
	}
	use, moved := sticky(s.NATSAddr, r.before.NATSURL)
	opts := natsd.Options{
		Dir: r.a.Dir, Addr: use, MaxStore: bytes, Cluster: cluster, Logger: r.log,
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
	r.closes = append(r.closes, srv.Close)
	r.bus = append(r.bus, nats.InProcessServer(srv))
	if moved {
		r.a.moved = append(r.a.moved, fmt.Sprintf("the previous NATS port is taken; now at %s", srv.Addr()))
	}
	r.keys, r.after.NATSURL = srv.Issuer(), srv.URL()
	r.noteTrust(srv.URL())
	operator, err := r.local(natsd.Role{Name: natsd.RoleOperator})
	if err != nil {
		return nil, err
	}
	r.after.Operator = &operator
	r.parts = append(r.parts, daemon.Part{Name: "operator's credential", Run: r.renewOperator})
	return srv, nil
}

// renewOperator renews the credential in context.json, which is valid for a day.
func (r *running) renewOperator(ctx context.Context) error {
	tick := time.NewTicker(8 * time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		operator, err := r.local(natsd.Role{Name: natsd.RoleOperator})
		if err == nil {
			err = config.UpdateContext(r.a.Dir, func(c *config.Context) { c.Operator = &operator })
		}
		if err != nil {
			r.log.Error("cannot renew the operator's credential in context.json", slog.Any("error", err))
		}
	}
}

// broker makes a broker on two connections.
func (r *running) broker(ctx context.Context, service, led client.Credential, l config.Ledger, types []string) (*broker.Broker, error) {
	if err := broker.CheckTypes(types); err != nil {
		return nil, usage("--responder-types: %w", err)
	}
	budget, err := bytesize.Parse(l.MaxStore)
	if err != nil {
		return nil, usage("--max-store: %w", err)
	}
	audited, err := auditSettings(l.AuditRetention, l.AuditBytes, l.AuditFull)
	if err != nil {
		return nil, err
	}
	quotas, err := r.quotas(l.Policy)
	if err != nil {
		return nil, err
	}
	svcConn, err := r.connect(service)
	if err != nil {
		return nil, err
	}
	ledConn, err := r.connect(led)
	if err != nil {
		return nil, err
	}
	open, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ledger, err := ledger.Open(open, ledConn, ledger.Options{
		Partitions: l.Partitions, Replicas: l.Replicas, Retention: l.Retention, Margin: l.Margin, Budget: budget, Logger: r.log, Audit: audited,
		Clock: func() time.Time { return time.Now().Add(r.clockAhead) },
	})
	if err != nil {
		return nil, err
	}
	verifier, err := r.verifier()
	if err != nil {
		return nil, err
	}
	b := broker.New(svcConn, ledger, broker.Options{
		Logger: r.log, Version: buildVersion(), Types: types, Metrics: r.metrics, Tracing: r.tracing, Verifier: verifier,
		Quotas: quotas, Policy: func(tenant string) string { return quotas().MinProof(tenant) },
	})
	r.parts = append(r.parts, daemon.Part{Name: "broker", Run: b.Run})
	return b, nil
}

// verifier checks the credentials of responders: with the account in the directory, or the one from
// the broker's own credential.
func (r *running) verifier() (broker.Verifier, error) {
	if r.a.Creds == "" {
		return identity.NewVerifier(identity.BusAccount(r.a.Dir)), nil
	}
	c, err := readBrokerCreds(r.a.Creds)
	if err != nil {
		return nil, err
	}
	if c.Account == "" {
		r.log.Warn("the broker's credential lacks the account's JWT, so nobody can answer in a person's name; print it again with \"askbus auth broker\"")
	}
	return identity.NewVerifier(func() (string, error) {
		c, err := readBrokerCreds(r.a.Creds)
		if err == nil && c.Account == "" {
			err = errors.New("it lacks the account; print the credential again with \"askbus auth broker\"")
		}
		return c.Account, err
	}), nil
}

// quotas returns the limits of tenants: those of the policy file, else the defaults.
func (r *running) quotas(file string) (func() *quota.Policy, error) {
	if file == "" {
		p := quota.Default()
		return func() *quota.Policy { return p }, nil
	}
	f, err := livefile.Open(file, quota.Parse, r.log)
	if err != nil {
		return nil, usage("--policy: %w", err)
	}
	return f.Content, nil
}

// waitSaid is how often a role says again that it waits for its server.
const waitSaid = 30 * time.Second

// connect connects with a credential; the connection closes after the parts have stopped.
func (r *running) connect(c client.Credential) (*nats.Conn, error) {
	if r.bus != nil {
		c.URL = strings.Replace(c.URL, "tls://", "nats://", 1) // in-process
	} else {
		c = r.a.trust(c)
	}
	nc, err := call.Connect(call.Credential(c), r.log, r.bus...)
	begun := time.Now()
	end, say := begun.Add(r.a.NATS.Wait), begun
	for try := 0; notYet(err) && time.Now().Before(end); try++ {
		if !time.Now().Before(say) {
			r.log.Warn("nothing answers at the NATS server: trying again", slog.String("url", c.URL), slog.Any("error", err), slog.Duration("at_most", time.Until(end).Round(time.Second)))
			say = time.Now().Add(waitSaid)
		}
		select {
		case <-time.After(min(backoff.Delay(100*time.Millisecond, try), time.Until(end))):
		case <-r.stopped:
			return nil, fmt.Errorf("stopped while nothing answered at %s: %w", c.URL, context.Canceled)
		}
		nc, err = call.Connect(call.Credential(c), r.log, r.bus...)
	}
	if errors.Is(err, nats.ErrNoServers) {
		if r.a.Creds != "" { // of a server elsewhere
			return nil, fmt.Errorf("nothing answers at %s; check that the server runs, and that its address is right and can be reached from here", c.URL)
		}
		return nil, fmt.Errorf("nothing answers at %s; is \"%s\" running?", c.URL, r.a.hint("server"))
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	r.closes = append(r.closes, nc.Close)
	return nc, nil
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

// inbox makes the web inbox on its own connection.
func (r *running) inbox(c client.Credential, ln net.Listener, w config.Web, p config.Push, limits httpserver.Limits, cookieKey []byte) (*nats.Conn, error) {
	nc, err := r.connect(c)
	if err != nil {
		return nil, err
	}
	role, _ := natsd.ParseUser(c.Name) // unknown roles stay empty
	resp, err := responder.New(nc, "web", responder.Options{Tenant: role.Tenant, Session: role.Session, Logger: r.log, TracerProvider: r.tracing})
	if err != nil {
		return nil, err
	}
	base := r.base(ln)
	if role.Session != "" {
		return nil, usage("the credential of %s is for one session; an inbox stores sign-ins and needs a credential for a tenant or for all", c.Name)
	}
	ways, err := r.signIns(nc, role.Tenant, base, w)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	atOnce := auth.Options{Idle: w.Web.Idle, Life: w.Web.Life, Tenant: role.Tenant, Logger: r.log}
	if ways.provider != nil {
		atOnce.Refresh, atOnce.Every, atOnce.Key = ways.provider.Refresh, w.Web.OIDC.Refresh, tokenKey(cookieKey)
	}
	sessions, err := auth.NewSessions(nc, atOnce)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	pushKeys, err := push.DeriveKeys(cookieKey)
	if err != nil {
		return nil, err
	}
	options := web.Options{
		CookieKey: cookieKey, Sessions: sessions, Push: push.NewStore(nc, pushKeys, role.Tenant, p.Push.Hosts, nil), Flags: strings.TrimSpace(strings.TrimPrefix(r.a.hint(""), "askbus")), Identity: localUser(w.Groups), Hosts: w.Web.Hosts, BaseURL: base, Logger: r.log,
	}
	options.Note = inboxEvents(r.reports(nc, "inbox", audit.Surface("web", role.Tenant)))
	options.Terminals = terminalSignIns{sessions, nc, role.Tenant}
	ways.into(&options)
	srv, err := web.New(newBoard(resp, role), resp, options)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	r.after.HTTPURL = base
	// The inbox stops first: it ends the live streams, which would block the HTTP server's
	// shutdown.
	r.parts = append(r.parts, daemon.HTTP("http", ln, r.mounted(srv.Handler()), limits, 5*time.Second), daemon.Part{Name: "web", Run: srv.Run})
	return nc, nil
}

// secretOf returns a setting that is given as text or in a file, which NAME_FILE names.
func secretOf(name, text, file string) (string, error) {
	switch {
	case file == "":
		return text, nil
	case text != "":
		return "", fmt.Errorf("%s and %s_FILE are both set; use one of them", name, name)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// cookieKey returns the key of login cookies: the configured one, or one derived from the
// directory's key.
func (a *app) cookieKey(w config.Web) ([]byte, error) {
	k, err := secretOf("ASKBUS_WEB_COOKIE_KEY", w.Web.CookieKey, w.Web.CookieKeyFile)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if k != "" || w.Web.CookieKeyFile != "" {
		if len(k) < 32 {
			return nil, usage("the key of login cookies has fewer than 32 characters; make one with \"openssl rand -hex 32\"")
		}
		return []byte(k), nil
	}
	key, err := natsd.LoadKey(a.Dir)
	if err != nil {
		return nil, err
	}
	return key.Derive("web-cookie"), nil
}

// credOf returns the credential of a process: the one of ASKBUS_CREDS, else one that it makes with
// the directory's keys.
func (a *app) credOf(role natsd.Role) (client.Credential, error) {
	if a.Creds == "" {
		return a.local(role)
	}
	return a.givenCred()
}

// givenCred returns the credential of ASKBUS_CREDS.
func (a *app) givenCred() (client.Credential, error) {
	c, err := readCreds(a.Creds)
	if a.NATS.URL != "" {
		c.URL = a.NATS.URL
	}
	return c, err
}

// local makes a credential for this process with the directory's keys.
func (a *app) local(role natsd.Role) (client.Credential, error) {
	return a.localAsserting(role, role.Assertions())
}

// localAsserting is local with other assertions than the role's default.
func (a *app) localAsserting(role natsd.Role, may identity.Assertions) (client.Credential, error) {
	keys, url, err := a.keys()
	if err != nil {
		return client.Credential{}, err
	}
	if url == "" {
		return client.Credential{}, fmt.Errorf("no server found in %s; start \"%s\", or set ASKBUS_NATS_URL and ASKBUS_CREDS", a.Dir, a.hint("server"))
	}
	c, err := keys.Asserting(url, role, may)
	return client.Credential(c), err
}
