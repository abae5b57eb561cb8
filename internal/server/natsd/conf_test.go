package natsd_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	store "github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats-server/v2/server"
)

// The configuration that is shipped for an external nats-server syncs every
// write, and a ledger opens on it with a credential from askbus.
func TestTheShippedConfigurationOfNATS(t *testing.T) {
	for name, value := range map[string]string{
		"ASKBUS_NODE": "n1", "ASKBUS_ROUTE_PASSWORD": "route",
		"ASKBUS_ROUTE_1": "nats://route:route@nats-1:6222", "ASKBUS_ROUTE_2": "nats://route:route@nats-2:6222", "ASKBUS_ROUTE_3": "nats://route:route@nats-3:6222",
	} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	if _, err := natsd.Init(dir); err != nil {
		t.Fatal(err)
	}
	auth, err := rights.Config(dir)
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile("../../../deploy/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf := t.TempDir()
	write(t, filepath.Join(conf, "askbus-auth.conf"), auth)
	write(t, filepath.Join(conf, "nats-server.conf"), string(shipped))
	o, err := server.ProcessConfigFile(filepath.Join(conf, "nats-server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || len(o.Routes) != 3 || o.Cluster.Name != "askbus" || len(o.TrustedOperators) != 1 {
		t.Errorf("sync always is %v, %d routes, %d operators", o.SyncAlways, len(o.Routes), len(o.TrustedOperators))
	}
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.Cluster, o.Routes = "127.0.0.1", -1, t.TempDir(), true, server.ClusterOpts{}, nil
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("it does not start")
	}
	c, _ := handedOut(t, dir, srv.ClientURL(), rights.Role{Name: rights.RoleLedger})
	nc, err := connection.Connect(connection.Credential(c), natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if _, err := store.Open(t.Context(), nc, store.Options{}); err != nil {
		t.Error(err)
	}
}
