package broker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// backlog waits until a type has these figures.
func backlog(t *testing.T, w *ledger.Work, typ string, want broker.Backlog) {
	t.Helper()
	natstest.Eventually(t, "the backlog of "+typ, func() bool {
		all, err := w.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all[typ] == want
	})
}

func TestTheBacklogOfATypeWithoutReplicasGrowsAndIsWorkedOff(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{Types: []string{"chat"}}})
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
		return err == nil && all["mail"] == broker.Backlog{Questions: 1}
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
