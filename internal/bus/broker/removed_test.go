package broker_test

import (
	"errors"
	"testing"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// TestAnAskOfATenantThatWasRemovedAnswersNoOther: a broker stored an ask; another broker removes its tenant, and when
// that is readmitted, stores another ask with that id. An answer that the first one gets is to this one.
func TestAnAskOfATenantThatWasRemovedAnswersNoOther(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	other := b.Ledger()
	b.Broker(broker.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID = "a1"
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	mark := subject.StateKey{Name: "acme"}
	keep(t, other, subject.BucketRemoved, mark, `{"state":"removed"}`)
	natstest.Eventually(t, "the broker has heard of it", func() bool {
		_, err := c.Get(t.Context(), "a1")
		return errors.Is(err, ask.ErrForbidden)
	})
	if _, err := other.DeleteTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.WriteState(t.Context(), &ledger.StateWrite{Bucket: subject.BucketRemoved, Key: mark}, other.Now()); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the tenant is readmitted", func() bool {
		_, err := c.Get(t.Context(), "a1")
		return errors.Is(err, ask.ErrNotFound)
	})
	a.Tenant, a.Session, a.Questions[0].Options = "acme", "s1", []ask.Option{{ID: "duck", Label: "DuckDB"}, {ID: "none", Label: "None"}}
	a.Normalize()
	s := lifecycle.New(a, other.Now())
	s.Life = cloudevent.NewID()
	var err error
	if s.RawAsk, err = wire.EncodeAsk(s.Ask); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Store(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if o, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, pick("duck")); err != nil || o.Ask.Questions[0].Options[0].ID != "duck" {
		t.Errorf("%+v, %v", o, err)
	}
}
