package dialect_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// mixed returns an ask with everything that questions can have.
func mixed() *ask.Ask {
	a := &ask.Ask{
		ID: "deploy-42", Tenant: "acme", Session: "s1", Title: "Ledger storage", Context: "I set up the **ledger**.",
		Agent: ask.Agent{ID: "a-7", Name: "builder"}, Metadata: map[string]any{"source": "remember"},
		Questions: []ask.Question{
			{ID: "db", Header: "Storage", Text: "Which database should the ledger use?", Options: []ask.Option{
				{ID: "pg", Label: "PostgreSQL", Description: "already deployed", Recommended: true, Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: "```\ndb: pg\n```"}},
				{ID: "lite", Label: "SQLite", Description: "one file"},
				{ID: "stop", Label: "Neither", Cancels: true},
			}},
			{ID: "parts", Text: "Which parts?", Multiple: true, NoOther: true, MinItems: 1, MaxItems: 2, Options: []ask.Option{
				{ID: "a", Label: "x, y"}, {ID: "b", Label: "z"}, {ID: "c", Label: "甲，乙"}, {ID: "d", Label: "🙂"}, {ID: "e", Label: "نعم, لا"},
			}},
			{ID: "n", Text: "How many replicas?", Kind: ask.KindNumber, Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}, Default: &ask.Answer{Number: new(3.0)}},
			{ID: "tls", Text: "Encrypt?", Kind: ask.KindBoolean},
			{ID: "from", Text: "From when on?", Kind: ask.KindDate, Limits: ask.Limits{MinDate: "2026-11-20"}},
			{ID: "name", Text: "What name?", Optional: true, Placeholder: "lower case", Limits: ask.Limits{MaxLength: 20, Pattern: "^[a-z]+$"}},
		},
	}
	a.Normalize()
	return a
}

func TestForeignScreensShowAnyAsk(t *testing.T) {
	t.Parallel()
	if err := mixed().Validate(asktest.Asked); err != nil {
		t.Fatal(err)
	}
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			body, warnings := d.Show(mixed())
			golden(t, "testdata/screens/"+d.Name+".golden", &archive{}, nil, [][2]string{{"request", pretty(body)}, {"warnings", lines(warnings)}})
		})
	}
}

// A screen shows a dialect's own request unchanged.
func TestScreensShowTheirOwnRequests(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "requests/*-basic.txtar") {
		form := strings.TrimSuffix(filepath.Base(path), ".txtar")
		if form == "langgraph-basic" {
			continue // an inbox gets text
		}
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			d := byFile(t, path)
			a := basic(t, d, form)
			shown, _ := d.Show(&a)
			again, _, err := d.Ask(shown)
			if err != nil {
				t.Fatalf("%v\n%s", err, shown)
			}
			if got, want := choices(&again), choices(&a); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// choices lists what a person can choose in an ask.
func choices(a *ask.Ask) string {
	var b strings.Builder
	for i := range a.Questions {
		q := &a.Questions[i]
		fmt.Fprintln(&b, q.Kind, q.Multiple, q.Other(), q.MinItems, q.MaxItems, dump(q.Limits))
		for j := range q.Options {
			o := &q.Options[j]
			fmt.Fprintln(&b, o.ID, o.Label, o.Recommended, o.Cancels, o.Preview != nil)
		}
	}
	return b.String()
}

func TestForeignScreensAnswer(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "replies/*.txtar") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			in := readArchive(t, path)
			d := byFile(t, path)
			a := mixed()
			if form := strings.TrimSpace(in.sections["form"]); form != "" {
				*a = basic(t, d, form)
			}
			given, err := d.Reply(a, []byte(strings.TrimRight(in.sections["answer"], "\n")))
			out := [][2]string{{"error", problems(t, err)}}
			if err == nil {
				out = [][2]string{{"given", dump(given)}}
				if given.Decision == dialect.Replied {
					if _, _, err := a.Check(given.Reply); err != nil {
						out = append(out, [2]string{"check", err.Error()})
					}
				}
			}
			golden(t, path, in, []string{"form", "answer"}, out)
		})
	}
}
