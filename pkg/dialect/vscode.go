package dialect

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// vscodeAsk reads the input of askQuestions. Its answers are keyed by header,
// so headers are required and must be unique. The person may skip any question.
func vscodeAsk(b *builder, v value) {
	v.body()
	b.times(v)
	var headers []string
	b.questions(v.field("questions"), func(i int, v value) {
		head := v.field("header")
		switch s := head.need(); {
		case head.given() && strings.TrimSpace(s) == "":
			head.fault(ask.FaultEmptyKey)
		case s != "" && slices.Contains(headers, s):
			head.fault(ask.FaultDuplicateKey, "header")
		default:
			headers = append(headers, s)
		}
		q := ask.Question{
			Header: b.header(head, i), Text: v.field("question").need(), Optional: true,
			Multiple: v.multiple(), NoOther: !v.field("allowFreeformInput").bool(true),
		}
		if message := v.field("message").string(); message != "" {
			b.remember(q.Text, i, "question")
			q.Text += "\n\n" + message
		}
		q.Options = b.options(v.field("options"))
		for j := range q.Options {
			marked := v.field("options").list()[j].field("recommended").bool(false)
			q.Options[j].Recommended = q.Options[j].Recommended || marked
		}
		if len(q.Options) == 0 {
			q.NoOther = false
			v.single(&q)
		}
		b.add(q, place{at: v.at, fields: map[string]string{"text": "question", "multiple": "multiSelect"}})
	})
}

// vscodeKeys returns the headers that key an ask's answers.
func vscodeKeys(a *ask.Ask) []string {
	var keys []string
	for i := range a.Questions {
		keys = append(keys, distinct(header(a, i), i, keys))
	}
	return keys
}

// vscodeAnswer writes { selected, freeText, skipped } by header. Free text also
// holds what the model must read in addition to an answer.
func vscodeAnswer(a *ask.Ask, o *ask.Outcome) Response {
	answers := ordered()
	keys := vscodeKeys(a)
	for i := range a.Questions {
		q := &a.Questions[i]
		r, ans := rowOf(o), answerTo(o, q)
		selected, free := []string{}, []string{}
		switch {
		case r == rowResponse:
			free = []string{o.Response}
		case ans == nil || !r.decided():
		case q.Kind == ask.KindChoice:
			selected = list(q.Labels(ask.Answer{Selected: ans.Selected}))
			if ans.Other != "" {
				free = append(free, ans.Other)
			}
		default:
			free = append(free, q.Words(*ans))
		}
		skipped := len(selected) == 0 && len(free) == 0
		if given := o.Answer(q.ID); given != nil && given.Notes != "" {
			free = append(free, "("+given.Notes+")")
		}
		if words := beside(a, o); words != "" && (!skipped || !r.decided()) {
			free = append(free, "("+words+")")
		}
		var text any
		if len(free) > 0 {
			text = strings.Join(free, "\n")
		}
		answers.set(keys[i], ordered("selected", selected, "freeText", text, "skipped", skipped))
	}
	return respond(200, ordered("answers", answers).ending(a, o, ""))
}

// vscodeShow writes any ask as askQuestions.
func vscodeShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	questions := []any{}
	keys := vscodeKeys(a)
	for i := range a.Questions {
		q := &a.Questions[i]
		shown := ordered("header", keys[i], "question", s.text(a, i, false))
		options := s.familyOptions(a, i, "", false)
		for j := range q.Options {
			if o, ok := options[j].(*object); ok && q.Options[j].Recommended {
				o.set("description", s.description(a, &q.Options[j], false, true))
				o.set("recommended", true)
			}
		}
		if len(options) > 0 {
			shown.set("options", options)
			shown.set("multiSelect", q.Multiple)
		}
		shown.set("allowFreeformInput", len(options) == 0 || q.Other())
		questions = append(questions, shown)
	}
	return encode(ordered("questions", questions)), s.warnings
}

// vscodeReply reads the answers by header.
func vscodeReply(a *ask.Ask, v value) Given {
	v.body()
	answers, keys := v.field("answers").wanted("an_object_of_answers_by_header"), vscodeKeys(a)
	given := Given{Decision: Replied}
	for i := range a.Questions {
		q, item := &a.Questions[i], answers.field(keys[i])
		item.object()
		selected, free := item.field("selected"), item.field("freeText").string()
		item.field("skipped").bool(false)
		ans := value{r: v.r, at: selected.at, raw: anys(selected.strings())}.answerOf(q, "")
		switch {
		case strings.TrimSpace(free) == "":
		case ans.Empty():
			ans = value{r: v.r, at: item.field("freeText").at, raw: free}.answer(q, "")
		case q.Multiple && q.Other():
			ans.Other = strings.TrimPrefix(ans.Other+", "+free, ", ")
		default:
			ans.Notes = free // one choice was made; the text comments on it
		}
		given.Reply.Answers = append(given.Reply.Answers, ans)
	}
	strangers(answers, keys)
	return given
}
