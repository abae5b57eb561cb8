// Package natstest gives a test a real NATS server with askbus's permissions,
// and a broker on it. Both stop when the test ends.
package natstest

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

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
	Memory   bool // keep the store in memory
	Leaves   bool // listen for leaf nodes
	Bounds   natsd.Bounds
	Broker   broker.Options
}

// Start starts a server and, unless told otherwise, a broker.
func Start(t testing.TB, opts Options) *Bus {
	t.Helper()
	b := &Bus{t: t, ledger: opts.Ledger}
	if opts.Memory {
		b.Dir = memoryDir(t)
	} else {
		b.Dir = t.TempDir()
	}
	how := natsd.Options{Dir: b.Dir, Addr: "127.0.0.1:0", MaxStore: opts.MaxStore, Bounds: opts.Bounds}
	if opts.Leaves {
		how.LeafAddr = "127.0.0.1:0"
	}
	b.Server = serve(t, how)
	if !opts.NoBroker {
		b.Broker(opts.Broker)
	}
	return b
}

// Again starts a server and a broker on the directory of an earlier one.
func Again(t testing.TB, dir string) *Bus {
	t.Helper()
	b := &Bus{Dir: dir, t: t}
	b.Server = Serve(t, dir, "127.0.0.1:0", 0)
	b.Broker(broker.Options{})
	return b
}

// Serve starts a server in dir.
func Serve(t testing.TB, dir, addr string, maxStore int64) *natsd.Server {
	t.Helper()
	return serve(t, natsd.Options{Dir: dir, Addr: addr, MaxStore: maxStore})
}

func serve(t testing.TB, opts natsd.Options) *natsd.Server {
	t.Helper()
	opts.Admin, opts.Logger = true, Logger()
	s, err := natsd.Start(opts)
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

// Broker starts another broker; stop drains it.
func (b *Bus) Broker(opts broker.Options) (stop func()) {
	b.t.Helper()
	_, stop = b.BrokerOn(b.Ledger(), opts)
	return stop
}

// BrokerWithClock starts another broker, on a machine with this clock.
func (b *Bus) BrokerWithClock(clock func() time.Time) (br *broker.Broker, stop func()) {
	b.t.Helper()
	opts := b.ledger
	opts.Clock = clock
	return b.BrokerOn(b.open(opts), broker.Options{})
}

// BrokerAhead starts another broker, whose time is this much ahead of the
// server's clock.
func (b *Bus) BrokerAhead(ahead func() time.Duration, how broker.Options) (br *broker.Broker, stop func()) {
	b.t.Helper()
	return b.BrokerOn(b.LedgerAhead(ahead), how)
}

// BrokerOn starts another broker on an open ledger.
func (b *Bus) BrokerOn(led *ledger.Ledger, opts broker.Options) (br *broker.Broker, stop func()) {
	b.t.Helper()
	svc := b.Connect(rights.Role{Name: rights.RoleBroker})
	if opts.Logger == nil {
		opts.Logger = Logger()
	}
	if opts.Verifier == nil {
		opts.Verifier = b.Verifier()
	}
	br = broker.New(svc, led, opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- br.Run(ctx) }()
	for end := time.Now().Add(waittest.Limit); !br.Ready(); {
		select {
		case err := <-done:
			cancel()
			b.t.Fatalf("broker ended: %v", err)
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			b.t.Fatalf("broker is not ready after %s", waittest.Limit)
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
	return br, stop
}

// LedgerAhead opens the ledger with a time that is this much ahead.
func (b *Bus) LedgerAhead(ahead func() time.Duration) *ledger.Ledger {
	b.t.Helper()
	opts := b.ledger
	opts.Ahead = ahead
	return b.open(opts)
}

// Ledger opens the ledger with the ledger's rights.
func (b *Bus) Ledger() *ledger.Ledger {
	b.t.Helper()
	return b.open(b.ledger)
}

func (b *Bus) open(opts ledger.Options) *ledger.Ledger {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Limit)
	defer cancel()
	opts.Logger = Logger()
	if opts.Servers == nil {
		opts.Servers = b.Connect(rights.Role{Name: rights.RoleClock})
	}
	led, err := ledger.Open(ctx, b.Connect(rights.Role{Name: rights.RoleLedger}), opts)
	if err != nil {
		b.t.Fatalf("open ledger: %v", err)
	}
	return led
}

// Connect connects as a role.
func (b *Bus) Connect(r rights.Role, opts ...nats.Option) *nats.Conn {
	b.t.Helper()
	return Connect(b.t, b.Server, r, opts...)
}

// Connect connects to a server as a role.
func Connect(t testing.TB, s *natsd.Server, r rights.Role, opts ...nats.Option) *nats.Conn {
	t.Helper()
	c, err := s.Asserting(r, assertion.Anything())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := connection.Connect(c, Logger(), opts...)
	if err != nil {
		t.Fatalf("connect as %s: %v", c.Name, err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Plain connects as a role without what askbus's own clients set: their inbox
// prefix and their reconnects.
func Plain(t testing.TB, s *natsd.Server, r rights.Role, opts ...nats.Option) *nats.Conn {
	t.Helper()
	c, err := s.Asserting(r, assertion.Anything())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(c.URL, append([]nats.Option{nats.UserCredentialBytes([]byte(c.Creds))}, opts...)...)
	if err != nil {
		t.Fatalf("connect as %s: %v", c.Name, err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Signed is a request of a responder or a host, whose subject is written without
// the sender's key ("ansv1.web.acme.s1.answer.a1"), as its sender has to send it:
// with the key and the JWT of its credential. What gateways and operators ask as
// agents goes where it is theirs. Other requests stay as they are.
func Signed(t testing.TB, nc *nats.Conn, msg *nats.Msg) *nats.Msg {
	t.Helper()
	if own := connection.On(nc).Subject(msg.Subject); own != msg.Subject {
		msg = &nats.Msg{Subject: strings.Replace(own, "."+subject.Self+".", ".", 1), Reply: msg.Reply, Header: msg.Header, Data: msg.Data}
	}
	root, rest, _ := strings.Cut(msg.Subject, ".")
	if root != subject.Responders && root != subject.Hosts {
		return msg
	}
	user, token, err := connection.On(nc).Sender()
	if err != nil {
		t.Fatal(err)
	}
	if root == subject.Responders {
		typ, behind, _ := strings.Cut(rest, ".")
		root, rest = root+"."+typ, behind
	}
	signed := &nats.Msg{Subject: strings.Join([]string{root, user, rest}, "."), Reply: msg.Reply, Header: nats.Header{connection.HeaderCredential: []string{token}}, Data: msg.Data}
	maps.Copy(signed.Header, msg.Header)
	return signed
}

// Admin connects with full rights in the account of clients.
func (b *Bus) Admin() *nats.Conn {
	b.t.Helper()
	return Plain(b.t, b.Server, rights.Role{Name: rights.RoleAdmin})
}

// LedgerAdmin connects with full rights in the account of the ledger.
func (b *Bus) LedgerAdmin() *nats.Conn {
	b.t.Helper()
	return Plain(b.t, b.Server, rights.Role{Name: rights.RoleLedgerAdmin})
}

// Agent connects as a session's agent.
func (b *Bus) Agent(tenant, session string) *nats.Conn {
	return b.Connect(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
}

// Responder connects as a responder of every tenant.
func (b *Bus) Responder(typ string) *nats.Conn {
	return b.Connect(rights.Role{Name: rights.RoleResponder, Type: typ})
}
