package natsd

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// What a credential sent over a long time, while nothing was looked at, is not a
// flood when somebody else makes the guard look.
func TestMessagesOfALongTimeAreNoFlood(t *testing.T) {
	t.Parallel()
	srv, err := Start(Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Bounds: Bounds{Messages: 1000, Pause: time.Hour}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	c, err := srv.Credential(rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
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

// On a bus in use a burst is looked for every 20 ms: others stand behind what is
// read of it by then. The search for its sender, which takes time for each
// connection, waits for a burst or for 200 ms with many messages.
func TestTheGuardLooksForABurstAtOnce(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	g := &guard{bounds: Bounds{Messages: 10_000}, senders: map[string]*sender{}, tickAt: now, due: now}
	total := int64(0)
	for i, c := range []struct {
		after time.Duration
		sent  int64
		look  bool
		next  time.Duration
	}{
		{200 * time.Millisecond, 0, false, 200 * time.Millisecond},   // nobody sends
		{200 * time.Millisecond, 19, false, 200 * time.Millisecond},  // nearly nobody
		{200 * time.Millisecond, 20, false, 20 * time.Millisecond},   // in use
		{20 * time.Millisecond, 1, false, 200 * time.Millisecond},    // and no longer
		{200 * time.Millisecond, 900, false, 20 * time.Millisecond},  // a busy one, due
		{20 * time.Millisecond, 1999, false, 20 * time.Millisecond},  // not yet
		{20 * time.Millisecond, 2000, true, 20 * time.Millisecond},   // a burst
		{20 * time.Millisecond, 1999, false, 20 * time.Millisecond},  // just looked
		{160 * time.Millisecond, 100, false, 20 * time.Millisecond},  // not due
		{20 * time.Millisecond, 100, true, 20 * time.Millisecond},    // 200 ms with 1000 and more
		{200 * time.Millisecond, 999, false, 20 * time.Millisecond},  // and with fewer
		{time.Minute, 100_000, true, 20 * time.Millisecond},          // a late tick
		{20 * time.Millisecond, -100, false, 200 * time.Millisecond}, // the server forgot some
	} {
		now, total = now.Add(c.after), total+c.sent
		if look, next := g.tick(total, now); look != c.look || next != c.next {
			t.Errorf("tick %d: look %v, next in %s; want %v, %s", i, look, next, c.look, c.next)
		}
	}
}

// Two thousand connections, come and gone, leave nothing with the guard, and few
// details with the server.
func TestNothingIsLeftOf2000GuardedConnections(t *testing.T) {
	t.Parallel()
	srv, err := Start(Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	var all sync.WaitGroup
	for _, session := range []string{"s1", "s2", "s3", "s4"} {
		c, err := srv.Credential(rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: session})
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
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d connections, %d counts and %d senders are left", conns, open, senders)
		}
		<-time.After(time.Millisecond)
	}
	closed, err := srv.srv.Connz(&server.ConnzOptions{State: server.ConnClosed, Limit: 1 << 16})
	if err != nil || closed.NumConns == 0 || closed.NumConns > closedClients {
		t.Errorf("the server remembers %d closed connections, %v", closed.NumConns, err)
	}
}

// Where the guard's own connection breaks, it counts again what was opened and closed meanwhile.
func TestTheGuardComesBack(t *testing.T) {
	t.Parallel()
	srv, err := Start(Options{
		Dir: t.TempDir(), Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler),
		Bounds: Bounds{Excess: time.Millisecond, Connections: func(string) (int, int) { return 9, 1 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	open := func(session string) *nats.Conn {
		c, err := srv.Credential(rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: session})
		if err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(c.Creds)), nats.NoReconnect(), nats.Timeout(waittest.Limit))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	g := srv.guard
	held := func(want int, what string) {
		t.Helper()
		for end := time.Now().Add(waittest.Limit); ; <-time.After(time.Millisecond) {
			g.mu.Lock()
			n := len(g.conns)
			g.mu.Unlock()
			if n == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d connections are counted, not %d", what, n, want)
			}
		}
	}
	gone := open("s1")
	held(1, "before")
	g.nc.Opts.ReconnectWait = time.Hour // until the connections are made
	reconnects := make(chan struct{}, 8)
	g.nc.SetDisconnectErrHandler(func(*nats.Conn, error) { reconnects <- struct{}{} })
	cid, err := g.nc.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.srv.DisconnectClientByID(cid); err != nil {
		t.Fatal(err)
	}
	<-reconnects
	gone.Close()
	one, two := open("s2"), open("s2")
	if err := g.nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	held(1, "after")
	if one.FlushTimeout(time.Minute) != nil && two.FlushTimeout(time.Minute) != nil {
		t.Error("both connections of a session that may have one were closed")
	}
}
