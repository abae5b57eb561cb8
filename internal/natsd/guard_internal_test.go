package natsd

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/waittest"
	"github.com/nats-io/nats.go"
)

// What a credential sent over a long time, while nothing was looked at, is not a
// flood when somebody else makes the guard look.
func TestMessagesOfALongTimeAreNoFlood(t *testing.T) {
	t.Parallel()
	srv, err := Start(Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Bounds: Bounds{Messages: 1000, Pause: time.Hour, Denials: -1}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	c, err := srv.Credential(Role{Name: RoleAgent, Tenant: "acme", Session: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(c.Creds)), nats.NoReconnect(), nats.Timeout(waittest.Limit), nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	cid, err := nc.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	g := srv.guard
	until := func(what string, so func(*guarded) bool) {
		t.Helper()
		for end := time.Now().Add(waittest.Limit); ; {
			g.mu.Lock()
			is := g.conns[cid] != nil && so(g.conns[cid])
			g.mu.Unlock()
			switch {
			case is:
				return
			case time.Now().After(end):
				t.Fatal(what)
			}
			select {
			case <-ended:
				t.Fatalf("the connection ended; want: %s", what)
			case <-time.After(time.Millisecond):
			}
		}
	}
	until("the guard knows the connection", func(c *guarded) bool { c.at = c.at.Add(-time.Minute); return true })
	const many = 30_000 // half of what a minute allows, and thirty times what a second does
	g.mu.Lock()         // it looks at all of them at once
	for range many {
		_ = nc.Publish("askv1.acme.s1.wait.w", nil) // errors are those of the flush
	}
	err = nc.FlushTimeout(waittest.Limit)
	g.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	until("the guard has looked at all of them", func(c *guarded) bool { return c.sent >= many })
	for nc.Publish("askv1.acme.s1.wait.w", nil) == nil { //nolint:revive // until the connection ends
	}
	<-ended
}

// Two thousand connections, come and gone, leave nothing with the guard.
func TestNothingIsLeftOf2000GuardedConnections(t *testing.T) {
	t.Parallel()
	srv, err := Start(Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	var all sync.WaitGroup
	for _, session := range []string{"s1", "s2", "s3", "s4"} {
		c, err := srv.Credential(Role{Name: RoleAgent, Tenant: "acme", Session: session})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 500 {
				nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(c.Creds)), nats.Timeout(waittest.Limit))
				if err != nil {
					t.Error(err)
					return
				}
				nc.Close()
			}
		})
	}
	all.Wait()
	g := srv.guard
	for end := time.Now().Add(waittest.Limit); ; {
		g.mu.Lock()
		conns, open, senders := len(g.conns), len(g.open), len(g.senders)
		g.mu.Unlock()
		if conns+open+senders == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d connections, %d counts and %d senders are left", conns, open, senders)
		}
		<-time.After(time.Millisecond)
	}
}
