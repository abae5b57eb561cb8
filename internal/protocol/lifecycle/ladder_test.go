package lifecycle_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

// escalating is an ask of the group dev with a ladder, as it is stored.
func escalating(t testing.TB, change ...func(*ask.Ask)) *world {
	t.Helper()
	a := ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Timeout: time.Hour, Questions: []ask.Question{{Text: "Deploy?", Kind: ask.KindBoolean}}, Audience: []string{"group:dev"}}
	a.Escalate = []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"os:jo"}}, {After: 5 * time.Minute, Tell: []string{"group:oncall"}, Widen: true}, {After: 5 * time.Minute}}
	for _, c := range change {
		c(&a)
	}
	a.Normalize()
	if err := a.Validate(now); err != nil {
		t.Fatal(err)
	}
	s := lifecycle.New(a, now)
	s.Digests = []string{"d"}
	w := &world{now: now}
	if _, err := w.do(t, lifecycle.Ask{State: s}); err != nil {
		t.Fatal(err)
	}
	return w
}

// climbing are commands on an ask with a ladder.
func climbing() []lifecycle.Command {
	first := asking("d")
	a := *first.State.Ask
	a.Escalate, a.EscalateRepeat = []ask.Escalation{{After: 10 * time.Second, Tell: []string{"os:jo"}}, {After: time.Minute}}, 3
	first.State.Ask = &a
	return append(slices.Replace(commands(), 0, 1, lifecycle.Command(first)), lifecycle.Climb{}, lifecycle.Climb{}, lifecycle.Climb{}, lifecycle.Attend{By: person("mei", "dev")}, lifecycle.Attend{By: ask.By{Principal: "os:joe"}})
}

func TestStepsOfALadder(t *testing.T) {
	t.Parallel()
	w := escalating(t)
	climb := func(minutes int) []ask.Step {
		t.Helper()
		w.now = now.Add(time.Duration(minutes) * time.Minute)
		s, err := w.do(t, lifecycle.Climb{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Escalated() == nil {
			return nil
		}
		return s.Escalated().Steps
	}
	if got := climb(9); got != nil {
		t.Errorf("before it is due: %+v", got)
	}
	if got := climb(14); len(got) != 1 || got[0].Tell[0] != "os:jo" || !slices.Equal(w.held.Ask.Audience, []string{"group:dev"}) {
		t.Errorf("told, not widened: %+v, %q", got, w.held.Ask.Audience)
	}
	if _, err := w.do(t, says("v1", person("jo"), true)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("who was only told decides: %v", err)
	}
	if got := climb(18); len(got) != 1 {
		t.Errorf("the next counts from the one that was late: %+v", got)
	}
	if got := climb(50); len(got) != 2 || !got[1].Widened || !slices.Equal(w.held.Ask.Audience, []string{"group:dev", "group:oncall"}) {
		t.Errorf("after an outage one step at a time, and widened: %+v, %q", got, w.held.Ask.Audience)
	}
	if got := climb(55); len(got) != 3 || !got[2].Remind || !slices.Equal(got[2].Tell, []string{"os:jo", "group:oncall"}) {
		t.Errorf("a reminder to all: %+v", got)
	}
	s, err := w.do(t, says("v2", person("ana", "oncall"), true))
	if err != nil || s.End.Status != ask.StatusAnswered || len(s.End.Escalated.Steps) != 3 {
		t.Fatalf("one of those who may decide since: %+v, %v", s.End, err)
	}
	if got := climb(59); len(got) != 3 || w.held.End == nil {
		t.Errorf("after the end: %+v", got)
	}
}

func TestTheDeadlineHasTheSteps(t *testing.T) {
	t.Parallel()
	w := escalating(t)
	w.now = now.Add(10 * time.Minute)
	if _, err := w.do(t, lifecycle.Climb{}); err != nil {
		t.Fatal(err)
	}
	w.now = now.Add(2 * time.Hour)
	s, err := w.do(t, lifecycle.Climb{})
	if err != nil || s.End == nil || s.End.Status != ask.StatusExpired || len(s.End.Escalated.Steps) != 1 {
		t.Errorf("%+v, %v", s.End, err)
	}
}

func TestNoStepWithoutATimeOrAnAgent(t *testing.T) {
	t.Parallel()
	w := escalating(t)
	for name, s := range map[string]func() (lifecycle.State, time.Time){
		"an unknown time":         func() (lifecycle.State, time.Time) { return w.held, time.Time{} },
		"its agent has left":      func() (lifecycle.State, time.Time) { s := w.held; s.Left = now; return s, now.Add(20 * time.Minute) },
		"an ask without a ladder": func() (lifecycle.State, time.Time) { return pending(t).held, now.Add(20 * time.Minute) },
		"an unknown ask":          func() (lifecycle.State, time.Time) { return lifecycle.State{}, now.Add(20 * time.Minute) },
	} {
		state, at := s()
		if effect, err := lifecycle.Decide(state, lifecycle.Climb{}, at); effect != (lifecycle.Tell{}) || err != nil {
			t.Errorf("%s: %+v, %v", name, effect, err)
		}
	}
}

func TestWhoPausesAStep(t *testing.T) {
	t.Parallel()
	excluding := func(a *ask.Ask) { a.ExcludeAsker, a.Asker = true, []string{"os:asker"} }
	for name, c := range map[string]struct {
		by   ask.By
		want error
	}{
		"one who may decide":    {person("mei", "dev"), nil},
		"one who was told":      {person("jo"), nil},
		"somebody else":         {person("eve"), ask.ErrForbidden},
		"the asker":             {person("asker", "dev"), ask.ErrForbidden},
		"the host of the agent": {ask.By{Principal: "os:mei", Groups: []string{"dev"}, Responder: ask.ResponderNative}, ask.ErrForbidden},
		"a token, not a person": {ask.By{Principal: "token:x", Groups: []string{"dev"}}, ask.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := escalating(t, excluding)
			w.now = now.Add(10 * time.Minute)
			if _, err := w.do(t, lifecycle.Climb{}); err != nil {
				t.Fatal(err)
			}
			w.now = now.Add(12 * time.Minute)
			s, err := w.do(t, lifecycle.Attend{By: c.by})
			if !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if c.want != nil {
				return
			}
			next, ok := s.Ask.NextStep(s.AskedAt, s.Escalated())
			if !ok || !next.Paused || !next.At.Equal(now.Add(20*time.Minute)) {
				t.Errorf("%+v", next)
			}
			w.now = now.Add(14 * time.Minute) // once
			again, err := w.do(t, lifecycle.Attend{By: person("ana", "dev")})
			if diff := cmp.Diff(s.Escalated(), again.Escalated()); diff != "" || err != nil {
				t.Errorf("paused twice: %s, %v", diff, err)
			}
		})
	}
}

// TestWhoLooksKeepsNoGroups: neither their own nor those of whom they stand in for.
func TestWhoLooksKeepsNoGroups(t *testing.T) {
	t.Parallel()
	w := escalating(t)
	mei, by := person("mei", "dev"), person("ana", "ops")
	by.For = &mei
	s, err := w.do(t, lifecycle.Attend{By: by})
	if err != nil || len(s.Escalated().Seen) != 1 {
		t.Fatalf("%+v, %v", s.Escalated(), err)
	}
	if seen := s.Escalated().Seen[0].By; len(seen.Groups) != 0 || seen.For == nil || seen.For.Principal != mei.Principal || len(seen.For.Groups) != 0 {
		t.Errorf("%+v for %+v", seen, seen.For)
	}
	if len(mei.Groups) != 1 {
		t.Error("the caller's groups are gone")
	}
}

func TestAStepTellsWhoIsOnCall(t *testing.T) {
	t.Parallel()
	w := escalating(t, func(a *ask.Ask) {
		a.Escalate = []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"schedule:sre", "os:jo"}, Widen: true}, {After: 10 * time.Minute, Tell: []string{"schedule:none"}}}
	})
	w.now = now.Add(11 * time.Minute)
	stale := now.Add(-time.Hour)
	w.held.OnCall = []ask.Duty{{Schedule: "sre", People: []string{"os:mei", "oidc:mei@example.com"}, AsOf: stale}, {Schedule: "other", People: []string{"os:eve"}}}
	s, err := w.do(t, lifecycle.Climb{})
	if err != nil || !slices.Equal(s.Escalated().Steps[0].Tell, []string{"schedule:sre", "os:jo", "os:mei", "oidc:mei@example.com"}) {
		t.Fatalf("%+v, %v", s.Escalated(), err)
	}
	if at := s.Escalated().Steps[0].AsOf; !at.Equal(stale) {
		t.Errorf("as of %s", at)
	}
	if !slices.Equal(s.Ask.Audience, []string{"group:dev", "os:jo", "os:mei", "oidc:mei@example.com"}) {
		t.Errorf("who may decide since: %q", s.Ask.Audience)
	}
	w.now = now.Add(30 * time.Minute) // a schedule that is not there is nobody, never everybody
	if s, err = w.do(t, lifecycle.Climb{}); err != nil || !slices.Equal(s.Escalated().Steps[1].Tell, []string{"schedule:none"}) {
		t.Errorf("%+v, %v", s.Escalated(), err)
	}
	if step := s.Escalated().Steps[1]; s.Ask.Tells(&step, person("mei", "dev")) {
		t.Error("it tells those who may decide")
	}
}

func TestNoStepOutsideOpenHours(t *testing.T) {
	t.Parallel()
	hour := func(n float64) time.Time { return now.Add(time.Duration(n * float64(time.Hour))) }
	w := escalating(t, func(a *ask.Ask) {
		a.Timeout = 48 * time.Hour
		a.Escalate = []ask.Escalation{{After: time.Hour, Tell: []string{"os:jo"}}, {After: time.Hour}}
		a.OpenHours = &ask.OpenHours{Name: "office", Spans: []ask.Span{{From: hour(0), To: hour(2)}, {From: hour(24), To: hour(26)}}}
	})
	climb := func(at float64) int {
		t.Helper()
		w.now = hour(at)
		s, err := w.do(t, lifecycle.Climb{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Escalated() == nil {
			return 0
		}
		return len(s.Escalated().Steps)
	}
	if n := climb(3); n != 0 { // it was due an hour before closing time
		t.Error("a missed step is taken after closing time")
	}
	w.now = hour(4)
	if s, err := w.do(t, lifecycle.Attend{By: person("mei", "dev")}); err != nil || len(s.Escalated().Seen) != 1 {
		t.Fatalf("who looks while it is closed: %+v, %v", s.Escalated(), err)
	}
	if climb(24) != 1 || climb(24.9) != 1 || climb(25) != 2 { // at closing time plus an hour of pause: the opening; then an open hour
		t.Errorf("%+v", w.held.Escalated())
	}
}

// Who did not see a notification is told by a step, once, and only of an ask that has no ladder.
func TestARemindIsOneStepWithoutALadder(t *testing.T) {
	t.Parallel()
	c := lifecycle.Remind{Tell: []string{"telegram:1"}, Via: []string{"telegram"}}
	steps := func(w *world, c lifecycle.Command) []ask.Step {
		t.Helper()
		s, err := w.do(t, c)
		if err != nil {
			t.Fatal(err)
		}
		if s.Escalated() == nil {
			return nil
		}
		return s.Escalated().Steps
	}
	without := escalating(t, func(a *ask.Ask) { a.Escalate = nil })
	if got := steps(without, lifecycle.Remind{}); got != nil {
		t.Errorf("nobody is told: %+v", got)
	}
	want := []ask.Step{{N: 1, At: without.now, Tell: c.Tell, Via: c.Via}}
	for range 2 {
		if diff := cmp.Diff(want, steps(without, c)); diff != "" {
			t.Error(diff)
		}
	}
	if _, ok := without.held.Ask.NextStep(without.held.AskedAt, without.held.Escalated()); ok {
		t.Error("another step follows")
	}
	if got := steps(escalating(t), c); got != nil {
		t.Errorf("a ladder tells whom its asker names: %+v", got)
	}
	over := escalating(t, func(a *ask.Ask) { a.Escalate = nil })
	if _, err := over.do(t, lifecycle.Withdraw{}); err != nil {
		t.Fatal(err)
	}
	if got := steps(over, c); got != nil {
		t.Errorf("after the end: %+v", got)
	}
}
