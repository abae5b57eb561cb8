package dialect_test

import (
	"bytes"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// Labels with commas and quotes are told apart among several, as in Claude Code itself, in both directions.
func TestSeveralLabelsWithCommasAreToldApart(t *testing.T) {
	t.Parallel()
	d := in(t, "claude-code")
	a, _, err := d.Ask([]byte(`{"questions":[{"question":"Which?","header":"H","multiSelect":true,"options":[{"label":"a, b","description":""},{"label":"c","description":""},{"label":"say \"d\"","description":""}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	q := a.Questions[0]
	answers := []ask.Answer{{QuestionID: q.ID, Selected: []string{q.Options[0].ID, q.Options[1].ID, q.Options[2].ID}, Other: "e, f"}}
	body := d.Answer(&a, &ask.Outcome{Status: ask.StatusAnswered, Answers: answers, By: &ask.By{Name: "Mei"}}).Body
	if want := []byte(`"answers":{"Which?":"\"a, b\", c, \"say \\\"d\\\"\", \"e, f\""}`); !bytes.Contains(body, want) {
		t.Errorf("%s has no %s", body, want)
	}
	given, err := d.Reply(&a, body)
	if err != nil || len(given.Reply.Answers[0].Selected) != 3 || given.Reply.Answers[0].Other != "e, f" {
		t.Errorf("%+v, %v", given, err)
	}
}
