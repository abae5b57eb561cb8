package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
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
	ends, err := other.Ends(t.Context())
	if err == nil {
		_, err = other.DeleteTenant(t.Context(), "acme", ends)
	}
	if err != nil {
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
	store(t, other, a)
	if o, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, pick("duck")); err != nil || o.Ask.Questions[0].Options[0].ID != "duck" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestAReadmittedTenantKeepsWhatIsNew: a broker looks whether anything was left of a removed tenant, and while it deletes
// that, the tenant is readmitted and somebody asks.
func TestAReadmittedTenantKeepsWhatIsNew(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	other, line := b.Ledger(), b.Line()
	led, err := ledger.Open(t.Context(), line.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Servers: b.Connect(rights.Role{Name: rights.RoleClock})})
	if err != nil {
		t.Fatal(err)
	}
	a := storage()
	a.Tenant, a.ID = "acme", "a1"
	for i := 0; a.Session == "" || subject.Partition("acme", a.Session, led.Partitions()) != led.Partitions()-1; i++ { // where it deletes last
		a.Session = fmt.Sprint("s", i)
	}
	purges := make(chan *nats.Msg, 100)
	if _, err := b.LedgerAdmin().ChanSubscribe("$JS.API.STREAM.PURGE.>", purges); err != nil {
		t.Fatal(err)
	}
	purged := func(stream string) {
		t.Helper()
		for m := range purges {
			if m.Subject == "$JS.API.STREAM.PURGE."+stream {
				return
			}
		}
	}
	mark := subject.StateKey{Name: "acme"}
	keep(t, other, subject.BucketRemoved, mark, fmt.Sprintf(`{"state":"removed","changed":%q}`, other.Now().UTC().Format(time.RFC3339)))
	b.BrokerOn(led, broker.Options{})
	purged(subject.Stream(0))
	resume := line.Stall()
	if _, err := other.WriteState(t.Context(), &ledger.StateWrite{Bucket: subject.BucketRemoved, Key: mark}, other.Now()); err != nil {
		t.Fatal(err)
	}
	store(t, other, a)
	resume()
	purged(subject.FileStream)
	if s, err := other.Read(t.Context(), a.Key()); err != nil || !s.Pending() {
		t.Errorf("the new ask: %+v, %v", s, err)
	}
}

// store stores an ask as a broker does.
func store(t *testing.T, led *ledger.Ledger, a ask.Ask) {
	t.Helper()
	a.Normalize()
	s := lifecycle.New(a, led.Now())
	s.Life = cloudevent.NewID()
	var err error
	if s.RawAsk, err = wire.EncodeAsk(s.Ask); err == nil {
		_, err = led.Store(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
}
