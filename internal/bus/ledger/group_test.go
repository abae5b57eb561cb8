package ledger_test

import (
	"fmt"
	"testing"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go/jetstream"
)

// A broker that has served the replicas of many tenants, most of which are removed by
// now, serves those of one more.
func TestTenantsThatComeAndGoLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true, Ledger: ledger.Options{Partitions: 1}})
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	work := ledger.NewWork(b.Ledger())
	for i := range 300 {
		g := ledger.Group{Type: "slack", Tenant: fmt.Sprint("t", i)}
		if _, err := work.Next(t.Context(), g, subject.Question, 1); err != nil {
			t.Fatalf("the replicas of tenant %d: %v", i, err)
		}
		for _, kind := range []string{subject.Question, subject.Outcome} { // as its server does for a removed tenant
			if err := js.DeleteConsumer(t.Context(), subject.Stream(0), "slack@"+g.Tenant+"-"+kind); err != nil {
				t.Fatal(err)
			}
		}
	}
}
