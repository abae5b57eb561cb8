package broker_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func ofTenant(typ, tenant string) rights.Role {
	return rights.Role{Name: rights.RoleResponder, Type: typ, Tenant: tenant}
}

// nextOf asks for a question of one tenant, and returns the items or the
// refusal.
func nextOf(t *testing.T, nc *nats.Conn, typ, tenant string) ([]wire.NextItem, string) {
	t.Helper()
	m := request(t, nc, "ansv1."+typ+"."+tenant+".next", nil, `{"of":"question","max":10}`)
	if m.Header.Get("Nats-Service-Error-Code") != "" {
		return nil, fmt.Sprint(problem(t, m))
	}
	items, lease, err := wire.DecodeNextItems(m.Data)
	if err != nil || lease == 0 {
		t.Fatal(err, lease)
	}
	return items, ""
}

func TestATenantsReplicasTakeOnlyItsWork(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	acme, other := plain(t, b, ofTenant("slack", "acme")), plain(t, b, ofTenant("slack", "other"))
	asked(t, plain(t, b, agent("s1")), "s1", "a1")
	if items, refused := nextOf(t, other, "slack", "other"); len(items) != 0 || refused != "" {
		t.Errorf("another tenant is given %+v %s", items, refused)
	}
	items, refused := nextOf(t, acme, "slack", "acme")
	if len(items) != 1 || items[0].Event.Subject() != "a1" {
		t.Fatalf("given %+v %s", items, refused)
	}
	// The token belongs to the tenant's group only.
	body := fmt.Sprintf(`{"token":%q}`, items[0].Token)
	for _, subj := range []string{"ansv1.slack.other.done", "ansv1.slack.done"} {
		nc := other
		if subj == "ansv1.slack.done" {
			nc = plain(t, b, surface("slack"))
		}
		if m := request(t, nc, subj, nil, body); m.Header.Get("Nats-Service-Error-Code") != "400" {
			t.Errorf("%s: %s", subj, m.Data)
		}
	}
	ok(t, request(t, acme, "ansv1.slack.acme.done", nil, body))
}

func TestATypeIsServedAsAWholeOrByTenantNeverBoth(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	whole, acme := plain(t, b, surface("slack")), plain(t, b, ofTenant("slack", "acme"))
	if _, refused := nextOf(t, acme, "slack", "acme"); refused != "" {
		t.Fatal(refused)
	}
	m := request(t, whole, "ansv1.slack.next", nil, `{"of":"question"}`)
	if p := fmt.Sprint(problem(t, m)); m.Header.Get("Nats-Service-Error-Code") != fmt.Sprint(http.StatusForbidden) || !strings.Contains(p, "tenant by tenant") {
		t.Errorf("the whole type is told %s", p)
	}
	// The other way round; a broker that has not seen the first also refuses.
	next(t, plain(t, b, surface("mail")), "mail", `{"of":"question"}`)
	b.Broker(natstest.Options{}.Broker)
	for range 8 {
		if _, refused := nextOf(t, plain(t, b, ofTenant("mail", "acme")), "mail", "acme"); !strings.Contains(refused, "all tenants together") {
			t.Fatalf("the tenant is told %q", refused)
		}
	}
}

func TestTenantsConsumersAreBounded(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	t7 := plain(t, b, ofTenant("slack", "t7"))
	if _, refused := nextOf(t, t7, "slack", "t7"); refused != "" {
		t.Fatal(refused)
	}
	for i := range 197 {
		_, err := js.CreateConsumer(t.Context(), "ASKS_00", jetstream.ConsumerConfig{Durable: fmt.Sprintf("slack@x%d-q", i), FilterSubject: "ledgerv1.00.x", AckPolicy: jetstream.AckExplicitPolicy, MemoryStorage: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, refused := nextOf(t, plain(t, b, ofTenant("slack", "acme")), "slack", "acme"); !strings.Contains(refused, "at most 200") {
		t.Errorf("told %q", refused)
	}
	if _, refused := nextOf(t, t7, "slack", "t7"); refused != "" {
		t.Errorf("a tenant that has its own is told %q", refused)
	}
}
