package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/role/doctor"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

// options checks everything of a bus.
func options(t *testing.T, b *natstest.Bus) doctor.Options {
	t.Helper()
	return doctor.Options{
		Operator: b.Connect(rights.Role{Name: rights.RoleOperator}), Reader: b.Connect(rights.Role{Name: rights.RoleMaintenance}), Tenant: "acme",
		Credential: func(r rights.Role) (*nats.Conn, error) {
			c, err := b.Credential(r)
			if err != nil {
				return nil, err
			}
			return connection.Connect(c, nil)
		},
	}
}

func TestAHealthyBus(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	l := doctor.Run(t.Context(), options(t, b))
	if l.Broken() > 0 {
		t.Errorf("%+v", l)
	}
	for what, words := range map[string]string{
		"server": "nats-server", "partitions": "all 4", "streams": "as a broker creates them", "replicas": "1 of each stream", "clocks": "those of askbus and of this machine agree",
		"brokers": "1 of", "rights of agent": "checked", "rights of ledger": "checked", "rights of maintenance": "checked", "rights of clock": "checked", "test ask": "the outcome received",
	} {
		said(t, l, what, finding.Good, words)
	}
}

func TestABusWithoutABroker(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	l := doctor.Run(t.Context(), options(t, b))
	said(t, l, "ledger", finding.Broken, "start a broker")
	said(t, l, "brokers", finding.Broken, "none responds")
	said(t, l, "test ask", finding.Broken, "no broker")
}

// Push and the issuer are judged by what a real bus reports.
func TestPushAndIssuerOfABus(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	o := options(t, b)
	o.NoAsk = true
	l := doctor.Run(t.Context(), o)
	said(t, l, "issuer", finding.Missing, "none runs")
	said(t, l, "push", finding.Good, "no browser")
	subscriptions := state.Open(b.Responder("web"), state.Responder("web", ""), state.Push)
	if _, err := subscriptions.Create(t.Context(), state.Key{Name: "mei.phone"}, map[string]string{"principal": "os:mei"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	issuer := b.Connect(rights.Role{Name: rights.RoleIssuer})
	if _, err := issuer.Subscribe(subject.Exchange, func(m *nats.Msg) {
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{micro.ErrorHeader: {ask.CodeInvalid}}})
	}); err != nil {
		t.Fatal(err)
	}
	if err := issuer.Flush(); err != nil {
		t.Fatal(err)
	}
	l = doctor.Run(t.Context(), o)
	said(t, l, "issuer", finding.Good, "it responds")
	said(t, l, "push", finding.Broken, "browsers (1), but none was ever sent")
	o.Credential, o.Reader = nil, nil
	l = doctor.Run(t.Context(), o)
	said(t, l, "issuer", finding.Missing, "not checked")
	said(t, l, "push", finding.Missing, "not checked")
}

func TestBrokersOfTwoVersions(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{Version: "v1.0.0"}})
	b.Broker(broker.Options{Version: "v1.1.0"})
	o := options(t, b)
	o.Reader, o.Credential, o.NoAsk = nil, nil, true
	l := doctor.Run(t.Context(), o)
	said(t, l, "brokers", finding.Missing, "1 of v1.0.0, 1 of v1.1.0")
	said(t, l, "ledger", finding.Missing, "--admin-creds")
	said(t, l, "rights", finding.Missing, "not checked")
	said(t, l, "test ask", finding.Missing, "not sent")
}

// Manual changes of streams are found.
func TestStreamsThatSomebodyChanged(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	js, err := jetstream.New(natstest.Plain(t, b.Server, rights.Role{Name: rights.RoleLedgerAdmin}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), subject.Stream(1))
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.RePublish, cfg.MaxAge = nil, 1<<40
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), subject.Stream(2)); err != nil {
		t.Fatal(err)
	}
	o := options(t, b)
	o.Credential, o.NoAsk = nil, true
	l := doctor.Run(t.Context(), o)
	said(t, l, "partitions", finding.Broken, "missing: ASKS_02")
	said(t, l, "streams", finding.Broken, "ASKS_01: max_age is")
	said(t, l, "streams", finding.Broken, "republish is off")
}

// A server that allows everything is found by testing.
func TestRightsThatAreTooWide(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	o := options(t, b)
	o.NoAsk, o.Reader = true, nil
	o.Credential = func(rights.Role) (*nats.Conn, error) {
		c, err := b.Credential(rights.Role{Name: rights.RoleAdmin})
		if err != nil {
			return nil, err
		}
		return connection.Connect(c, nil)
	}
	l := doctor.Run(t.Context(), o)
	said(t, l, "rights of agent", finding.Broken, "must not")
	o.Credential = func(rights.Role) (*nats.Conn, error) {
		c, err := b.Credential(rights.Role{Name: rights.RoleResponder, Type: "doctor", Tenant: "other"})
		if err != nil {
			return nil, err
		}
		return connection.Connect(c, nil)
	}
	said(t, doctor.Run(t.Context(), o), "rights of agent", finding.Broken, "may not publish to askv1.doctor-probe.s1.get.none")
}

// A check that there was no time for is reported as not made, not as failed.
func TestChecksWithoutTimeAreNotMade(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	o := options(t, b)
	o.Reader, o.Credential = nil, nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := doctor.Run(ctx, o)
	said(t, l, "brokers", finding.Missing, "not checked")
	said(t, l, "test ask", finding.Missing, "not sent")
}

// Without a ledger the doctor says so, and which limit of the account keeps brokers from making one.
func TestAnAccountWithoutRoomForALedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := filepath.Join(dir, "nats.conf")
	err := os.WriteFile(conf, []byte(`
listen: 127.0.0.1:-1
jetstream { store_dir: "`+dir+`", max_file_store: 1GB }
accounts {
  none { users: [{user: none, password: x}], jetstream: {} }
  streams { users: [{user: streams, password: x}], jetstream: {max_streams: 1} }
  bytes { users: [{user: bytes, password: x}], jetstream: {max_file: 2MB} }
  tiers { users: [{user: tiers, password: x}] }
  bounded { users: [{user: bounded, password: x}], jetstream: {max_bytes_required: true} }
}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	o.NoSigs = true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	tiers, err := s.LookupAccount("tiers")
	if err == nil {
		err = tiers.EnableJetStream(map[string]server.JetStreamAccountLimits{
			"R1": {MaxStore: 2 << 20, MaxMemory: -1, MaxStreams: -1, MaxConsumers: -1}, "R3": {MaxStore: -1, MaxMemory: -1, MaxStreams: -1, MaxConsumers: -1},
		}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for user, words := range map[string]string{
		"none":    "",
		"streams": "the account has all of the 1 streams that it may have",
		"bytes":   "2 MiB of 2 MiB are used: raise the account's limit",
		"tiers":   "2 MiB of 2 MiB are used: raise the account's limit",
		"bounded": "no stream without max_bytes",
	} {
		nc, err := nats.Connect(s.ClientURL(), nats.UserInfo(user, "x"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err == nil {
			_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}, MaxBytes: 2 << 20})
		}
		if err != nil {
			t.Fatal(user, err)
		}
		in, err := ledger.Inspect(t.Context(), nc)
		found := doctor.Ledger(&in, err)
		if words == "" {
			said(t, found, "JetStream", finding.Good, "0 bytes are used")
			said(t, found, "ledger", finding.Broken, "start a broker")
			continue
		}
		said(t, found, "JetStream", finding.Broken, words)
		said(t, found, "ledger", finding.Broken, "no broker can create it")
	}
}
