package web_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/testkit/openidtest"
	"github.com/askbus/askbus/pkg/ask"
)

// TestWhoCanCauseAnOutcomeAtTheInbox is the inbox's part of the table "who can
// cause an outcome, as whom, proven how" in docs/guarantees.md: it tries each
// sign-in method with each access.
func TestWhoCanCauseAnOutcomeAtTheInbox(t *testing.T) {
	t.Parallel()
	const header = "X-Forwarded-User"
	rules := map[string]*auth.Rules{}
	for access, rule := range map[string]auth.Rule{
		"responder":        {When: map[string][]string{}, Role: auth.RoleResponder, Tenants: []string{"acme"}},
		"reader":           {When: map[string][]string{}, Role: auth.RoleReader, Tenants: []string{"acme"}},
		"another tenant's": {When: map[string][]string{}, Role: auth.RoleResponder, Tenants: []string{"other"}},
	} {
		rules[access] = &auth.Rules{Rules: []auth.Rule{rule}}
	}
	granted := func(access string) ask.Access {
		a, err := rules[access].Access(auth.Claims{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	provider := openidtest.Start(t)
	behind := func(networks string) func(*testing.T, *bus, string) (user, []string) {
		return func(t *testing.T, b *bus, access string) (user, []string) {
			t.Helper()
			in := serve(t, b, func(o *web.Options) {
				o.Proxy = &web.Proxy{Header: header, Networks: []netip.Prefix{netip.MustParsePrefix(networks)}, Rules: rules[access]}
			})
			return in.stranger(t), []string{header, "mei"}
		}
	}
	session := func(by ask.By) func(*testing.T, *bus, string) (user, []string) {
		return func(t *testing.T, b *bus, access string) (user, []string) {
			t.Helper()
			return serve(t, b).as(t, auth.Person{By: by, Access: granted(access)}), nil
		}
	}
	ways := map[string]struct {
		as   func(t *testing.T, b *bus, access string) (user, []string)
		want string // the responder in the outcome; empty: no outcome
	}{
		"a login link": {session(ask.By{Principal: "os:mei", Proof: ask.ProofLink}), "answered human os:mei link"},
		"a passkey":    {session(ask.By{Principal: "passkey:mei", Proof: ask.ProofPasskey}), "answered human passkey:mei passkey"},
		"OpenID Connect": {func(t *testing.T, b *bus, access string) (user, []string) {
			t.Helper()
			u := withProvider(t, b, provider, rules[access]).stranger(t)
			u.get("/login/oidc?to=/")
			return u, nil
		}, "answered human " + provider.Principal("mei") + " oidc"},
		"a proxy":                {behind("127.0.0.0/8"), "answered human proxy:mei proxy"},
		"a proxy's header alone": {behind("10.0.0.0/8"), ""},
		"nobody": {func(t *testing.T, b *bus, _ string) (user, []string) {
			t.Helper()
			return serve(t, b).stranger(t), nil
		}, ""},
	}
	for way, c := range ways {
		for access := range rules {
			t.Run(way+", "+access, func(t *testing.T) {
				t.Parallel()
				b := newBus()
				k := b.ask(ask.Ask{ID: "a", Tenant: "acme", Questions: []ask.Question{text("t", "And you?")}}, 0)
				u, headers := c.as(t, b, access)
				res := u.do(http.MethodPost, "/ask/"+k.String()+"/answer", url.Values{"text:t": {"fine"}, "answer_id": {"x"}}, headers...)
				got, want := "", ""
				if access == "responder" {
					want = c.want
				}
				if o := b.outcome(k); o != nil {
					got = fmt.Sprint(o.Status, " ", o.Source, " ", o.By.Principal, " ", o.By.Proof)
				}
				if got != want {
					t.Errorf("%q, want %q (%d)", got, want, res.status)
				}
			})
		}
	}
}
