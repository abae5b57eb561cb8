package broker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// furnish stores something of every kind of a tenant: pending, voted on and ended
// asks, a file, an entry in each bucket, an API token, work of a chat.
func furnish(t *testing.T, b *natstest.Bus, led *ledger.Ledger, tenant string) (agent client.Session) {
	t.Helper()
	c, err := client.New(b.Agent(tenant, "s1"), client.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	agent = c.Session(tenant, "s1")
	web := newResponder(t, b, "web")
	key := func(id string) ask.Key { return ask.Key{Tenant: tenant, Session: "s1", ID: id} }
	pending, ended := storage(), storage()
	pending.ID, ended.ID = "pending", "ended"
	pending.Files = []ask.File{upload(t, agent, "log.txt", []byte("of "+tenant))}
	for _, a := range []ask.Ask{pending, ended, deploying("voted", 2)} {
		if _, err := agent.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := web.Answer(t.Context(), key("ended"), pick("pg")); err != nil {
		t.Fatal(err)
	}
	_, err = web.Answer(t.Context(), key("voted"), votes("v1", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
	for _, bucket := range subject.Buckets() {
		if bucket.Name != subject.BucketRemoved {
			keep(t, led, bucket.Name, subject.StateKey{Tenant: tenant, Name: "k"}, `{}`)
		}
	}
	for _, bucket := range []string{subject.BucketTokens, subject.BucketTokenUses} {
		keep(t, led, bucket, subject.StateKey{Name: "token-of-" + tenant}, fmt.Sprintf(`{"tenant":%q}`, tenant))
	}
	if _, refused := nextOf(t, plain(t, b, ofTenant("slack", tenant)), "slack", tenant); refused != "" {
		t.Fatal(refused)
	}
	return agent
}

func keep(t *testing.T, led *ledger.Ledger, bucket string, k subject.StateKey, value string) {
	t.Helper()
	natstest.Eventually(t, "the entry is acknowledged", func() bool {
		_, err := led.WriteState(t.Context(), &ledger.StateWrite{Bucket: bucket, Key: k, Value: []byte(value)}, led.Now())
		if err != nil && !ledger.IsTemporary(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// heldBy returns what the streams other than the audit hold: subjects and sequences,
// by tenant. Deletions are left out.
func heldBy(t *testing.T, b *natstest.Bus) map[string][]string {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		if name == subject.AuditStream {
			continue
		}
		c, err := js.CreateConsumer(t.Context(), name, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true, MemoryStorage: true, InactiveThreshold: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		n := int(c.CachedInfo().NumPending)
		if n == 0 {
			continue
		}
		batch, err := c.Fetch(n, jetstream.FetchMaxWait(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			tokens := strings.Split(m.Subject(), ".")
			tenant := tokens[min(2, len(tokens)-1)]
			if tokens[1] == "state" {
				tenant = tokens[3]
			}
			if m.Headers().Get("KV-Operation") == "" {
				all[tenant] = append(all[tenant], fmt.Sprintf("%s@%d", m.Subject(), meta.Sequence.Stream))
			}
		}
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func consumers(t *testing.T, b *natstest.Bus) (names []string) {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), subject.Stream(0))
	if err != nil {
		t.Fatal(err)
	}
	list := s.ConsumerNames(t.Context())
	for name := range list.Name() {
		names = append(names, name)
	}
	return names
}

func removal(t *testing.T, nc *nats.Conn, tenant string, verb subject.Verb, body string) (m wire.Removal, err error) {
	t.Helper()
	reply, err := connection.Do(t.Context(), connection.On(nc), &nats.Msg{Subject: subject.OfTenant(tenant, verb), Data: []byte(body)}, 0)
	if err == nil {
		err = json.Unmarshal(reply.Data, &m)
	}
	return m, err
}

func stateOf(t *testing.T, led *ledger.Ledger, tenant string) (m wire.Removal) {
	t.Helper()
	e, err := led.ReadState(t.Context(), subject.BucketRemoved, subject.StateKey{Name: tenant})
	if err != nil {
		t.Fatal(err)
	}
	if e.Live(led.Now()) {
		if err := json.Unmarshal(e.Value, &m); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// onlyKept fails the test if anything of a tenant is left but the marks of what no
// longer counts.
func onlyKept(t *testing.T, left []string) {
	t.Helper()
	left = slices.DeleteFunc(slices.Clone(left), func(s string) bool {
		return strings.HasPrefix(s, "ledgerv1.state.login-links.") || strings.HasPrefix(s, "ledgerv1.state.revoked-people.")
	})
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestARemovedTenantLeavesNothing: agents are told, nothing is left but what must not
// count again, the tenant whose name begins alike is untouched, and what comes later is
// refused, or deleted if a broker has stored it without having heard.
func TestARemovedTenantLeavesNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	how := broker.Options{Settle: 1200 * time.Millisecond, Sweep: 100 * time.Millisecond}
	led := b.Ledger()
	for range 2 {
		b.Broker(how)
	}
	acme, acme2 := furnish(t, b, led, "acme"), furnish(t, b, led, "acme2")
	other, operator := heldBy(t, b)["acme2"], b.Connect(rights.Role{Name: rights.RoleOperator})

	m, err := removal(t, operator, "acme", subject.VerbRemove, `{"dry_run":true}`)
	if err != nil || m.State != "" || m.Had.Pending != 2 || m.Had.Ended != 1 || m.Had.Files != 1 || m.Had.Tokens != 1 || m.Had.Consumers != 8 ||
		m.Had.Entries[subject.BucketSnoozes] != 1 || !maps.Equal(m.Had.Kept, map[string]int{"login-links": 1, "revoked-people": 1}) {
		t.Fatalf("dry run: %+v, %v", m, err)
	}
	if after := heldBy(t, b); !slices.Equal(after["acme2"], other) || len(after["removed-tenants"]) != 0 || stateOf(t, led, "acme").State != "" {
		t.Errorf("a dry run wrote something: %q", after)
	}
	for _, body := range []string{``, `[]`, `{"grace":"2h"}`, `{"grace":"-1s"}`, `{"force":true}`} {
		if _, err := removal(t, operator, "acme", subject.VerbRemove, body); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := removal(t, operator, "acme", subject.VerbReadmit, `{}`); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("readmitted without a removal: %v", err)
	}

	told := make(chan ask.Outcome, 1)
	go func() {
		o, err := acme.Wait(t.Context(), "pending")
		if err != nil {
			t.Error(err)
		}
		told <- o
	}()
	for i := range 2 { // a request whose reply was lost is sent again, on a busy machine after the second
		m, err = removal(t, operator, "acme", subject.VerbRemove, `{"grace":"1s"}`)
		if err != nil || m.State != wire.RemovalClosing && (i == 0 || m.State != wire.RemovalDeleting) || m.Credential == "" {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	if o := <-told; o.Status != ask.StatusAborted || !strings.Contains(o.Reason, "tenant acme is removed") {
		t.Errorf("the agent is told %+v", o)
	}
	if _, err := removal(t, operator, "acme", subject.VerbReadmit, `{}`); !errors.Is(err, ask.ErrConflict) {
		t.Errorf("readmitted during the removal: %v", err)
	}
	natstest.Eventually(t, "the tenant is removed", func() bool { return stateOf(t, led, "acme").State == wire.RemovalDone })
	if m = stateOf(t, led, "acme"); m.Withdrawn != 2 {
		t.Errorf("%+v", m)
	}
	after := heldBy(t, b)
	onlyKept(t, after["acme"])
	if !slices.Equal(after["acme2"], other) {
		t.Errorf("of the other tenant:\n%q, before:\n%q", after["acme2"], other)
	}
	for _, bucket := range []string{"tokens", "token-uses"} {
		if own := strings.Join(after["~"], " "); strings.Contains(own, bucket+".~.token-of-acme@") || !strings.Contains(own, bucket+".~.token-of-acme2@") {
			t.Errorf("%s: %q", bucket, own)
		}
	}
	natstest.Eventually(t, "the server deletes the consumers", func() bool {
		names := consumers(t, b)
		if !slices.Contains(names, "slack@acme2-q") {
			t.Fatalf("%q", names)
		}
		return !slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, "slack@acme-") })
	})

	// Nothing works there, for nobody.
	natstest.Eventually(t, "a new ask is told how the tenant comes back", func() bool { // the other broker hears a second later that it is done
		_, err := acme.Ask(t.Context(), deploying("late", 2))
		if !errors.Is(err, ask.ErrForbidden) {
			t.Fatalf("a new ask: %v", err)
		}
		return strings.Contains(err.Error(), "askbus tenant readmit acme")
	})
	chat := plain(t, b, ofTenant("slack", "acme"))
	natstest.Eventually(t, "work for its chat is refused", func() bool {
		_, refused := nextOf(t, chat, "slack", "acme")
		if refused == "" {
			t.Fatal("its chat gets work")
		}
		return strings.Contains(refused, "removed the tenant acme")
	})
	lease := request(t, plain(t, b, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}), "kvv1.agent.acme.s1.leases.put", nil, `{"value":{},"ttl":"1m"}`)
	if lease.Header.Get("Nats-Service-Error-Code") != "403" {
		t.Errorf("a lease: %s", lease.Data)
	}
	_, err = newResponder(t, b, "web").Away(t.Context(), responder.Away{By: ofSRE("mei"), To: "os:jo", Tenant: "acme", Until: time.Now().Add(time.Hour)})
	forbidden(t, "a stand-in, by a surface of every tenant", err)
	if _, err := acme2.Ask(t.Context(), deploying("late", 2)); err != nil {
		t.Error(err)
	}
	keep(t, led, subject.BucketSnoozes, subject.StateKey{Tenant: "acme", Name: "late"}, `{}`)
	natstest.Eventually(t, "what was stored late is deleted", func() bool {
		e, err := led.ReadState(t.Context(), subject.BucketSnoozes, subject.StateKey{Tenant: "acme", Name: "late"})
		return err == nil && !e.Live(led.Now())
	})

	auditor := b.Connect(rights.Role{Name: rights.RoleAuditor})
	natstest.Eventually(t, "the audit says so, once", func() bool {
		p, err := audit.Read(t.Context(), auditor, "acme", audit.Query{})
		if err != nil {
			t.Fatal(err)
		}
		actions := map[audit.Action]int{}
		for i := range p.Items {
			if r := &p.Items[i]; r.Action.Kind() == "tenant" && r.Actor.Credential == m.Credential {
				actions[r.Action]++
			}
		}
		return maps.Equal(actions, map[audit.Action]int{audit.TenantRemoving: 1, audit.TenantRemoved: 1})
	})

	if _, err := removal(t, operator, "acme", subject.VerbReadmit, `{}`); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "it can be used again", func() bool {
		_, err := acme.Ask(t.Context(), deploying("again", 2))
		return err == nil
	})
}

// TestARemovalContinuesAfterAKill stops the broker while it waits for the others, and
// in the middle of the deletion. The same command then does the rest.
func TestARemovalContinuesAfterAKill(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	led := b.Ledger()
	stop := b.Broker(broker.Options{Settle: time.Hour})
	furnish(t, b, led, "acme")
	furnish(t, b, led, "acme2")
	for i := range 1000 { // so many that it is stopped before the last
		keep(t, led, subject.BucketSnoozes, subject.StateKey{Tenant: "acme", Name: fmt.Sprintf("k%d", i)}, `{}`)
	}
	other, operator := heldBy(t, b)["acme2"], b.Connect(rights.Role{Name: rights.RoleOperator})
	again := func(want wire.RemovalState) { // one request: what is repeated after 2 s finds what the first one began
		t.Helper()
		var m wire.Removal
		reply := request(t, operator, "ansv1.operator.acme.remove", nil, `{}`)
		if err := json.Unmarshal(reply.Data, &m); err != nil || m.State != want {
			t.Fatalf("%s, %v", reply.Data, err)
		}
	}
	again(wire.RemovalClosing)
	natstest.Eventually(t, "the pending asks are aborted", func() bool { return stateOf(t, led, "acme").Withdrawn == 2 })
	stop()

	deleted := make(chan struct{}, 2000)
	if _, err := b.Admin().Subscribe("statev1.snoozes.acme.>", func(*nats.Msg) { deleted <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	stop = b.Broker(broker.Options{Settle: time.Millisecond})
	again(wire.RemovalClosing)
	<-deleted
	stop()
	if left := heldBy(t, b); stateOf(t, led, "acme").State != wire.RemovalDeleting || len(left["acme"]) < 10 {
		t.Fatalf("it was not stopped in the middle: %q", left["acme"])
	}

	stop = b.Broker(broker.Options{Settle: time.Millisecond})
	again(wire.RemovalDeleting)
	natstest.Eventually(t, "the tenant is removed", func() bool { return stateOf(t, led, "acme").State == wire.RemovalDone })
	after := heldBy(t, b)
	onlyKept(t, after["acme"])
	if !slices.Equal(after["acme2"], other) {
		t.Errorf("of the other tenant:\n%q, before:\n%q", after["acme2"], other)
	}
	stop()
	b.Close()
	if r, err := storecheck.Check(b.Dir); err != nil || len(r.Damages) != 0 {
		t.Errorf("ledger check: %+v, %v", r.Damages, err)
	}
}

// TestAnotherBrokerContinuesARemoval leaves a mark that nobody changed for an hour: a broker
// that was not asked does the rest.
func TestAnotherBrokerContinuesARemoval(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	led := b.Ledger()
	b.Broker(broker.Options{Settle: time.Millisecond})
	furnish(t, b, led, "acme")
	then := led.Now().Add(-time.Hour).UTC()
	mark, err := wire.Marshal(wire.Removal{State: wire.RemovalClosing, Since: then, Changed: then})
	if err != nil {
		t.Fatal(err)
	}
	keep(t, led, subject.BucketRemoved, subject.StateKey{Name: "acme"}, string(mark))
	natstest.Eventually(t, "the tenant is removed", func() bool { return stateOf(t, led, "acme").State == wire.RemovalDone })
	if m := stateOf(t, led, "acme"); m.Withdrawn != 2 {
		t.Errorf("%+v", m)
	}
	onlyKept(t, heldBy(t, b)["acme"])
}

// TestAMarkThatCannotBeReadClosesItsTenantAlone: nobody knows how far that removal is, so
// nothing works there until an operator removes the tenant again. Brokers start all the
// same, and the other tenants notice nothing.
func TestAMarkThatCannotBeReadClosesItsTenantAlone(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	led := b.Ledger()
	for tenant, mark := range map[string]string{"acme": `{"state":"closing"`, "acme2": `{"state":"half"}`, "acme3": `[]`} {
		keep(t, led, subject.BucketRemoved, subject.StateKey{Name: tenant}, mark)
	}
	b.Broker(broker.Options{Settle: time.Millisecond})
	furnish(t, b, led, "acme4")
	operator := b.Connect(rights.Role{Name: rights.RoleOperator})
	for _, tenant := range []string{"acme", "acme2", "acme3"} {
		c, err := client.New(b.Agent(tenant, "s1"), client.Options{Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Session(tenant, "s1").Ask(t.Context(), storage()); !errors.Is(err, ask.ErrForbidden) || !strings.Contains(err.Error(), "askbus tenant remove "+tenant+" --yes") {
			t.Errorf("an ask in %s: %v", tenant, err)
		}
		if _, err := removal(t, operator, tenant, subject.VerbReadmit, `{}`); !errors.Is(err, ask.ErrConflict) || !strings.Contains(err.Error(), "askbus tenant remove "+tenant+" --yes") {
			t.Errorf("%s is readmitted: %v", tenant, err)
		}
		if m, err := removal(t, operator, tenant, subject.VerbRemove, `{"dry_run":true}`); err != nil || m.State != wire.RemovalUnreadable {
			t.Errorf("of %s: %+v, %v", tenant, m, err)
		}
	}
	if m, err := removal(t, operator, "acme", subject.VerbRemove, `{}`); err != nil || m.State != wire.RemovalClosing {
		t.Fatalf("%+v, %v", m, err)
	}
	natstest.Eventually(t, "the tenant is removed", func() bool { return stateOf(t, led, "acme").State == wire.RemovalDone })
	for range 2 { // what is removed, and has left nothing, is not removed again
		if m, err := removal(t, operator, "acme", subject.VerbRemove, `{}`); err != nil || m.State != wire.RemovalDone {
			t.Errorf("once more: %+v, %v", m, err)
		}
	}
	if _, err := removal(t, operator, "acme", subject.VerbReadmit, `{}`); err != nil {
		t.Error(err)
	}
}
