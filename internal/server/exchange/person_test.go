package exchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// openPeople returns a bus whose issuer has these terminals, by name.
func openPeople(t *testing.T, signedIn map[string]exchange.Person) place {
	t.Helper()
	return open(t, exchange.Options{Person: func(_ context.Context, _, terminal, wanted string) (exchange.Person, error) {
		p, ok := signedIn[terminal]
		if !ok {
			return p, ask.Refuse(ask.CodeNotFound, "this sign-in has ended")
		}
		if p.Tenant == "" {
			p.Tenant = wanted
		}
		return p, nil
	}})
}

// inbox connects with the usual assertions of a web inbox, or with may.
func (pl place) inbox(t *testing.T, r rights.Role, may ...assertion.Set) *nats.Conn {
	t.Helper()
	asserts := r.Assertions()
	if len(may) > 0 {
		asserts = may[0]
	}
	c, err := pl.bus.Asserting(r, asserts)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := connection.Connect(c, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func webRole(tenant string) rights.Role {
	return rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: tenant}
}

func person(principal, proof, tenant string, groups ...string) exchange.Person {
	return exchange.Person{By: ask.By{Principal: principal, Name: "Mei", Proof: proof, Groups: groups}, Tenant: tenant}
}

func TestASignedInTerminalGetsACredentialOfItsPerson(t *testing.T) {
	t.Parallel()
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprintf("group-%02d", i)
	}
	pl := openPeople(t, map[string]exchange.Person{
		"mei": person("oidc:mei", "oidc", "", "platform"), "acme": person("passkey:tom", "passkey", "acme"), "many": person("oidc:ana", "oidc", "", append(many, "all*")...),
	})
	web := pl.inbox(t, webRole(""))
	for _, c := range []struct{ terminal, tenant, name, asserts string }{
		{"mei", "", "responder/tui", "oidc=oidc:mei"},
		{"mei", "beta", "responder/tui/beta", "oidc=oidc:mei"},
		{"acme", "", "responder/tui/acme", "passkey=passkey:tom"},
		{"many", "", "responder/tui", "oidc=oidc:ana"},
	} {
		body, err := exchange.Vouch(t.Context(), web, "", c.terminal, c.tenant)
		var got exchange.Terminal
		var cred client.Credential
		if err == nil {
			err = errors.Join(json.Unmarshal(body, &got), json.Unmarshal(got.Credential, &cred))
		}
		if err != nil || cred.Name != c.name || time.Until(cred.Expires) > exchange.PersonLife {
			t.Errorf("%s: %s until %s, %v", c.terminal, cred.Name, cred.Expires, err)
			continue
		}
		nc, err := client.Connect(cred, natstest.Logger())
		if err != nil {
			t.Errorf("%s: %v", c.terminal, err)
			continue
		}
		user, token, err := connection.On(nc).Sender()
		nc.Close()
		if err != nil {
			t.Fatal(err)
		}
		keys, err := rights.LoadIssuer(pl.bus.Dir)
		if err != nil {
			t.Fatal(err)
		}
		grant, err := keys.Verifier().Verify(token, user, time.Now())
		if err != nil || !slices.Equal(grant.Assertions.Proven, []string{c.asserts}) || grant.Assertions.Exact() != nil || len(got.By.Groups)+got.LeftOut != len(map[string][]string{"mei": {"1"}, "many": append(many, "")}[c.terminal]) {
			t.Errorf("%s: %+v, %d groups left out, %v", c.terminal, grant, got.LeftOut, err)
		}
	}
	list, err := rights.Issued(pl.bus.Dir)
	if err != nil || len(list) != 4 {
		t.Fatalf("%d are in the list, %v", len(list), err)
	}
	for _, i := range list {
		if tenant, name, ok := exchange.ParseTerminalNote(i.Note); !ok || tenant != "" || !strings.Contains("mei acme many", name) {
			t.Errorf("the note is %q", i.Note)
		}
	}
}

func TestAWebInboxVouchesForNobodyElse(t *testing.T) {
	t.Parallel()
	pl := openPeople(t, map[string]exchange.Person{
		"mei": person("oidc:mei", "oidc", "acme", "platform"), "proxied": person("proxy:mei", "proxy", ""), "key": person("ssh:mei", "ssh-key", ""), "nobody": person("", "", ""),
		"star": person("oidc:*", "oidc", ""), "os": person("oidc:mei", "os", ""), "itself": person("nats:UAAA", "credential", ""), "all": person("oidc:mei", "oidc", ""),
	})
	web, ofAcme, ofBeta := pl.inbox(t, webRole("")), pl.inbox(t, webRole("acme")), pl.inbox(t, webRole("beta"))
	narrow := pl.inbox(t, webRole(""), assertion.Set{Proven: []string{"oidc=oidc:tom"}})
	vouch := func(nc *nats.Conn, of, terminal string) error {
		_, err := exchange.Vouch(t.Context(), nc, of, terminal, "")
		return err
	}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"a terminal that is signed out":                {vouch(web, "", "gone"), "signed out"},
		"somebody whom a proxy names":                  {vouch(web, "", "proxied"), `proof "proxy"`},
		"somebody with a key":                          {vouch(web, "", "key"), `proof "ssh-key"`},
		"nobody":                                       {vouch(web, "", "nobody"), "with proof"},
		"a credential":                                 {vouch(web, "", "itself"), `proof "credential"`},
		"a principal that stands for all":              {vouch(web, "", "star"), "cannot be put into a credential"},
		"a principal with a proof that is not its own": {vouch(web, "", "os"), "may not"},
		"somebody for whom this inbox may not speak":   {vouch(narrow, "", "mei"), "may not speak"},
		"an inbox of another tenant than the person's": {vouch(ofBeta, "beta", "mei"), "for tenant beta"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", name, c.err, c.says)
		}
	}
	if body, err := exchange.Vouch(t.Context(), ofAcme, "acme", "all", ""); err != nil || !strings.Contains(string(body), `"responder/tui/acme"`) {
		t.Errorf("of a tenant: %s, %v", body, err)
	}

	// Requests that our client does not send.
	user, token, err := connection.On(web).Sender()
	if err != nil {
		t.Fatal(err)
	}
	acmes, others, err := connection.On(ofAcme).Sender()
	if err != nil {
		t.Fatal(err)
	}
	agents := pl.inbox(t, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}, assertion.Set{})
	_, agent, err := connection.On(agents).Sender()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from         *nats.Conn
		subject, jwt string
		body         string
	}{
		"an inbox of a tenant, as one of all": {ofAcme, subject.Person(acmes, "acme"), others, `{"terminal":"mei"}`},
		"an inbox of all, as one of a tenant": {web, subject.Person(user, ""), token, `{"terminal":"mei","of":"acme"}`},
	} {
		reply, err := c.from.RequestMsgWithContext(t.Context(), &nats.Msg{Subject: c.subject, Header: nats.Header{connection.HeaderCredential: {c.jwt}}, Data: []byte(c.body)})
		if err != nil {
			t.Fatal(err)
		}
		if e := wire.DecodeProblem(reply.Data); e == nil || !strings.Contains(e.Detail, "does not belong to a web inbox of this tenant") {
			t.Errorf("%s: %s", name, reply.Data)
		}
	}
	for name, header := range map[string]nats.Header{
		"no credential": nil, "another inbox's": {connection.HeaderCredential: {others}}, "an agent's": {connection.HeaderCredential: {agent}}, "two": {connection.HeaderCredential: {token, token}}, "none that is one": {connection.HeaderCredential: {"x.y.z"}},
	} {
		reply, err := web.RequestMsgWithContext(t.Context(), &nats.Msg{Subject: subject.Person(user, ""), Header: header, Data: []byte(`{"terminal":"mei"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if e := wire.DecodeProblem(reply.Data); e == nil || e.Code != ask.CodeForbidden {
			t.Errorf("%s: %s", name, reply.Data)
		}
	}

	// The issuer publishes only to the sender's inbox.
	heard, err := pl.bus.Admin().SubscribeSync("askv1.acme.s1.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := pl.bus.Admin().Flush(); err != nil {
		t.Fatal(err)
	}
	if err := web.PublishMsg(&nats.Msg{Subject: subject.Person(user, ""), Reply: "askv1.acme.s1.get.x", Header: nats.Header{connection.HeaderCredential: {token}}, Data: []byte(`{"terminal":"mei"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := vouch(web, "", "mei"); err != nil { // a later request, so the earlier one was handled
		t.Error(err)
	}
	if err := pl.bus.Admin().Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := heard.Pending(); err != nil || n > 0 {
		t.Errorf("the issuer publishes where it should not: %d, %v", n, err)
	}
}
