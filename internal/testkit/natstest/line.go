package natstest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

// Line is a TCP line to a server that can be cut, blocked and stalled.
type Line struct {
	b    *Bus
	ln   net.Listener
	back chan struct{}
	gate sync.RWMutex // locked: nothing is read from the server
	all  sync.WaitGroup

	mu      sync.Mutex
	open    map[net.Conn]struct{}
	blocked bool
}

// Line opens a line to the server.
func (b *Bus) Line() *Line {
	b.t.Helper()
	return b.LineTo(b.Addr())
}

// LineTo opens a line to another address.
func (b *Bus) LineTo(to string) *Line {
	b.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	l := &Line{b: b, ln: ln, back: make(chan struct{}, 1024), open: map[net.Conn]struct{}{}}
	l.all.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			l.carry(in, out)
		}
	})
	b.t.Cleanup(func() {
		_ = ln.Close()
		l.Cut()
		l.all.Wait()
	})
	return l
}

func (l *Line) carry(in, out net.Conn) {
	l.mu.Lock()
	l.open[in], l.open[out] = struct{}{}, struct{}{}
	if l.blocked {
		_, _ = in.Close(), out.Close()
	}
	l.mu.Unlock()
	one := func(to io.Writer, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = in.Close(), out.Close()
		l.mu.Lock()
		delete(l.open, from)
		l.mu.Unlock()
	}
	l.all.Go(func() { one(out, in) })
	l.all.Go(func() { one(gated{in, &l.gate}, out) })
}

// gated writes while its gate is open.
type gated struct {
	to   io.Writer
	gate *sync.RWMutex
}

func (g gated) Write(b []byte) (int, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.to.Write(b)
}

// Addr returns the near end of the line.
func (l *Line) Addr() string { return l.ln.Addr().String() }

// Connect connects as a role, through the line. It reconnects within
// milliseconds.
func (l *Line) Connect(r rights.Role) *nats.Conn {
	l.b.t.Helper()
	c, err := l.b.Asserting(r, assertion.Anything())
	if err != nil {
		l.b.t.Fatal(err)
	}
	c.URL = "nats://" + l.ln.Addr().String()
	nc, err := connection.Connect(c, Logger(),
		nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectHandler(func(*nats.Conn) {
			select {
			case l.back <- struct{}{}:
			default:
			}
		}))
	if err != nil {
		l.b.t.Fatalf("connect as %s: %v", c.Name, err)
	}
	l.b.t.Cleanup(nc.Close)
	return nc
}

// Agent connects as a session's agent, through the line.
func (l *Line) Agent(tenant, session string) *nats.Conn {
	l.b.t.Helper()
	return l.Connect(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
}

// Back receives a value each time a connection has reconnected.
func (l *Line) Back() <-chan struct{} { return l.back }

// Cut closes the open connections, which may reconnect at once.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close()
	}
}

// Block cuts the line and refuses connections until mend is called.
func (l *Line) Block() (mend func()) {
	set := func(blocked bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.blocked = blocked
	}
	set(true)
	l.Cut()
	return func() { set(false) }
}

// Stall holds back the server's data until resume is called.
func (l *Line) Stall() (resume func()) {
	l.gate.Lock()
	resume = sync.OnceFunc(l.gate.Unlock)
	l.b.t.Cleanup(resume)
	return resume
}

// Eventually waits until so returns true. It asks less and less often, up to every
// 20 ms: what it waits for needs the processor more than the questions do.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); {
		waited := time.Since(began)
		if waited > waittest.Limit {
			t.Fatalf("%s: not so after %s", what, waittest.Limit)
		}
		select {
		case <-time.After(min(max(waited/10, time.Millisecond), 20*time.Millisecond)):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
