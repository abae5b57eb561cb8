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

// What a person may type is what the server takes: official SDKs check it with the formats of JSON Schema, and a person
// whose answer they refuse is not asked again.
func TestAFormatIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	for format, texts := range map[string]map[string]bool{
		"email":     {"mei@example.com": true, "mei.m+x@a-b.example.com": true, "mei@example": false, "mei@@example.com": false, "mei": false, "m ei@example.com": false},
		"uri":       {"https://example.com/a?b=%20#c": true, "urn:isbn:1": true, "https://example.com/a b": false, "example.com": false, "https://example.com/ü": false},
		"date-time": {"2026-11-20T10:00:00Z": true, "2026-11-20T10:00:00.5+01:00": true, "2026-13-20T10:00:00Z": false, "2026-11-20T25:00:00Z": false, "2026-11-20": false},
	} {
		a, warnings, err := in(t, "elicitation").Ask([]byte(`{"message":"Where?","requestedSchema":{"type":"object","properties":{"at":{"type":"string","format":"` + format + `"}},"required":["at"]}}`))
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		for text, fits := range texts {
			if _, _, err := a.Check(ask.Reply{Answers: []ask.Answer{{QuestionID: "at", Text: text}}}); (err == nil) != fits {
				t.Errorf("%s %q: %v", format, text, err)
			}
		}
	}
	if _, warnings, err := in(t, "elicitation").Ask([]byte(`{"message":"Which?","requestedSchema":{"type":"object","properties":{"id":{"type":"string","format":"uuid"}}}}`)); err != nil || len(warnings) != 1 {
		t.Error(warnings, err)
	}
}

// A text with a limit of its own is a question of its own: as a part of another one it would be asked without.
func TestALimitedTextIsNoCompanion(t *testing.T) {
	t.Parallel()
	a, _, err := in(t, "elicitation").Ask([]byte(`{"message":"Which?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","own"]},"color_custom":{"type":"string","description":"As #rrggbb","maxLength":7}}}}`))
	if err != nil || len(a.Questions) != 2 || a.Questions[1].Text != "As #rrggbb" || a.Questions[1].Limits.MaxLength != 7 {
		t.Error(a.Questions, err)
	}
}
