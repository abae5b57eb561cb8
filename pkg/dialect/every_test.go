package dialect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// Asks one ask in each dialect, shows and answers it in every other one, and
// reports the answer to the agent. The table says for each pair whether the
// choice arrives as a choice, as words, or not at all.
func TestOneAskEveryDialect(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# One ask, every dialect\n\nLook here for what a screen of one dialect can do with a question that was asked in another one. A row is the dialect of the agent that asks (its basic\nrequest), a column that of the screen which shows the ask and answers it with the first option of everything.\n\n" +
		"- **yes**: every answer comes back as it was given, and the agent is told it\n- **words**: the screen shows text, and the answer is typed or comes back as words\n- **shown**: the screen shows the ask, and it is answered elsewhere\n\n| asks ↓ shows → |")
	all := dialect.All()
	for _, d := range all {
		b.WriteString(" " + d.Name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, d := range all {
		a := basic(t, d, d.Name+"-basic")
		fmt.Fprintf(&b, "| %s |", d.Name)
		for _, screen := range all {
			fmt.Fprintf(&b, " %s |", travels(t, d, screen, a))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## What each loses\n\nThe same for one thing at a time: a row is what an ask has or what a person says, a column the dialect of the screen.\n\n| ask or answer |")
	for _, d := range all {
		b.WriteString(" " + d.Name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, f := range features() {
		a := bigAsk(t, f.questions...)
		fmt.Fprintf(&b, "| %s |", f.name)
		for _, screen := range all {
			fmt.Fprintf(&b, " %s |", arrives(screen, a, f.answers))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n`go test ./pkg/dialect -run OneAsk -update` writes this page.\n")
	path := filepath.Join("..", "..", "docs", "dialects.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != b.String() {
		t.Errorf("docs/dialects.md differs; run with -update: %v\n%s", err, firstDifference(b.String(), string(want)))
	}
}

// travels lets a screen answer an agent's ask, and says how the answer arrives.
func travels(t *testing.T, agent, screen dialect.Dialect, a ask.Ask) string {
	t.Helper()
	body, _ := screen.Show(&a)
	if len(body) == 0 {
		t.Errorf("%s shows nothing of an ask in %s", screen.Name, agent.Name)
	}
	reply := ask.Reply{Answers: asktest.AnswersTo(&a), By: *asktest.Mei}
	for i := range reply.Answers {
		reply.Answers[i].Other = "" // the golden files cover it
	}
	if checked, _, err := a.Check(reply); err == nil {
		reply.Answers = checked
	}
	o := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: asktest.Mei, At: asktest.Asked.Add(time.Minute), Ask: &a, Answers: reply.Answers}
	if told := agent.Answer(&a, &o); len(told.Body) == 0 || strings.Contains(told.Header["Content-Type"], "json") && !json.Valid(told.Body) {
		t.Errorf("the agent in %s is told %q", agent.Name, told.Body)
	}
	return came(screen, &a, &o)
}

// feature is one property of an ask or of an answer.
type feature struct {
	name      string
	questions []ask.Question
	answers   []ask.Answer
}

func features() []feature {
	several, five := pick("a b c"), pick("a b c d e")
	several.Multiple = true
	preview := pick("a b")
	preview.Options[0].Preview = &ask.Preview{Format: ask.PreviewText, Body: "+--+\n|  |\n+--+"}
	selected := func(ids ...string) []ask.Answer { return []ask.Answer{{QuestionID: "q1", Selected: ids}} }
	two := func(ids ...string) []ask.Answer {
		return append(selected(ids...), ask.Answer{QuestionID: "q2", Selected: []string{"o2"}})
	}
	return []feature{
		{"one choice", []ask.Question{pick("a b")}, selected("o2")},
		{"several choices", []ask.Question{several}, selected("o1", "o3")},
		{"five options", []ask.Question{five}, selected("o5")},
		{"two questions", []ask.Question{pick("a b"), pick("c d")}, two("o1")},
		{"own words", []ask.Question{pick("a b")}, []ask.Answer{{QuestionID: "q1", Other: "neither"}}},
		{"a note", []ask.Question{pick("a b")}, []ask.Answer{{QuestionID: "q1", Selected: []string{"o1"}, Notes: "soon"}}},
		{"a preview", []ask.Question{preview}, selected("o1")},
		{"text", []ask.Question{{Text: "Why?"}}, []ask.Answer{{QuestionID: "q1", Text: "because"}}},
		{"number", []ask.Question{{Text: "How many?", Kind: ask.KindNumber}}, []ask.Answer{{QuestionID: "q1", Number: new(3.5)}}},
		{"yes or no", []ask.Question{{Text: "Sure?", Kind: ask.KindBoolean}}, []ask.Answer{{QuestionID: "q1", Boolean: new(false)}}},
		{"date", []ask.Question{{Text: "When?", Kind: ask.KindDate}}, []ask.Answer{{QuestionID: "q1", Date: "2026-12-01"}}},
	}
}

// arrives says how an answer comes back from a screen, and reports a lost note.
func arrives(screen dialect.Dialect, a *ask.Ask, answers []ask.Answer) string {
	o := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: asktest.Mei, At: asktest.Asked.Add(time.Minute), Ask: a, Answers: answers}
	how := came(screen, a, &o)
	given, err := screen.Reply(a, screen.Answer(a, &o).Body)
	if how == "yes" && err == nil && answers[0].Notes != "" && given.Reply.Answers[0].Notes != answers[0].Notes {
		return "no note"
	}
	return how
}

// came says how an answer comes back from a screen.
func came(screen dialect.Dialect, a *ask.Ask, o *ask.Outcome) string {
	given, err := screen.Reply(a, screen.Answer(a, o).Body)
	switch {
	case err != nil || given.Decision != dialect.Replied:
		return "shown"
	case given.Reply.Response != "":
		return "words"
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		want, got := o.Answer(q.ID), (*ask.Answer)(nil)
		for j := range given.Reply.Answers {
			if given.Reply.Answers[j].QuestionID == q.ID {
				got = &given.Reply.Answers[j]
			}
		}
		if want != nil && (got == nil || said(q, *got) != said(q, *want)) {
			return "words"
		}
	}
	return "yes"
}

// The interrupts of a run are answered together, so the earliest deadline
// counts.
func TestTheEarliestInterruptEndsTheAsk(t *testing.T) {
	t.Parallel()
	a, _, err := in(t, "ag-ui").Ask([]byte(`[{"id":"a","message":"x","expiresAt":"2026-11-20T12:00:00Z"},{"id":"b","message":"y","expiresAt":"2026-11-20T11:00:00Z"}]`))
	if err != nil || !a.Deadline.Equal(asktest.Asked.Add(time.Hour)) {
		t.Errorf("it ends %s, %v", a.Deadline, err)
	}
}
