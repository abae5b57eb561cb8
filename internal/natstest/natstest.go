// Package natstest gives a test a real NATS server with the rights of askbus,
// and a broker on it. It promises to stop both when the test ends.
package natstest

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/nats-io/nats.go"
)

// AdminPassword is the password of the full-rights user "admin" that exists
// only in test servers.
const AdminPassword = "for-tests-only"

// Bus is a server and a broker.
type Bus struct {
	*natsd.Server
	Dir string

	t      testing.TB
	ledger ledger.Options
}

// Options tunes a [Bus].
type Options struct {
	Ledger   ledger.Options
	MaxStore int64
	NoBroker bool
	Broker   broker.Options
}

// Start starts a server and, unless told otherwise, a broker.
func Start(t testing.TB, opts Options) *Bus {
	t.Helper()
	b := &Bus{Dir: t.TempDir(), t: t, ledger: opts.Ledger}
	b.Server = Serve(t, b.Dir, "127.0.0.1:0", opts.MaxStore)
	if !opts.NoBroker {
		b.Broker(opts.Broker)
	}
	return b
}

// Serve starts a server in dir.
func Serve(t testing.TB, dir, addr string, maxStore int64) *natsd.Server {
	t.Helper()
	s, err := natsd.Start(natsd.Options{Dir: dir, Addr: addr, MaxStore: maxStore, Admin: AdminPassword, Logger: Logger()})
	if err != nil {
		t.Fatalf("start server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Logger writes to standard error when ASKBUS_TEST_LOG is set.
func Logger() *slog.Logger {
	if os.Getenv("ASKBUS_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Broker starts one more broker; stop drains it.
func (b *Bus) Broker(opts broker.Options) (stop func()) {
	b.t.Helper()
	svc, led := b.Connect(natsd.Role{Name: natsd.RoleBroker}), b.Ledger()
	if opts.Logger == nil {
		opts.Logger = Logger()
	}
	br := broker.New(svc, led, opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- br.Run(ctx) }()
	for end := time.Now().Add(10 * time.Second); !br.Ready(); {
		select {
		case err := <-done:
			cancel()
			b.t.Fatalf("broker ended: %v", err)
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			b.t.Fatal("broker is not ready after 10 s")
		}
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				b.t.Errorf("broker: %v", err)
			}
		})
	}
	b.t.Cleanup(stop)
	return stop
}

// Ledger opens the ledger with the ledger's rights.
func (b *Bus) Ledger() *ledger.Ledger {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	opts := b.ledger
	opts.Logger = Logger()
	led, err := ledger.Open(ctx, b.Connect(natsd.Role{Name: natsd.RoleLedger}), opts)
	if err != nil {
		b.t.Fatalf("open ledger: %v", err)
	}
	return led
}

// Connect connects as a role.
func (b *Bus) Connect(r natsd.Role, opts ...nats.Option) *nats.Conn {
	b.t.Helper()
	c, err := b.Key().Credential(b.URL(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	nc, err := call.Connect(c.URL, c.User, c.Password, "", c.InboxPrefix, Logger(), opts...)
	if err != nil {
		b.t.Fatalf("connect as %s: %v", c.User, err)
	}
	b.t.Cleanup(nc.Close)
	return nc
}

// Admin connects with full rights.
func (b *Bus) Admin() *nats.Conn {
	b.t.Helper()
	nc, err := nats.Connect(b.URL(), nats.UserInfo("admin", AdminPassword))
	if err != nil {
		b.t.Fatalf("connect as admin: %v", err)
	}
	b.t.Cleanup(nc.Close)
	return nc
}

// Agent connects as a session's agent.
func (b *Bus) Agent(tenant, session string) *nats.Conn {
	return b.Connect(natsd.Role{Name: natsd.RoleAgent, Tenant: tenant, Session: session})
}

// Responder connects as a responder of every tenant.
func (b *Bus) Responder(typ string) *nats.Conn {
	return b.Connect(natsd.Role{Name: natsd.RoleResponder, Type: typ})
}
