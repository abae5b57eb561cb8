package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

const twoOfSRE = `
policies:
  - name: acme-two
    tenants: [acme]
    sessions: ["deploy*"]
    otherwise: { approval: { any_of: [ { need: 2, from: ["group:sre"] } ] }, exclude_asker: true }
  - name: acme-commands
    tenants: [acme]
    sessions: ["code*"]
    asks: permissions
    rules: [ { commands: ["git status*"], one_answer: true } ]
    otherwise: { approval: { any_of: [ { need: 2, from: ["group:sre"] } ] } }
`

// governing starts a bus whose policies are those that the returned value holds.
func governing(t *testing.T, text string) (*natstest.Bus, *atomic.Pointer[approvals.File]) {
	t.Helper()
	now := &atomic.Pointer[approvals.File]{}
	now.Store(policies(t, text))
	return natstest.Start(t, natstest.Options{Broker: broker.Options{Approvals: now.Load}}), now
}

func policies(t *testing.T, text string) *approvals.File {
	t.Helper()
	f, err := approvals.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAnAgentCannotAskForLess tries to evade a policy: by its own approval, by the
// names of options, of the asker, of the command and of the tenant, and by asking
// again.
func TestAnAgentCannotAskForLess(t *testing.T) {
	t.Parallel()
	b, _ := governing(t, twoOfSRE)
	c, _ := askingFor(t, b, "deploy1", "os:mei")
	r := newResponder(t, b, "web")
	go1 := ask.Question{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}
	choice := ask.Question{ID: "go", Text: "Deploy?", Kind: ask.KindChoice, NoOther: true, Options: []ask.Option{{ID: "run", Label: "Deploy"}, {ID: "stop", Label: "Stop"}}}
	one := func(who string) *ask.Approval {
		return &ask.Approval{AnyOf: []ask.Alternative{{Need: 1, From: []string{who}}}}
	}
	inverted := one("group:sre")
	inverted.ApproveOptions, inverted.DenyOptions = []string{"stop"}, []string{"run"}
	for id, a := range map[string]ask.Ask{
		"plain":                  {Questions: []ask.Question{go1}},
		"one-of-sre":             {Questions: []ask.Question{go1}, Approval: one("group:sre")},
		"one-of-everybody":       {Questions: []ask.Question{go1}, Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 1}}}},
		"a-friend":               {Questions: []ask.Question{go1}, Approval: one("os:friend")},
		"only-who-asks":          {Questions: []ask.Question{go1}, Only: ask.OnlyAsker},
		"harmless-command":       {Questions: []ask.Question{go1}, Metadata: map[string]any{ask.MetadataPermission: "x", ask.MetadataCommand: "git status"}},
		"the-option-that-denies": {Questions: []ask.Question{choice}, Metadata: map[string]any{ask.MetadataDenies: []string{"run"}}},
		"inverted":               {Questions: []ask.Question{choice}, Approval: inverted},
	} {
		a.ID = id
		if _, err := c.Ask(t.Context(), a); err != nil {
			if id != "only-who-asks" { // this one excludes everybody
				t.Errorf("%s: %v", id, err)
			}
			continue
		}
		k := ask.Key{Tenant: "acme", Session: "deploy1", ID: id}
		reply := func(who, option string) ask.Reply {
			given := ask.Answer{QuestionID: "go", Selected: []string{option}}
			if a.Questions[0].Kind == ask.KindBoolean {
				given = ask.Answer{QuestionID: "go", Boolean: new(option == "run")}
			}
			return ask.Reply{AnswerID: who, By: ofSRE(who), Answers: []ask.Answer{given}}
		}
		if _, err := r.Answer(t.Context(), k, reply("mei", "run")); !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("%s: the asker approves it: %v", id, err)
		}
		o, err := r.Answer(t.Context(), k, reply("jo", "run"))
		if err == nil && (o.Status != ask.StatusCancelled || o.Answers != nil) || err != nil && !errors.Is(err, ask.ErrVoted) {
			t.Errorf("%s: one vote is answered by %+v, %v", id, o, err)
		}
	}
	// Names that only the broker gives, under which it would be somebody else's.
	for name, fields := range map[string]string{
		"policies":   `"policies":[{"name":"acme-two","version":"1"}]`,
		"open_hours": `"escalate":[{"after":"10m"}],"open_hours":{"name":"office","version":"1"}`,
		"policy":     `"approval":{"any_of":[{"need":1}],"policy":"acme-two"}`,
		"and":        `"approval":{"any_of":[{"need":1}],"and":[]}`,
	} {
		_, nc := askingFor(t, b, "deploy2", "os:mei")
		reply := request(t, nc, "askv1.acme.deploy2.ask.a1", nil, event("dev.askbus.ask.requested.v1", "a1", `{"id":"a1","questions":[{"id":"go","kind":"boolean","text":"Deploy?"}],`+fields+`}`))
		if !strings.Contains(string(reply.Data), "/"+name) {
			t.Errorf("an ask with %s: %s", name, reply.Data)
		}
	}
	// Without a credential that says who asks.
	if _, err := newClient(t, b, "deploy3").Ask(t.Context(), ask.Ask{ID: "a1", ExcludeAsker: true, Asker: []string{"os:nobody"}, Questions: []ask.Question{go1}}); !errors.Is(err, ask.ErrForbidden) || !strings.Contains(err.Error(), "acme-two") {
		t.Errorf("without an asker: %v", err)
	}
	// Another tenant is out of reach of its credential, and an operator's asks of this one are governed as well.
	op, err := client.New(b.Connect(operator()), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := op.Session("acme", "deploy4").Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{go1}}); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("an operator without an asker: %v", err)
	}
	st, err := op.Session("other", "deploy4").Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{go1}})
	if err != nil || st.State != ask.StatePending {
		t.Errorf("another tenant: %v", err)
	}
}

// TestAnAgentKeepsNobodyFromAVeto: neither by whom it sends the ask to, nor by whom it excludes.
func TestAnAgentKeepsNobodyFromAVeto(t *testing.T) {
	t.Parallel()
	b, _ := governing(t, `policies: [ { name: veto, otherwise: { approval: { any_of: [ { need: 1, from: ["group:sre"] } ], deny: { need: 1, from: ["group:sre", "group:sec"] } } } } ]`)
	c, _ := askingFor(t, b, "s1", "os:mei")
	r := newResponder(t, b, "web")
	sec := ask.By{Principal: "os:sec", Groups: []string{"sec"}, Proof: ask.ProofOS}
	to := deploying("audience", 1)
	to.Approval, to.Audience = nil, []string{"os:jo"}
	for range 2 { // asking again is the same ask
		if _, err := c.Ask(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "audience"}
	if o, err := r.Answer(t.Context(), k, votes("v1", sec, false)); err != nil || o.Status != ask.StatusCancelled {
		t.Errorf("outside of the audience: %+v, %v", o, err)
	}
	for field, with := range map[string]func(*ask.Ask){
		"/exclude": func(a *ask.Ask) { a.Exclude = []string{"os:sec"} },
		"/only":    func(a *ask.Ask) { a.Only = ask.OnlyAsker },
	} {
		a := deploying("refused", 1)
		a.Approval = nil
		with(&a)
		_, err := c.Ask(t.Context(), a)
		if e, ok := errors.AsType[*ask.Error](err); !ok || e.Code != ask.CodeForbidden || len(e.Faults) != 1 || e.Faults[0].Pointer != field || !strings.Contains(e.Detail, "veto") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestTwoOfSREApproveWhatAPolicyGoverns shows the way of an ask under a policy, and
// that a later edit does not touch it.
func TestTwoOfSREApproveWhatAPolicyGoverns(t *testing.T) {
	t.Parallel()
	b, now := governing(t, twoOfSRE)
	c := newClient(t, b, "code1")
	r := newResponder(t, b, "web")
	permit := func(id, command string) ask.Ask {
		return ask.Ask{
			ID: id, Metadata: map[string]any{ask.MetadataPermission: "x", ask.MetadataCommand: command, ask.MetadataDenies: []string{"no"}},
			Questions: []ask.Question{{ID: "go", Text: "May it?", NoOther: true, Options: []ask.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}}},
		}
	}
	reply := func(who, option string) ask.Reply {
		return ask.Reply{AnswerID: who, By: ofSRE(who), Answers: []ask.Answer{{QuestionID: "go", Selected: []string{option}, Notes: "because"}}}
	}
	for id, command := range map[string]string{"p1": "git status; rm -rf /", "p2": "sh -c 'git status'", "p3": "make", "loose": "git status --short"} {
		if _, err := c.Ask(t.Context(), permit(id, command)); err != nil {
			t.Fatal(err)
		}
	}
	now.Store(policies(t, strings.ReplaceAll(twoOfSRE, "need: 2", "need: 5")))
	if again, err := c.Ask(t.Context(), permit("p1", "git status; rm -rf /")); err != nil || again.Created {
		t.Errorf("asked again under another policy: %+v, %v", again, err)
	}
	at := func(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "code1", ID: id} }
	if o, err := r.Answer(t.Context(), at("loose"), reply("jo", "yes")); err != nil || o.Status != ask.StatusAnswered || len(o.Ask.Policies) != 1 || o.Ask.Policies[0].Rule != "rules/0" {
		t.Errorf("what a pattern allows: %+v, %v", o, err)
	}
	for _, id := range []string{"p1", "p2"} {
		_, err := r.Answer(t.Context(), at(id), reply("jo", "yes"))
		counted(t, err, "1 of 2 approvals: jo; 1 more needed from group sre")
		o, err := r.Answer(t.Context(), at(id), reply("tom", "yes"))
		if err != nil || o.Status != ask.StatusAnswered || len(o.Votes) != 2 || !slices.Equal(o.Answers[0].Selected, []string{"yes"}) {
			t.Fatalf("%s: %+v, %v", id, o, err)
		}
		if p := o.Ask.Policies; len(p) != 1 || p[0].Name != "acme-commands" || p[0].Rule != "otherwise" || p[0].Version == "" || o.Ask.Approval.Policy != "acme-commands" {
			t.Errorf("%s: the outcome names %+v", id, p)
		}
	}
	o, err := r.Answer(t.Context(), at("p3"), reply("ana", "no"))
	if err != nil || o.Status != ask.StatusCancelled || o.CancelledBy == nil || o.CancelledBy.OptionID != "no" || o.Reason != "because" || o.Answers != nil {
		t.Errorf("denied: %+v, %v", o, err)
	}
}

// TestAPolicyThatRefusesLetsAnAgentAskAgain checks that a retry of a stored ask
// gets that ask, also if a policy would refuse it by now.
func TestAPolicyThatRefusesLetsAnAgentAskAgain(t *testing.T) {
	t.Parallel()
	b, now := governing(t, "policies: []")
	c, r := newClient(t, b, "deploy1"), newResponder(t, b, "web")
	a := ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}}}
	if st, err := c.Ask(t.Context(), a); err != nil || !st.Created {
		t.Fatal(err)
	}
	now.Store(policies(t, twoOfSRE))
	if st, err := c.Ask(t.Context(), a); err != nil || st.Created || st.State != ask.StatePending {
		t.Errorf("asked again: %+v, %v", st, err)
	}
	other := a
	other.Questions = []ask.Question{{ID: "go", Text: "Delete?", Kind: ask.KindBoolean}}
	if _, err := c.Ask(t.Context(), other); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("another question under its id: %v", err)
	}
	if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "deploy1", ID: "a1"}, votes("v1", ofSRE("jo"), true)); err != nil {
		t.Fatal(err)
	}
	if st, err := c.AskToWait(t.Context(), a); err != nil || st.Outcome == nil {
		t.Errorf("asked again after its end: %+v, %v", st, err)
	}
}

// TestBrokersWithDifferentApprovalsAreNoticed checks that they compare the files.
func TestBrokersWithDifferentApprovalsAreNoticed(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "approvals.yaml")
	if err := os.WriteFile(name, []byte(twoOfSRE), 0o600); err != nil {
		t.Fatal(err)
	}
	live, err := file.OpenLive(name, approvals.Parse, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	b := natstest.Start(t, natstest.Options{})
	other, _ := b.BrokerOn(b.Ledger(), broker.Options{Approvals: live.Content})
	natstest.Eventually(t, "the difference is told", func() bool {
		return slices.ContainsFunc(other.Notes(), func(note string) bool {
			return strings.Contains(note, "--approvals is of digest "+live.Content().Digest()+" here and without policies at broker")
		})
	})
}

// TestTheAuditSaysSinceWhenAPolicyIsGone checks that the file is recorded when a broker starts and when it changed.
func TestTheAuditSaysSinceWhenAPolicyIsGone(t *testing.T) {
	t.Parallel()
	b, now := governing(t, twoOfSRE)
	nc := b.Connect(auditor(""))
	read := func(want string) {
		t.Helper()
		recorded(t, nc, want, audit.Query{Actions: []audit.Action{audit.PoliciesRead}}, func(r *audit.Record) bool {
			return r.Object.ID == now.Load().Digest() && strings.HasPrefix(r.Object.Note, want) && r.Actor.Role == "broker"
		})
	}
	read("2 policies (acme-two ")
	now.Store(policies(t, "policies: []"))
	read("0 policies ()")
	b.BrokerOn(b.Ledger(), broker.Options{})
	recorded(t, nc, "a broker starts without the file", audit.Query{Actions: []audit.Action{audit.PoliciesRead}}, func(r *audit.Record) bool {
		return r.Object.ID == "" && strings.HasPrefix(r.Object.Note, "no approvals file, on ")
	})
}

const meiAndJo = `
people:
  - { name: Mei, principals: ["oidc:id.example.com#mei@example.com", "os:mei"] }
  - { name: Jo, principals: ["os:jo"] }
  - { name: Tom, principals: ["os:tom"] }
`

// TestLinkedPrincipalsAreOneVoter checks the operator's list of people.
func TestLinkedPrincipalsAreOneVoter(t *testing.T) {
	t.Parallel()
	b, now := governing(t, meiAndJo)
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	oidc := ask.By{Principal: "oidc:id.example.com#mei@example.com", Name: "Jo", Groups: []string{"sre"}, Proof: ask.ProofOIDC}
	for _, id := range []string{"d1", "d2", "d3"} {
		if _, err := c.Ask(t.Context(), deploying(id, 2)); err != nil {
			t.Fatal(err)
		}
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}
	_, err := r.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	if s, err := r.Away(t.Context(), responder.Away{By: ofSRE("mei"), To: "Tom", Until: time.Now().Add(time.Hour)}); err != nil || s.Absent.Name != "Mei" {
		t.Errorf("who is away is called as the list does: %+v, %v", s, err)
	}
	if _, err := r.Away(t.Context(), responder.Away{By: ofSRE("mei"), To: "Tom"}); err != nil {
		t.Fatal(err)
	}
	_, err = r.Answer(t.Context(), k, votes("v2", oidc, true)) // it moves her vote, and she is called as the list does
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	_, err = r.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true)) // a delayed repetition
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	if _, err := r.Answer(t.Context(), k, votes("x1", ofSRE("eve"), true)); !errors.Is(err, ask.ErrForbidden) || !strings.Contains(err.Error(), "linked to nobody") {
		t.Errorf("an unlinked principal: %v", err)
	}
	o, err := r.Answer(t.Context(), k, votes("v3", ofSRE("jo"), true))
	if err != nil || len(o.Votes) != 2 || o.Votes[0].Person != "Mei" || o.Votes[1].Person != "Jo" {
		t.Errorf("%+v, %v", o, err)
	}

	// Linked after they voted as two: they are one at the next decision.
	now.Store(policies(t, strings.Replace(meiAndJo, `["oidc:id.example.com#mei@example.com", "os:mei"] }`, "[\"os:mei\"] }\n  - { name: Work, principals: [\"oidc:id.example.com#mei@example.com\"] }", 1)))
	three := deploying("d4", 3)
	if _, err := c.Ask(t.Context(), three); err != nil {
		t.Fatal(err)
	}
	k.ID = "d4"
	for id, by := range map[string]ask.By{"v4": ofSRE("mei"), "v5": oidc} {
		if _, err := r.Answer(t.Context(), k, votes(id, by, true)); !errors.Is(err, ask.ErrVoted) {
			t.Fatal(err)
		}
	}
	now.Store(policies(t, meiAndJo))
	if _, err := r.Answer(t.Context(), k, votes("v6", ofSRE("jo"), true)); !errors.Is(err, ask.ErrVoted) || !strings.HasPrefix(err.Error(), "2 of 3") && !strings.Contains(err.Error(), "2 of 3 approvals") {
		t.Errorf("two principals of one person: %v", err)
	}
	// Who is gone from the list loses the vote.
	now.Store(policies(t, strings.Replace(meiAndJo, `{ name: Jo, principals: ["os:jo"] }`, `{ name: Ana, principals: ["os:ana"] }`, 1)))
	if _, err := r.Answer(t.Context(), k, votes("v7", ofSRE("tom"), true)); !errors.Is(err, ask.ErrVoted) || !strings.Contains(err.Error(), "2 of 3 approvals") {
		t.Errorf("a person who is gone: %v", err)
	}

	// The asker under another principal.
	now.Store(policies(t, meiAndJo))
	mine, _ := askingFor(t, b, "s1", "os:mei")
	asked := ask.Ask{ID: "a1", ExcludeAsker: true, Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}}}
	if _, err := mine.Ask(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	k.ID = "a1"
	if _, err := r.Answer(t.Context(), k, votes("v8", oidc, true)); !errors.Is(err, ask.ErrForbidden) || !strings.Contains(err.Error(), "under another principal") {
		t.Errorf("the asker's other principal: %v", err)
	}
	if _, err := r.Answer(t.Context(), k, votes("v9", ofSRE("jo"), true)); err != nil {
		t.Error(err)
	}
	// Where it does not matter who is who, everybody may decide.
	plain := ask.Ask{ID: "a2", Questions: asked.Questions}
	if _, err := c.Ask(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	k.ID = "a2"
	if _, err := r.Answer(t.Context(), k, votes("v10", ofSRE("eve"), true)); err != nil {
		t.Error(err)
	}
}
