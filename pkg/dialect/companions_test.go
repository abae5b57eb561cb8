package dialect_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// What an editor or a person says goes into both fields of claude-agent-acp's form, and back.
func TestCompanionsHoldTheirPartOfAnAnswer(t *testing.T) {
	t.Parallel()
	d := in(t, "elicitation")
	a, _, err := d.Ask([]byte(readArchive(t, "testdata/requests/elicitation-claude_agent_acp_several.txtar").sections["request"]))
	if err != nil {
		t.Fatal(err)
	}
	a.ID = "x"
	if a.Title != "" || a.Questions[0].Optional || len(a.Questions) != 3 {
		t.Errorf("the ask is %+v", a)
	}
	const editor = `{"action":"accept","content":{"question_0":"SQLite","question_0_custom":"for now","question_1":["ui"],"question_1_custom":"docs","question_2_custom":"never"}}`
	given, err := d.Reply(&a, []byte(editor))
	if err != nil || given.Decision != dialect.Replied {
		t.Fatal(given, err)
	}
	got := given.Reply.Answers
	if got[0].Notes != "for now" || got[0].Other != "" || got[1].Other != "docs" || len(got[1].Selected) != 1 || got[2].Other != "never" {
		t.Errorf("the answers are %+v", got)
	}
	back := d.Answer(&a, &ask.Outcome{AskID: "x", Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: got, By: &ask.By{Name: "Mei"}})
	if want := strings.TrimSuffix(editor, "}"); !strings.HasPrefix(string(back.Body), want) {
		t.Errorf("the form's result is %s, want %s", back.Body, want)
	}
	a, _, err = d.Ask([]byte(readArchive(t, "testdata/requests/elicitation-companions.txtar").sections["request"]))
	if err != nil {
		t.Fatal(err)
	}
	given, err = d.Reply(&a, []byte(`{"action":"accept","content":{"env":"prod","env_note":"at night"}}`))
	if err != nil || given.Reply.Answers[0].Notes != "at night" {
		t.Errorf("%+v, %v", given, err)
	}
}
