package broker_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// TestNotesNameWhomTheCredentialAsserts checks that a terminal can put asks off
// for its own person only, and hand them over in that person's name only.
func TestNotesNameWhomTheCredentialAsserts(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	agent := plain(t, b, agent("s1"))
	asked(t, agent, "s1", "a1")
	_, s := data(t, request(t, agent, "askv1.acme.s1.get.a1", nil, ""))
	life := fmt.Sprint(s["life"])
	ofTenant := rights.Role{Name: rights.RoleResponder, Type: "tui", Tenant: "acme"}
	terminal := asserting(t, b, ofTenant, assertion.Set{Proven: []string{"os=os:mei"}})
	inbox := asserting(t, b, surface("web"), surface("web").Assertions())
	send := func(nc *nats.Conn, typ, verb, body string) *nats.Msg {
		t.Helper()
		return request(t, nc, "ansv1."+typ+".acme.s1."+verb+".a1", nil, body)
	}
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	snooze := func(by string) string { return fmt.Sprintf(`{"by":%s,"life":%q,"until":%q}`, by, life, until) }
	handover := func(by string) string {
		return fmt.Sprintf(`{"by":%s,"life":%q,"to":"os:ann","word":"I checked it, please approve"}`, by, life)
	}
	for name, v := range map[string]struct {
		verb, body string
		at         string
	}{
		"a snooze of another person":   {"snooze", snooze(`{"principal":"os:tom","proof":"os"}`), "/by/principal"},
		"a snooze with another proof":  {"snooze", snooze(`{"principal":"os:mei","proof":"oidc"}`), "/by/proof"},
		"a handover of another person": {"handover", handover(`{"principal":"oidc:ceo","name":"The CEO","proof":"oidc"}`), "/by/principal"},
		"a handover with a name only":  {"handover", handover(`{"name":"The CEO"}`), "/by/name"},
	} {
		e := problem(t, send(terminal, "tui", v.verb, v.body))
		if e.Code != ask.CodeForbidden || !slices.ContainsFunc(e.Faults, func(f ask.Fault) bool { return f.Pointer == v.at }) {
			t.Errorf("%s: %v", name, e)
		}
	}
	// Nor does it write the entries itself.
	err := terminal.Publish("kvv1.responder.tui.handovers.put.acme.s1.a1", []byte(`{"value":{"to":"os:ann","by":{"principal":"oidc:ceo","name":"The CEO"}},"ttl":"1h"}`))
	if err == nil {
		err = terminal.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	bucket := func(name string) []state.Entry {
		t.Helper()
		all, err := state.Open(b.Connect(surface("web")), state.Responder("web", ""), name).List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if z, h := bucket(state.Snoozes), bucket(state.Handovers); len(z)+len(h) != 0 {
		t.Fatalf("stored %v, %v", z, h)
	}

	// Its own person may, without the name that it claims.
	for verb, body := range map[string]string{"snooze": snooze(`{"principal":"os:mei","proof":"os"}`), "handover": handover(`{"principal":"os:mei","name":"The CEO","proof":"os"}`)} {
		if m := send(terminal, "tui", verb, body); m.Header.Get("Nats-Service-Error-Code") != "" {
			t.Fatalf("%s: %s", verb, m.Data)
		}
	}
	if z := bucket(state.Snoozes); len(z) != 1 || z[0].Key != subject.SnoozeKey("os:mei", ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}) {
		t.Errorf("snoozes %v", z)
	}
	noted := func() wire.StoredHandover {
		t.Helper()
		h := bucket(state.Handovers)
		var stored wire.StoredHandover
		if len(h) != 1 || json.Unmarshal(h[0].Value, &stored) != nil {
			t.Fatalf("handovers %v", h)
		}
		return stored
	}
	if h := noted(); h.By.Principal != "os:mei" || h.By.Name != "" || h.To != "os:ann" {
		t.Errorf("handed over %+v", h)
	}
	if m := send(inbox, "web", "handover", handover(`{"principal":"oidc:7","name":"Mei","proof":"oidc"}`)); m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Fatalf("%s", m.Data)
	}
	if h := noted(); h.By.Principal != "oidc:7" || h.By.Name != "Mei" {
		t.Errorf("over a sign-in: %+v", h)
	}

	reader := b.Connect(rights.Role{Name: rights.RoleAuditor})
	var got []audit.Record
	natstest.Eventually(t, "the audit has them", func() bool {
		p, err := audit.Read(t.Context(), reader, "", audit.Query{Ask: "a1", Actions: []audit.Action{audit.AskSnoozed, audit.AskHandedOver}})
		got = p.Items
		return err == nil && len(got) == 3
	})
	for _, r := range got {
		if r.Actor == nil || r.Actor.Credential == "" || r.Actor.Principal != "os:mei" && r.Actor.Principal != "oidc:7" || r.Actor.Name == "The CEO" {
			t.Errorf("%s by %+v", r.Action, r.Actor)
		}
	}
}

// TestOnlyWhoMayDecideHandsOver checks the audience of a handover, and that
// notes are about pending asks of the life that they name.
func TestOnlyWhoMayDecideHandsOver(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	agent := plain(t, b, agent("s1"))
	tom := ask.By{Principal: "os:tom", Proof: ask.ProofOS}
	send := func(verb subject.Verb, id string, body any) error {
		nc := b.Connect(surface("web"))
		raw, err := wire.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		_, err = connection.Do(t.Context(), connection.On(nc), &nats.Msg{Subject: subject.Responder("web", subject.Self, ask.Key{Tenant: "acme", Session: "s1", ID: id}, verb), Data: raw}, 0)
		return err
	}
	request(t, agent, "askv1.acme.s1.ask.a1", nil, event("dev.askbus.ask.requested.v1", "a1", `{"id":"a1","audience":["os:mei"],"questions":[{"text":"Sure?","kind":"boolean"}]}`))
	_, s := data(t, request(t, agent, "askv1.acme.s1.get.a1", nil, ""))
	life := fmt.Sprint(s["life"])
	until := time.Now().Add(time.Hour)
	posed := func(id, rest string) (life string) {
		t.Helper()
		request(t, agent, "askv1.acme.s1.ask."+id, nil, event("dev.askbus.ask.requested.v1", id, `{"id":"`+id+`","questions":[{"text":"Sure?","kind":"boolean"}],`+rest+`}`))
		_, s := data(t, request(t, agent, "askv1.acme.s1.get."+id, nil, ""))
		return fmt.Sprint(s["life"])
	}
	grouped := posed("g1", `"audience":["group:sre"]`)
	named := posed("v1", `"approval":{"any_of":[{"need":1,"from":["os:mei","os:ann"]}]}`)
	excluding := posed("x1", `"exclude":["os:tom"]`)
	mei, inSRE := ask.By{Principal: "os:mei", Proof: ask.ProofOS}, ask.By{Principal: "os:mei", Proof: ask.ProofOS, Groups: []string{"sre"}}
	if _, err := newResponder(t, b, "web").Away(t.Context(), responder.Away{By: mei, To: "os:jo", Tenant: "acme", Until: until}); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]struct {
		err  error
		code string
	}{
		"by somebody outside the audience":  {send(subject.VerbHandOver, "a1", wire.Handover{By: tom, Life: life, To: "os:tom"}), ask.CodeForbidden},
		"to somebody outside the audience":  {send(subject.VerbHandOver, "a1", wire.Handover{By: mei, Life: life, To: "os:tom"}), ask.CodeInvalid},
		"to a stand-in":                     {send(subject.VerbHandOver, "a1", wire.Handover{By: mei, Life: life, To: "os:jo"}), ""},
		"to somebody of the group, perhaps": {send(subject.VerbHandOver, "g1", wire.Handover{By: inSRE, Life: grouped, To: "os:tom"}), ""},
		"to somebody who has no vote":       {send(subject.VerbHandOver, "v1", wire.Handover{By: mei, Life: named, To: "os:tom"}), ask.CodeInvalid},
		"to another voter":                  {send(subject.VerbHandOver, "v1", wire.Handover{By: mei, Life: named, To: "os:ann"}), ""},
		"to whom the ask excludes":          {send(subject.VerbHandOver, "x1", wire.Handover{By: mei, Life: excluding, To: "os:tom"}), ask.CodeInvalid},
		"of another life":                   {send(subject.VerbHandOver, "a1", wire.Handover{By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}, Life: "x", To: "os:tom"}), ask.CodeInvalid},
		"of an unknown ask":                 {send(subject.VerbSnooze, "a9", wire.Snooze{By: tom, Life: life, Until: until}), ask.CodeNotFound},
		"until the past":                    {send(subject.VerbSnooze, "a1", wire.Snooze{By: tom, Life: life, Until: until.Add(-2 * time.Hour)}), ask.CodeInvalid},
		"put off":                           {send(subject.VerbSnooze, "a1", wire.Snooze{By: tom, Life: life, Until: until}), ""},
		"taken back":                        {send(subject.VerbSnooze, "a1", wire.Snooze{By: tom}), ""},
	} {
		if got := wire.AsError(v.err); (v.err == nil) != (v.code == "") || v.err != nil && got.Code != v.code {
			t.Errorf("%s: %v", name, v.err)
		}
	}
}
