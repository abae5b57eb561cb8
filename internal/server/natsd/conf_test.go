package natsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	store "github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// The configuration that is shipped for an external nats-server syncs every
// write, and a ledger opens on it with a credential from askbus.
func TestTheShippedConfigurationOfNATS(t *testing.T) {
	o, dir := shipped(t)
	if !o.SyncAlways || len(o.Routes) != 3 || o.Cluster.Name != "askbus" || len(o.TrustedOperators) != 1 {
		t.Errorf("sync always is %v, %d routes, %d operators", o.SyncAlways, len(o.Routes), len(o.TrustedOperators))
	}
	o.Cluster, o.Routes = server.ClusterOpts{}, nil
	opened(t, o, dir)
}

// A server may bound the window in which JetStream refuses doubled messages. The audit takes what it allows.
func TestANATSWithASmallDuplicateWindow(t *testing.T) {
	o, dir := shipped(t)
	o.Cluster, o.Routes = server.ClusterOpts{}, nil
	o.JetStreamLimits.Duplicates = 10 * time.Second
	led := opened(t, o, dir)
	if _, err := led.RefreshAudit(t.Context()); err != nil || led.AuditUse().Most == 0 {
		t.Errorf("the audit: %+v, %v", led.AuditUse(), err)
	}
}

// shipped returns deploy/nats-server.conf with the accounts of new keys.
func shipped(t *testing.T) (o *server.Options, dir string) {
	t.Helper()
	for name, value := range map[string]string{
		"ASKBUS_NODE": "n1", "ASKBUS_ROUTE_PASSWORD": "route",
		"ASKBUS_ROUTE_1": "nats://route:route@nats-1:6222", "ASKBUS_ROUTE_2": "nats://route:route@nats-2:6222", "ASKBUS_ROUTE_3": "nats://route:route@nats-3:6222",
	} {
		t.Setenv(name, value)
	}
	dir = t.TempDir()
	if _, err := natsd.Init(dir); err != nil {
		t.Fatal(err)
	}
	auth, err := rights.Config(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../deploy/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf := t.TempDir()
	write(t, filepath.Join(conf, "askbus-auth.conf"), auth)
	write(t, filepath.Join(conf, "nats-server.conf"), string(text))
	if o, err = server.ProcessConfigFile(filepath.Join(conf, "nats-server.conf")); err != nil {
		t.Fatal(err)
	}
	return o, dir
}

// opened opens a ledger on such a server, with a credential from askbus.
func opened(t *testing.T, o *server.Options, dir string) *store.Ledger {
	t.Helper()
	c, _ := handedOut(t, dir, external(t, o).ClientURL(), rights.Role{Name: rights.RoleLedger})
	nc, err := connection.Connect(c, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	led, err := store.Open(t.Context(), nc, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return led
}

// external starts a nats-server of somebody else's configuration.
func external(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.StoreDir, o.NoSigs = "127.0.0.1", -1, t.TempDir(), true
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("it does not start")
	}
	return srv
}

// A server that has an operator and a system account already keeps its accounts,
// and a ledger opens there: its brokers ask that system account for the time.
func TestBesideAnotherOperator(t *testing.T) {
	t.Parallel()
	public := func(kp nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		key, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return kp, key
	}
	signed := func(c jwt.Claims, by nkeys.KeyPair) string {
		t.Helper()
		token, err := c.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	theirs, operatorKey := public(nkeys.CreateOperator())
	_, systemKey := public(nkeys.CreateAccount())
	app, appKey := public(nkeys.CreateAccount())
	operator, system := jwt.NewOperatorClaims(operatorKey), jwt.NewAccountClaims(systemKey)
	operator.SystemAccount = systemKey
	for _, s := range []string{servertime.Subject, subject.Servers} {
		system.Exports.Add(&jwt.Export{Name: s, Subject: jwt.Subject(s), Type: jwt.Service, ResponseType: jwt.ResponseTypeStream})
	}
	dir, conf := t.TempDir(), t.TempDir()
	if _, err := natsd.Init(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := rights.Config(dir, operatorKey); err == nil {
		t.Error("an operator's key is taken for a system account's")
	}
	accounts, err := rights.Config(dir, systemKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(conf, "askbus-accounts.conf"), accounts)
	write(t, filepath.Join(conf, "nats-server.conf"), fmt.Sprintf("operator: [%s, %q]\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n%s: %s\n%s: %s\ninclude ./askbus-accounts.conf\n}\njetstream: {}\n",
		signed(operator, theirs), filepath.Join(dir, "auth", "operator.jwt"), systemKey, systemKey, signed(system, theirs), appKey, signed(jwt.NewAccountClaims(appKey), theirs)))
	o, err := server.ProcessConfigFile(filepath.Join(conf, "nats-server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	url := external(t, o).ClientURL()
	user, userKey := public(nkeys.CreateUser())
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	own, err := nats.Connect(url, nats.UserJWTAndSeed(signed(jwt.NewUserClaims(userKey), app), string(seed)))
	if err != nil {
		t.Fatalf("the server's own accounts are gone: %v", err)
	}
	own.Close()
	as := func(role string) *nats.Conn {
		t.Helper()
		c, _ := handedOut(t, dir, url, rights.Role{Name: role})
		nc, err := connection.Connect(c, natstest.Logger())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	led, err := store.Open(t.Context(), as(rights.RoleLedger), store.Options{Servers: as(rights.RoleClock)})
	if err != nil {
		t.Fatal(err)
	}
	if skews, _ := led.ClockSkews(); len(skews) != 1 {
		t.Errorf("the clocks of %v are known", skews)
	}
}
