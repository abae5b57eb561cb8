// Package askbustest gives a test its own bus: a real server and a real broker
// in this process, on a free port of the loopback interface, with a directory
// that is removed afterwards.
//
//	b := askbustest.Start(t)
//	b.Script(askbustest.Rule{Question: "db", Say: "PostgreSQL"})
//	outcome, err := b.Session("acme", "s1").AskAndWait(t.Context(), question)
//
// [Bus.Session] asks as an agent does, [Bus.Agent] is the credential for an
// agent that connects by itself, also in another process, and [Bus.Script] or
// [Bus.Answer] play the people. It is a complete bus: it refuses what any bus
// refuses, with the same errors.
package askbustest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// startLimit is how long a bus may take to start.
const startLimit = 20 * time.Second

// Bus is a bus for a test. It is safe for concurrent use. A method that fails
// ends the test that the bus was started for, or panics if the bus was made by
// [New].
type Bus struct {
	server *natsd.Server
	dir    string
	fail   func(format string, args ...any) // does not return
	report func(format string, args ...any)

	mu      sync.Mutex
	conns   []*nats.Conn
	closed  bool
	ctx     context.Context //nolint:containedctx // of the broker and the answering goroutines; Close ends it
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Start starts a bus that ends with the test. It fails the test if the bus does
// not start.
func Start(t testing.TB) *Bus {
	t.Helper()
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	b.fail, b.report = t.Fatalf, t.Errorf
	t.Cleanup(b.Close)
	return b
}

// New starts a bus without a test, such as for TestMain or an Example; the
// caller closes it. The error says what did not start.
func New() (*Bus, error) {
	dir, err := os.MkdirTemp("", "askbustest-")
	if err != nil {
		return nil, fmt.Errorf("askbustest: %w", err)
	}
	panics := func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
	b := &Bus{dir: dir, fail: panics, report: panics}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	if err := b.start(); err != nil {
		b.Close()
		return nil, fmt.Errorf("askbustest: %w", err)
	}
	return b, nil
}

func (b *Bus) start() (err error) {
	if b.server, err = natsd.Start(natsd.Options{Dir: b.dir, Addr: "127.0.0.1:0"}); err != nil {
		return err
	}
	service, err := b.connect(rights.Role{Name: rights.RoleBroker})
	if err != nil {
		return err
	}
	store, err := b.connect(rights.Role{Name: rights.RoleLedger})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(b.ctx, startLimit)
	defer cancel()
	led, err := ledger.Open(limited, store, ledger.Options{Partitions: 1})
	if err != nil {
		return err
	}
	br := broker.New(service, led, broker.Options{Verifier: b.server.Verifier()})
	ended := make(chan error, 1)
	b.running.Go(func() { ended <- br.Run(b.ctx) })
	for !br.Ready() {
		select {
		case err := <-ended:
			return errors.Join(errors.New("the broker ended"), err)
		case <-limited.Done():
			return fmt.Errorf("the broker is not ready after %s", startLimit)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// Close stops the answering goroutines, the broker, the connections and the
// server, and removes the directory. Closing it again does nothing.
func (b *Bus) Close() {
	b.mu.Lock()
	done := b.closed
	b.closed = true
	conns := b.conns
	b.conns = nil
	b.mu.Unlock()
	if done {
		return
	}
	b.cancel()
	b.running.Wait()
	for _, nc := range conns {
		nc.Close()
	}
	if b.server != nil {
		b.server.Close()
	}
	_ = os.RemoveAll(b.dir) // the system's temporary directory
}

// URL returns the address of the bus's server.
func (b *Bus) URL() string { return b.server.URL() }

// Agent returns the credential of a session's agent, for [client.Connect] or
// another process: it may ask for this session and nothing else.
func (b *Bus) Agent(tenant, session string) client.Credential {
	return b.credential(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
}

// Operator returns a credential that may ask, answer and abort everywhere.
func (b *Bus) Operator() client.Credential {
	return b.credential(rights.Role{Name: rights.RoleOperator})
}

// Surface returns the credential of a responder of a type, such as "web": it
// may see and answer the asks of every tenant.
func (b *Bus) Surface(typ string) client.Credential {
	return b.credential(rights.Role{Name: rights.RoleResponder, Type: typ})
}

// Session returns a session as its agent uses it, over its own connection,
// which the bus closes.
func (b *Bus) Session(tenant, session string) client.Session {
	nc, err := b.connect(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
	if err != nil {
		b.fail("askbustest: %v", err)
	}
	c, err := client.New(nc, client.Options{})
	if err != nil {
		b.fail("askbustest: %v", err)
	}
	return c.Session(tenant, session)
}

// Responder returns a responder of a type, such as "web", for every tenant,
// over its own connection, which the bus closes.
func (b *Bus) Responder(typ string) *responder.Responder {
	nc, err := b.connect(rights.Role{Name: rights.RoleResponder, Type: typ})
	if err != nil {
		b.fail("askbustest: %v", err)
	}
	r, err := responder.New(nc, typ, responder.Options{})
	if err != nil {
		b.fail("askbustest: %v", err)
	}
	return r
}

func (b *Bus) credential(r rights.Role) client.Credential {
	c, err := b.server.Asserting(r, assertion.Anything())
	if err != nil {
		b.fail("askbustest: %v", err)
	}
	return client.Credential(c)
}

func (b *Bus) connect(r rights.Role) (*nats.Conn, error) {
	c, err := b.server.Asserting(r, assertion.Anything())
	if err != nil {
		return nil, err
	}
	nc, err := connection.Connect(c, nil)
	if err != nil {
		return nil, fmt.Errorf("connect as %s: %w", c.Name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		nc.Close()
		return nil, errors.New("the bus is closed")
	}
	b.conns = append(b.conns, nc)
	return nc, nil
}
