package lifecycle_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

func incident() ask.BreakGlassRole {
	return ask.BreakGlassRole{Name: "incident", Version: "1", From: []string{"group:incident", "os:oncall"}, MinProof: ask.ProofPasskey, ReasonPattern: "^INC-[0-9]+"}
}

func alone(id string, by ask.By, yes bool, reason string) lifecycle.Reply {
	r := says(id, by, yes)
	r.Reply.BreakGlass = &ask.BreakGlass{Reason: reason}
	return r
}

// breakable is an ask with an approval, with a role as it was then and as it is now.
func breakable(t *testing.T, now []ask.BreakGlassRole, change ...func(*ask.Ask)) *world {
	t.Helper()
	w := voting(t, twoOfSRE(), append([]func(*ask.Ask){func(a *ask.Ask) { a.BreakGlass = []ask.BreakGlassRole{incident()} }}, change...)...)
	w.held.BreakGlass = now
	return w
}

func TestOnePersonDecidesAlone(t *testing.T) {
	t.Parallel()
	mei, ic := person("mei", "sre"), person("ic", "incident", "dev")
	for _, yes := range []bool{true, false} {
		w := breakable(t, []ask.BreakGlassRole{incident()})
		if _, err := w.do(t, says("v1", mei, true)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the same again is the same reply
			s, err := w.do(t, alone("b1", ic, yes, "INC-7 the site is down"))
			if err != nil || s.End == nil {
				t.Fatalf("%+v, %v", s.End, err)
			}
		}
		o := w.held.End
		want := ask.BreakGlass{Reason: "INC-7 the site is down", Role: "incident", Version: "1", From: "group:incident", Principal: "os:ic", Proof: ask.ProofOIDC}
		if o.BreakGlass == nil || *o.BreakGlass != want || *o.Answers[0].Boolean != yes || o.By.Principal != "os:ic" || !slices.Equal(o.By.Groups, []string{"incident"}) {
			t.Errorf("the outcome is %+v by %+v: %+v", o, o.By, o.BreakGlass)
		}
		if len(o.Votes) != 1 || o.Votes[0].By.Principal != "os:mei" {
			t.Errorf("the votes are %+v", o.Votes)
		}
		if got := o.Ending(); got != map[bool]string{true: "approved", false: "denied"}[yes]+" by ic alone (break-glass): INC-7 the site is down" {
			t.Error(got)
		}
		step := o.AloneStep()
		if !step.Remind || !slices.Contains(step.Tell, "os:mei") {
			t.Errorf("it tells %+v", step)
		}
		if _, err := w.do(t, alone("b2", ic, !yes, "INC-8")); !errors.Is(err, ask.ErrResolved) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestADenialAloneUnderAPolicyIsNoAnswer: as with votes, an agent gains nothing by the
// names of its options.
func TestADenialAloneUnderAPolicyIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := breakable(t, []ask.BreakGlassRole{incident()}, func(a *ask.Ask) { a.Approval.Policy = "two" })
	s, err := w.do(t, alone("b1", person("ic", "incident"), false, "INC-7"))
	if err != nil || s.End.Status != ask.StatusCancelled || s.End.Answers != nil || s.End.Reason != "INC-7" || s.End.Ending() != "denied by ic alone (break-glass): INC-7" {
		t.Errorf("%+v, %v", s.End, err)
	}
}

func TestWhoMayNotDecideAlone(t *testing.T) {
	t.Parallel()
	ic, mei := person("ic", "incident"), person("mei", "incident")
	weak, token, dialog, standIn := ic, ic, ic, person("jo")
	weak.Proof, token.Principal, standIn.For = ask.ProofOS, "token:x", &mei
	dialog.Responder = ask.ResponderNative
	few, strict := incident(), incident()
	few.From, strict.ReasonPattern = []string{"group:other"}, "^SEV1"
	has := []ask.BreakGlassRole{incident()}
	for name, c := range map[string]struct {
		by     ask.By
		reason string
		now    []ask.BreakGlassRole
		change func(*ask.Ask)
		people ask.People
		want   error
		fault  ask.FaultCode
	}{
		"somebody with the role":     {by: ic},
		"by name":                    {by: person("oncall")},
		"without the role":           {by: person("mei", "sre"), want: ask.ErrForbidden, fault: ask.FaultMayNotBreakGlass},
		"a weak proof":               {by: weak, want: ask.ErrForbidden, fault: ask.FaultProofTooWeak},
		"a token":                    {by: token, want: ask.ErrForbidden, fault: ask.FaultMayNotBreakGlass},
		"the dialog of a host":       {by: dialog, want: ask.ErrForbidden, fault: ask.FaultMayNotBreakGlass},
		"a stand-in of one with it":  {by: standIn, want: ask.ErrForbidden, fault: ask.FaultMayNotBreakGlass},
		"no reason":                  {by: ic, reason: " ", want: ask.ErrInvalid, fault: ask.FaultBreakGlassReason},
		"another reason":             {by: ic, reason: "because", want: ask.ErrInvalid, fault: ask.FaultBreakGlassPattern},
		"the role was removed":       {by: ic, now: []ask.BreakGlassRole{}, want: ask.ErrForbidden, fault: ask.FaultMayNotBreakGlass},
		"the group was removed":      {by: ic, now: []ask.BreakGlassRole{few}, want: ask.ErrForbidden, fault: ask.FaultMayNotBreakGlass},
		"a stricter reason now":      {by: ic, reason: "INC-7", now: []ask.BreakGlassRole{strict}, want: ask.ErrInvalid, fault: ask.FaultBreakGlassPattern},
		"a role that is new":         {by: ic, change: func(a *ask.Ask) { a.BreakGlass = nil }, want: ask.ErrForbidden, fault: ask.FaultMayNotBreakGlass},
		"a stronger proof for all":   {by: person("ic", "incident"), change: func(a *ask.Ask) { a.MinProof = ask.ProofPasskey }},
		"the excluded asker":         {by: ic, change: func(a *ask.Ask) { a.ExcludeAsker, a.Asker = true, []string{"os:ic"} }, want: ask.ErrForbidden, fault: ask.FaultIsTheAsker},
		"an asker who may vote":      {by: ic, change: func(a *ask.Ask) { a.Asker = []string{"os:ic"} }, want: ask.ErrForbidden, fault: ask.FaultIsTheAsker},
		"the asker as another":       {by: ic, people: ask.People{List: map[string]string{"os:ic": "IC", "oidc:id.example.com#ic": "IC"}}, change: func(a *ask.Ask) { a.Asker = []string{"oidc:id.example.com#ic"} }, want: ask.ErrForbidden, fault: ask.FaultIsTheAsker},
		"somebody excluded":          {by: ic, change: func(a *ask.Ask) { a.Exclude = []string{"os:ic"} }, want: ask.ErrForbidden, fault: ask.FaultExcluded},
		"excluded as another":        {by: ic, people: ask.People{List: map[string]string{"os:ic": "IC", "oidc:id.example.com#ic": "IC"}}, change: func(a *ask.Ask) { a.Exclude = []string{"oidc:id.example.com#ic"} }, want: ask.ErrForbidden, fault: ask.FaultExcluded},
		"nobody of the list":         {by: ic, people: ask.People{List: map[string]string{"os:mei": "Mei"}}, want: ask.ErrForbidden, fault: ask.FaultNotLinked},
		"unlisted, where one votes":  {by: ic, people: ask.People{List: map[string]string{"os:mei": "Mei"}}, change: func(a *ask.Ask) { a.Approval.AnyOf[0].Need, a.Asker = 1, []string{"os:mei"} }, want: ask.ErrForbidden, fault: ask.FaultNotLinked},
		"an ask that forbids it":     {by: ic, change: func(a *ask.Ask) { a.Approval.NoBreakGlass = true }, want: ask.ErrInvalid, fault: ask.FaultNothingToBreak},
		"a policy that forbids it":   {by: ic, change: func(a *ask.Ask) { a.Approval.And = []ask.Approval{{AnyOf: a.Approval.AnyOf, NoBreakGlass: true}} }, want: ask.ErrInvalid, fault: ask.FaultNothingToBreak},
		"an ask of its asker alone":  {by: ic, change: func(a *ask.Ask) { a.Only, a.Asker, a.Approval.AnyOf[0].Need = ask.OnlyAsker, []string{"os:mei"}, 1 }, want: ask.ErrInvalid, fault: ask.FaultNothingToBreak},
		"an ask without an approval": {by: ic, change: func(a *ask.Ask) { a.Approval = nil }, want: ask.ErrInvalid, fault: ask.FaultNothingToBreak},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change, now, reason := c.change, c.now, c.reason
			if change == nil {
				change = func(*ask.Ask) {}
			}
			if now == nil {
				now = has
			}
			if reason == "" {
				reason = "INC-7"
			}
			w := breakable(t, now, change)
			w.held.People = c.people
			_, err := w.do(t, alone("b1", c.by, true, reason))
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("%v; want %v", err, c.want)
			}
			if err == nil {
				return
			}
			e, _ := errors.AsType[*ask.Error](err)
			if len(e.Faults) == 0 || e.Faults[0].Code != c.fault {
				t.Errorf("the faults are %v, want %s: %v", e.Faults, c.fault, err)
			}
			if w.held.End != nil {
				t.Error("it has ended")
			}
		})
	}
}
