package connection_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats-server/v2/server"
)

// A laptop reaches a bus behind an HTTP proxy by a WebSocket URL.
func TestAConnectionOverWebSocket(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true})
	cred, err := b.Credential(rights.Role{Name: rights.RoleResponder, Type: "tui"})
	if err != nil {
		t.Fatal(err)
	}
	srv := serve(t, &server.Options{Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: -1, NoTLS: true}})
	ports := srv.PortsInfo(time.Minute)
	if ports == nil || len(ports.WebSocket) == 0 {
		t.Fatal("no WebSocket address " + strconv.FormatBool(ports != nil))
	}
	c := cred
	c.URL = ports.WebSocket[0]
	nc, err := connection.Connect(c, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

// A server that has as many connections as it takes says so and closes the new one; whether the client still reads that
// or fails at its own write, the error is the same.
func TestAServerThatTakesNoMoreConnections(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true})
	cred, err := b.Credential(rights.Role{Name: rights.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	c := cred
	c.URL = serve(t, &server.Options{MaxConn: -1}).ClientURL()
	for range 20 {
		if _, err := connection.Connect(c, natstest.Logger()); !errors.Is(err, connection.ErrCrowded) {
			t.Fatal(err)
		}
	}
}

// serve starts a nats-server without askbus's accounts.
func serve(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoSigs = "127.0.0.1", -1, true
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return srv
}
