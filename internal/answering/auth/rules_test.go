package auth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/pkg/ask"
)

func TestRules(t *testing.T) {
	t.Parallel()
	rules, err := auth.ParseRules([]byte(`
rules:
  - name: the platform team decides
    when: {groups: [platform, "/org/sre-*"], email: ["*@example.com"]}
    role: responder
    tenants: [acme]
    sessions: ["deploy-*"]
  - when: {}
    role: reader
    tenants: ["*"]
    audiences: ["group:all"]
`))
	if err != nil {
		t.Fatal(err)
	}
	mail := auth.Claims{"email": "mei@example.com", "email_verified": true}
	deploy := ask.Key{Tenant: "acme", Session: "deploy-1"}
	for name, c := range map[string]struct {
		claims auth.Claims
		decide bool
	}{
		"both claims match":         {auth.Claims{"groups": []any{"x", "platform"}, "email": mail["email"], "email_verified": true}, true},
		"a path with a star":        {auth.Claims{"groups": "/org/sre-eu", "email": mail["email"], "email_verified": "true"}, true},
		"one of them does not":      {auth.Claims{"groups": []any{"platform"}}, false},
		"an address not verified":   {auth.Claims{"groups": []any{"platform"}, "email": mail["email"]}, false},
		"groups of the wrong shape": {auth.Claims{"groups": map[string]any{"platform": true}, "email": mail["email"], "email_verified": true}, false},
		"no claims":                 {auth.Claims{}, false},
	} {
		access, err := rules.Access(c.claims)
		if err != nil || !access.Sees(ask.By{}, deploy, nil) || access.Decides(ask.By{}, deploy, nil) != c.decide {
			t.Errorf("%s: %+v, %v", name, access, err)
		}
	}
	if _, err := auth.GroupRules("groups", []string{"a"}).Access(auth.Claims{"groups": []any{"b"}}); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("nobody's rule: %v", err)
	}
	for text, says := range map[string]string{
		"rules: []": "nobody could sign in",
		"rules: [{when: {}, role: reader, tenants: ['*'], tenant: x}]": `rules[0]: unknown field "tenant"`,
		"rules: [{role: reader, tenants: ['*']}]":                      `"when" is missing`,
		"rules: [{when: {}, role: admin, tenants: ['*']}]":             "use reader or responder",
		"rules: [{when: {}, role: reader}]":                            `"tenants" is missing`,
		"rules: [{when: {}, role: reader, tenants: ['[']}]":            "invalid pattern",
		"rules: [{when: {groups: []}, role: reader, tenants: [a]}]":    "has no value",
		"rules: [{when: {groups: x}, role: reader, tenants: [a]}]":     "rules[0].when.groups: a text does not fit here; use a list",
		"a: [": "invalid YAML",
	} {
		if _, err := auth.ParseRules([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
