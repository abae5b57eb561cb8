package lifecycle_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

func duty(people ...string) []ask.Duty { return []ask.Duty{{Schedule: "sre", People: people}} }

// TestWhoIsOnCallAtTheVoteVotes: the vote of somebody who was on call counts after
// the turn has ended; who is no longer on call may not vote.
func TestWhoIsOnCallAtTheVoteVotes(t *testing.T) {
	t.Parallel()
	two := &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"schedule:sre"}}}}
	w := escalating(t, func(a *ask.Ask) { a.Audience, a.Escalate, a.Approval = nil, nil, two })
	vote := func(id, who string) (lifecycle.State, error) {
		yes := true
		by := person(who)
		by.OnCall = []ask.OnCall{{Schedule: "sre"}}
		if id != "forged" {
			by.OnCall = nil
		}
		return w.do(t, lifecycle.Reply{Reply: ask.Reply{AnswerID: id, By: by, Answers: []ask.Answer{{QuestionID: "q1", Boolean: &yes}}}})
	}
	for name, on := range map[string][]ask.Duty{"nobody": {}, "a schedule that is not there": {{Schedule: "other", People: []string{"os:mei"}}}, "never read": {{Schedule: "sre", Unknown: true}}} {
		w.held.OnCall = on
		if _, err := vote("v0", "mei"); !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stale := now.Add(-time.Hour)
	w.held.OnCall = duty("os:mei")
	w.held.OnCall[0].AsOf = stale
	s, err := vote("v1", "mei")
	if err != nil || len(s.Votes()) != 1 || len(s.Votes()[0].By.OnCall) != 1 || !s.Votes()[0].By.OnCall[0].AsOf.Equal(stale) {
		t.Fatalf("%+v, %v", s.Votes(), err)
	}
	w.held.OnCall = duty("os:jo")
	if _, err := vote("v2", "ana"); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("who is not on call: %v", err)
	}
	if s, err = vote("v3", "jo"); err != nil || s.End == nil || s.End.Status != ask.StatusAnswered || len(s.End.Votes) != 2 {
		t.Errorf("%+v, %v", s.End, err)
	}
}

func TestOthersComeOnCall(t *testing.T) {
	t.Parallel()
	w := escalating(t, func(a *ask.Ask) { a.Audience, a.Escalate = []string{"schedule:sre", "os:boss"}, nil })
	if !w.held.Living() {
		t.Fatal("it is not rewritten")
	}
	for _, c := range []struct {
		on     []ask.Duty
		want   []string
		writes int
	}{
		{duty("os:mei", "oidc:mei@example.com"), []string{"schedule:sre", "schedule:sre=os:mei", "schedule:sre=oidc:mei@example.com", "os:boss"}, 1},
		{duty("os:mei", "oidc:mei@example.com"), []string{"schedule:sre", "schedule:sre=os:mei", "schedule:sre=oidc:mei@example.com", "os:boss"}, 0},
		{[]ask.Duty{{Schedule: "sre", Unknown: true}}, []string{"schedule:sre", "schedule:sre=os:mei", "schedule:sre=oidc:mei@example.com", "os:boss"}, 0}, // a broker that just began
		{nil, []string{"schedule:sre", "schedule:sre=os:mei", "schedule:sre=oidc:mei@example.com", "os:boss"}, 0},
		{duty("os:jo"), []string{"schedule:sre", "schedule:sre=os:jo", "os:boss"}, 1},
		{[]ask.Duty{}, []string{"schedule:sre", "os:boss"}, 1}, // the operator removed it: nobody, not everybody
	} {
		before := len(w.events)
		w.held.OnCall = c.on
		s, err := w.do(t, lifecycle.Relieve{})
		if err != nil || !slices.Equal(s.Ask.Audience, c.want) || len(w.events)-before != c.writes {
			t.Errorf("%+v: %q, %d writes, %v", c.on, s.Ask.Audience, len(w.events)-before, err)
		}
	}
	if w.held.Ask.Allows(person("mei")) || !w.held.Ask.Allows(person("boss")) {
		t.Error("who was on call still may, or the boss may not")
	}
}
