package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// audited counts the records of a bus's audit by ask and action.
func audited(t *testing.T, b *natstest.Bus) map[string]int {
	t.Helper()
	nc, found, next := b.Connect(rights.Role{Name: rights.RoleAuditor}), map[string]int{}, uint64(0)
	for r, err := range audit.All(t.Context(), nc, "", audit.Query{}, &next) {
		if err != nil {
			t.Fatal(err)
		}
		found[r.Ask+" "+string(r.Action)]++
	}
	return found
}

func TestARestoredAuditIsWhole(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("acme", "s1")
	for _, id := range []string{"ended", "waits"} {
		if _, err := s.Ask(t.Context(), ask.Ask{ID: id, Questions: []ask.Question{{Kind: ask.KindText, Text: "?"}}}); err != nil {
			t.Fatal(err)
		}
		natstest.Eventually(t, id+" is in the audit", func() bool { return audited(t, b)[id+" ask.asked"] == 1 })
	}
	if _, err := s.Withdraw(t.Context(), "ended", ""); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "its end is in the audit", func() bool { return audited(t, b)["ended ask.withdrawn"] == 1 })
	// Two of three have voted, one as a stand-in; a restore keeps their votes, who stands in, whose chat is whose, and what
	// the audit says of each.
	r, err := responder.New(b.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	deploy := ask.Ask{ID: "deploy", Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"}}, Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 3, From: []string{"os:mei", "os:ana", "os:kim"}}}}}
	if _, err := s.Ask(t.Context(), deploy); err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "deploy"}
	vote := func(r *responder.Responder, who string) (ask.Outcome, error) {
		return r.Answer(t.Context(), k, ask.Reply{AnswerID: who, By: ask.By{Principal: "os:" + who, Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "go", Boolean: new(true), Notes: "OPS-1"}}})
	}
	for absent, to := range map[string]string{"ana": "jo", "kim": "lee"} {
		if _, err := r.Away(t.Context(), responder.Away{By: ask.By{Principal: "os:" + absent, Proof: ask.ProofOS}, To: "os:" + to, Until: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, who := range []string{"mei", "jo"} {
		if _, err := vote(r, who); !errors.Is(err, ask.ErrVoted) {
			t.Fatal(err)
		}
		natstest.Eventually(t, "the vote is in the audit", func() bool { return audited(t, b)["deploy ask.voted"] == i+1 })
	}
	link := func(b *natstest.Bus, who string) (ask.Link, error) {
		telegram, err := responder.New(b.Responder("telegram"), "telegram", responder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		code, _, err := telegram.Claim(t.Context(), ask.By{Principal: "telegram:4711", Proof: ask.ProofTelegram})
		if err != nil {
			t.Fatal(err)
		}
		web, err := responder.New(b.Responder("web"), "web", responder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return web.Link(t.Context(), ask.By{Principal: who, Proof: ask.ProofOS}, code)
	}
	if _, err := link(b, "os:pat"); err != nil {
		t.Fatal(err)
	}
	saved := read(t, save(t, b))

	to := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	said, err := ledger.Restore(t.Context(), to.Connect(rights.Role{Name: rights.RoleLedger}), saved, ledger.Options{Partitions: 2})
	if err != nil || said.Audit != saved.Summary.Audit || said.Messages != saved.Summary.Messages {
		t.Fatalf("restored %+v of %+v, %v", said, saved.Summary, err)
	}
	again := natstest.Again(t, stopped(t, to))
	want := map[string]int{"ended ask.asked": 1, "ended ask.withdrawn": 1, "waits ask.asked": 1, "deploy ask.asked": 1, "deploy ask.voted": 2}
	natstest.Eventually(t, "the audit as it was", func() bool {
		got := audited(t, again)
		for w, n := range want {
			if got[w] > n {
				t.Fatalf("%s is recorded %d times", w, got[w])
			}
			if got[w] < n {
				return false
			}
		}
		return got[" audit.began"] >= 1
	})
	restored, err := responder.New(again.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := restored.Links(t.Context()); err != nil || len(all) != 1 || all[0].Principal != "telegram:4711" || all[0].Account != "os:pat" {
		t.Errorf("the links are %+v, %v", all, err)
	}
	if _, err := link(again, "os:eve"); !errors.Is(err, ask.ErrConflict) {
		t.Errorf("somebody else takes the chat over: %v", err)
	}
	if _, err := vote(restored, "jo"); !errors.Is(err, ask.ErrVoted) {
		t.Errorf("a vote that was given before counts again: %v", err)
	}
	if o, err := vote(restored, "lee"); err != nil || o.Ending() != "approved by os:mei, os:jo for os:ana, os:lee for os:kim" {
		t.Errorf("the third vote: %+v, %v", o, err)
	}
	// The end is evidence of all votes.
	natstest.Eventually(t, "the end is in the audit", func() bool {
		nc, next := again.Connect(rights.Role{Name: rights.RoleAuditor}), uint64(0)
		for r, err := range audit.All(t.Context(), nc, "", audit.Query{}, &next) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Ask != "deploy" || r.Action != audit.AskAnswered {
				continue
			}
			v := r.Decision.Votes
			if len(v) != 3 || v[0].Principal != "os:mei" || v[0].Choice != "approve" || v[0].Reason != "OPS-1" || v[0].Surface != "web" || v[0].Proof != ask.ProofOS || v[0].At.IsZero() || v[0].Credential == "" || v[0].For != "" || v[1].For != "os:ana" {
				t.Errorf("the audit's votes: %+v", v)
			}
			return true
		}
		return false
	})
}

func TestTheAuditsSettingsAreItsOwn(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, Ledger: ledger.Options{Audit: ledger.AuditSettings{Bytes: 2 << 20}}})
	nc := maintain(t, b)
	got, err := ledger.SetAudit(t.Context(), nc, ledger.AuditSettings{}, false)
	if want := (ledger.AuditSettings{Retention: ledger.DefaultAuditRetention, Bytes: 2 << 20}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	want := ledger.AuditSettings{Retention: ledger.DefaultAuditRetention / 2, Bytes: 4 << 20, Refuse: true}
	if got, err := ledger.SetAudit(t.Context(), nc, want, true); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	in, err := ledger.Inspect(t.Context(), nc)
	if err != nil || !in.Audit.There || in.Audit.AuditSettings != want || len(in.Audit.Wrong) > 0 {
		t.Fatalf("%+v, %v", in.Audit, err)
	}
	admin := b.LedgerAdmin()
	for _, verb := range []string{"STREAM.PURGE.", "STREAM.MSG.DELETE."} {
		reply, err := admin.Request("$JS.API."+verb+subject.AuditStream, []byte(`{"seq":1}`), 10*time.Second)
		if err != nil || !strings.Contains(string(reply.Data), `"error"`) {
			t.Errorf("%s of the audit: %v %s", verb, err, reply.Data)
		}
	}
}

// What the audit gets between two looks at it is not counted as the asks'.
func TestTheAuditsBytesAreNotTheAsks(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	const budget = 40 << 20
	led, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Budget: budget, Audit: ledger.AuditSettings{Bytes: budget / 8 * 7}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := led.RefreshAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
	data := []byte(strings.Repeat("x", 900<<10))
	for i := range 32 { // far more than all that asks may use
		if err := led.WriteAudit(t.Context(), "acme", "r"+strings.Repeat("i", i), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := led.RefreshUsage(t.Context()); err != nil { // and no look at the audit
		t.Fatal(err)
	}
	if used, _ := led.Usage(); used < 28<<20 {
		t.Fatalf("%d bytes are used", used)
	}
	if err := led.Room(); err != nil {
		t.Errorf("asks are refused: %v", err)
	}
}
