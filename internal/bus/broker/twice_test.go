package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// An outcome is republished while the broker cannot read the ledger, as when the
// two connections of a broker lead to different sides of a cut. Requests that
// the outcome has answered are not refused as well.
func TestAHeldRequestGetsOneReplyWhenTheLedgerIsCutOff(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	line := b.Line()
	led, err := ledger.Open(t.Context(), line.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	br := broker.New(b.Connect(rights.Role{Name: rights.RoleBroker}), led, broker.Options{Logger: natstest.Logger(), Verifier: b.Verifier(), Limit: 2 * time.Second})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- br.Run(ctx) }()
	natstest.Eventually(t, "the broker is ready", br.Ready)

	nc := plain(t, b, agent("s1"))
	asked(t, nc, "s1", "waited")
	asked(t, nc, "s1", "repeated")
	replies, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	other := b.Ledger()
	resume := line.Stall()
	defer resume()
	hold := nats.Header{"Askbus-Wait": {"1m"}}
	for subj, body := range map[string]string{
		"askv1.acme.s1.wait.waited":  "",
		askSubject("s1", "repeated"): event(cloudevent.TypeAsked, "repeated", askData("repeated")),
	} {
		if err := nc.PublishMsg(&nats.Msg{Subject: subj, Reply: replies.Subject, Header: hold, Data: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	natstest.Eventually(t, "both are held", func() bool { return br.Held() == 2 })
	for _, id := range []string{"waited", "repeated"} {
		s, err := other.Read(t.Context(), keyOf(id))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Resolve(t.Context(), s, ask.Outcome{AskID: id, Status: ask.StatusAborted, Reason: "enough", At: time.Now()}, "", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		m, err := replies.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if typ, _ := data(t, m); typ != cloudevent.TypeResolved {
			t.Errorf("the first reply is %s: %s", typ, m.Data)
		}
	}
	cancel() // it waits for running requests, whose reads fail by their limit
	if err := <-done; err != nil {
		t.Log(err) // its ledger is cut off
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := replies.Pending(); n != 0 || err != nil {
		m, _ := replies.NextMsgWithContext(t.Context())
		t.Errorf("%d more replies, such as %s (%v)", n, m.Data, err)
	}
}
