package ledger_test

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// slowLine is a line that, once it is armed, stops after the server has made a consumer and it has read so many times
// more, until it is released.
type slowLine struct {
	armed   atomic.Bool
	reads   int
	release chan struct{}
}

func (l *slowLine) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &slowConn{Conn: c, line: l, left: -1}, err
}

type slowConn struct {
	net.Conn

	line *slowLine
	left int // reads until it stops; below 0: it does not
}

func (c *slowConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		<-c.line.release
	}
	n, err := c.Conn.Read(p)
	if c.left--; bytes.Contains(p[:n], []byte("consumer_create_response")) && c.line.armed.CompareAndSwap(true, false) {
		c.left = c.line.reads
	}
	return n, err
}

// TestASlowServerHidesNoStep: the server stops sending while a sweep reads questions. Those that it did not get are not
// forgotten.
func TestASlowServerHidesNoStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reads int
		until string // the sweep asks for this: the server goes on
	}{
		"it sends nothing": {0, "$JS.API.CONSUMER.CREATE.>"},
		"it sends a part":  {1, "$JS.API.STREAM.MSG.GET.>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true})
			line := &slowLine{reads: c.reads, release: make(chan struct{})}
			led, err := ledger.Open(t.Context(), natstest.Connect(t, b.Server, rights.Role{Name: rights.RoleLedger}, nats.SetCustomDialer(line)),
				ledger.Options{Partitions: 1, NoAudit: true, Servers: b.Connect(rights.Role{Name: rights.RoleClock})})
			if err != nil {
				t.Fatal(err)
			}
			now, due := time.Now(), map[ask.Key]bool{}
			const all = 200 // more than one read
			for i := range all {
				q := question(t, key("s1", fmt.Sprint("a", i)), now, func(a *ask.Ask) { a.Escalate = []ask.Escalation{{After: 30 * time.Minute}} })
				if _, err := led.Store(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			sweep := func(at time.Time) {
				t.Helper()
				found, err := led.Overdue(t.Context(), at, 10*all, 1, now)
				if err != nil && !ledger.IsTemporary(err) {
					t.Fatal(err)
				}
				for _, d := range found {
					due[d.Key] = d.Step
				}
			}
			sweep(now)
			release := sync.OnceFunc(func() { close(line.release) })
			asked := 0
			if _, err := b.LedgerAdmin().Subscribe(c.until, func(*nats.Msg) {
				if asked++; asked > 1 || c.reads > 0 { // the first consumer is the one that it reads with
					release()
				}
			}); err != nil {
				t.Fatal(err)
			}
			line.armed.Store(true)
			sweep(now.Add(45 * time.Minute))
			release()
			sweep(now.Add(45 * time.Minute))
			if len(due) != all {
				t.Errorf("%d steps of %d are found", len(due), all)
			}
		})
	}
}
