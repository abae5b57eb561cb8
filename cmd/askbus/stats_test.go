package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestStatsCountsBlockedAgentsAndAnswers(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	for i := range 4 {
		pl.must(3, "ask", "--question", "Ship it?", "--option", "Yes", "--option", "No", "--id", fmt.Sprint("a", i), "--session", "s", "--wait", "0")
	}
	pl.must(0, "answer", "s/a0", "--select", "q1=o1")
	pl.must(0, "answer", "s/a1", "--decline", "no time")
	pl.must(0, "withdraw", "s/a2")
	out, stderr, code := pl.run("stats")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	s := decode(t, out)
	for field, want := range map[string]string{"blocked_agents": "1", "pending_asks": "1", "asked": "4", "answered": "1"} {
		if got := fmt.Sprint(s[field]); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	people, agents, teams := s["people"].([]any), s["agents"].([]any), s["teams"].([]any)
	if len(people) != 1 || people[0].(map[string]any)["answered"] != 1.0 || len(agents) != 1 || len(teams) != 1 || teams[0].(map[string]any)["name"] != "everybody" {
		t.Errorf("people %v, agents %v, teams %v", people, agents, teams)
	}
	text, _, code := pl.run("stats", "--output", "text", "--since", "24h")
	for _, want := range []string{"Now: 1 agent is blocked by 1 ask, the longest for ", "In the last 24 h: agents waited ", " s and asked 4 questions. People answered 1, half of them within ", "WHO ANSWERED", "everybody"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	text, _, code = pl.run("stats", "--output", "text", "--week")
	for _, want := range []string{"THIS WEEK", "agents waited ", "questions asked", "asked most: 4 questions.", "WHO ANSWERED"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("the digest lacks %q:\n%s", want, text)
		}
	}
	for _, wrong := range [][]string{{"--since", "-1h"}, {"--since", "1h", "--week"}, {"--top", "0"}, {"x"}} {
		if _, _, code := pl.run(append([]string{"stats"}, wrong...)...); code != 2 {
			t.Errorf("stats %v: exit %d", wrong, code)
		}
	}
}
