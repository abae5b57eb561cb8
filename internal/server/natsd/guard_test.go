package natsd_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func bounded(t *testing.T, bounds natsd.Bounds) (*natsd.Server, *lines) {
	t.Helper()
	said := &lines{}
	srv, err := natsd.Start(natsd.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Bounds: bounds, Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv, said
}

// guest is a connection that does not reconnect.
type guest struct {
	*nats.Conn
	ended chan struct{}
}

func open(t *testing.T, srv *natsd.Server, c *rights.Credential) (guest, error) {
	t.Helper()
	ended := make(chan struct{})
	nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(c.Creds)), nats.CustomInboxPrefix(c.InboxPrefix),
		nats.NoReconnect(), nats.Timeout(waittest.Limit), nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
	if err != nil {
		return guest{}, err
	}
	t.Cleanup(nc.Close)
	return guest{nc, ended}, nil
}

func issued(t *testing.T, srv *natsd.Server, r rights.Role) *rights.Credential {
	t.Helper()
	c, err := srv.Credential(r)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func ends(t *testing.T, what string, ended <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal(what + " goes on")
	}
}

// A session has as many connections as its quota, over all its credentials;
// further ones are closed, and the others are not affected.
func TestConnectionsOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	srv, said := bounded(t, natsd.Bounds{Excess: time.Millisecond, Connections: func(string) (int, int) { return 5, 3 }})
	agent := rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}
	host := rights.Role{Name: rights.RoleHost, Tenant: "acme", Session: "s1"}
	a, h := issued(t, srv, agent), issued(t, srv, host)
	var kept []guest
	for _, c := range []*rights.Credential{a, a, h} {
		nc, err := open(t, srv, c)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, nc)
	}
	fourth, err := open(t, srv, a)
	if err == nil {
		ends(t, "the fourth connection of a session that has three", fourth.ended)
	}
	natstest.Eventually(t, "the log says what to do", func() bool {
		return strings.Contains(said.String(), "raise the quota in the policy file") && strings.Contains(said.String(), `of="session s1 of tenant acme"`)
	})

	// Another session of the tenant has what is left of the tenant's quota.
	other := issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s2"})
	for range 2 {
		nc, err := open(t, srv, other)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, nc)
	}
	if sixth, err := open(t, srv, other); err == nil {
		ends(t, "the sixth connection of a tenant that has five", sixth.ended)
	}
	// Another tenant, and a surface of all tenants, are not affected.
	for _, r := range []rights.Role{{Name: rights.RoleAgent, Tenant: "other", Session: "s1"}, {Name: rights.RoleResponder, Type: "slack"}} {
		c := issued(t, srv, r)
		for range 3 {
			nc, err := open(t, srv, c)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, nc)
		}
	}
	for i, nc := range kept {
		if err := nc.FlushTimeout(waittest.Limit); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	// A slot that becomes free is used again.
	kept[0].Close()
	natstest.Eventually(t, "a connection takes the place of one that was closed", func() bool {
		in, err := open(t, srv, a)
		if err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
		defer cancel()
		more, err := open(t, srv, a) // reported after the other, so one of the two ends
		if err != nil {
			in.Close() // it has the place, or ends
			return false
		}
		select {
		case <-more.ended:
			return in.FlushTimeout(waittest.Limit) == nil
		case <-in.ended: // the place was not free yet; it may be now, for the other
			more.Close()
			return false
		case <-ctx.Done():
			t.Fatal("one connection more than three goes on")
			return false
		}
	})
}

// What is refused because the server has all the connections that it takes is counted, each once.
func TestConnectionsThatAFullServerRefusesAreCounted(t *testing.T) {
	t.Parallel()
	srv, _ := bounded(t, natsd.Bounds{All: 8})
	gateway, refused := issued(t, srv, rights.Role{Name: rights.RoleGateway}), int64(0)
	for range 16 {
		if _, err := open(t, srv, gateway); err != nil {
			refused++
		}
	}
	if refused < 8 {
		t.Fatalf("%d of 16 connections were refused", refused)
	}
	natstest.Eventually(t, "they are counted", func() bool { return srv.Refused() == refused })
	if f := srv.Figures(); f.Refused != refused || f.MaxConnections != 8 {
		t.Errorf("%d were refused: %+v", refused, f)
	}
}

// 2,000 connections of one agent's credential leave room for all others.
func TestTwoThousandConnectionsOfOneCredential(t *testing.T) {
	t.Parallel()
	const all, limit = 2000 / waittest.Fewer, 100 / min(waittest.Fewer, 5)
	srv, _ := bounded(t, natsd.Bounds{Excess: time.Millisecond, All: 400, Connections: func(string) (int, int) { return 0, limit }})
	a := issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
	quiet, err := open(t, srv, issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s2"}))
	if err != nil {
		t.Fatal(err)
	}
	var opening sync.WaitGroup
	var mu sync.Mutex
	var opened []guest
	const at = 4
	for range at {
		opening.Go(func() {
			for range all / at {
				nc, err := open(t, srv, a)
				if err != nil {
					continue // it was closed while connecting
				}
				mu.Lock()
				opened = append(opened, nc)
				mu.Unlock()
			}
		})
	}
	opening.Wait()
	left := func() (n int) {
		for _, nc := range opened {
			if !nc.IsClosed() {
				n++
			}
		}
		return n
	}
	natstest.Eventually(t, "as many connections are left as the quota says", func() bool { return left() == limit })
	if err := quiet.FlushTimeout(waittest.Limit); err != nil {
		t.Errorf("the quiet session: %v", err)
	}
	fresh, err := open(t, srv, issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "other", Session: "s1"}))
	if err != nil {
		t.Fatalf("another tenant connects: %v", err)
	}
	if err := fresh.FlushTimeout(waittest.Limit); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

// A credential that floods the server is cut off, on all its connections, and
// kept out for a while. Others are not affected.
func TestACredentialThatFloodsIsKeptOut(t *testing.T) {
	t.Parallel()
	srv, said := bounded(t, natsd.Bounds{Messages: 1000, Pause: time.Minute})
	a := issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
	b := issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
	loud, err := open(t, srv, a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := open(t, srv, a)
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := open(t, srv, b)
	if err != nil {
		t.Fatal(err)
	}
	for loud.Publish("askv1.acme.s1.wait.w", nil) == nil { //nolint:revive // until the connection ends
	}
	ends(t, "the connection that floods", loud.ended)
	ends(t, "another of the same credential", second.ended)
	if again, err := open(t, srv, a); err == nil {
		ends(t, "a connection of a credential that is kept out", again.ended)
	}
	if err := quiet.FlushTimeout(waittest.Limit); err != nil {
		t.Errorf("another credential of the same session: %v", err)
	}
	if text := said.String(); !strings.Contains(text, "--nats-messages") || !strings.Contains(text, "kept_out=1m0s") {
		t.Errorf("the log does not say what to do: %s", text)
	}
}

// A credential that was kept out may come back when its time is over.
func TestACredentialComesBackAfterItsPause(t *testing.T) {
	t.Parallel()
	srv, _ := bounded(t, natsd.Bounds{Messages: 1000, Pause: time.Millisecond})
	a := issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
	loud, err := open(t, srv, a)
	if err != nil {
		t.Fatal(err)
	}
	for loud.Publish("askv1.acme.s1.wait.w", nil) == nil { //nolint:revive // until the connection ends
	}
	ends(t, "the connection that floods", loud.ended)
	natstest.Eventually(t, "the credential is let in again", func() bool {
		nc, err := open(t, srv, a)
		return err == nil && nc.FlushTimeout(waittest.Limit) == nil && !nc.IsClosed()
	})
}
