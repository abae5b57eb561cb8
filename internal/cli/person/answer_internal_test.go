package person

import (
	"errors"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// A value of the only question needs no id; one that names another question is not sent as its answer.
func TestOnlyTheQuestionThatIsNamedIsAnswered(t *testing.T) {
	t.Parallel()
	q := &ask.Ask{ID: "a", Questions: []ask.Question{{ID: "name", Kind: ask.KindText, Text: "What is it called?"}}}
	for given, want := range map[string]string{"ledger": "ledger", "name=ledger": "ledger", "x=3": "x=3", "q=3": "q=3", "name=q1=x": "q1=x", "q1=ledger": ""} {
		r, err := (&answerFlags{texts: []string{given}}).reply(q)
		e, _ := errors.AsType[*ask.Error](err)
		switch {
		case want == "" && (e == nil || e.Faults[0].Code != ask.FaultUnknownQuestion):
			t.Errorf("%s: %+v, %v", given, r, err)
		case want != "" && (err != nil || r.Answers[0].Text != want):
			t.Errorf("%s: %+v, %v", given, r, err)
		}
	}
}
