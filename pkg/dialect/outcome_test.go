package dialect_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

var (
	asked    = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	mei      = &ask.By{Principal: "slack:T01/U02", Name: "Mei", Responder: "slack", Proof: "slack-signature"}
	deadline = asked.Add(time.Hour)
)

// outcomes returns one outcome for each row of the table of dialects.md, and
// some combinations.
func outcomes(a *ask.Ask) []named {
	human := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: mei, At: asked.Add(time.Minute), Ask: a}
	end := func(status ask.Status, change func(o *ask.Outcome)) ask.Outcome {
		o := ask.Outcome{AskID: a.ID, Status: status, At: asked.Add(time.Minute), Ask: a}
		if change != nil {
			change(&o)
		}
		return o
	}
	answered := human
	answered.Answers = answersTo(a)
	noted := answered
	noted.Answers = append([]ask.Answer(nil), answered.Answers...)
	noted.Answers[0].Notes = "keep 14 days of backups"
	noted.Response = "and thank you"
	response := human
	response.Response = "ask me again tomorrow"
	for i := range a.Questions {
		response.Answers = append(response.Answers, ask.Answer{QuestionID: a.Questions[i].ID, Skipped: true})
	}
	policy := answered
	policy.Source, policy.By = ask.SourcePolicy, nil
	skipped := answered
	skipped.Answers = append([]ask.Answer(nil), answered.Answers...)
	last := len(skipped.Answers) - 1
	skipped.Answers[last] = ask.Answer{QuestionID: a.Questions[last].ID, Skipped: true}
	rows := []named{
		{"answered", answered},
		{"answered with notes and a response", noted},
		{"answered with response only", response},
		{"answered by a policy", policy},
		{"answered with a question skipped", skipped},
	}
	if q := &a.Questions[0]; len(q.Options) > 0 {
		rows = append(rows, named{"cancelled by option", end(ask.StatusCancelled, func(o *ask.Outcome) {
			o.By, o.CancelledBy = mei, &ask.CancelledBy{QuestionID: q.ID, OptionID: q.Options[len(q.Options)-1].ID}
		})})
	}
	return append(rows,
		named{"cancelled (declined)", end(ask.StatusCancelled, func(o *ask.Outcome) { o.By, o.Reason = mei, "not my decision" })},
		named{"withdrawn", end(ask.StatusWithdrawn, func(o *ask.Outcome) { o.Reason = "found it in the docs" })},
		named{"aborted", end(ask.StatusAborted, nil)},
		named{"expired", end(ask.StatusExpired, func(o *ask.Outcome) { o.At = deadline })},
		named{"expired with declared defaults", end(ask.StatusExpired, func(o *ask.Outcome) {
			o.At, o.Source, o.Answers = deadline, ask.SourceDefault, answered.Answers
		})},
	)
}

type named struct {
	name    string
	outcome ask.Outcome
}

// answersTo answers every question in every way that its kind allows.
func answersTo(a *ask.Ask) []ask.Answer {
	var answers []ask.Answer
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := ask.Answer{QuestionID: q.ID}
		switch q.Kind {
		case ask.KindChoice:
			ans.Selected = []string{q.Options[0].ID}
			if q.Multiple && len(q.Options) > 1 {
				ans.Selected = append(ans.Selected, q.Options[1].ID)
			}
			if q.Multiple && q.Other() {
				ans.Other = "mine, too"
			}
		case ask.KindText:
			ans.Text = "some-text@example"
		case ask.KindNumber:
			n := 1.0
			ans.Number = &n
		case ask.KindBoolean:
			yes := true
			ans.Boolean = &yes
		case ask.KindDate:
			ans.Date = "2026-12-01"
		}
		answers = append(answers, ans)
	}
	return answers
}

// basic returns the ask of a dialect's basic request.
func basic(t *testing.T, d dialect.Dialect, form string) ask.Ask {
	t.Helper()
	a, _, err := d.Ask([]byte(readArchive(t, filepath.Join("testdata", "requests", form+".txtar")).sections["request"]))
	if err != nil {
		t.Fatal(err)
	}
	a.ID, a.Tenant, a.Deadline = "ask-1", "acme", deadline
	if a.Session == "" {
		a.Session = "s1"
	}
	return a
}

func TestEveryRowOfTheOutcomeTable(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "requests/*.txtar") {
		form := strings.TrimSuffix(filepath.Base(path), ".txtar")
		switch form[strings.LastIndexByte(form, '-')+1:] {
		case "basic", "several", "single", "text", "confirm", "equal":
		default:
			continue
		}
		if form == "claude-code-equal" {
			continue
		}
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			d := byFile(t, path)
			a := basic(t, d, form)
			var out [][2]string
			for _, row := range outcomes(&a) {
				out = append(out, [2]string{row.name, response(d.Answer(&a, &row.outcome))})
			}
			p := dialect.Pending{Location: "/v1/asks/" + a.Session + "/ask-1?dialect=" + d.Name}
			out = append(out, [2]string{"still pending", response(d.Pending(&a, p))})
			golden(t, "testdata/outcomes/"+form+".golden", &archive{}, nil, out)
		})
	}
}
