package broker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// figures are those of a backlog without times.
func figures(b broker.Backlog) broker.Backlog {
	b.Oldest = time.Time{}
	return b
}

// backlog waits until a type has these figures.
func backlog(t *testing.T, w *ledger.Work, typ string, want broker.Backlog) {
	t.Helper()
	natstest.Eventually(t, "the backlog of "+typ, func() bool {
		all, err := w.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return figures(all[typ]) == want
	})
}

func TestTheBacklogOfATypeWithoutReplicasGrowsAndIsWorkedOff(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	br, _ := b.BrokerOn(b.Ledger(), broker.Options{Types: []string{"chat"}})
	w := ledger.NewWork(b.Ledger())
	natstest.Eventually(t, "the consumers of chat", func() bool {
		all, err := w.Backlog(t.Context())
		_, ok := all["chat"]
		return err == nil && ok
	})

	nc, web := plain(t, b, agent("s1")), plain(t, b, surface("web"))
	for _, id := range []string{"a1", "a2", "a3", "a4", "a5"} {
		asked(t, nc, "s1", id)
	}
	backlog(t, w, "chat", broker.Backlog{Questions: 5})
	request(t, web, answerSubject("web", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", answerData("a1", "w1", "pg")))
	backlog(t, w, "chat", broker.Backlog{Questions: 4, Outcomes: 1})

	// Work that a replica took still counts until it is done.
	chat := plain(t, b, surface("chat"))
	items := next(t, chat, "chat", `{"of":"question","max":10,"wait":"30s"}`)
	backlog(t, w, "chat", broker.Backlog{Questions: 4, Outcomes: 1})
	for len(items) > 0 {
		for _, i := range items {
			ok(t, settle(t, chat, "chat", "done", i.Token, ""))
		}
		items = next(t, chat, "chat", `{"of":"question","max":10}`)
	}
	for _, i := range next(t, chat, "chat", `{"of":"outcome","max":10,"wait":"30s"}`) {
		ok(t, settle(t, chat, "chat", "done", i.Token, ""))
	}
	backlog(t, w, "chat", broker.Backlog{})

	// The server removes consumers that nobody used for a month. Those of a type known beforehand come back when the
	// figures miss them, and have all that is pending, shown or not: after a month none of it is left.
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	for p := range b.Ledger().Partitions() {
		for _, kind := range []string{"q", "o"} {
			if err := js.DeleteConsumer(t.Context(), subject.Stream(p), "chat-"+kind); err != nil {
				t.Fatal(err)
			}
		}
	}
	asked(t, nc, "s1", "a6")
	natstest.Eventually(t, "the consumers are back", func() bool {
		if _, err := br.Backlog(t.Context()); err != nil {
			t.Error(err)
		}
		all, err := w.Backlog(t.Context())
		return err == nil && all["chat"].Questions == 5
	})
}

func TestTheBacklogOfATypeIsThatOfAllItsTenants(t *testing.T) {
	t.Parallel()
	// A broker that is to prepare a type that tenants serve runs without its
	// consumers.
	b := natstest.Start(t, natstest.Options{})
	acme := plain(t, b, rights.Role{Name: rights.RoleResponder, Type: "slack", Tenant: "acme"})
	if m := request(t, acme, "ansv1.slack.acme.next", nil, `{"of":"question"}`); m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Fatalf("next: %v", problem(t, m))
	}
	asked(t, plain(t, b, agent("s1")), "s1", "a1")
	w := ledger.NewWork(b.Ledger())
	backlog(t, w, "slack", broker.Backlog{Questions: 1})
	b.Broker(broker.Options{Types: []string{"slack", "mail"}})
	natstest.Eventually(t, "the consumers of mail", func() bool {
		all, err := w.Backlog(t.Context())
		return err == nil && figures(all["mail"]) == broker.Backlog{Questions: 1}
	})
	backlog(t, w, "slack", broker.Backlog{Questions: 1})
}

func TestTypesToPrepareAreChecked(t *testing.T) {
	t.Parallel()
	if err := broker.CheckTypes([]string{"slack", "chat_2"}); err != nil {
		t.Error(err)
	}
	if err := broker.CheckTypes([]string{"slack@acme"}); err != nil {
		t.Error(err)
	}
	if err := broker.CheckTypes([]string{"slack@"}); err == nil || !strings.Contains(err.Error(), "TYPE@TENANT") {
		t.Errorf("no tenant: %v", err)
	}
	if err := broker.CheckTypes([]string{"slack.x"}); err == nil || !strings.Contains(err.Error(), `"slack.x"`) {
		t.Errorf("a dot: %v", err)
	}
	if err := broker.CheckTypes(slices.Repeat([]string{"slack"}, 65)); err == nil {
		t.Error("too many types were accepted")
	}
}

// TestReadingTheBacklogLeavesNothing is not parallel: it counts goroutines.
func TestReadingTheBacklogLeavesNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{Memory: true, Broker: broker.Options{Types: []string{"chat"}}})
	w := ledger.NewWork(b.Ledger())
	b.LeavesNothing(t, func(int) error {
		_, err := w.Backlog(t.Context())
		if err != nil && ledger.IsTemporary(err) {
			return &natstest.UnavailableError{After: time.Second, Err: err}
		}
		return err
	})
}

// Two workspaces of one type, each of a tenant, scale by their own work, also while they have no replicas.
func TestTheBacklogOfATenantIsItsOwn(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{Types: []string{"slack@acme", "slack@other"}}})
	w := ledger.NewWork(b.Ledger())
	natstest.Eventually(t, "the consumers of both", func() bool {
		all, err := w.Backlog(t.Context())
		_, acme := all["slack@acme"]
		_, other := all["slack@other"]
		return err == nil && acme && other
	})
	asked(t, plain(t, b, agent("s1")), "s1", "a1")
	backlog(t, w, "slack@acme", broker.Backlog{Questions: 1})
	backlog(t, w, "slack@other", broker.Backlog{})
	backlog(t, w, "slack", broker.Backlog{Questions: 1})
}

// Of two workspaces of a type the dead one is told by the age of its oldest ask that it has not presented,
// also while a replica has that in hand; and what it presented does not count.
func TestTheOldestAskThatASurfaceHasNotPresented(t *testing.T) {
	t.Parallel()
	set := metrics.New()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Partitions: 1}})
	slack := func(tenant string) *nats.Conn {
		nc := plain(t, b, rights.Role{Name: rights.RoleResponder, Type: "slack", Tenant: tenant})
		if m := request(t, nc, "ansv1.slack."+tenant+".next", nil, `{"of":"question"}`); m.Header.Get("Nats-Service-Error-Code") != "" {
			t.Fatalf("next: %v", problem(t, m))
		}
		return nc
	}
	acme := slack("acme")
	slack("other")
	nc := plain(t, b, agent("s1"))
	asked(t, nc, "s1", "a1")
	asked(t, nc, "s1", "a2")
	w := ledger.NewWork(b.Ledger())
	oldest := func(name string) (at time.Time) {
		all, err := w.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all[name].Oldest
	}
	var first time.Time
	natstest.Eventually(t, "an ask waits for acme", func() bool { first = oldest("slack@acme"); return !first.IsZero() })
	if at := oldest("slack@other"); !at.IsZero() {
		t.Errorf("nothing waits for the other workspace, and its oldest is of %s", at)
	}
	if at := oldest("slack"); !at.Equal(first) {
		t.Errorf("the oldest of the type is of %s, want %s", at, first)
	}
	items := next(t, acme, "slack.acme", `{"of":"question","max":1,"wait":"30s"}`)
	if len(items) != 1 {
		t.Fatalf("%d items", len(items))
	}
	if at := oldest("slack@acme"); !at.Equal(first) {
		t.Errorf("in hand: the oldest is of %s, want %s", at, first)
	}
	b.Broker(broker.Options{Metrics: set})
	natstest.Eventually(t, "a broker reports it", func() bool {
		now := scrape(t, set)
		return strings.Contains(now, `askbus_surface_backlog{kind="question",surface="slack",tenant="acme"} 2`) &&
			strings.Contains(now, `askbus_surface_oldest_seconds{surface="slack",tenant="other"} 0`) && !strings.Contains(now, `surface="slack",tenant=""`)
	})
	ok(t, settle(t, acme, "slack.acme", "done", items[0].Token, ""))
	natstest.Eventually(t, "the second is the oldest", func() bool { return oldest("slack@acme").After(first) })
}
