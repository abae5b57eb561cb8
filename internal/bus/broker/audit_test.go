package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// records returns the records of the audit that a query finds.
func records(t *testing.T, nc *nats.Conn, tenant string, q audit.Query) (found []audit.Record) {
	t.Helper()
	var next uint64
	for r, err := range audit.All(t.Context(), nc, tenant, q, &next) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, r)
	}
	return found
}

// recorded waits for a record for which is returns true.
func recorded(t *testing.T, nc *nats.Conn, what string, q audit.Query, is func(*audit.Record) bool) (found audit.Record) {
	t.Helper()
	natstest.Eventually(t, what, func() bool {
		for _, r := range records(t, nc, "", q) {
			if is(&r) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

func auditor(tenant string) rights.Role { return rights.Role{Name: rights.RoleAuditor, Tenant: tenant} }

func anyRecord(*audit.Record) bool { return true }

func TestEveryActionLeavesItsRecord(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{AuditWindow: 50 * time.Millisecond}})
	nc := b.Connect(auditor(""))
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	put := func(id string, change func(*ask.Ask)) {
		t.Helper()
		a := storage()
		a.ID = id
		if change != nil {
			change(&a)
		}
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	of := func(id string, action audit.Action) audit.Record {
		t.Helper()
		return recorded(t, nc, fmt.Sprintf("%s of %s", action, id), audit.Query{Ask: id, Actions: []audit.Action{action}}, anyRecord)
	}

	put("answered", nil)
	asking := of("answered", audit.AskAsked) // an ask that ends at once may have no such record
	rec, err := c.Get(t.Context(), "answered")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Receipt(t.Context(), keyOf("answered"), ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted, Places: []ask.Place{{Where: "#ops"}}}); err != nil {
		t.Fatal(err)
	}
	reply := pick("pg")
	reply.Answers[0].Notes = "the password is hunter2"
	if _, err := r.Answer(t.Context(), keyOf("answered"), reply); err != nil {
		t.Fatal(err)
	}
	if got := asking; got.Tenant != "acme" || got.Session != "s1" || got.Actor.Role != "agent" || len(got.Question.Texts) != 1 || got.Time.IsZero() {
		t.Errorf("asked: %+v", got)
	}
	if got := of("answered", audit.AskShown); got.Surface != "web" || !strings.Contains(got.Object.Note, "#ops") || !strings.HasPrefix(got.Actor.Credential, "U") {
		t.Errorf("shown: %+v", got)
	}
	got := of("answered", audit.AskAnswered)
	if got.Actor.Principal != reply.By.Principal || !strings.HasPrefix(got.Actor.Credential, "U") || got.Surface != "web" || got.Decision.Source != "human" {
		t.Errorf("answered: %+v %+v", got, got.Actor)
	}
	if a := got.Decision.Answers; len(a) != 1 || len(a[0].Choices) != 1 || a[0].Choices[0].ID != "pg" || a[0].Choices[0].Label == "" || !a[0].Typed {
		t.Errorf("answers %+v", a)
	}
	if text, _ := json.Marshal(got); strings.Contains(string(text), "hunter2") {
		t.Errorf("a record holds what was typed: %s", text)
	}
	whole := records(t, nc, "", audit.Query{Ask: "answered", Actions: []audit.Action{audit.AskAnswered}, Whole: true})
	if !strings.Contains(string(whole[0].Copy), "hunter2") {
		t.Errorf("the copy is not whole: %s", whole[0].Copy)
	}
	recorded(t, nc, "that it was read with the texts", audit.Query{Actions: []audit.Action{audit.AuditRead}}, func(r *audit.Record) bool { return strings.Contains(r.Object.Note, "typed") })

	if _, err := c.Ask(t.Context(), deploying("voted", 2)); err != nil {
		t.Fatal(err)
	}
	of("voted", audit.AskAsked)
	if _, err := r.Answer(t.Context(), keyOf("voted"), votes("v1", ofSRE("mei"), true)); !errors.Is(err, ask.ErrVoted) {
		t.Fatal(err)
	}
	if got := of("voted", audit.AskVoted); got.Actor.Principal != "os:mei" || got.Decision.Waited != got.Time.Sub(got.Question.AskedAt).Milliseconds() {
		t.Errorf("voted: %+v %+v, asked at %v", got, got.Decision, got.Question.AskedAt)
	}
	put("declined", nil)
	if _, err := r.Cancel(t.Context(), keyOf("declined"), responder.Decline{By: mei(), Reason: "not today"}); err != nil {
		t.Fatal(err)
	}
	if got := of("declined", audit.AskCancelled); got.Decision.Reason != "not today" || got.Actor.Principal == "" {
		t.Errorf("cancelled: %+v", got)
	}
	put("withdrawn", nil)
	if _, err := c.Withdraw(t.Context(), "withdrawn", "done"); err != nil {
		t.Fatal(err)
	}
	if got := of("withdrawn", audit.AskWithdrawn); got.Actor.Role != "agent" {
		t.Errorf("withdrawn: %+v", got)
	}
	put("expired", func(a *ask.Ask) { a.Timeout = time.Second })
	if got := of("expired", audit.AskExpired); got.Actor != nil || got.Decision.Status != "expired" {
		t.Errorf("expired: %+v", got)
	}
	put("narrow", func(a *ask.Ask) { a.Audience = []string{"os:root"} })
	for range 5 {
		if _, err := r.Answer(t.Context(), keyOf("narrow"), pick("pg")); !errors.Is(err, ask.ErrForbidden) {
			t.Fatal(err)
		}
	}
	jos := pick("pg")
	jos.By = ask.By{Principal: "os:jo", Proof: ask.ProofOS}
	if _, err := r.Answer(t.Context(), keyOf("narrow"), jos); !errors.Is(err, ask.ErrForbidden) {
		t.Fatal(err)
	}
	natstest.Eventually(t, "six refusals on this ask, of two people", func() bool {
		refused := map[string]int64{}
		for _, r := range records(t, nc, "", audit.Query{Ask: "narrow", Actions: []audit.Action{audit.Refused}}) {
			if r.Refusal.Code == ask.CodeForbidden && r.Refusal.What == "answer" && strings.HasPrefix(r.Actor.Credential, "U") && strings.HasPrefix(r.Refusal.Why, r.Actor.Principal) {
				refused[r.Actor.Principal] += r.Refusal.Count
			}
		}
		return refused[mei().Principal] == 5 && refused["os:jo"] == 1
	})
	if n := len(records(t, nc, "", audit.Query{Ask: "answered"})); n != 3 {
		t.Errorf("%d records of one ask", n)
	}
}

func TestSharedStateLeavesRecords(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web, op := b.Connect(auditor("")), b.Responder("web"), b.Connect(rights.Role{Name: rights.RoleOperator})
	sessions, tokens := state.Open(web, state.Responder("web", ""), state.Sessions), state.Open(op, state.Operator(), state.Tokens)
	write := func(bucket *state.Bucket, k state.Key, value string, life time.Duration) {
		t.Helper()
		if _, err := bucket.Put(t.Context(), k, json.RawMessage(value), life); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(bucket *state.Bucket, k state.Key) {
		t.Helper()
		if err := bucket.Delete(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	person, token := `{"principal":"oidc:mei","name":"Mei","proof":"oidc","client":"Firefox","token":"sealed-secret"}`, `{"id":"t1","hash":"sha256:beef","role":"responder","tenant":"acme","principal":"oidc:mei"}`
	write(sessions, state.Key{Name: "h1"}, person, time.Hour)
	write(sessions, state.Key{Name: "h1"}, person, time.Hour) // a renewal
	remove(sessions, state.Key{Name: "h1"})
	write(sessions, state.Key{Name: "h2"}, person, time.Hour)
	remove(state.Open(op, state.Operator(), state.Sessions), state.Key{Name: "h2"})
	write(tokens, state.Key{Name: "t1"}, token, 0)
	remove(tokens, state.Key{Name: "t1"})
	want := []audit.Action{audit.SignedIn, audit.SignedOut, audit.SignedIn, audit.SignInRevoked, audit.TokenIssued, audit.TokenRevoked}
	var all []audit.Record
	natstest.Eventually(t, "six records", func() bool {
		all = records(t, nc, "", audit.Query{Principal: "oidc:mei"})
		return len(all) >= len(want)
	})
	var actions []audit.Action
	for _, r := range all {
		actions = append(actions, r.Action)
		if text, _ := json.Marshal(r); strings.Contains(string(text), "beef") || strings.Contains(string(text), "sealed-secret") {
			t.Errorf("a record holds a secret: %s", text)
		}
	}
	if !slices.Equal(actions, want) {
		t.Errorf("recorded %q", actions)
	}
	if r := all[0]; r.Actor.Principal != "oidc:mei" || r.Actor.ReportedBy != "web" || r.Actor.Proof != "oidc" || r.Surface != "web" || r.Chain.N == 0 || r.Chain.Writer == "" || r.Version != audit.Version || r.ID == "" {
		t.Errorf("signed in: %+v", r)
	}
	if r := all[4]; r.Tenant != "acme" || r.Actor.Role != "operator" || r.Object.Role != "responder" {
		t.Errorf("issued: %+v", r)
	}
}

func TestATenantsAuditorSeesItsTenantOnly(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	asked(t, plain(t, b, agent("s1")), "s1", "a1")
	all, own, foreign := b.Connect(auditor("")), b.Connect(auditor("acme")), b.Connect(auditor("other"))
	recorded(t, all, "the ask", audit.Query{Ask: "a1"}, anyRecord)
	if got := records(t, own, "acme", audit.Query{Ask: "a1"}); len(got) != 1 {
		t.Errorf("its own tenant: %+v", got)
	}
	for _, r := range records(t, foreign, "other", audit.Query{}) {
		if r.Tenant != "other" {
			t.Errorf("another tenant's auditor sees %+v", r)
		}
	}
	if _, err := audit.Read(t.Context(), foreign, "acme", audit.Query{}); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("another tenant: %v", err)
	}
	if _, err := audit.Read(t.Context(), own, "", audit.Query{}); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("all tenants: %v", err)
	}
}

func TestAFullAuditStopsNothing(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]ledger.AuditSettings{
		"drops the oldest": {Bytes: 1 << 20},
		"refuses":          {Bytes: 1 << 20, Refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := natstest.Start(t, natstest.Options{Memory: true, Ledger: ledger.Options{Audit: settings}, Broker: broker.Options{AuditWindow: 50 * time.Millisecond}})
			c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
			nc := b.Connect(auditor(""))
			const n = 80
			for i := range n {
				a := storage()
				a.ID, a.Context = fmt.Sprintf("a%d", i), strings.Repeat("much to read ", 1000)
				if _, err := c.Ask(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				rec, err := c.Get(t.Context(), a.ID)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Receipt(t.Context(), keyOf(a.ID), ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted}); err != nil {
					t.Fatal(err)
				}
				if o, err := r.Answer(t.Context(), keyOf(a.ID), pick("pg")); err != nil || o.Status != ask.StatusAnswered {
					t.Fatalf("%+v, %v", o, err)
				}
			}
			js, err := jetstream.New(b.LedgerAdmin())
			if err != nil {
				t.Fatal(err)
			}
			natstest.Eventually(t, "the audit is full", func() bool {
				s, err := js.Stream(t.Context(), subject.AuditStream)
				if err != nil {
					return false
				}
				state := s.CachedInfo().State
				if state.Bytes > 1<<20 {
					t.Fatalf("the audit uses %d bytes", state.Bytes)
				}
				return settings.Refuse && state.Bytes > 900<<10 || state.FirstSeq > 1
			})
			if !settings.Refuse {
				recorded(t, nc, "the last answer", audit.Query{Ask: fmt.Sprintf("a%d", n-1), Actions: []audit.Action{audit.AskAnswered}}, anyRecord)
				return
			}
			if got := records(t, nc, "", audit.Query{Ask: "a0"}); len(got) == 0 {
				t.Error("a full audit that refuses has dropped the oldest")
			}
		})
	}
}

func TestARemovedAuditStopsNothingAndIsReported(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	nc := b.Connect(auditor(""))
	ask1 := func(id string) {
		t.Helper()
		a := storage()
		a.ID = id
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		rec, err := c.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Receipt(t.Context(), keyOf(id), ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Answer(t.Context(), keyOf(id), pick("pg")); err != nil {
			t.Fatal(err)
		}
	}
	ask1("before")
	recorded(t, nc, "the answer", audit.Query{Ask: "before", Actions: []audit.Action{audit.AskAnswered}}, anyRecord)
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), subject.AuditStream); err != nil {
		t.Fatal(err)
	}
	ask1("while")
	// The broker notices with its next record, and recreates it.
	recorded(t, nc, "that a new one begins", audit.Query{Actions: []audit.Action{audit.AuditBegan}}, func(r *audit.Record) bool { return strings.Contains(r.Object.Note, "removed") })
	for _, id := range []string{"before", "while"} { // the ledger still has them
		recorded(t, nc, id, audit.Query{Ask: id, Actions: []audit.Action{audit.AskAnswered}}, anyRecord)
	}
}

// SIGKILL leaves the files as they are: records may have been only in the
// server's memory. The server then copies them again.
func TestAfterAKillEveryOutcomeIsInTheAudit(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	const n = 60
	for i := range n {
		a := storage()
		a.ID = fmt.Sprintf("a%d", i)
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Answer(t.Context(), keyOf(a.ID), pick("pg")); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := natstest.CopyDir(dir, b.Dir); err != nil {
		t.Fatal(err)
	}
	again := natstest.Again(t, dir)
	nc := again.Connect(auditor(""))
	recorded(t, nc, "that the first broker made it", audit.Query{Actions: []audit.Action{audit.AuditBegan}}, anyRecord)
	if n := len(records(t, nc, "", audit.Query{Actions: []audit.Action{audit.AuditBegan}})); n != 1 {
		t.Errorf("it began %d times", n)
	}
	natstest.Eventually(t, "every outcome", func() bool {
		found := map[string]int{}
		for _, rec := range records(t, nc, "", audit.Query{Actions: []audit.Action{audit.AskAnswered}}) {
			found[rec.Ask]++
		}
		for id, times := range found {
			if times != 1 {
				t.Fatalf("%s is recorded %d times", id, times)
			}
		}
		return len(found) == n
	})
}

func TestAnOutcomeWhoseRetentionIsOverIsStillInTheAudit(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Retention: time.Second, Margin: ledger.MinMargin}})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID, a.Timeout = "a1", time.Second
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Answer(t.Context(), keyOf("a1"), pick("pg")); err != nil && !errors.Is(err, ask.ErrResolved) {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the ledger has forgotten it", func() bool {
		_, err := c.Get(t.Context(), "a1")
		return errors.Is(err, ask.ErrNotFound)
	})
	recorded(t, b.Connect(auditor("")), "the outcome", audit.Query{Ask: "a1"}, func(r *audit.Record) bool { return r.Decision != nil })
}

func TestReportsAreLimitedByRole(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{AuditWindow: 50 * time.Millisecond}})
	nc := b.Connect(auditor(""))
	issuer := b.Connect(rights.Role{Name: rights.RoleIssuer})
	given := audit.Report{Action: audit.CredentialIssued, ID: "once", Tenant: "acme", Object: &audit.Object{Kind: "credential", ID: "UKEY", Role: "agent"}}
	for range 2 { // sent again
		if err := audit.Send(t.Context(), issuer, audit.Sender{Role: subject.StateIssuer}, given); err != nil {
			t.Fatal(err)
		}
	}
	recorded(t, nc, "the credential", audit.Query{Key: "UKEY"}, func(r *audit.Record) bool { return r.Actor.Role == "issuer" && r.Tenant == "acme" })
	web := b.Responder("web")
	from := audit.Sender{Role: subject.StateResponder, Type: "web"}
	if err := audit.Send(t.Context(), web, from, given); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("a surface reports a credential: %v", err)
	}
	refusal := audit.Report{Action: audit.Refused, Refusal: &audit.Refusal{What: "sign-in", Code: "unauthorized", Count: 7}}
	if err := audit.Send(t.Context(), web, from, refusal); err != nil {
		t.Fatal(err)
	}
	recorded(t, nc, "seven refusals", audit.Query{Actions: []audit.Action{audit.Refused}}, func(r *audit.Record) bool { return r.Refusal.Count == 7 && r.Surface == "web" })
	if got := records(t, nc, "", audit.Query{Key: "UKEY"}); len(got) != 1 {
		t.Errorf("sent again, it is recorded %d times", len(got))
	}
	for name, r := range map[string]audit.Report{
		"a sign-in of a surface that signs nobody in": {Action: audit.SignedIn, Principal: "oidc:mei"},
		"an answer":              {Action: audit.AskAnswered, Principal: "oidc:mei"},
		"an invitation":          {Action: audit.InvitationMade},
		"the start of the audit": {Action: audit.AuditBegan},
		"a revoked sign-in":      {Action: audit.SignInRevoked},
	} {
		if err := audit.Send(t.Context(), b.Responder("slack"), audit.Surface("slack", ""), r); !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, r := range map[string]audit.Report{
		"a refusal without one":   {Action: audit.Refused},
		"a refusal of nothing":    {Action: audit.Refused, Refusal: &audit.Refusal{Code: "unauthorized", Count: 1}},
		"a huge count":            {Action: audit.Refused, Refusal: &audit.Refusal{What: "sign-in", Code: "unauthorized", Count: 1 << 40}},
		"a sign-in with a loss":   {Action: audit.SignedIn, Lost: 7},
		"a tenant that is a path": {Action: audit.SignedIn, Tenant: "acme.>"},
		"a record's place":        {Action: audit.SignedIn, ID: "a b"},
	} {
		if err := audit.Send(t.Context(), web, from, r); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := audit.Report{Action: audit.SignedIn, Name: strings.Repeat("x", audit.MaxReport)}
	if err := audit.Send(t.Context(), web, from, large); !errors.Is(err, ask.ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
}

// A surface's report about a person is marked as that surface's claim, is not
// back-dated, and replaces no other record.
func TestAReportOfASurfaceIsMarked(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web := b.Connect(auditor("")), b.Responder("web")
	begun := time.Now().Add(-time.Minute)
	lie := audit.Report{
		Action: audit.SignedIn, ID: "r-UKEY", Time: begun.AddDate(-1, 0, 0), Principal: "oidc:mei", Proof: "oidc", Name: "Mei",
		Object: &audit.Object{Kind: strings.Repeat("k", 1000), Note: "from\nthe web"},
	}
	if err := audit.Send(t.Context(), web, audit.Surface("web", ""), lie); err != nil {
		t.Fatal(err)
	}
	got := recorded(t, nc, "the sign-in", audit.Query{Principal: "oidc:mei"}, anyRecord)
	if a := got.Actor; a.ReportedBy != "web" || a.Role != "responder" || !strings.HasPrefix(a.Credential, "U") || a.Proof != "oidc" {
		t.Errorf("who: %+v", a)
	}
	if got.Time.Before(begun) || len(got.Object.Kind) > audit.MaxText || strings.Contains(got.Object.Note, "\n") {
		t.Errorf("%s %+v", got.Time, got.Object)
	}
	told := audit.Report{Action: audit.CredentialRevoked, ID: "r-UKEY", Object: &audit.Object{Kind: "credential", ID: "UKEY"}}
	if err := audit.Send(t.Context(), b.Connect(rights.Role{Name: rights.RoleIssuer}), audit.Issuer(), told); err != nil {
		t.Fatal(err)
	}
	recorded(t, nc, "the revocation with the same id", audit.Query{Key: "UKEY"}, anyRecord)
}

func TestReportsOfOneCredentialAreBounded(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	web, slack := b.Responder("web"), b.Responder("slack")
	one := func(nc *nats.Conn, typ string) error {
		return audit.Send(t.Context(), nc, audit.Surface(typ, ""), audit.Report{Action: audit.Refused, Refusal: &audit.Refusal{What: "POST /", Code: "forbidden", Count: 1}})
	}
	var err error
	n := 0
	for ; n < 2000 && err == nil; n++ { // two minutes' worth, in case a minute ends
		err = one(web, "web")
	}
	if !errors.Is(err, ask.ErrQuota) {
		t.Errorf("%d reports, then %v", n, err)
	}
	if err := one(slack, "slack"); err != nil {
		t.Errorf("another credential: %v", err)
	}
}

// A broker that is told to stop while it writes the audit loses none of what it has accepted.
func TestABrokerThatStopsWritesWhatItAccepted(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	issuer := b.Connect(rights.Role{Name: rights.RoleIssuer})
	var accepted atomic.Int32
	for range 4 {
		stop := b.Broker(broker.Options{})
		ctx, stopped := context.WithCancel(t.Context())
		enough, sending := make(chan struct{}, 200), sync.WaitGroup{}
		for range 4 {
			sending.Go(func() {
				for range cap(enough) / 4 {
					given := audit.Report{Action: audit.CredentialIssued, Tenant: "acme", Object: &audit.Object{Kind: "credential", ID: "UKEY", Role: "agent"}}
					if audit.Send(ctx, issuer, audit.Issuer(), given) != nil {
						return // the broker has stopped
					}
					accepted.Add(1)
					enough <- struct{}{}
				}
			})
		}
		for range 20 {
			<-enough
		}
		stop()
		stopped()
		sending.Wait()
	}
	b.Broker(broker.Options{})
	if got := records(t, b.Connect(auditor("")), "", audit.Query{Key: "UKEY"}); len(got) < int(accepted.Load()) {
		t.Errorf("%d records of %d reports", len(got), accepted.Load())
	}
}

func TestReadingTheAuditLeavesNothing(t *testing.T) { // not parallel: it counts goroutines and subscriptions
	b := natstest.Start(t, natstest.Options{Memory: true})
	asked(t, plain(t, b, agent("s1")), "s1", "a1")
	nc := b.Connect(auditor(""))
	b.LeavesNothing(t, func(int) error {
		_, err := audit.Read(t.Context(), nc, "", audit.Query{Cursor: 1, Limit: 10})
		return err
	})
}

func TestReportingToTheAuditLeavesNothing(t *testing.T) { // not parallel: it counts what is left
	b := natstest.Start(t, natstest.Options{Memory: true})
	issuer := b.Connect(rights.Role{Name: rights.RoleIssuer}) // it may send most
	b.LeavesNothing(t, func(i int) error {
		ctx, cancel := context.WithCancel(t.Context())
		r := audit.NewReporter(audit.Over(issuer, audit.Issuer()), audit.ReporterOptions{})
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		r.Refused(audit.Attempt{What: "exchange", Code: ask.CodeUnauthorized, Address: fmt.Sprintf("192.0.2.%d", i%250)})
		cancel()
		return <-done
	})
}
