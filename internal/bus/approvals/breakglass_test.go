package approvals_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/approvals"
)

func TestBreakGlassRoles(t *testing.T) {
	t.Parallel()
	f, err := approvals.Parse([]byte(`
break_glass:
  - { name: commanders, tenants: [acme], from: ["group:incident", "schedule:duty"], reason: { prompt: the incident, pattern: "^INC-" } }
  - { name: root, from: ["oidc:id.example.com#mei@example.com"], min_proof: os }
schedules: [ { name: duty, start: 2026-11-23T09:00:00Z, every: 168h, people: ["oidc:id.example.com#jo@example.com"] } ]
`))
	if err != nil {
		t.Fatal(err)
	}
	if roles := f.Roles("acme"); len(roles) != 2 || roles[0].MinProof != "passkey" || roles[0].Version == "" || roles[0].ReasonPattern != "^INC-" {
		t.Errorf("%+v", roles)
	}
	if roles := f.Roles("globex"); len(roles) != 1 || roles[0].Name != "root" {
		t.Errorf("%+v", roles)
	}
	_, err = approvals.Parse([]byte(`
break_glass:
  - { name: "a b", from: [] }
  - { name: twice, from: ["group:", "everybody", "schedule:none", "token:x"], min_proof: host-dialog, reason: { pattern: "(" } }
  - { name: twice, from: ["group:x"] }
`))
	for _, want := range []string{"break_glass[0].name", "break_glass[0].from: 0 entries", "break_glass[1].from[0]", "break_glass[1].from[1]", "break_glass[1].from[2]", "break_glass[1].from[3]", "break_glass[1].min_proof", "break_glass[1].reason.pattern", "break_glass[2].name"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s: %v", want, err)
		}
	}
}
