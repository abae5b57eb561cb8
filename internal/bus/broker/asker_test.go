package broker_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// askingFor connects as an agent whose credential says for whom it asks.
func askingFor(t *testing.T, b *natstest.Bus, session string, asker ...string) (client.Session, *nats.Conn) {
	t.Helper()
	nc := asserting(t, b, agent(session), assertion.Set{Asker: asker})
	c, err := client.New(nc, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Session("acme", session), nc
}

// TestTheCredentialSaysWhoAsks checks that the broker takes the asker from the
// credential, and that an ask cannot claim another.
func TestTheCredentialSaysWhoAsks(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, _ := askingFor(t, b, "s1", "oidc:id.example.com#mei@example.com", "os:mei")
	r := newResponder(t, b, "web")
	a := ask.Ask{ID: "a1", ExcludeAsker: true, Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}}}
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Ask(t.Context(), a); err != nil || again.Created {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	rec, err := c.Get(t.Context(), "a1")
	if err != nil || !slices.Equal(rec.Ask.Asker, []string{"oidc:id.example.com#mei@example.com", "os:mei"}) {
		t.Fatalf("stored with asker %v, %v", rec.Ask.Asker, err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	if _, err := r.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("the asker answers: %v", err)
	}
	if _, err := r.Answer(t.Context(), k, votes("v2", ofSRE("jo"), true)); err != nil {
		t.Error(err)
	}

	for id, claim := range map[string]func(*ask.Ask){
		"excluded": func(a *ask.Ask) { a.Asker = []string{"os:mei", "os:boss"} },
		"only":     func(a *ask.Ask) { a.ExcludeAsker, a.Only, a.Asker = false, ask.OnlyAsker, []string{"os:boss"} },
		"merely":   func(a *ask.Ask) { a.ExcludeAsker, a.Asker = false, []string{"os:boss"} },
	} {
		other := a
		other.ID = id
		claim(&other)
		_, err := c.Ask(t.Context(), other)
		if e, ok := errors.AsType[*ask.Error](err); !ok || !errors.Is(err, ask.ErrInvalid) || len(e.Faults) != 1 || e.Faults[0].Pointer[:7] != "/asker/" {
			t.Errorf("%s: an ask that claims another asker: %v", id, err)
		}
	}
	own := a
	own.ID, own.ExcludeAsker, own.Only = "own", false, ask.OnlyAsker
	if _, err := c.Ask(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	k.ID = "own"
	if _, err := r.Answer(t.Context(), k, votes("v3", ofSRE("jo"), true)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("somebody else answers: %v", err)
	}
	if _, err := r.Answer(t.Context(), k, votes("v4", ofSRE("mei"), true)); err != nil {
		t.Error(err)
	}

	// A credential without an asker: the ask's own words stay.
	plain := newClient(t, b, "s2")
	said := a
	said.Asker = []string{"os:boss"}
	if _, err := plain.Ask(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	said.ID, said.Asker = "a2", nil
	if _, err := plain.Ask(t.Context(), said); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("exclude_asker without any asker: %v", err)
	}
}

// TestNobodyAsksWithAnothersCredential checks that the JWT of one agent is worth
// nothing to another of the same session.
func TestNobodyAsksWithAnothersCredential(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	_, mei := askingFor(t, b, "s1", "os:mei")
	_, eve := askingFor(t, b, "s1", "os:eve")
	meiKey, meiJWT := sender(t, mei)
	eveKey, eveJWT := sender(t, eve)
	body := event("dev.askbus.ask.requested.v1", "a1", `{"id":"a1","exclude_asker":true,"questions":[{"id":"go","kind":"boolean","text":"Deploy?"}]}`)
	for name, v := range map[string]struct{ key, jwt, want string }{
		"her own": {eveKey, eveJWT, ""}, "another's JWT": {eveKey, meiJWT, ask.CodeForbidden}, "none": {eveKey, "", ask.CodeInvalid},
	} {
		header := nats.Header{}
		if v.jwt != "" {
			header.Set(connection.HeaderCredential, v.jwt)
		}
		reply, err := eve.RequestMsgWithContext(t.Context(), &nats.Msg{Subject: "ansv1.agent." + v.key + ".acme.s1.ask.a1", Header: header, Data: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		e := wire.DecodeProblem(reply.Data)
		if got := connection.Refusal(reply); v.want == "" && got != nil || v.want != "" && (e == nil || e.Code != v.want) {
			t.Errorf("%s: %v; want %q", name, got, v.want)
		}
	}
	if err := eve.PublishMsg(&nats.Msg{Subject: "ansv1.agent." + meiKey + ".acme.s1.ask.a2", Data: []byte(body)}); err != nil {
		t.Fatal(err)
	}
	if err := eve.Flush(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(eve.LastError(), nats.ErrPermissionViolation) {
		t.Errorf("the server lets an agent ask under another's key: %v", eve.LastError())
	}
}

// TestATokenSaysWhoAsks checks that the asker of an API token counts, which the
// broker reads itself.
func TestATokenSaysWhoAsks(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	tokens := state.Open(b.Connect(operator()), state.Operator(), state.Tokens)
	if _, err := tokens.Create(t.Context(), state.Key{Name: "t1"}, map[string]any{"id": "t1", "asker": []string{"os:mei"}}, 0); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(b.Connect(rights.Role{Name: rights.RoleGateway}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := connection.ForToken(t.Context(), func() string { return "t1" })
	a := ask.Ask{ID: "a1", ExcludeAsker: true, Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}}}
	if _, err := c.Session("acme", "s1").Ask(ctx, a); err != nil {
		t.Fatal(err)
	}
	rec, err := c.Session("acme", "s1").Get(ctx, "a1")
	if err != nil || !slices.Equal(rec.Ask.Asker, []string{"os:mei"}) {
		t.Errorf("stored with asker %v, %v", rec.Ask.Asker, err)
	}
	a.ID, a.Asker = "a2", []string{"os:boss"}
	if _, err := c.Session("acme", "s1").Ask(ctx, a); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("an ask that claims another asker: %v", err)
	}
}
