package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/askbus/askbus/pkg/ask"
)

// typedFields maps native fields to those of typed.
func typedFields() map[string]string {
	return map[string]string{
		"text": "question", "multiple": "multiSelect", "kind": "type",
		"limits/min_length": "validation/minLength", "limits/max_length": "validation/maxLength", "limits": "validation",
		"min_items": "validation/minItems", "max_items": "validation/maxItems",
	}
}

// typedAsk reads a request with typed questions. A pattern must be RE2 syntax.
func typedAsk(b *builder, v value) {
	b.eventPairEnvelope(v)
	b.familyList(v.field("questions"), b.typedQuestion)
	for i := range b.places {
		b.places[i].fields = typedFields()
	}
}

func (b *builder) typedQuestion(i int, v value) ask.Question {
	q := b.familyQuestion(i, v)
	if v.field("id").given() {
		q.ID = b.id(v.field("id"), i)
	}
	q.Kind = ask.Kind(cmp.Or(v.field("type").string(), string(ask.KindChoice)))
	if q.Kind == ask.KindChoice {
		q.Options = b.familyOptions(v.field("options"), nil)
	}
	if q.Kind != ask.KindChoice {
		v.single(&q)
	}
	q.Optional = !v.field("required").bool(true)
	q.Placeholder = v.field("placeholder").string()
	b.typedValidation(v.field("validation"), &q)
	q.Default = v.field("default").preset(&q, "")
	return q
}

func (b *builder) typedValidation(v value, q *ask.Question) {
	v.object()
	if q.Kind == ask.KindDate {
		q.Limits.MinDate, q.Limits.MaxDate = v.field("min").string(), v.field("max").string()
	} else {
		q.Limits.Min, q.Limits.Max = v.field("min").number(), v.field("max").number()
	}
	q.Limits.Integer = v.field("integer").bool(false)
	q.Limits.MinLength, q.Limits.MaxLength = v.field("minLength").int(), v.field("maxLength").int()
	q.Limits.Pattern, q.Limits.Message = v.field("pattern").string(), v.field("message").string()
	q.MinItems, q.MaxItems = v.field("minItems").int(), v.field("maxItems").int()
}

// preset reads a default in the form of an answer; an option may be named by
// its label.
func (v value) preset(q *ask.Question, separator string) *ask.Answer {
	if !v.given() || !slices.Contains([]ask.Kind{ask.KindChoice, ask.KindText, ask.KindNumber, ask.KindBoolean, ask.KindDate}, q.Kind) {
		return nil
	}
	for i := range q.Options {
		if q.Options[i].ID == "" {
			q.Options[i].ID = "o" + strconv.Itoa(i+1) // as in Normalize, but needed now
		}
	}
	read := v.answer
	if q.Kind == ask.KindChoice {
		read = v.presetChoice
	}
	preset := read(q, separator)
	if preset.Empty() {
		return nil
	}
	preset.QuestionID = ""
	return &preset
}

// maxListed bounds the labels that a fault lists.
const maxListed = 10

// presetChoice reads labels, or ids. A default has no place for Other text, so
// an unknown label is a fault: a default without it would be another choice.
func (v value) presetChoice(q *ask.Question, separator string) (ans ask.Answer) {
	items := []any{v.raw}
	if _, isList := v.raw.([]any); isList {
		items, separator = anys(v.strings()), ""
	}
	labels := clipAll(askedLabels(q))
	for _, item := range items {
		one := value{r: v.r, at: v.at, raw: item}.answerOrIDs(q, separator)
		if one.Other != "" {
			known := quoted(labels[:min(len(labels), maxListed)])
			if len(labels) > maxListed {
				known += ", …"
			}
			v.fault(ask.FaultUnknownOption, clip(one.Other), known)
		}
		for _, id := range one.Selected {
			if !slices.Contains(ans.Selected, id) {
				ans.Selected = append(ans.Selected, id)
			}
		}
	}
	return ans
}

func (v value) answerOrIDs(q *ask.Question, separator string) ask.Answer {
	if ids, ok := named(q, v.raw); ok {
		return ask.Answer{QuestionID: q.ID, Selected: ids}
	}
	return v.answer(q, separator)
}

// typedAnswer writes the answers, each in its own type.
func typedAnswer(a *ask.Ask, o *ask.Outcome) Response {
	return respond(200, eventPairBody(a, o, "", func(q *ask.Question, ans ask.Answer) any { return typedValue(q, ans) }))
}

// typedValue returns an answer for JSON: a label or an array of labels, a text,
// a number, a boolean, or a date as a string.
func typedValue(q *ask.Question, ans ask.Answer) any {
	switch {
	case q.Multiple:
		return list(q.Labels(ans))
	case ans.Number != nil:
		return json.Number(strconv.FormatFloat(*ans.Number, 'f', -1, 64))
	case ans.Boolean != nil:
		return *ans.Boolean
	}
	return q.Words(ans)
}

// typedShow writes a request with typed questions.
func typedShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	s.bounds(a, familyQuestions, familyOptions)
	if !familyFits(a, true) {
		return encode(overflowShow(a, true)), s.warnings
	}
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		shown := ordered("id", recall(a, q.ID, i, "id"), "question", s.text(a, i, true), "header", header(a, i), "type", string(q.Kind), "required", !q.Optional)
		if q.Kind == ask.KindChoice {
			shown.set("options", s.familyOptions(a, i, "", false))
			shown.set("multiSelect", q.Multiple)
		}
		shown.setText("placeholder", q.Placeholder)
		if q.Default != nil {
			shown.set("default", typedValue(q, *q.Default))
		}
		if limits := typedLimits(q); len(limits.keys) > 0 {
			shown.set("validation", limits)
		}
		questions = append(questions, shown)
	}
	return encode(eventPairShown(a, questions)), s.warnings
}

func typedLimits(q *ask.Question) *object {
	o, l := ordered(), q.Limits
	for _, limit := range []struct {
		name  string
		value any
		given bool
	}{
		{"min", l.Min, l.Min != nil},
		{"max", l.Max, l.Max != nil},
		{"min", l.MinDate, l.MinDate != ""},
		{"max", l.MaxDate, l.MaxDate != ""},
		{"integer", true, l.Integer},
		{"minLength", l.MinLength, l.MinLength != 0},
		{"maxLength", l.MaxLength, l.MaxLength != 0},
		{"pattern", l.Pattern, l.Pattern != ""},
		{"message", l.Message, l.Message != ""},
		{"minItems", q.MinItems, q.MinItems != 0},
		{"maxItems", q.MaxItems, q.MaxItems != 0},
	} {
		if limit.given {
			o.set(limit.name, limit.value)
		}
	}
	return o
}

// typedReply reads typed answers.
func typedReply(a *ask.Ask, v value) Given { return readEventPair(a, v, "") }
