package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
)

// Many requests that wait for one ask cost a read of the ledger a second, not
// one each, and every one of them gets the outcome.
func TestManyWaitsForOneAskShareAReadOfTheLedger(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	br, _ := b.BrokerAhead(func() time.Duration { return 0 }, limited(t, "default: {requests_per_second: none, session: {requests_per_second: none}}"))
	reads := make(chan *nats.Msg, 100_000)
	if _, err := b.LedgerAdmin().ChanSubscribe("$JS.API.>", reads); err != nil {
		t.Fatal(err)
	}
	nc := plain(t, b, agent("s1"))
	asked(t, nc, "s1", "open")
	const all = 500
	answers := make(chan *nats.Msg, all)
	inbox := nc.NewInbox()
	if _, err := nc.ChanSubscribe(inbox, answers); err != nil {
		t.Fatal(err)
	}
	before, began := len(reads), time.Now()
	for range all {
		if err := nc.PublishMsg(&nats.Msg{Subject: "askv1.acme.s1.wait.open", Reply: inbox, Header: nats.Header{"Askbus-Wait": {"10m"}}}); err != nil {
			t.Fatal(err)
		}
	}
	natstest.Eventually(t, "all wait", func() bool { return br.Held() == all })
	took, n := time.Since(began), len(reads)-before
	request(t, nc, "askv1.acme.s1.withdraw.open", nil, event(cloudevent.TypeWithdrawn, "open", fmt.Sprintf(`{"ask_id":%q}`, "open")))
	for range all {
		if m := <-answers; m.Header.Get("Nats-Service-Error-Code") != "" {
			t.Fatalf("a wait is refused: %s", m.Data)
		}
	}
	// 16 requests of a session are served at a time, and each of them may begin before the first has read.
	if most := 2 * 16 * (2 + int(took/time.Second)); n > most {
		t.Errorf("%d waits caused %d requests to the ledger; want at most %d", all, n, most)
	}
}
