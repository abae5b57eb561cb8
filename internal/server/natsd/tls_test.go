package natsd_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/server/certificate"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/certtest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

// overTLS returns a server that requires client certificates, and their CA.
func overTLS(t *testing.T, mutual bool) (srv *natsd.Server, keeper *certificate.Keeper, pair certtest.Pair, servers, clients *certtest.CA) {
	t.Helper()
	servers, clients = certtest.New(t), certtest.New(t)
	pair = certtest.At(t.TempDir())
	servers.Issue(pair, time.Hour, "bus.example")
	files := certificate.Files{Cert: pair.Cert, Key: pair.Key}
	if mutual {
		files.ClientCA = clients.File
	}
	keeper, err := certificate.Open(files, certificate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv, err = natsd.Start(natsd.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", TLS: keeper.NATS(), Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv, keeper, pair, servers, clients
}

// credential returns one that trusts a CA.
func credential(t *testing.T, srv *natsd.Server, ca *certtest.CA) connection.Credential {
	t.Helper()
	c, err := srv.Credential(rights.Role{Name: rights.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	c.CAFile, c.ServerName = ca.File, "bus.example"
	return c
}

func TestWhoGetsInOverMutualTLS(t *testing.T) {
	t.Parallel()
	srv, _, _, servers, clients := overTLS(t, true)
	stranger := certtest.New(t)
	show := func(p certtest.Pair) func(*connection.Credential) {
		return func(c *connection.Credential) { c.CertFile, c.KeyFile = p.Cert, p.Key }
	}
	good := show(clients.Fresh(time.Hour))
	for name, v := range map[string]struct {
		change []func(*connection.Credential)
		says   string // empty: it is admitted
	}{
		"with a good certificate":                 {[]func(*connection.Credential){good}, ""},
		"without a certificate":                   {nil, "ASKBUS_NATS_CERT_FILE"},
		"with one of another CA":                  {[]func(*connection.Credential){show(stranger.Fresh(time.Hour))}, "ASKBUS_NATS_CERT_FILE"},
		"with an expired one":                     {[]func(*connection.Credential){show(clients.Fresh(-time.Minute))}, "ASKBUS_NATS_CERT_FILE"},
		"with the server's own CA":                {[]func(*connection.Credential){show(servers.Fresh(time.Hour))}, "ASKBUS_NATS_CERT_FILE"},
		"who trusts another CA":                   {[]func(*connection.Credential){good, func(c *connection.Credential) { c.CAFile = stranger.File }}, "ASKBUS_NATS_CA_FILE"},
		"who trusts the system's":                 {[]func(*connection.Credential){good, func(c *connection.Credential) { c.CAFile = "" }}, "ASKBUS_NATS_CA_FILE"},
		"who expects another name":                {[]func(*connection.Credential){good, func(c *connection.Credential) { c.ServerName = "other.example" }}, "ASKBUS_NATS_SERVER_NAME"},
		"who names a key without its certificate": {[]func(*connection.Credential){func(c *connection.Credential) { c.KeyFile = servers.File }}, "go together"},
		"whose CA file is missing":                {[]func(*connection.Credential){good, func(c *connection.Credential) { c.CAFile = "/does/not/exist" }}, "no such file"},
		"whose CA is not a certificate":           {[]func(*connection.Credential){good, func(c *connection.Credential) { c.CAFile, c.CA = "", "nonsense" }}, "no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := credential(t, srv, servers)
			for _, change := range v.change {
				change(&c)
			}
			nc, err := connection.Connect(c, nil)
			if nc != nil {
				defer nc.Close()
			}
			switch {
			case v.says == "" && err != nil:
				t.Error(err)
			case v.says != "" && (err == nil || !strings.Contains(err.Error(), v.says)):
				t.Errorf("%v", err)
			}
		})
	}
	// A certificate is not a credential.
	pair := clients.Fresh(time.Hour)
	if nc, err := nats.Connect(srv.URL(), nats.RootCAs(servers.File), nats.ClientCert(pair.Cert, pair.Key), nats.Secure(&tls.Config{ServerName: "bus.example"}), nats.RootCAs(servers.File)); err == nil {
		nc.Close()
		t.Error("a certificate alone opens the bus")
	}
}

// A broker in the server's process needs no certificate: its connection stays
// in the process.
func TestInProcessConnectionsNeedNoCertificate(t *testing.T) {
	t.Parallel()
	srv, _, _, _, _ := overTLS(t, true)
	c, err := srv.Credential(rights.Role{Name: rights.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	c.URL = "nats://in-process"
	nc, err := connection.Connect(c, nil, nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

// Only the server's greeting is sent in the clear.
func TestAClientThatSpeaksNoTLSHearsNothing(t *testing.T) {
	t.Parallel()
	srv, _, _, _, _ := overTLS(t, false)
	conn, err := net.Dial("tcp", srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 64<<10)
	n, err := conn.Read(buf)
	if err != nil || !strings.Contains(string(buf[:n]), `"tls_required":true`) {
		t.Fatalf("%v %s", err, buf[:n])
	}
	if _, err := fmt.Fprint(conn, "CONNECT {\"verbose\":true}\r\nPING\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(waittest.Limit))
	for {
		n, err := conn.Read(buf)
		if strings.Contains(string(buf[:n]), "PONG") || strings.Contains(string(buf[:n]), "+OK") {
			t.Fatalf("it answers in the clear: %s", buf[:n])
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
			return
		}
	}
}

func TestANewCertificateLeavesOpenConnectionsAlone(t *testing.T) {
	t.Parallel()
	srv, keeper, pair, servers, clients := overTLS(t, true)
	mine := certtest.At(t.TempDir())
	clients.Issue(mine, time.Hour)
	c := credential(t, srv, servers)
	c.CertFile, c.KeyFile = mine.Cert, mine.Key
	serial := func(nc *nats.Conn) string {
		t.Helper()
		state, err := nc.TLSConnectionState()
		if err != nil {
			t.Fatal(err)
		}
		return state.PeerCertificates[0].SerialNumber.String()
	}
	dropped := make(chan error, 1)
	old, err := connection.Connect(c, nil, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { dropped <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	before := serial(old)
	next := servers.Issue(pair, time.Hour, "bus.example")
	if err := keeper.Reload(); err != nil {
		t.Fatal(err)
	}
	young, err := connection.Connect(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer young.Close()
	if serial(young) != next.SerialNumber.String() {
		t.Error("a new connection sees the old certificate")
	}
	if err := old.Flush(); err != nil || serial(old) != before || len(dropped) > 0 {
		t.Errorf("the open connection did not go on: %v", err)
	}
	// A client also renews its own from its files: the next connect uses it.
	clients.Issue(mine, time.Hour)
	if err := old.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "reconnected", func() bool {
		return old.IsConnected() && old.Flush() == nil && serial(old) == next.SerialNumber.String()
	})
}

// A server with another key cannot join.
func TestOnlyNodesWithTheKeyJoinACluster(t *testing.T) {
	t.Parallel()
	all := nodes(t)
	started := make(chan error, 2) // two of three are a majority
	for i := range 2 {
		go func() {
			srv, err := natsd.Start(all[i])
			if err == nil {
				t.Cleanup(srv.Close)
			}
			started <- err
		}()
	}
	for range 2 {
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	}
	stranger := certtest.New(t).Fresh(time.Hour, "route.askbus.internal")
	pair, err := tls.LoadX509KeyPair(stranger.Cert, stranger.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{"without a certificate": nil, "with one of another CA": {pair}} {
		raw, err := net.Dial("tcp", all[0].Cluster.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		_ = raw.SetDeadline(time.Now().Add(waittest.Limit))
		conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, Certificates: certificates})
		err = conn.HandshakeContext(t.Context())
		if err == nil { // with TLS 1.3 a client learns only on read that its certificate was refused
			_, err = conn.Read(make([]byte, 1))
		}
		if err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
			t.Errorf("%s: a stranger speaks to a node: %v", name, err)
		}
	}
}
