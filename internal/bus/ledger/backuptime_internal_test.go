package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A backup has the servers' time: neither that of this machine, nor that of one server of several whose clock is wrong.
func TestABackupHasTheServersTime(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true}) // without JetStream, which would answer as well
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	said, led := time.Now().Add(-1000*time.Hour), false
	_, err = nc.Subscribe("$JS.API.STREAM.INFO.*", func(m *nats.Msg) {
		if !led { // the first request comes while nobody leads
			led = true
			_ = m.Respond([]byte(`{"error":{"code":503}}`))
			return
		}
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
