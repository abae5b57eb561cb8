package natsd_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

// Each role has a limit of subscriptions on one connection; the server refuses
// more and says why, and the first ones keep working.
func TestSubscriptionsOfAConnectionAreBounded(t *testing.T) {
	t.Parallel()
	srv, _ := bounded(t, natsd.Bounds{})
	for _, c := range []struct {
		role    rights.Role
		subject string
		most    int
	}{
		{rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}, "outv1.acme.s1.a%d.o", 128},
		{rights.Role{Name: rights.RoleAgent, Tenant: "acme"}, "outv1.acme.s%d.*.o", 10_000},
		{rights.Role{Name: rights.RoleHost, Tenant: "acme", Session: "s1"}, "_INBOX.h.acme.s1.%d", 128},
		{rights.Role{Name: rights.RoleResponder, Type: "slack"}, "outv1.acme.s%d.*.o", 1024},
		{rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme"}, "outv1.acme.s%d.*.o", 1024},
		{rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme", Session: "s1"}, "outv1.acme.s1.a%d.o", 128},
		{rights.Role{Name: rights.RoleOperator}, "outv1.acme.s%d.*.o", 128},
	} {
		t.Run(c.role.User(), func(t *testing.T) {
			t.Parallel()
			cred := issued(t, srv, c.role)
			refused := make(chan error, 8)
			nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(cred.Creds)), nats.NoReconnect(), nats.Timeout(waittest.Limit),
				nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(nc.Close)
			subscribe := func(i int) {
				if _, err := nc.Subscribe(fmt.Sprintf(c.subject, i), func(*nats.Msg) {}); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.most {
				subscribe(i)
			}
			if err := nc.FlushTimeout(waittest.Limit); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-refused:
				t.Fatalf("of %d subscriptions one is refused: %v", c.most, err)
			default:
			}
			subscribe(c.most)
			if err := <-refused; !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
				t.Errorf("one too many is refused with %v", err)
			}
		})
	}
}

// Who sends a million subscriptions gets those of its limit, and is then cut
// off. The server's memory does not grow, and another tenant is served.
func TestAMillionSubscriptionsOfOneConnection(t *testing.T) { //nolint:paralleltest // it measures the heap
	srv, said := bounded(t, natsd.Bounds{})
	quiet, err := open(t, srv, issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "other", Session: "s1"}))
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, subscriptions := heap(), srv.Subscriptions()
	cred := issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
	raw := &line{}
	nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(cred.Creds)), nats.NoReconnect(), nats.Timeout(waittest.Limit),
		nats.SetCustomDialer(raw), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(ended) })
	out := bufio.NewWriterSize(raw.Conn, 1<<16)
	sent := 0
	for ; sent < 1_000_000; sent++ { // past the library, which would keep each
		if _, err := fmt.Fprintf(out, "SUB outv1.acme.s1.a%d.o %d\r\n", sent, 1000+sent); err != nil {
			break
		}
		if sent == 1000 { // others are served meanwhile
			if err := quiet.FlushTimeout(waittest.Limit); err != nil {
				t.Errorf("another tenant: %v", err)
			}
			if held := srv.Subscriptions() - subscriptions; held > 2*128+10 { // each in two accounts
				t.Errorf("the server holds %d subscriptions of it", held)
			}
		}
	}
	_ = out.Flush()
	ends(t, fmt.Sprintf("a connection that sent %d subscriptions", sent), ended)
	if err := quiet.FlushTimeout(waittest.Limit); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if text := said.String(); !strings.Contains(text, "continues to subscribe beyond its limit") {
		t.Errorf("the log does not say why: %s", text)
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	t.Logf("sent %d", sent)
}

// line is a dialer that gives the connection away.
type line struct{ net.Conn }

func (l *line) Dial(network, address string) (c net.Conn, err error) {
	l.Conn, err = net.Dial(network, address)
	return l.Conn, err
}

// A tenant's connections together have a limit as well: the credential with the
// most subscriptions is kept out.
func TestSubscriptionsOfATenantAreBounded(t *testing.T) {
	t.Parallel()
	srv, said := bounded(t, natsd.Bounds{Subscriptions: 300})
	quiet, err := open(t, srv, issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s2"}))
	if err != nil {
		t.Fatal(err)
	}
	many := issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
	var all []guest
	for range 3 {
		nc, err := open(t, srv, many)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, nc)
		for i := range 120 {
			if _, err := nc.Subscribe(fmt.Sprintf("outv1.acme.s1.a%d.o", i), func(*nats.Msg) {}); err != nil {
				t.Fatal(err)
			}
		}
		_ = nc.FlushTimeout(waittest.Limit) // the third may already be closed
	}
	for _, nc := range all {
		ends(t, "a connection of the credential with the most subscriptions", nc.ended)
	}
	if err := quiet.FlushTimeout(waittest.Limit); err != nil {
		t.Errorf("another session of the tenant: %v", err)
	}
	natstest.Eventually(t, "the log says why", func() bool {
		return strings.Contains(said.String(), "too many subscriptions in all")
	})
}

// Who subscribes and unsubscribes in turn is kept out, also between messages.
// Another credential that sends many messages is not.
func TestACredentialThatSubscribesAllTheTimeIsKeptOut(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{"alone": "", "with messages": "PUB askv1.acme.s1.wait.w 0\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, said := bounded(t, natsd.Bounds{Messages: 400, Pause: time.Minute})
			busy, err := open(t, srv, issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s2"}))
			if err != nil {
				t.Fatal(err)
			}
			var raw net.Conn
			ended := make(chan struct{})
			nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(issued(t, srv, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}).Creds)),
				nats.NoReconnect(), nats.Timeout(waittest.Limit), nats.PingInterval(time.Hour), nats.SetCustomDialer(dialed(func(c net.Conn) { raw = c })), nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(nc.Close)
			// 1,000 a second, so that the server never has a buffer full of them: it notes a connection's activity once for
			// each buffer, and the detector or a busy machine may take longer for one than the guard waits between looks.
			const sub, unsub = "SUB outv1.acme.s1.a1.o 7\r\n", "UNSUB 7\r\n"
			turns := [2][]byte{[]byte(strings.Repeat(sub+unsub, 20) + sub), []byte(strings.Repeat(unsub+sub, 20) + unsub)}
			go func() {
				for range time.Tick(10 * time.Millisecond) { // a quarter of what is allowed
					if busy.Publish("askv1.acme.s2.wait.w", nil) != nil {
						return
					}
				}
			}()
			pace := time.Tick(20 * time.Millisecond)
			for i := 0; err == nil; i++ {
				text := turns[i%2]
				if i%5 == 0 {
					text = append(slices.Clip(text), message...)
				}
				_, err = raw.Write(text)
				<-pace
			}
			ends(t, "the connection that subscribes", ended)
			if text := said.String(); !strings.Contains(text, "subscribes and unsubscribes") || strings.Count(text, `msg="a credential is kept out"`) != 1 {
				t.Errorf("the log says %s", text)
			}
			if err := busy.FlushTimeout(waittest.Limit); err != nil {
				t.Errorf("another credential: %v", err)
			}
		})
	}
}

// dialed is told of each connection that it makes.
type dialed func(net.Conn)

func (d dialed) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	if err == nil {
		d(c)
	}
	return c, err
}
