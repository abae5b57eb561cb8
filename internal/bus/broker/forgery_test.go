package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// asserting connects as a role that may assert only this.
func asserting(t *testing.T, b *natstest.Bus, r rights.Role, may assertion.Set) *nats.Conn {
	t.Helper()
	c, err := b.Asserting(r, may)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds)), nats.CustomInboxPrefix(c.InboxPrefix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// sender returns the key and the JWT of a connection.
func sender(t *testing.T, nc *nats.Conn) (user, token string) {
	t.Helper()
	user, token, err := connection.On(nc).Sender()
	if err != nil {
		t.Fatal(err)
	}
	return user, token
}

func ofSession(typ string) rights.Role {
	return rights.Role{Name: rights.RoleResponder, Type: typ, Tenant: "acme", Session: "s1"}
}

// TestASurfaceAssertsWhatItsCredentialSays checks that an answer is stored only
// with what the credential may assert.
func TestASurfaceAssertsWhatItsCredentialSays(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	agent := plain(t, b, agent("s1"))
	slack := assertion.Set{Proven: []string{"slack-*=slack:T01/*"}, Groups: []string{"platform", "team-*"}}
	for i, v := range []struct {
		name   string
		role   rights.Role
		may    assertion.Set
		by     string
		stored string // principal and proof; "own" for the credential's name
		at     []string
	}{
		{"what it proves", surface("slack"), slack, `{"principal":"slack:T01/U2","name":"Mei","groups":["platform","team-a"],"proof":"slack-signature"}`, "slack:T01/U2 slack-signature", nil},
		{"nobody in particular", surface("slack"), slack, `{}`, "own", nil},
		{"another workspace", surface("slack"), slack, `{"principal":"slack:T02/U2","proof":"slack-signature"}`, "", []string{"/by/principal"}},
		{"the boss", surface("slack"), slack, `{"principal":"oidc:ceo","proof":"oidc"}`, "", []string{"/by/principal"}},
		{"another proof", surface("slack"), slack, `{"principal":"slack:T01/U2","proof":"passkey"}`, "", []string{"/by/proof"}},
		{"a foreign group", surface("slack"), slack, `{"principal":"slack:T01/U2","groups":["platform","board"],"proof":"slack-signature"}`, "", []string{"/by/groups"}},
		{"all at once", surface("slack"), slack, `{"principal":"slack:T01/U2","groups":["board"],"proof":"oidc"}`, "", []string{"/by/proof", "/by/groups"}},
		{"a session's screen as itself", ofSession("web"), assertion.Set{}, `{}`, "own", nil},
		{"a session's screen as the boss", ofSession("web"), assertion.Set{}, `{"principal":"oidc:ceo","proof":"oidc"}`, "", []string{"/by/principal"}},
		{"a session's screen with a name", ofSession("web"), assertion.Set{}, `{"name":"The boss"}`, "", []string{"/by/name"}},
		{"a session's screen with groups", ofSession("web"), assertion.Set{}, `{"groups":["board"]}`, "", []string{"/by/groups"}},
		{"a session's screen with a proof", ofSession("web"), assertion.Set{}, `{"proof":"passkey"}`, "", []string{"/by/proof"}},
		{"an operator as itself", operator(), assertion.Set{}, `{}`, "own", nil},
		{"an operator as a person", operator(), assertion.Set{}, `{"principal":"oidc:ceo"}`, "", []string{"/by/principal"}},
		{"the gateway with a token", rights.Role{Name: rights.RoleGateway}, rights.Role{Name: rights.RoleGateway}.Assertions(), `{"principal":"oidc:mei","proof":"token"}`, "oidc:mei token", nil},
		{"the gateway with a passkey", rights.Role{Name: rights.RoleGateway}, rights.Role{Name: rights.RoleGateway}.Assertions(), `{"principal":"oidc:mei","proof":"passkey"}`, "", []string{"/by/proof"}},
		{"the inbox over a sign-in", surface("web"), surface("web").Assertions(), `{"principal":"oidc:mei","groups":["platform"],"proof":"oidc"}`, "oidc:mei oidc", nil},
		{"the inbox as Slack", surface("web"), surface("web").Assertions(), `{"principal":"slack:T01/U2","proof":"slack-signature"}`, "", []string{"/by/proof"}},
		{"a key over SSH", surface("ssh"), surface("ssh").Assertions(), `{"principal":"ssh:mei","proof":"ssh-key"}`, "ssh:mei ssh-key", nil},
		{"a terminal as the boss", surface("cli"), surface("cli").Assertions(), `{"principal":"oidc:ceo","proof":"os"}`, "", []string{"/by/principal"}},
		{"an unknown type", surface("pager"), surface("pager").Assertions(), `{"principal":"pager:mei"}`, "", []string{"/by/principal"}},
	} {
		id := fmt.Sprint("a", i)
		asked(t, agent, "s1", id)
		nc := asserting(t, b, v.role, v.may)
		user, _ := sender(t, nc)
		typ := v.role.Type
		if typ == "" {
			typ = v.role.Name
		}
		body := strings.Replace(answerData(id, "w", "pg"), by, v.by, 1)
		m := request(t, nc, answerSubject(typ, "s1", id), nil, event(cloudevent.TypeAnswered, id, body))
		if v.at != nil {
			e := problem(t, m)
			if e.Code != ask.CodeForbidden {
				t.Errorf("%s: %v", v.name, e)
			}
			for _, at := range v.at {
				if !slices.ContainsFunc(e.Faults, func(f ask.Fault) bool { return f.Pointer == at && f.Message != "" }) {
					t.Errorf("%s: no fault at %s: %v", v.name, at, e)
				}
			}
			stillOpen(t, agent, v.name, id)
			continue
		}
		want := v.stored
		if want == "own" {
			want = "nats:" + user + " credential"
		}
		_, o := data(t, m)
		who, ok := o["by"].(map[string]any)
		if got := fmt.Sprint(who["principal"], " ", who["proof"]); !ok || got != want || who["responder"] != typ {
			t.Errorf("%s: stored %v, want %s by %s", v.name, o["by"], want, typ)
		}
	}
}

func stillOpen(t *testing.T, agent *nats.Conn, name, id string) {
	t.Helper()
	if _, s := data(t, request(t, agent, "askv1.acme.s1.get."+id, nil, "")); s["state"] != "pending" {
		t.Errorf("%s: the ask is %v", name, s["state"])
	}
}

// TestAForgedCredentialCountsForNothing sends JWTs other than the sender's own.
func TestAForgedCredentialCountsForNothing(t *testing.T) {
	t.Parallel()
	b, other := natstest.Start(t, natstest.Options{}), natstest.Start(t, natstest.Options{NoBroker: true})
	agent := plain(t, b, agent("s1"))
	ceo := assertion.Set{Proven: []string{"oidc=oidc:*"}}
	screen := asserting(t, b, ofSession("web"), assertion.Set{})
	user, own := sender(t, screen)
	_, inbox := sender(t, asserting(t, b, surface("web"), ceo))
	_, foreign := sender(t, asserting(t, other, surface("web"), ceo))
	_, agents := sender(t, agent)
	keys, err := identity.LoadKeys(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := identity.LoadKeys(other.Dir)
	if err != nil {
		t.Fatal(err)
	}
	tags := []string{"type:web", "tenant:acme", "session:s1", "assert:oidc=oidc:*"}
	signed := func(k *identity.Keys, scope string, change func(*jwt.UserClaims)) string {
		t.Helper()
		signer, err := nkeys.FromSeed([]byte(k.Signing[scope].Seeds[0]))
		if err != nil {
			t.Fatal(err)
		}
		c := jwt.NewUserClaims(user)
		c.IssuerAccount = keys.Accounts[identity.Bus]
		c.SetScoped(true)
		c.Tags, c.Expires = append(c.Tags, tags...), time.Now().Add(time.Hour).Unix()
		if change != nil {
			change(c)
		}
		token, err := c.Encode(signer)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	self, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := self.Seed()
	if err != nil {
		t.Fatal(err)
	}
	selfSigned := &identity.Keys{Signing: map[string]identity.Signing{"x": {Seeds: []string{string(seed)}}}}
	parts := strings.Split(own, ".")
	for i, v := range []struct {
		name   string
		tokens []string
		says   string
	}{
		{"none", nil, "may not speak for"},
		{"its own", []string{own}, "may not speak for"},
		{"another's", []string{inbox}, "another user's"},
		{"an agent's", []string{agents}, "another user's"},
		{"of another bus", []string{foreign}, "another user's"},
		{"for its key, by another bus", []string{signed(elsewhere, "responder-session", nil)}, "not signed by a key of this bus"},
		{"for its key, by another bus that says so", []string{signed(elsewhere, "responder-session", func(c *jwt.UserClaims) { c.IssuerAccount = elsewhere.Accounts[identity.Bus] })}, "not signed by a key of this bus"},
		{"for its key, by itself", []string{signed(selfSigned, "x", nil)}, "not signed by a key of this bus"},
		{"for its key, by the ledger's account", []string{signed(keys, "ledger", nil)}, "not signed by a key of this bus"},
		{"for its key, as an agent", []string{signed(keys, "agent", nil)}, "not for this subject"},
		{"for its key, as the gateway", []string{signed(keys, "gateway", nil)}, "not for this subject"},
		{"for its key, of another type", []string{signed(keys, "responder-session", func(c *jwt.UserClaims) {
			c.Tags = jwt.TagList{"type:slack", "tenant:acme", "session:s1", "assert:oidc=oidc:*"}
		})}, "not for this subject"},
		{"for its key, of another session", []string{signed(keys, "responder-session", func(c *jwt.UserClaims) {
			c.Tags = jwt.TagList{"type:web", "tenant:acme", "session:s2", "assert:oidc=oidc:*"}
		})}, "not for this subject"},
		{"expired", []string{signed(keys, "responder-session", func(c *jwt.UserClaims) { c.Expires = time.Now().Add(-time.Minute).Unix() })}, "expired"},
		{"for ever", []string{signed(keys, "responder-session", func(c *jwt.UserClaims) { c.Expires = 0 })}, "never expires"},
		{"with other tags under its signature", []string{parts[0] + "." + strings.Split(inbox, ".")[1] + "." + parts[2]}, "not signed by a key of this bus"},
		{"no JWT", []string{"mei"}, "not signed by a key of this bus"},
		{"too long", []string{strings.Repeat("x", 5000)}, "bytes"},
		{"twice", []string{own, own}, "2 times"},
		{"its own and another's", []string{own, inbox}, "2 times"},
	} {
		id := fmt.Sprint("a", i)
		asked(t, agent, "s1", id)
		body := strings.Replace(answerData(id, "w", "pg"), by, `{"principal":"oidc:ceo","proof":"oidc"}`, 1)
		header := nats.Header{}
		for n, token := range v.tokens {
			if n > 0 { // a second header after the first
				header["askbus-credential"] = append(header["askbus-credential"], token)
				continue
			}
			header["Askbus-Credential"] = []string{token}
		}
		for verb, send := range map[string]string{"answer": event(cloudevent.TypeAnswered, id, body), "cancel": event(cloudevent.TypeDeclined, id, fmt.Sprintf(`{"ask_id":%q,"answer_id":"w","by":{"principal":"oidc:ceo","proof":"oidc"}}`, id))} {
			subj := "ansv1.web." + user + ".acme.s1." + verb + "." + id
			m, err := screen.RequestMsg(&nats.Msg{Subject: subj, Header: header, Data: []byte(send)}, 30*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if e := problem(t, m); e.Code != ask.CodeForbidden || !strings.Contains(e.Error(), v.says) {
				t.Errorf("%s, %s: %v, want %q", v.name, verb, e, v.says)
			}
		}
		stillOpen(t, agent, v.name, id)
	}
	// A control: the refusals above have the stated cause.
	asked(t, agent, "s1", "good")
	header := nats.Header{"Askbus-Credential": {signed(keys, "responder-session", nil)}}
	body := strings.Replace(answerData("good", "w", "pg"), by, `{"principal":"oidc:ceo","proof":"oidc"}`, 1)
	m, err := screen.RequestMsg(&nats.Msg{Subject: "ansv1.web." + user + ".acme.s1.answer.good", Header: header, Data: []byte(event(cloudevent.TypeAnswered, "good", body))}, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if typ, o := data(t, m); typ != cloudevent.TypeResolved || o["status"] != "answered" {
		t.Errorf("the control was refused: %s", m.Data)
	}
}

// TestAnAskDemandsAProof tries each proof against each demand.
func TestAnAskDemandsAProof(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	agent := plain(t, b, agent("s1"))
	web := asserting(t, b, surface("web"), assertion.Anything())
	order := map[string]int{
		"": 0, "credential": 0, "magic": 0, "host-dialog": 1, "asker-terminal": 1, "token": 1, "os": 2, "local": 2, "link": 2,
		"ssh-key": 3, "slack-signature": 3, "slack-socket": 3, "slack": 3, "oidc": 3, "passkey": 3,
	}
	n := 0
	for _, demand := range append(ask.MinProofs(), "") {
		for proof, strength := range order {
			n++
			id := fmt.Sprint("a", n)
			data := strings.Replace(askData(id), `{"id"`, `{"min_proof":"`+demand+`","id"`, 1)
			if m := request(t, agent, askSubject("s1", id), nil, event(cloudevent.TypeAsked, id, data)); m.Header.Get("Nats-Service-Error-Code") != "" {
				t.Fatalf("%s", m.Data)
			}
			body := strings.Replace(answerData(id, "w", "pg"), by, `{"principal":"x:mei","proof":"`+proof+`"}`, 1)
			m := request(t, web, answerSubject("web", "s1", id), nil, event(cloudevent.TypeAnswered, id, body))
			refused := m.Header.Get("Nats-Service-Error-Code") == "403"
			if refused != (strength < order[demand]) {
				t.Errorf("%q demanded, %q given: %s", demand, proof, m.Data)
			}
			if refused && !strings.Contains(string(m.Data), "/by/proof") {
				t.Errorf("the refusal does not name the field: %s", m.Data)
			}
		}
	}
	m := request(t, agent, askSubject("s1", "bad"), nil, event(cloudevent.TypeAsked, "bad", strings.Replace(askData("bad"), `{"id"`, `{"min_proof":"retina","id"`, 1)))
	if e := problem(t, m); len(e.Faults) != 1 || e.Faults[0].Pointer != "/min_proof" {
		t.Errorf("%v", e)
	}
}

// TestAnAskExcludesItsAsker tries every kind of credential that answers.
func TestAnAskExcludesItsAsker(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	agent := plain(t, b, agent("s1"))
	gateway := rights.Role{Name: rights.RoleGateway}
	host := rights.Role{Name: rights.RoleHost, Tenant: "acme", Session: "s1"}
	n := 0
	for _, c := range []struct {
		role    rights.Role
		root    string
		by      string
		answers bool
	}{
		{surface("web"), "ansv1.web", `{"principal":"oidc:id.example.com#mei","proof":"oidc"}`, false},
		{surface("web"), "ansv1.web", `{"principal":"os:mei","proof":"os"}`, false},
		{surface("web"), "ansv1.web", `{"principal":"oidc:tom","proof":"oidc"}`, true},
		{surface("web"), "ansv1.web", `{}`, false}, // as the credential, which is not a person
		{surface("slack"), "ansv1.slack", `{"principal":"slack:T/U","proof":"slack"}`, true},
		{gateway, "ansv1.gateway", `{"principal":"oidc:id.example.com#mei","proof":"token"}`, false},
		{gateway, "ansv1.gateway", `{"principal":"token:7","proof":"token"}`, false},
		{gateway, "ansv1.gateway", `{"principal":"oidc:tom","proof":"token"}`, true},
		{operator(), "ansv1.operator", `{}`, false},
		{host, "hostv1", `{"principal":"os:tom","proof":"host-dialog"}`, false},
	} {
		nc := asserting(t, b, c.role, assertion.Anything())
		for _, verb := range []string{"answer", "cancel"} {
			n++
			id := fmt.Sprint("a", n)
			data := strings.Replace(askData(id), `{"id"`, `{"exclude_asker":true,"asker":["os:mei","oidc:id.example.com#mei"],"id"`, 1)
			if m := request(t, agent, askSubject("s1", id), nil, event(cloudevent.TypeAsked, id, data)); m.Header.Get("Nats-Service-Error-Code") != "" {
				t.Fatalf("%s", m.Data)
			}
			body, typ := strings.Replace(answerData(id, "w", "pg"), by, c.by, 1), cloudevent.TypeAnswered
			if verb == "cancel" {
				body, typ = `{"ask_id":"`+id+`","answer_id":"w","by":`+c.by+`}`, cloudevent.TypeDeclined
			}
			m := request(t, nc, c.root+".acme.s1."+verb+"."+id, nil, event(typ, id, body))
			switch code := m.Header.Get("Nats-Service-Error-Code"); {
			case c.answers && code != "":
				t.Errorf("%s of %s at %s: %s", verb, c.by, c.root, m.Data)
			case !c.answers && (code != "403" || !strings.Contains(string(m.Data), "excludes its asker") || !strings.Contains(string(m.Data), "/by/principal")):
				t.Errorf("%s of %s at %s: %s", verb, c.by, c.root, m.Data)
			}
		}
	}
	m := request(t, agent, askSubject("s1", "bad"), nil, event(cloudevent.TypeAsked, "bad", strings.Replace(askData("bad"), `{"id"`, `{"exclude_asker":true,"id"`, 1)))
	if e := problem(t, m); len(e.Faults) != 1 || e.Faults[0].Pointer != "/asker" {
		t.Errorf("%v", e)
	}
}

// TestAHostAnswersForItsSessionOnly tests the host's endpoint.
func TestAHostAnswersForItsSessionOnly(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	agent := plain(t, b, agent("s1"))
	role := rights.Role{Name: rights.RoleHost, Tenant: "acme", Session: "s1"}
	host := asserting(t, b, role, role.Assertions())
	user, token := sender(t, host)
	for i, v := range []struct{ by, stored string }{
		{`{"principal":"os:mei","proof":"host-dialog"}`, "os:mei host-dialog native"},
		{`{"principal":"os:mei","proof":"asker-terminal","responder":"cli"}`, "os:mei asker-terminal cli"},
		{`{"principal":"os:mei","proof":"host-dialog","responder":"elicit"}`, "os:mei host-dialog elicit"},
		{`{"principal":"os:mei","proof":"host-dialog","responder":"web"}`, "os:mei host-dialog native"},
		{`{"principal":"os:mei","proof":"os"}`, ""},
		{`{"principal":"oidc:mei","proof":"host-dialog"}`, ""},
		{`{"principal":"os:mei","groups":["platform"],"proof":"host-dialog"}`, ""},
	} {
		id := fmt.Sprint("a", i)
		asked(t, agent, "s1", id)
		body := strings.Replace(answerData(id, "w", "pg"), by, v.by, 1)
		m, err := host.RequestMsg(&nats.Msg{Subject: "hostv1." + user + ".acme.s1.answer." + id, Header: nats.Header{"Askbus-Credential": {token}}, Data: []byte(event(cloudevent.TypeAnswered, id, body))}, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if v.stored == "" {
			if e := problem(t, m); e.Code != ask.CodeForbidden {
				t.Errorf("%s: %v", v.by, e)
			}
			stillOpen(t, agent, v.by, id)
			continue
		}
		_, o := data(t, m)
		who, _ := o["by"].(map[string]any)
		if got := fmt.Sprint(who["principal"], " ", who["proof"], " ", who["responder"]); got != v.stored {
			t.Errorf("%s: stored %s, want %s", v.by, got, v.stored)
		}
	}
}
