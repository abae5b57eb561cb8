package dialect

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

const copilotName = "copilot"

// copilotAsk reads both variants of ask_user: a question with choices, or an
// elicitation, recognized by its schema.
func copilotAsk(b *builder, v value) {
	if o, ok := v.raw.(*object); ok && o.values["question"] == nil && (o.values["message"] != nil || o.values["requestedSchema"] != nil) {
		b.as("elicitation")
		elicitationAsk(b, v)
		return
	}
	v.body()
	v.ignore("sessionId")
	b.times(v)
	q := ask.Question{ID: "q1", Text: v.field("question").need(), NoOther: !v.field("allowFreeform").bool(true), Multiple: v.multiple()}
	var labels []string
	for j, item := range v.field("choices").upTo(ask.MaxOptions, "choices") {
		given := item.need()
		label := distinct(given, j, labels)
		if labels = append(labels, label); label != given {
			b.remember(given, 0, j, "choice")
		}
		q.Options = append(q.Options, ask.Option{Label: label, Recommended: saysRecommended(label)})
	}
	if len(q.Options) == 0 {
		if q.NoOther && v.field("allowFreeform").given() {
			v.field("allowFreeform").fault(ask.FaultNoChoices)
		}
		q.NoOther = false
		v.single(&q)
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": "question", "options": "choices", "options/#/label": "choices/#"}})
}

// copilotAnswer writes the answer and whether it was typed. Words other than an
// answer become a freeform answer, since the shape has no other place.
func copilotAnswer(a *ask.Ask, o *ask.Outcome) Response {
	if cameAs(a, "elicitation") {
		return elicitationAnswer(a, o)
	}
	if rowOf(o) == rowExpired {
		return nobodyAnswered(a, o)
	}
	said, typed := "", true
	q := &a.Questions[0]
	ans := answerTo(o, q)
	switch r := rowOf(o); {
	case r == rowResponse:
		said = o.Response
	case !r.decided() || len(a.Questions) > 1:
		said = Report(a, o)
	case ans != nil && q.Kind == ask.KindChoice && ans.Other == "" && len(ans.Selected) > 0:
		said, typed = strings.Join(copilotChoices(a, ans), ", "), false
	case ans != nil:
		said = q.Words(*ans)
	}
	body := ordered("answer", said, "wasFreeform", typed)
	if text := remarks(a, o, ", "); text != "" && rowOf(o).decided() {
		body.set("text", text)
	}
	return respond(200, body)
}

// copilotChoices returns the chosen choices as the request wrote them: its program compares them.
func copilotChoices(a *ask.Ask, ans *ask.Answer) (labels []string) {
	for j := range a.Questions[0].Options {
		if o := &a.Questions[0].Options[j]; slices.Contains(ans.Selected, o.ID) {
			labels = append(labels, recall(a, o.Label, 0, j, "choice"))
		}
	}
	return labels
}

// copilotShow writes any ask as one question.
func copilotShow(a *ask.Ask) ([]byte, []Warning) {
	if cameAs(a, "elicitation") {
		return elicitationShow(a)
	}
	var s screen
	if len(a.Questions) > 1 {
		s.warn("/questions", "are shown as one text; the answer is typed")
		return encode(ordered("question", a.Plain(), "allowFreeform", true)), s.warnings
	}
	q := &a.Questions[0]
	body, choices := ordered("question", s.text(a, 0, true)), []string{}
	for j := range q.Options {
		choices = append(choices, q.Options[j].Label)
	}
	if len(choices) > 0 {
		body.set("choices", choices)
	}
	body.set("allowFreeform", len(choices) == 0 || q.Other() || q.Multiple)
	return encode(body), s.warnings
}

// copilotReply reads an answer.
func copilotReply(a *ask.Ask, v value) Given {
	if cameAs(a, "elicitation") {
		return elicitationReply(a, v)
	}
	v.body()
	v.ignore("wasFreeform")
	answer := v.field("answer")
	text := answer.need()
	given := Given{Decision: Replied}
	if len(a.Questions) > 1 {
		given.Reply = answer.parseReply(a, text)
		return given
	}
	given.Reply.Answers = []ask.Answer{answer.answer(&a.Questions[0], ",")}
	return given
}
