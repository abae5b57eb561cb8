package operator

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/pkg/ask"
)

// The runbook of AskbusBreakGlass asks who decided what alone, and why: the list says it in a line, whatever the
// person typed.
func TestTheListSaysWhySomebodyDecidedAlone(t *testing.T) {
	t.Parallel()
	yes := true
	row := auditRow(&audit.Record{
		Action: audit.AskBreakGlass, Actor: &audit.Actor{Principal: "os:root", Proof: "os"}, Tenant: ask.DefaultTenant, Session: "rel", Ask: "deploy",
		Decision: &audit.Decision{
			Status: "answered", Answers: []audit.Answer{{Question: "q1", Boolean: &yes}},
			BreakGlass: &ask.BreakGlass{Role: "commanders", Reason: "INC-77:\nthe site is down"},
		},
	})
	if who, what := row[2], row[3]; who != "os:root (os)" || strings.Contains(what, "\n") || !strings.HasPrefix(what, "rel/deploy → yes alone (break-glass), because ") || !strings.Contains(what, "the site is down") {
		t.Errorf("%q", row)
	}
}
