package web

import (
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min",
		time.Hour: "1 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 days", 30 * 24 * time.Hour: "30 days",
	} {
		if got := span(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if ago(9*time.Second) != "just now" || ago(time.Minute) != "1 min ago" || until(0) != "now" || until(time.Hour) != "in 1 h" {
		t.Error("ago or until")
	}
}

func TestGist(t *testing.T) {
	t.Parallel()
	three, no := 3.0, false
	a := &ask.Ask{Questions: []ask.Question{
		{ID: "db", Header: "Storage", Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "stop", Label: "Neither", Cancels: true}}},
		{ID: "n", Text: "How many?"},
	}}
	one := &ask.Ask{Questions: a.Questions[:1]}
	pg := ask.Answer{QuestionID: "db", Selected: []string{"pg"}}
	for _, c := range []struct {
		name string
		ask  *ask.Ask
		out  ask.Outcome
		want string
	}{
		{"one answer is its label", one, ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{pg}}, "PostgreSQL"},
		{"Other beside an option", one, ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Other: "DuckDB"}}}, "PostgreSQL, DuckDB"},
		{"several have their headers", a, ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{pg, {QuestionID: "n", Number: &three}}}, "Storage: PostgreSQL · 3"},
		{"no", one, ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Boolean: &no}}}, "No"},
		{"a reply in one's own words", one, ask.Outcome{Status: ask.StatusAnswered, Response: "Ask Ana"}, "“Ask Ana”"},
		{"an option that cancels", one, ask.Outcome{Status: ask.StatusCancelled, CancelledBy: &ask.CancelledBy{QuestionID: "db", OptionID: "stop"}}, "Neither"},
		{"declined", one, ask.Outcome{Status: ask.StatusCancelled, Reason: "no"}, "Declined"},
		{"expired", one, ask.Outcome{Status: ask.StatusExpired}, "Nobody answered in time"},
		{"defaults are nobody's answer", one, ask.Outcome{Status: ask.StatusExpired, Answers: []ask.Answer{pg}}, "Nobody answered; default: PostgreSQL"},
		{"withdrawn", one, ask.Outcome{Status: ask.StatusWithdrawn}, "Withdrawn by the agent"},
		{"aborted", one, ask.Outcome{Status: ask.StatusAborted}, "Ended by an operator"},
	} {
		if got := gist(c.ask, &c.out); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	q := &ask.Question{Limits: ask.Limits{Message: "Use a ticket number"}}
	for in, want := range map[string]string{
		"is 12; give at most 9":              "Your answer is 12; give at most 9.",
		`question "db" needs an answer`:      "This one needs an answer.",
		"2 are chosen; choose at most 1":     "2 are chosen; choose at most 1.",
		"the Other text has more than 9":     "The Other text has more than 9.",
		"Use a ticket number":                "Use a ticket number",
		"Write your own answer beside Other": "Write your own answer beside Other.",
	} {
		if got := sentence(q, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDirection(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Hello": "ltr", "שלום": "rtl", "1. مرحبا": "rtl", "数据库": "ltr", "42": "ltr", "Hi שלום": "ltr"} {
		if got := direction(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
