package broker_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

const commanders = `
break_glass:
  - name: commanders
    tenants: [acme]
    from: ["group:incident"]
    min_proof: os
    reason: { prompt: the incident, pattern: "^INC-" }
`

func commander(name string) ask.By {
	return ask.By{Principal: "os:" + name, Name: name, Groups: []string{"incident", "dev"}, Proof: ask.ProofOS}
}

func breaks(id string, by ask.By, reason string) ask.Reply {
	r := votes(id, by, true)
	r.BreakGlass = &ask.BreakGlass{Reason: reason}
	return r
}

// TestBreakGlass decides alone, and attacks that: as others, on other asks, after the
// role was taken away, and under names that only the broker gives.
func TestBreakGlass(t *testing.T) {
	t.Parallel()
	counts := metrics.New()
	with, now := policies(t, commanders), &atomic.Pointer[approvals.File]{}
	now.Store(with)
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{Approvals: now.Load, Metrics: counts}})
	r := newResponder(t, b, "web")
	k := pose(t, b, deploying("d1", 2))
	_, err := r.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")

	away(t, r, commander("ic"), "os:jo", "acme")
	_, err = r.Answer(t.Context(), k, breaks("b0", stranger("jo"), "INC-7"))
	forbidden(t, "a stand-in of somebody with the role", err)
	_, err = r.Answer(t.Context(), k, breaks("b0", ofSRE("tom"), "INC-7"))
	forbidden(t, "somebody without the role", err)
	_, err = r.Answer(t.Context(), k, votes("b0", commander("ic"), true))
	forbidden(t, "an answer of somebody with the role who may not vote", err)
	for _, reason := range []string{"", "because"} {
		if _, err := r.Answer(t.Context(), k, breaks("b0", commander("ic"), reason)); !errors.Is(err, ask.ErrInvalid) || !strings.Contains(err.Error(), "break_glass/reason") {
			t.Errorf("the reason %q: %v", reason, err)
		}
	}
	claims := breaks("b0", commander("ic"), "INC-7")
	claims.BreakGlass.Role = "commanders"
	if _, err := r.Answer(t.Context(), k, claims); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a sender names its role: %v", err)
	}
	g, err := responder.New(b.Connect(rights.Role{Name: rights.RoleGateway}), "gateway", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	token := commander("ic")
	token.Proof = ask.ProofToken
	_, err = g.Answer(t.Context(), k, breaks("b0", token, "INC-7"))
	forbidden(t, "a token", err)
	plain := ask.Ask{ID: "plain", Audience: []string{"group:sre"}, Questions: deploying("", 1).Questions}
	if _, err := r.Answer(t.Context(), pose(t, b, plain), breaks("b0", commander("ic"), "INC-7")); !errors.Is(err, ask.ErrInvalid) || !strings.Contains(err.Error(), "break_glass") {
		t.Errorf("an ask without an approval: %v", err)
	}
	rec, err := r.Get(t.Context(), k)
	if err != nil || rec.Outcome != nil || len(rec.Ask.BreakGlass) != 1 || rec.Ask.BreakGlass[0].From[0] != "group:incident" {
		t.Fatalf("%+v, %v", rec.Ask.BreakGlass, err)
	}

	// The role is taken away after the screen was drawn, and comes back.
	now.Store(policies(t, "people: []"))
	_, err = r.Answer(t.Context(), k, breaks("b0", commander("ic"), "INC-7"))
	forbidden(t, "a role that was removed", err)
	late := pose(t, b, deploying("late", 2))
	now.Store(with)
	_, err = r.Answer(t.Context(), late, breaks("b0", commander("ic"), "INC-7"))
	forbidden(t, "a role that is newer than the ask", err)

	o, err := r.Answer(t.Context(), k, breaks("b1", commander("ic"), "INC-7: the site is down"))
	if err != nil || o.Ending() != "approved by ic alone (break-glass): INC-7: the site is down" || len(o.Votes) != 1 {
		t.Fatalf("%s, %v", o.Ending(), err)
	}
	if o.BreakGlass.Role != "commanders" || o.BreakGlass.From != "group:incident" || o.BreakGlass.Principal != "os:ic" || o.BreakGlass.Proof != ask.ProofOS || o.BreakGlass.Version == "" {
		t.Errorf("the outcome has %+v", o.BreakGlass)
	}
	if _, err := r.Answer(t.Context(), k, breaks("b2", commander("ic"), "INC-8")); !errors.Is(err, ask.ErrResolved) {
		t.Errorf("after the end: %v", err)
	}
	one := recorded(t, b.Connect(auditor("")), "a decision alone", audit.Query{Ask: "d1"}, func(r *audit.Record) bool { return r.Action == audit.AskBreakGlass })
	if d := one.Decision; d.BreakGlass == nil || d.BreakGlass.Reason != "INC-7: the site is down" || one.Actor.Principal != "os:ic" || len(d.Votes) != 1 {
		t.Errorf("the record is %+v of %+v", d.BreakGlass, one.Actor)
	}
	natstest.Eventually(t, "it is counted", func() bool { return strings.Contains(scrape(t, counts), "askbus_break_glass_total 1") })
}

// TestAnotherTenantsRole: a role of one tenant is none in another, and an agent cannot
// give itself one.
func TestAnotherTenantsRole(t *testing.T) {
	t.Parallel()
	b, _ := governing(t, strings.Replace(commanders, "[acme]", "[globex]", 1))
	r := newResponder(t, b, "web")
	_, err := r.Answer(t.Context(), pose(t, b, deploying("d1", 2)), breaks("b1", commander("ic"), "INC-7"))
	forbidden(t, "the role of another tenant", err)
	_, nc := askingFor(t, b, "deploy2", "os:mei")
	reply := request(t, nc, "askv1.acme.deploy2.ask.a1", nil, event("dev.askbus.ask.requested.v1", "a1", `{"id":"a1","questions":[{"id":"go","kind":"boolean","text":"Deploy?"}],"break_glass":[{"name":"commanders","version":"1","from":["os:mei"],"min_proof":"os"}]}`))
	if !strings.Contains(string(reply.Data), "/break_glass") {
		t.Errorf("an ask with a role of its own: %s", reply.Data)
	}
}
