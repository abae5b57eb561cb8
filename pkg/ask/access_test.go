package ask_test

import (
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	mei := ask.By{Principal: "oidc:mei", Groups: []string{"platform"}}
	deploys := ask.Grant{Tenants: []string{"acme"}, Sessions: []string{"deploy-*"}}
	for name, c := range map[string]struct {
		access       ask.Access
		key          ask.Key
		audience     []string
		sees, decide bool
	}{
		"a nil access allows everything":    {nil, ask.Key{Tenant: "x", Session: "s"}, nil, true, true},
		"an empty access allows none":       {ask.Access{}, ask.Key{Tenant: "x", Session: "s"}, nil, false, false},
		"an empty grant allows every":       {ask.Access{{}}, ask.Key{Tenant: "x", Session: "s"}, []string{"oidc:tom"}, true, true},
		"tenant and session match":          {ask.Access{deploys}, ask.Key{Tenant: "acme", Session: "deploy-1"}, nil, true, true},
		"another tenant":                    {ask.Access{deploys}, ask.Key{Tenant: "acme2", Session: "deploy-1"}, nil, false, false},
		"another session":                   {ask.Access{deploys}, ask.Key{Tenant: "acme", Session: "payroll"}, nil, false, false},
		"a reader sees":                     {ask.Access{{ReadOnly: true}}, ask.Key{Tenant: "x", Session: "s"}, nil, true, false},
		"the union of two":                  {ask.Access{{ReadOnly: true}, deploys}, ask.Key{Tenant: "acme", Session: "deploy-1"}, nil, true, true},
		"an audience that is granted":       {ask.Access{{Audiences: []string{"group:sre*"}}}, ask.Key{}, []string{"group:sre-eu"}, true, true},
		"an audience that is not":           {ask.Access{{Audiences: []string{"group:sre*"}}}, ask.Key{}, []string{"group:hr"}, false, false},
		"an audience with the person in it": {ask.Access{{Audiences: []string{"group:sre*"}}}, ask.Key{}, []string{"group:platform"}, true, true},
		"no audience, with some granted":    {ask.Access{{Audiences: []string{"group:sre*"}}}, ask.Key{}, nil, true, true},
		"an invalid pattern allows nothing": {ask.Access{{Tenants: []string{"[a"}}}, ask.Key{Tenant: "[a"}, nil, false, false},
	} {
		if sees, decides := c.access.Sees(mei, c.key, c.audience), c.access.Decides(mei, c.key, c.audience); sees != c.sees || decides != c.decide {
			t.Errorf("%s: sees %t, decides %t", name, sees, decides)
		}
	}
	for _, bad := range []ask.Grant{{Tenants: []string{"[a"}}, {Sessions: []string{""}}, {Audiences: []string{`\`}}} {
		if bad.Check() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
