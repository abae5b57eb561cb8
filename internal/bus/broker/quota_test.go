package broker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

func limited(t *testing.T, yaml string) broker.Options {
	t.Helper()
	p, err := quota.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return broker.Options{Quotas: func() *quota.Policy { return p }}
}

func overQuota(t *testing.T, err error, want string) {
	t.Helper()
	if e, ok := errors.AsType[*ask.Error](err); !ok || e.Code != ask.CodeQuota || !strings.Contains(e.Detail, want) {
		t.Fatalf("%v, want a refusal that says %q", err, want)
	}
}

// One tenant asks in many sessions until it is refused: others still have room,
// and every ask can end.
func TestATenantCannotFillTheStore(t *testing.T) {
	t.Parallel()
	const budget = 8 << 20
	b := natstest.Start(t, natstest.Options{NoBroker: true, Ledger: ledger.Options{Budget: budget, Partitions: 2}})
	b.Broker(limited(t, "{}"))
	stored := 0
	for s := 0; ; s++ { // a session may use half of its tenant's share
		c, n := newClient(t, b, fmt.Sprint("s", s)), 0
		var err error
		for ; err == nil; n++ {
			_, err = c.Ask(t.Context(), bigAsk(fmt.Sprint("a", n), time.Hour))
		}
		overQuota(t, err, "quota stored_bytes")
		if stored += n - 1; n == 1 {
			break
		}
	}
	// The same amount is reserved for their ends. An ask that was sent twice, on a busy machine, counts twice for a moment.
	if bytes := stored * 60_000; bytes < budget/10*2*7/10 || bytes > budget/10*2 {
		t.Errorf("%d bytes of %d are pending", bytes, budget)
	}
	c, err := client.New(b.Agent("other", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	theirs := c.Session("other", "s1")
	for i := range 5 {
		if _, err := theirs.Ask(t.Context(), bigAsk(fmt.Sprint("b", i), time.Hour)); err != nil {
			t.Fatalf("another tenant's ask: %v", err)
		}
	}
	// Asking a known ask again is not refused.
	if _, err := newClient(t, b, "s0").Ask(t.Context(), bigAsk("a0", time.Hour)); err != nil {
		t.Errorf("an ask that is known already: %v", err)
	}
}

// An ask that was answered, withdrawn or not stored no longer counts as
// pending.
func TestPendingAsksOfASessionAreLimited(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	b.Broker(limited(t, "default: {session: {pending: 2}}"))
	c := newClient(t, b, "s1")
	for i := range 2 {
		if _, err := c.Ask(t.Context(), bigAsk(fmt.Sprint("a", i), time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.Ask(t.Context(), bigAsk("a2", time.Hour))
	overQuota(t, err, "has 2 pending asks, and its quota pending is 2")
	if _, err := newClient(t, b, "s2").Ask(t.Context(), bigAsk("a2", time.Hour)); err != nil {
		t.Fatalf("another session: %v", err)
	}
	if _, err := c.Withdraw(t.Context(), "a0", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), bigAsk("a2", time.Hour)); err != nil {
		t.Fatalf("after a withdrawal: %v", err)
	}
}

// A session's held requests are limited; one too many is refused at once, and
// does not store its ask.
func TestHeldRequestsOfASessionAreLimited(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	b.Broker(limited(t, "default: {session: {waits: 1}}"))
	nc := plain(t, b, agent("s1"))
	wait := func(id string) *nats.Msg {
		m := nats.NewMsg("askv1.acme.s1.wait." + id)
		m.Header.Set("Askbus-Wait", "10m")
		return m
	}
	if _, err := newClient(t, b, "s1").Ask(t.Context(), bigAsk("a", time.Hour)); err != nil {
		t.Fatal(err)
	}
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	first := wait("a")
	first.Reply = inbox
	if err := nc.PublishMsg(first); err != nil {
		t.Fatal(err)
	}
	short := wait("a")
	short.Header.Set("Askbus-Wait", "1ms")
	for refused := 0; refused < 2000/waittest.Fewer; { // refused ones leave nothing; the first one may be held after some of them
		reply, err := nc.RequestMsg(short, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		switch code := reply.Header.Get(micro.ErrorCodeHeader); {
		case code == "429":
			refused++
		case code != "" || refused > 0:
			t.Fatalf("code %q, want 429: %s", code, reply.Data)
		default:
			if n, _, err := sub.Pending(); err != nil || n > 0 { // the first one was itself refused
				if _, err := sub.NextMsg(0); err != nil {
					t.Fatal(err)
				}
				if err := nc.PublishMsg(first); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if _, err := newClient(t, b, "s1").Withdraw(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.NextMsg(30 * time.Second); err != nil { // its slot is free now
		t.Fatal(err)
	}
	if _, err := newClient(t, b, "s1").Ask(t.Context(), bigAsk("b", time.Hour)); err != nil {
		t.Fatal(err)
	}
	m := wait("b")
	m.Header.Set("Askbus-Wait", "1ms")
	reply, err := nc.RequestMsg(m, 30*time.Second)
	if err != nil || reply.Header.Get(micro.ErrorCodeHeader) != "" {
		t.Fatalf("%v %v", reply, err)
	}
}

// A session that sends more requests than its rate is told to come again, of any
// kind; another session of its tenant is served, and its own are when they come
// again.
func TestASessionHasARateOfRequests(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	b.Broker(limited(t, "default: {session: {requests_per_second: 10}}"))
	loud, quiet := plain(t, b, agent("s1")), plain(t, b, agent("s2"))
	answers := make(chan *nats.Msg, 1000)
	inbox := loud.NewInbox()
	if _, err := loud.ChanSubscribe(inbox, answers); err != nil {
		t.Fatal(err)
	}
	const all = 200
	for range all {
		if err := loud.PublishRequest("askv1.acme.s1.wait.none", inbox, nil); err != nil {
			t.Fatal(err)
		}
	}
	over := 0
	for range all {
		if m := <-answers; m.Header.Get("Nats-Service-Error-Code") == "503" {
			if over++; !strings.Contains(string(m.Data), "requests_per_second") {
				t.Fatalf("a refusal does not name its quota: %s", m.Data)
			}
		}
	}
	if over == 0 || over == all {
		t.Errorf("%d of %d requests were refused", over, all)
	}
	if m := request(t, quiet, "askv1.acme.s2.get.none", nil, ""); m.Header.Get("Nats-Service-Error-Code") != "404" {
		t.Errorf("another session: %s", m.Data)
	}
	c := newClient(t, b, "s1") // our client comes again by itself
	if _, err := c.Ask(t.Context(), storage()); err != nil {
		t.Errorf("the same session, asking until it is served: %v", err)
	}
}
