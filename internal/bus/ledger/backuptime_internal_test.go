package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// A backup has the servers' time: neither that of this machine, nor that of one server of several whose clock is wrong.
func TestABackupHasTheServersTime(t *testing.T) {
	t.Parallel()
	s, err := natsd.Start(natsd.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	cred, err := s.Credential(rights.Role{Name: rights.RoleAdmin}) // in an account without JetStream
	if err != nil {
		t.Fatal(err)
	}
	nc, err := connection.Connect(cred, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	said := time.Now().Add(-1000 * time.Hour)
	_, err = nc.Subscribe("$JS.API.STREAM.INFO.*", func(m *nats.Msg) {
		at := said
		if strings.HasSuffix(m.Subject, subject.Stream(1)) {
			at = at.Add(24 * time.Hour)
		}
		_ = m.Respond(info("n1", at)) // else the test fails below
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &Ledger{nc: nc, n: 4}
	if at, err := l.serversTime(t.Context()); err != nil || at.Sub(said).Abs() > time.Hour {
		t.Errorf("%s, %v; want %s", at, err, said)
	}
}
