package broker_test

import (
	"testing"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// The host of an agent may note what its own dialog did with an ask of its session, and of no other.
func TestAHostNotesWhatItsDialogDid(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	open := natstest.Opener{Conn: bus.Agent("acme", "s-1")}
	asks, err := open.Open(t.Context(), "acme", "s-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asks.Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "q", Kind: ask.KindText, Text: "Which?"}}}); err != nil {
		t.Fatal(err)
	}
	rec, err := asks.Get(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	host, err := responder.New(bus.Connect(rights.Role{Name: rights.RoleHost, Tenant: "acme", Session: "s-1"}), ask.ResponderElicit, responder.Options{Tenant: "acme", Session: "s-1", Host: true})
	if err != nil {
		t.Fatal(err)
	}
	receipt := ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted, Places: []ask.Place{{Where: "allowed there"}}}
	if err := host.Receipt(t.Context(), rec.Ask.Key(), receipt); err != nil {
		t.Fatal(err)
	}
	rec, err = asks.Get(t.Context(), "a1")
	if err != nil || len(rec.Receipts) != 1 || rec.Receipts[0].Type != ask.ResponderNative || rec.Receipts[0].Words() != "allowed there" {
		t.Errorf("%v, %+v", err, rec.Receipts)
	}
	receipt.Life = "another"
	if err := host.Receipt(t.Context(), rec.Ask.Key(), receipt); err == nil {
		t.Error("a receipt of another life is taken")
	}
}
