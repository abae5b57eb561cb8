package waiting_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/waiting"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

var midnight = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

// asked returns a pending ask of an agent.
func asked(agent string, at time.Duration, audience ...string) ask.Record {
	return ask.Record{State: ask.StatePending, AskedAt: midnight.Add(at), Ask: ask.Ask{Session: "s", Agent: ask.Agent{Name: agent}, Audience: audience}}
}

// ended returns an ask that ended after a while.
func ended(r ask.Record, after time.Duration, status ask.Status, by string) ask.Record {
	r.State = ask.StateResolved
	r.Outcome = &ask.Outcome{Status: status, At: r.AskedAt.Add(after), Waited: after}
	if by != "" {
		r.Outcome.Source, r.Outcome.By = ask.SourceHuman, &ask.By{Name: by}
	}
	return r
}

func TestStats(t *testing.T) {
	t.Parallel()
	c := waiting.NewCounter(midnight, midnight.Add(10*time.Hour))
	policy := ended(asked("builder", 5*time.Hour), time.Minute, ask.StatusAnswered, "")
	policy.Outcome.Source = ask.SourcePolicy
	doctor := ended(asked("askbus doctor", 5*time.Hour, "nats:UOPERATOR"), time.Second, ask.StatusAnswered, "doctor")
	doctor.Outcome.By.Principal, doctor.Outcome.By.Responder = "nats:UOPERATOR", "operator"
	for _, r := range []ask.Record{
		asked("planner", -2*time.Hour, "group:sre", "os:mei"),   // waits since yesterday: 10 h of today
		asked("planner", 9*time.Hour, "group:sre", "group:dev"), // 1 h
		asked("", 9*time.Hour+30*time.Minute),                   // the session's name; 30 min
		ended(asked("builder", 0), 2*time.Minute, ask.StatusAnswered, "Mei"),
		ended(asked("builder", time.Hour), 4*time.Minute, ask.StatusAnswered, "Mei"),
		ended(asked("builder", 2*time.Hour, "group:dev"), time.Hour, ask.StatusAnswered, "Ana"),
		ended(asked("builder", -time.Hour), 2*time.Hour, ask.StatusAnswered, "Ana"), // of which 1 h is today
		ended(asked("builder", 3*time.Hour), time.Hour, ask.StatusExpired, ""),
		policy, // nobody's answer
		doctor, // a test
		ended(asked("builder", -3*time.Hour), time.Hour, ask.StatusAnswered, "Jo"), // yesterday's
	} {
		c.Add(&r)
	}
	s := func(d time.Duration) waiting.Seconds { return waiting.Seconds(d) }
	want := waiting.Stats{
		From: midnight, To: midnight.Add(10 * time.Hour),
		BlockedAgents: 2, PendingAsks: 3, LongestWait: s(12 * time.Hour),
		Waited: s(14*time.Hour + 37*time.Minute), Asked: 7, Answered: 4, Median: s(4 * time.Minute),
		People: []waiting.Line{{"Ana", 0, 2, s(time.Hour), s(2 * time.Hour)}, {"Mei", 0, 2, s(2 * time.Minute), s(6 * time.Minute)}},
		Agents: []waiting.Line{{"planner", 1, 0, 0, s(11 * time.Hour)}, {"builder", 5, 4, s(4 * time.Minute), s(3*time.Hour + 7*time.Minute)}, {"s", 1, 0, 0, s(30 * time.Minute)}},
		Teams: []waiting.Line{
			{"sre", 1, 0, 0, s(11 * time.Hour)},
			{waiting.Everybody, 5, 3, s(4 * time.Minute), s(2*time.Hour + 37*time.Minute)},
			{"dev", 2, 1, s(time.Hour), s(2 * time.Hour)},
		},
	}
	if d := cmp.Diff(want, c.Stats()); d != "" {
		t.Error(d)
	}
	text, err := json.Marshal(c.Stats())
	if err != nil || !strings.Contains(string(text), `"waited_seconds":52620,`) {
		t.Errorf("%s, %v", text, err)
	}
}

// What ends after a period waited until its end, and its answer is one of the next period.
func TestAPeriodThatHasEnded(t *testing.T) {
	t.Parallel()
	c := waiting.NewPeriod(midnight, midnight.Add(10*time.Hour))
	for _, r := range []ask.Record{
		ended(asked("builder", 9*time.Hour), 3*time.Hour, ask.StatusAnswered, "Mei"),
		ended(asked("builder", 8*time.Hour), time.Hour, ask.StatusAnswered, "Ana"),
		asked("builder", 10*time.Hour),
		ended(asked("builder", 11*time.Hour), time.Hour, ask.StatusAnswered, "Mei"),
	} {
		c.Add(&r)
	}
	s := c.Stats()
	if s.Asked != 2 || s.Answered != 1 || s.Waited != waiting.Seconds(2*time.Hour) || len(s.People) != 1 || s.People[0].Name != "Ana" || s.PendingAsks != 1 {
		t.Errorf("%+v", s)
	}
}

func TestNothingWasAsked(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(waiting.NewCounter(midnight, midnight).Stats())
	if err != nil || !strings.Contains(string(text), `"people":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	c := waiting.NewCounter(midnight, midnight.Add(time.Hour))
	for i := range 3000 {
		r := asked(fmt.Sprint("agent-", i), 0)
		c.Add(&r)
	}
	s := c.Stats()
	if len(s.Agents) != 1001 || s.Agents[0].Name != waiting.Others || s.Agents[0].Asked != 2000 {
		t.Errorf("%d agents, the first is %+v", len(s.Agents), s.Agents[0])
	}
}

// TestNoisiest: of several who asked as often, none asked most.
func TestNoisiest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want   string
		agents []waiting.Line
	}{
		{"", nil},
		{"b", []waiting.Line{{Name: "a", Asked: 1}, {Name: "b", Asked: 3}, {Name: "c", Asked: 2}}},
		{"", []waiting.Line{{Name: "a", Asked: 2}, {Name: "b", Asked: 1}, {Name: "c", Asked: 2}}},
		{"a", []waiting.Line{{Name: "a", Asked: 2}, {Name: waiting.Others, Asked: 9}}},
	} {
		if got := waiting.Noisiest(c.agents).Name; got != c.want {
			t.Errorf("%+v: %q", c.agents, got)
		}
	}
}
