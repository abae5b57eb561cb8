package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/web"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// running is a long-running process while it is put together: its parts in the
// order in which they depend on each other, and what goes into context.json.
type running struct {
	a      *app
	log    *slog.Logger
	before config.Context // what context.json said when we came
	after  config.Context // what we add to it
	parts  []daemon.Part
	last   []daemon.Part  // start last, stop first
	mounts *http.ServeMux // what is served beside the inbox
	closes []func()
}

func (a *app) newRunning() *running {
	before, err := config.ReadContext(a.Dir)
	if err != nil {
		a.say("askbus: warning: %v", err)
	}
	return &running{a: a, log: a.log(), before: before}
}

// run notes where everything is, and runs the parts until a signal.
func (r *running) run(ctx context.Context, ready func()) error {
	err := config.UpdateContext(r.a.Dir, func(c *config.Context) {
		if r.after.NATSURL != "" {
			c.NATSURL, c.Operator = r.after.NATSURL, r.after.Operator
		}
		if r.after.HTTPURL != "" {
			c.HTTPURL = r.after.HTTPURL
		}
		for role, url := range r.after.Ops {
			c.SetOps(role, url)
		}
	})
	if err != nil {
		return err
	}
	if ready != nil {
		ready()
	}
	return daemon.Run(ctx, append(r.parts, r.last...)...)
}

func (r *running) close() {
	for _, end := range slices.Backward(r.closes) {
		end()
	}
}

// server starts the embedded server.
func (r *running) server(addr, maxStore string) (*natsd.Server, error) {
	bytes, err := config.Bytes(maxStore)
	if err != nil {
		return nil, usage("--max-store: %w", err)
	}
	use, moved := sticky(addr, r.before.NATSURL)
	srv, err := natsd.Start(natsd.Options{Dir: r.a.Dir, Addr: use, MaxStore: bytes, Logger: r.log})
	if err != nil {
		return nil, err
	}
	r.closes = append(r.closes, srv.Close)
	if moved {
		r.a.say("askbus: the NATS port of last time is taken; now at %s", srv.Addr())
	}
	operator, err := derived(srv.Key(), srv.URL(), natsd.Role{Name: natsd.RoleOperator})
	if err != nil {
		return nil, err
	}
	r.after.NATSURL, r.after.Operator = srv.URL(), &operator
	return srv, nil
}

// broker connects twice and makes a broker ready to run.
func (r *running) broker(ctx context.Context, service, led client.Credential, l config.Ledger) (*broker.Broker, error) {
	budget, err := config.Bytes(l.MaxStore)
	if err != nil {
		return nil, usage("--max-store: %w", err)
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
		Partitions: l.Partitions, Replicas: l.Replicas, Retention: l.Retention, Margin: l.Margin, Budget: budget, Logger: r.log,
	})
	if err != nil {
		return nil, err
	}
	if ledger.Partitions() != l.Partitions {
		r.log.Info("the ledger was made with another number of partitions, which stays", slog.Any("partitions", ledger.Partitions()))
	}
	b := broker.New(svcConn, ledger, broker.Options{Logger: r.log, Version: semver()})
	r.parts = append(r.parts, daemon.Part{Name: "broker", Run: b.Run})
	return b, nil
}

// connect connects as somebody; the connection ends after the parts.
func (r *running) connect(c client.Credential) (*nats.Conn, error) {
	nc, err := call.Connect(c.URL, c.User, c.Password, c.CredsFile, c.InboxPrefix, r.log)
	if errors.Is(err, nats.ErrNoServers) {
		return nil, fmt.Errorf("nothing answers at %s; is \"askbus server\" running?", c.URL)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	r.closes = append(r.closes, nc.Close)
	return nc, nil
}

// inbox makes the web inbox, on a connection of its own.
func (r *running) inbox(c client.Credential, ln net.Listener, w config.Web, cookieKey []byte) (*nats.Conn, error) {
	nc, err := r.connect(c)
	if err != nil {
		return nil, err
	}
	role, _ := natsd.ParseUser(c.User) // a .creds file names no role of ours
	resp, err := responder.New(nc, "web", responder.Options{Tenant: role.Tenant, Session: role.Session, Logger: r.log})
	if err != nil {
		return nil, err
	}
	base := httpURL(ln)
	if r.a.HTTP.URL != "" {
		base = r.a.HTTP.URL
	}
	srv, err := web.New(resp, web.Options{
		CookieKey: cookieKey, Identity: localUser(w.Groups), Hosts: w.Web.Hosts, BaseURL: base, Logger: r.log,
	})
	if err != nil {
		return nil, err
	}
	r.after.HTTPURL = base
	// The inbox stops first: it ends the live streams, which would hold the HTTP server.
	r.parts = append(r.parts, daemon.HTTP("http", ln, r.beside(srv.Handler()), 5*time.Second), daemon.Part{Name: "web", Run: srv.Run})
	return nc, nil
}

// cookieKey is the key of login cookies: the setting, or derived from the
// directory's key.
func (a *app) cookieKey(w config.Web) ([]byte, error) {
	if k := w.Web.CookieKey; k != "" {
		if len(k) < 32 {
			return nil, usage("ASKBUS_WEB_COOKIE_KEY is shorter than 32 characters; make one with \"openssl rand -hex 32\"")
		}
		return []byte(k), nil
	}
	key, err := natsd.LoadKey(a.Dir)
	if err != nil {
		return nil, err
	}
	return key.Derive("web-cookie"), nil
}

// local is a credential derived from the directory's key.
func (a *app) local(role natsd.Role) (client.Credential, error) {
	ctx, err := config.ReadContext(a.Dir)
	if err != nil {
		return client.Credential{}, err
	}
	url := a.NATS.URL
	if url == "" {
		url = ctx.NATSURL
	}
	if url == "" {
		return client.Credential{}, fmt.Errorf("no server found in %s; start \"askbus server\" there, or set ASKBUS_NATS_URL and ASKBUS_CREDS", a.Dir)
	}
	key, err := natsd.LoadKey(a.Dir)
	if err != nil {
		return client.Credential{}, err
	}
	return derived(key, url, role)
}

func derived(key natsd.Key, url string, role natsd.Role) (client.Credential, error) {
	c, err := key.Credential(url, role)
	return client.Credential{URL: c.URL, User: c.User, Password: c.Password, InboxPrefix: c.InboxPrefix}, err
}

// semver is our version as the micro library wants it.
func semver() string {
	if version == "dev" {
		return "0.0.0-dev"
	}
	return version
}
