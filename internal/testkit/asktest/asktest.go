// Package asktest has one outcome for each way in which an ask ends. Tests of
// dialects and of hooks compare with golden files what they make of each.
package asktest

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// The parts of the outcomes.
var (
	Asked    = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	Mei      = &ask.By{Principal: "slack:T01/U02", Name: "Mei", Responder: "slack", Proof: "slack-signature"}
	Deadline = Asked.Add(time.Hour)
)

// Row is a named outcome.
type Row struct {
	Name    string
	Outcome ask.Outcome
}

// Outcomes returns one outcome for each way in which an ask ends, and some
// combinations.
func Outcomes(a *ask.Ask) []Row {
	human := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: Mei, At: Asked.Add(time.Minute), Ask: a}
	end := func(status ask.Status, change func(o *ask.Outcome)) ask.Outcome {
		o := ask.Outcome{AskID: a.ID, Status: status, At: Asked.Add(time.Minute), Ask: a}
		if change != nil {
			change(&o)
		}
		return o
	}
	answered := human
	answered.Answers = AnswersTo(a)
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
	rows := []Row{
		{"answered", answered},
		{"answered with notes and a response", noted},
		{"answered with response only", response},
		{"answered by a policy", policy},
		{"answered with a question skipped", skipped},
	}
	if q := &a.Questions[0]; len(q.Options) > 0 {
		rows = append(rows, Row{"cancelled by option", end(ask.StatusCancelled, func(o *ask.Outcome) {
			o.By, o.CancelledBy = Mei, &ask.CancelledBy{QuestionID: q.ID, OptionID: q.Options[len(q.Options)-1].ID}
		})})
	}
	return append(rows,
		Row{"cancelled (declined)", end(ask.StatusCancelled, func(o *ask.Outcome) { o.By, o.Reason = Mei, "not my decision" })},
		Row{"withdrawn", end(ask.StatusWithdrawn, func(o *ask.Outcome) { o.Reason = "found it in the docs" })},
		Row{"aborted", end(ask.StatusAborted, nil)},
		Row{"expired", end(ask.StatusExpired, func(o *ask.Outcome) { o.At = Deadline })},
		Row{"expired with declared defaults", end(ask.StatusExpired, func(o *ask.Outcome) {
			o.At, o.Source, o.Answers = Deadline, ask.SourceDefault, answered.Answers
		})},
	)
}

// AnswersTo answers every question in every way that its kind allows.
func AnswersTo(a *ask.Ask) []ask.Answer {
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
			ans.Text = "text@example.com"
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
