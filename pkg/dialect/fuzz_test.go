package dialect_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// seeds adds every golden file, and texts that are hard to parse.
func seeds(f *testing.F, folder, section string) {
	f.Helper()
	entries, err := os.ReadDir("testdata/" + folder)
	if err != nil {
		f.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile("testdata/" + folder + "/" + entry.Name())
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "-- "+section+" --\n")
		body, _, _ := strings.Cut(rest, "\n-- ")
		f.Add([]byte(body))
	}
	for _, odd := range []string{
		"", "null", "[]", "{}", "7", `"x"`, `{"questions":null}`, `{"questions":[null]}`, "[[[[[[[[[[[", `{"a":1}{"b":2}`,
		strings.Repeat("[", 100), `{"questions":[{"question":"` + strings.Repeat("很长", 6000) + `?"}]}`,
		"{\"questions\":[{\"question\":\"\xff?\",\"options\":[{\"label\":\"\xfe\"},{\"label\":\"b\"}]}]}",
		`{"questions":[{"question":"a?","multiSelect":true,"options":[{"label":"مرحبا, x"},{"label":"x"},{"label":"👩‍👩‍👧"},{"label":"\u202eabc"}]}]}`,
	} {
		f.Add([]byte(odd))
	}
}

// FuzzRequest checks that no request panics, and that an accepted one is a
// valid ask that can be shown and whose answer comes back whole.
func FuzzRequest(f *testing.F) {
	seeds(f, "requests", "request")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range dialect.All() {
			a, _, err := d.Ask(body)
			if err != nil {
				var refusal *ask.Error
				if !errors.As(err, &refusal) || len(refusal.Faults) == 0 {
					t.Fatalf("%s refuses with %T: %v", d.Name, err, err)
				}
				continue
			}
			if a.ID == "" {
				a.ID = "ask-1"
			}
			a.Timeout, a.Deadline = 0, asktest.Deadline
			if err := a.Validate(asktest.Asked); err != nil {
				t.Fatalf("%s makes an ask that is not valid: %v", d.Name, err)
			}
			everywhere(t, d, &a)
		}
	})
}

// everywhere shows an ask on every screen and writes every outcome in its own
// dialect.
func everywhere(t *testing.T, d dialect.Dialect, a *ask.Ask) {
	t.Helper()
	for _, screen := range dialect.All() {
		if body, _ := screen.Show(a); !json.Valid(body) {
			t.Fatalf("%s shows no JSON: %s", screen.Name, body)
		}
	}
	for _, row := range asktest.Outcomes(a) {
		for _, other := range dialect.All() {
			r := other.Answer(a, &row.Outcome)
			if strings.Contains(r.Header["Content-Type"], "json") && !json.Valid(r.Body) {
				t.Fatalf("%s answers no JSON: %s", other.Name, r.Body)
			}
		}
		if row.Name == "answered" {
			thereAndBack(t, d, a, &row.Outcome)
		}
	}
	d.Pending(a, dialect.Pending{})
}

// thereAndBack reads a dialect's answer as if a screen had sent it: each answer
// must come back.
func thereAndBack(t *testing.T, d dialect.Dialect, a *ask.Ask, o *ask.Outcome) {
	t.Helper()
	body := d.Answer(a, o).Body
	given, err := d.Reply(a, body)
	if err != nil || given.Decision == dialect.Declined {
		// The answers of the test ignore limits.
		if _, _, wrong := a.Check(ask.Reply{Answers: o.Answers}); wrong == nil {
			t.Fatalf("%s cannot read its own answer: %v\n%s", d.Name, err, body)
		}
		return
	}
	if given.Reply.Response != "" {
		return // as words
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		j := slices.IndexFunc(given.Reply.Answers, func(ans ask.Answer) bool { return ans.QuestionID == q.ID })
		if d.Name == "langgraph" && i > 0 {
			continue // an inbox sends only one of the two
		}
		if d.Name == "langchain" && strings.HasSuffix(q.ID, "-args") {
			continue // arguments that are not JSON reject and are in the message
		}
		if j < 0 {
			t.Fatalf("%s loses the answer to %q:\n%s", d.Name, q.ID, body)
		}
		if got, want := said(q, given.Reply.Answers[j]), said(q, o.Answers[i]); got != want && d.Name != "langgraph" && d.Name != "langchain" {
			t.Fatalf("%s says %q of %q, not %q:\n%s", d.Name, got, q.ID, want, body)
		}
	}
}

// said formats an answer without regard to order and commas.
func said(q *ask.Question, ans ask.Answer) string {
	pieces := strings.Split(q.Words(ans), ",")
	for i := range pieces {
		pieces[i] = strings.TrimSpace(pieces[i])
	}
	slices.Sort(pieces)
	return strings.Join(pieces, ",")
}

// FuzzReply checks that no answer of a foreign screen panics, and that a
// refusal has a fault.
func FuzzReply(f *testing.F) {
	seeds(f, "replies", "answer")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range dialect.All() {
			a := mixed()
			given, err := d.Reply(a, body)
			if err != nil {
				var refusal *ask.Error
				if !errors.As(err, &refusal) || len(refusal.Faults) == 0 {
					t.Fatalf("%s refuses with %T: %v", d.Name, err, err)
				}
				continue
			}
			switch given.Decision {
			case dialect.Replied:
				_, _, _ = a.Check(given.Reply)
			case dialect.Declined, dialect.Dismissed:
			default:
				t.Fatalf("%s gives the decision %q", d.Name, given.Decision)
			}
		}
	})
}
