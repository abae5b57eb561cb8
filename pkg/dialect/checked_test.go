package dialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// strict returns an ask of which each question has demands.
func strict() *ask.Ask {
	a := &ask.Ask{ID: "x", Session: "s", Questions: []ask.Question{
		{ID: "name", Header: "Name", Text: "Which name?", Kind: ask.KindText, Limits: ask.Limits{MinLength: 3, Pattern: "^[A-Z]"}},
		{ID: "many", Header: "Many", Text: "How many?", Kind: ask.KindNumber, Limits: ask.Limits{Max: new(9.0)}},
		{ID: "when", Header: "When", Text: "When?", Kind: ask.KindDate, Limits: ask.Limits{MinDate: "2026-12-01"}},
		{ID: "parts", Header: "Parts", Text: "Which parts?", Multiple: true, MinItems: 2, Options: []ask.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}},
	}}
	a.Normalize()
	return a
}

// What an ask does not accept is reported at once, at the places of the body.
func TestEveryFaultOfAnAnswerIsAtItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want string }{
		{
			"typed", `{"answers":{"question-0":"x","question-1":12,"question-2":"2026-11-01","question-3":["A"]}}`,
			"/answers/question-0 text_too_short, /answers/question-0 pattern_mismatch, /answers/question-1 too_high, /answers/question-2 too_early, /answers/question-3 too_few_chosen",
		},
		{
			"typed", `{"answers":{"question-0":"Xyz","question-1":"many","question-2":"2026-11-01"}}`,
			"/answers/question-1 typed_no_number, /answers/question-2 too_early, /answers/question-3 no_answer",
		},
		{
			"event-pair", `{"answers":{"question-0":"x","question-1":"12","question-2":"2026-12-01","question-3":"A,B"}}`,
			"/answers/question-0 text_too_short, /answers/question-0 pattern_mismatch, /answers/question-1 too_high",
		},
		{"event-pair", `{"response":"` + strings.Repeat("x", ask.MaxLong+1) + `","answers":{}}`, "/response too_long"},
		{"claude-code", `{"answers":{"Which name?":"Xyz","How many?":12,"When?":"2026-12-01","Which parts?":["A","B"]}}`, "/answers/How many? too_high"},
		{
			"interact", `[{"id":"x.1","result":"x"},{"id":"x.2","result":"12"}]`,
			"/0/result text_too_short, /0/result pattern_mismatch, /1/result too_high,  no_answer,  no_answer",
		},
		{
			"by-id", `{"answers":[{"question_id":"name","text":"Xyz"},{"question_id":"many","text":"12"},{"question_id":"parts","selected_option_ids":["a"]}]}`,
			"/answers/1/text too_high, /answers/2/selected_option_ids too_few_chosen, /answers no_answer",
		},
		{
			"codex", `{"answers":{"name":{"answers":["x"]},"many":{"answers":["1"]},"when":{"answers":["2026-11-01"]},"parts":{"answers":["1,2"]}}}`,
			"/answers/name/answers text_too_short, /answers/name/answers pattern_mismatch, /answers/when/answers too_early",
		},
		{
			"vscode", `{"answers":{"Name":{"freeText":"x"},"Many":{"freeText":"1"},"When":{"freeText":"2026-12-01"},"Parts":{"selected":["A"]}}}`,
			"/answers/Name/freeText text_too_short, /answers/Name/freeText pattern_mismatch, /answers/Parts/selected too_few_chosen",
		},
		{"opencode", `{"answers":[["Xyz"],["12"],["2026-12-01"]]}`, "/answers/1 too_high, /answers no_answer"},
		{"gemini", `{"answers":{"0":"Xyz","1":"12","2":"2026-12-01","3":"A"}}`, "/answers/1 too_high, /answers/3 too_few_chosen"},
		{
			"elicitation", `{"action":"accept","content":{"name":"x","many":12,"when":"soon","parts":["a"]}}`,
			"/content/when typed_no_date, /content/name text_too_short, /content/name pattern_mismatch, /content/many too_high, /content/parts too_few_chosen",
		},
		{
			"cursor", `{"success":{"answers":[{"question_id":"name","freeform_text":"x"},{"question_id":"parts","selected_option_ids":["a"]}]}}`,
			"/success/answers/0/freeform_text text_too_short, /success/answers/0/freeform_text pattern_mismatch, /success/answers/1/selected_option_ids too_few_chosen, /success/answers no_answer, /success/answers no_answer",
		},
		{
			"a2a", `{"parts":[{"text":"see"},{"data":{"answers":[{"question_id":"name","text":"Xyz"},{"question_id":"many","number":12}]}}]}`,
			"/parts/1/data/answers/1 too_high, /parts/1/data/answers no_answer, /parts/1/data/answers no_answer",
		},
		{"a2a", `{"parts":[{"text":"name=Xyz\nmany=1"}]}`, "/parts no_answer, /parts no_answer"},
		{"copilot", `{"answer":"name=Xyz\nmany=1\nwhen=2026-12-01"}`, "/answer no_answer"},
		{"elicitation", `{"action":"accept","content":{"name":"Xyz","many":9,"when":"2026-12-01","parts":["a","b"]}}`, ""},
		{"elicitation", `{"action":"decline"}`, ""},
	} {
		_, err := in(t, c.name).CheckedReply(strict(), []byte(c.body), false)
		var got []string
		if err != nil {
			problems(t, err)
			refusal, _ := err.(*ask.Error) //nolint:errorlint // problems has checked it
			for _, f := range refusal.Faults {
				got = append(got, f.Pointer+" "+string(f.Code))
			}
		}
		want := strings.Split(c.want, ", ")
		slices.Sort(got)
		slices.Sort(want)
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("%s: %.200s\n got %q\nwant %q", c.name, c.body, got, want)
		}
	}
}

// One frame of several answers one question.
func TestAPartOfAnAnswerIsChecked(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{`"12"`: "/result: is 12; give at most 9", `"9"`: ""} {
		_, err := in(t, "interact").CheckedReply(strict(), fmt.Appendf(nil, `{"id":"x.2","result":%s}`, result), true)
		if got := problems(t, err); !strings.Contains(got, want) || (err == nil) != (want == "") {
			t.Errorf("%s: %s", result, got)
		}
	}
}

// What a screen gives back fits the ask that it shows, whatever its dialect.
func TestWhatScreensGiveBackFits(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		a := basic(t, d, d.Name+"-basic")
		for i := range a.Questions {
			a.Questions[i].Optional = false
		}
		reply := ask.Reply{Answers: asktest.AnswersTo(&a), By: *asktest.Mei}
		answers, cancelled, err := a.Check(reply)
		if err != nil || cancelled != nil {
			continue
		}
		o := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: asktest.Mei, Ask: &a, Answers: answers}
		body := d.Answer(&a, &o).Body
		_, plain := d.Reply(&a, body)
		if _, err := d.CheckedReply(&a, body, false); plain == nil && err != nil {
			t.Errorf("%s: %s of %s", d.Name, problems(t, err), body)
		}
	}
}
