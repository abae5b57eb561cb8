package dialect

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// byIDFields maps native fields to those of by-id.
func byIDFields() map[string]string {
	return map[string]string{"id": "question_id", "text": "question", "multiple": "allow_multiple"}
}

// byIDAsk reads a request in which ids decide and labels are only shown.
func byIDAsk(b *builder, v value) {
	v.body()
	cancels := v.field("cancel_option_ids").cancelIDs([]string{"cancel", "skip"})
	questions := v.field("questions")
	if questions.missing() {
		questions.fault(ask.FaultMissing, "at_least_one_question")
	}
	list := questions.objects(ask.MaxQuestions, "questions")
	b.toolFields(v)
	for i, item := range list {
		b.add(b.byIDQuestion(i, item, cancels), place{at: item.at, fields: byIDFields()})
	}
}

// cancelIDs returns the set of option ids that cancel.
func (v value) cancelIDs(usual []string) []string {
	if !v.given() {
		return usual
	}
	if _, one := v.raw.(string); one {
		v.wrongType("array")
	}
	return v.strings()
}

func (b *builder) byIDQuestion(i int, v value, cancels []string) ask.Question {
	q := ask.Question{
		ID: b.id(v.field("question_id"), i), Kind: ask.KindChoice, NoOther: true,
		Text: v.field("question").need(), Multiple: v.multiple(),
	}
	cancels = v.field("cancel_option_ids").cancelIDs(cancels)
	labels := []string{}
	for j, item := range v.field("options").some(ask.MaxOptions, "options", "at_least_one_option") {
		o := ask.Option{ID: b.id(item.field("id"), i, j), Description: item.field("description").string()}
		o.Cancels = slices.Contains(cancels, item.field("id").string())
		o.Label = b.byIDLabel(item.field("label"), o.ID, labels)
		labels = append(labels, o.Label)
		q.Options = append(q.Options, o)
	}
	return q
}

// byIDLabel returns a label that can be shown: not empty, not too long and
// unique. Ids decide, so nothing is lost.
func (b *builder) byIDLabel(v value, id string, before []string) string {
	label := cmp.Or(strings.TrimSpace(v.string()), id)
	if n := utf8.RuneCountInString(label); n > ask.MaxLabel {
		v.warn("has %d characters; the first %d are shown", n, ask.MaxLabel-1)
		label = ask.Clip(label, ask.MaxLabel)
	}
	if label == "" || !slices.Contains(before, label) {
		return label
	}
	runes := []rune(label)
	label = string(runes[:min(len(runes), ask.MaxLabel-131)]) + " (" + id + ")"
	v.warn("is also the label of another option; it is shown as %q", clip(label))
	return label
}

// byIDAnswer writes the outcome in ids.
func byIDAnswer(a *ask.Ask, o *ask.Outcome) Response {
	body := ordered("status", "aborted", "answers", []any{})
	switch rowOf(o) {
	case rowAnswered, rowDefault:
		body.set("status", "answered")
		body.set("answers", byIDAnswers(a, o))
		if o.Source == ask.SourceDefault || o.Source == ask.SourcePolicy {
			body.set("source", string(o.Source))
		}
		body.setText("text", remarks(a, o, ""))
	case rowCancelled:
		body.set("status", "cancelled")
		body.set("cancelled_by", byIDCancelled(a, o.CancelledBy))
	case rowResponse:
		body.set("reason", "response")
		body.set("text", o.Response)
	case rowExpired:
		body.set("reason", "expired")
		body.set("text", sentence(a, o))
	case rowDeclined:
		body.set("reason", strings.TrimSuffix("declined: "+o.Reason, ": "))
		body.set("text", sentence(a, o))
	case rowWithdrawn, rowAborted:
		body.set("reason", strings.TrimSuffix(string(o.Status)+": "+o.Reason, ": "))
		body.set("text", sentence(a, o))
	}
	return respond(200, body)
}

// byIDAnswers writes each answer; one that is not a choice becomes text.
func byIDAnswers(a *ask.Ask, o *ask.Outcome) []any {
	answers := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		ids := []string{}
		item := ordered("question_id", recall(a, q.ID, i, "id"), "selected_option_ids", ids)
		ans := answerTo(o, q)
		switch {
		case ans == nil:
			item.set("skipped", true)
		case ans.Other != "":
			item.set("text", ans.Other)
		case q.Kind != ask.KindChoice:
			item.set("text", q.Words(*ans))
		}
		if ans != nil {
			for _, id := range ans.Selected {
				ids = append(ids, foreignOption(a, i, id))
			}
		}
		item.set("selected_option_ids", ids)
		answers = append(answers, item)
	}
	return answers
}

// foreignOption returns the asker's id of an option.
func foreignOption(a *ask.Ask, question int, id string) string {
	for j := range a.Questions[question].Options {
		if a.Questions[question].Options[j].ID == id {
			return recall(a, id, question, j, "id")
		}
	}
	return id
}

func byIDCancelled(a *ask.Ask, c *ask.CancelledBy) *object {
	for i := range a.Questions {
		if a.Questions[i].ID == c.QuestionID {
			return ordered("question_id", recall(a, c.QuestionID, i, "id"), "option_id", foreignOption(a, i, c.OptionID))
		}
	}
	return ordered("question_id", c.QuestionID, "option_id", c.OptionID)
}

// byIDPending says that the ask waits.
func byIDPending(a *ask.Ask, p Pending) Response {
	body := waiting(a, p)
	body.set("answers", []any{})
	return pending(body, p)
}
