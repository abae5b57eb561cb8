package connection_test

import (
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
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: -1, NoTLS: true}})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	ports := srv.PortsInfo(time.Minute)
	if ports == nil || len(ports.WebSocket) == 0 {
		t.Fatal("no WebSocket address " + strconv.FormatBool(ports != nil))
	}
	c := connection.Credential(cred)
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
