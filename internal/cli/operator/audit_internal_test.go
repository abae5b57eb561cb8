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

// The list says how each person voted, whom a step told, and whose votes an outcome rests on.
func TestTheListSaysWhatHappenedToAnAsk(t *testing.T) {
	t.Parallel()
	yes := true
	for want, r := range map[string]*audit.Record{
		`s/a deny because "not today"`:             {Action: audit.AskVoted, Decision: &audit.Decision{Status: "deny", Reason: "not today"}},
		`s/a told group:ops`:                       {Action: audit.AskEscalated, Decision: &audit.Decision{Escalated: &ask.Escalated{Steps: []ask.Step{{N: 1, Tell: []string{"group:ops"}}}}}},
		`s/a looked at it, so the next step waits`: {Action: audit.AskEscalated, Decision: &audit.Decision{Escalated: &ask.Escalated{Seen: []ask.Seen{{N: 1}}}}},
		`s/a → yes (approve os:mei, deny os:tom for os:jo)`: {
			Action: audit.AskAnswered, Decision: &audit.Decision{
				Status: "answered", Answers: []audit.Answer{{Question: "q1", Boolean: &yes}},
				Votes: []audit.Vote{{Choice: "approve", Principal: "os:mei"}, {Choice: "deny", Principal: "os:tom", For: "os:jo"}},
			},
		},
	} {
		r.Tenant, r.Session, r.Ask = ask.DefaultTenant, "s", "a"
		if got := auditRow(r)[3]; got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}
