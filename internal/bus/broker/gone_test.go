package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go/jetstream"
)

// Somebody with more rights than askbus deletes streams of the ledger. A broker that went on would refuse the asks of one
// partition, and every list, for ever. It ends and says why; the next start makes them again.
func TestABrokerEndsWhenAStreamIsDeleted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{subject.Stream(1), subject.StateStream, subject.FileStream} {
		b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true})
		br := broker.New(b.Connect(rights.Role{Name: rights.RoleBroker}), b.Ledger(), broker.Options{Logger: natstest.Logger(), Verifier: b.Verifier(), Sweep: 20 * time.Millisecond})
		done := make(chan error, 1)
		go func() { done <- br.Run(t.Context()) }()
		natstest.Eventually(t, "the broker is ready", br.Ready)
		js, err := jetstream.New(b.LedgerAdmin())
		if err != nil {
			t.Fatal(err)
		}
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		select {
		case err = <-done:
		case <-time.After(waittest.Limit):
			t.Fatalf("%s: the broker goes on", name)
		}
		if err == nil || !strings.Contains(err.Error(), "the ledger's streams "+name+" are missing") {
			t.Errorf("%s: %v", name, err)
		}
		b.Broker(broker.Options{})
		c := newClient(t, b, "s1")
		if _, err := c.Ask(t.Context(), storage()); err != nil {
			t.Errorf("%s: after the next start: %v", name, err)
		}
	}
}
