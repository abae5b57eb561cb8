package broker_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
)

// farAway dials connections on which each write takes a while, as to a server far away.
type farAway struct{ net.Dialer }

func (d *farAway) Dial(network, address string) (net.Conn, error) {
	c, err := d.Dialer.Dial(network, address)
	return &slowConn{c}, err
}

type slowConn struct{ net.Conn }

func (c *slowConn) Write(p []byte) (int, error) {
	<-time.After(20 * time.Millisecond)
	return c.Conn.Write(p)
}

func TestWhatAStoppingBrokerDoesNotRecordIsCountedInTheAudit(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	led, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}, nats.SetCustomDialer(&farAway{})),
		ledger.Options{Servers: b.Connect(rights.Role{Name: rights.RoleClock})})
	if err != nil {
		t.Fatal(err)
	}
	_, stop := b.BrokerOn(led, broker.Options{})
	issuer := b.Connect(rights.Role{Name: rights.RoleIssuer}) // it may send most
	const sent = 600
	for i := range sent {
		one := audit.Report{Action: audit.CredentialIssued, ID: fmt.Sprint("r", i), Tenant: "acme", Object: &audit.Object{Kind: "credential", ID: "UKEY", Role: "agent"}}
		if err := audit.Send(t.Context(), issuer, audit.Sender{Role: subject.StateIssuer}, one); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	b.Broker(broker.Options{})
	nc := b.Connect(auditor(""))
	recorded, lost := len(records(t, nc, "", audit.Query{Key: "UKEY"})), int64(0)
	for _, r := range records(t, nc, "", audit.Query{Actions: []audit.Action{audit.AuditLost}}) {
		lost += r.Lost
	}
	if int64(recorded)+lost != sent {
		t.Errorf("of %d reports %d are records, and %d are counted as lost", sent, recorded, lost)
	}
	t.Logf("%d recorded, %d counted as lost", recorded, lost)
}
