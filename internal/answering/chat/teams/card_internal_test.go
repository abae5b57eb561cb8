package teams

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/goldentest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"pgregory.net/rapid"
)

// at is when the asks of the tests are drawn.
var at = time.Date(2026, 11, 25, 10, 2, 0, 0, time.UTC)

func record(a ask.Ask) *ask.Record {
	a.Tenant, a.Session, a.ID = "acme", "s1", "a1"
	for i := range a.Questions {
		if a.Questions[i].Kind == "" {
			a.Questions[i].Kind = ask.KindChoice
		}
	}
	return &ask.Record{State: ask.StatePending, Ask: a, AskedAt: at.Add(-3 * time.Minute), Life: "L1"}
}

func draw(rec *ask.Record, lang string) drawing {
	return drawing{
		Card: card.New(rec, card.Viewer{Surface: Type, Lang: lang, Shared: true}, at),
		ref:  refOf(rec.Ask.Key(), rec.Life), link: "https://inbox.example/ask/acme/s1/a1",
	}
}

// hostile is what an agent may write: Markdown, mentions, dates, HTML.
const hostile = "<at>Mei</at> [click](https://evil.example) **bold** {{DATE(2026-01-01T00:00:00Z)}} <script>x</script>"

func asks() map[string]ask.Ask {
	agent := ask.Agent{Name: "builder", Repository: "acme/payments", Branch: "main"}
	return map[string]ask.Ask{
		"choice": {Agent: agent, Title: "Storage", Context: "The tests need a database.\n\n```\n+------+\n| rows |\n+------+\n```\nBoth work.", Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "What we use elsewhere", Recommended: true, Preview: &ask.Preview{Format: ask.PreviewText, Body: "CREATE TABLE a (\n  id int\n);"}},
			{ID: "lite", Label: "SQLite", Description: "A file"},
		}}}},
		"form": {Agent: agent, Title: "Release", Priority: ask.PriorityUrgent, Questions: []ask.Question{
			{ID: "env", Header: "Where", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod", Destructive: true}}},
			{ID: "ok", Kind: ask.KindBoolean, Text: "With a backup?"},
			{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?", Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}},
			{ID: "on", Kind: ask.KindDate, Text: "When?", Optional: true, Limits: ask.Limits{MinDate: "2026-11-25"}},
			{ID: "why", Kind: ask.KindText, Text: "Why now?"},
		}},
		"permission": {Agent: agent, Context: "```\nrm -rf build\n```", Metadata: map[string]any{ask.MetadataPermission: "x"}, Questions: []ask.Question{{ID: "ok", Text: "Run this command?", Options: []ask.Option{{ID: "allow", Label: "Allow"}, {ID: "deny", Label: "Deny"}}}}},
		"hostile":    {Agent: ask.Agent{Name: hostile}, Title: hostile, Context: hostile, Questions: []ask.Question{{ID: "q", Text: hostile, Multiple: true, Options: []ask.Option{{ID: "a", Label: hostile}, {ID: "b", Label: "b"}}}}},
	}
}

func shown(t *testing.T, s *sheet) string {
	t.Helper()
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

// The cards, as they are. The tests of interop give the same files to Microsoft's renderer.
func TestCards(t *testing.T) {
	t.Parallel()
	for name, a := range asks() {
		d := draw(record(a), "en")
		goldentest.Equal(t, "testdata/"+name+".json", shown(t, d.sheet()))
	}
	d := draw(record(asks()["choice"]), "zh")
	d.mentions = []mentioned{{"00000000-0000-4000-8000-000000000003", "Mei <Li>"}}
	goldentest.Equal(t, "testdata/chinese.json", shown(t, d.sheet()))
	d.closed = true
	goldentest.Equal(t, "testdata/closed.json", shown(t, d.sheet()))
	rec := record(asks()["choice"])
	rec.State, rec.Outcome = ask.StateResolved, &ask.Outcome{Status: ask.StatusAnswered, At: at, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Notes: "as elsewhere"}}, By: &ask.By{Name: "Mei", Responder: "telegram"}, Ask: &rec.Ask}
	sum := chat.Summarize(rec, card.New(rec, card.Viewer{Surface: Type, Lang: "en", Shared: true}, at), clip)
	goldentest.Equal(t, "testdata/outcome.json", shown(t, outcome(sum, refOf(rec.Ask.Key(), rec.Life))))
}

// Whatever is asked fits into a message, and has a way to answer.
func TestEveryCardFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		long := func(most int) string {
			return strings.Repeat(rapid.SampledFrom([]string{"a", "很", "\"", "\n", "<", "🙂 ", "| x |\n"}).Draw(t, "part"), rapid.IntRange(1, most).Draw(t, "length"))
		}
		a := ask.Ask{Title: long(200), Context: long(9_000)}
		for range rapid.IntRange(1, 16).Draw(t, "questions") {
			q := ask.Question{ID: "q", Text: "?" + long(5_000), Kind: rapid.SampledFrom([]ask.Kind{ask.KindChoice, ask.KindText, ask.KindNumber}).Draw(t, "kind")}
			for range rapid.IntRange(0, 100).Draw(t, "options") {
				q.Options = append(q.Options, ask.Option{ID: "o", Label: "o" + long(200), Description: long(300)})
			}
			a.Questions = append(a.Questions, q)
		}
		d := draw(record(a), "en")
		s := d.sheet()
		if n := s.units(); n > maxSheet {
			t.Fatalf("it has %d bytes", n)
		}
		if last := s.Actions[len(s.Actions)-1]; last.URL == "" {
			t.Fatalf("the last action is %+v", last)
		}
	})
}
