package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// d2Fields maps native fields to those of D2.
func d2Fields() map[string]string {
	return map[string]string{
		"text": "question", "multiple": "multiSelect", "kind": "type",
		"limits/min_length": "validation/minLength", "limits/max_length": "validation/maxLength", "limits": "validation",
		"min_items": "validation/minItems", "max_items": "validation/maxItems",
	}
}

// D2Ask reads a request with typed questions. A pattern must be one of RE2.
func D2Ask(body []byte) (ask.Ask, []Warning, error) {
	b := newBuilder("d2")
	v, err := b.parse(body)
	if err != nil {
		return ask.Ask{}, nil, err
	}
	b.d1Envelope(v)
	b.times(v)
	b.familyList(v.field("questions"), b.d2Question)
	for i := range b.places {
		b.places[i].fields = d2Fields()
	}
	return b.finish()
}

func (b *builder) d2Question(i int, v value) ask.Question {
	q := b.familyQuestion(i, v)
	if v.field("id").given() {
		q.ID = b.id(v.field("id"), i)
	}
	q.Kind = ask.Kind(orElse(v.field("type").string(), string(ask.KindChoice)))
	if q.Kind == ask.KindChoice {
		q.Options = b.familyOptions(v.field("options"), nil)
	}
	q.Optional = !v.field("required").bool(true)
	q.Placeholder = v.field("placeholder").string()
	b.d2Validation(v.field("validation"), &q)
	q.Default = v.field("default").preset(&q)
	return q
}

func (b *builder) d2Validation(v value, q *ask.Question) {
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

// preset reads a default in the shape of an answer; an option may be named by
// its label.
func (v value) preset(q *ask.Question) *ask.Answer {
	if !v.given() || !slices.Contains([]ask.Kind{ask.KindChoice, ask.KindText, ask.KindNumber, ask.KindBoolean, ask.KindDate}, q.Kind) {
		return nil
	}
	for i := range q.Options {
		if q.Options[i].ID == "" {
			q.Options[i].ID = "o" + strconv.Itoa(i+1) // as normalizing does, but needed now
		}
	}
	ans := v.answer(q, "")
	if ans.Empty() {
		return nil
	}
	ans.QuestionID = ""
	return &ans
}

// times reads when an ask ends by itself; no foreign shape has this, so the
// names are ours.
func (b *builder) times(v value) {
	if s := v.field("timeout").string(); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			v.field("timeout").fault("is %q; use a duration such as 30m", clip(s))
		}
		if b.ask.Timeout = d; d != 0 || err != nil {
			b.clipTimeout()
		} else {
			v.field("timeout").fault("is zero; use at least 1s, or leave it out")
		}
	}
	if s := v.field("deadline").string(); s != "" {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			v.field("deadline").fault("is %q; use a time such as 2026-11-20T10:00:00Z", clip(s))
		}
		b.ask.Deadline = t
	}
	if b.ask.Timeout != 0 && !b.ask.Deadline.IsZero() {
		v.field("timeout").fault("is given together with deadline; give one of them")
	}
	at := v.first("atDeadline", "at_deadline")
	b.ask.AtDeadline, b.tops["/at_deadline"] = ask.AtDeadline(at.string()), at.at
}

func (b *builder) clipTimeout() {
	timed := ask.Ask{Timeout: b.ask.Timeout}
	b.warnings = append(b.warnings, ClipTimes(&timed, time.Time{})...)
	b.ask.Timeout = timed.Timeout
}

// D2Answer writes the answers, each in its own type.
func D2Answer(a *ask.Ask, o *ask.Outcome) Response {
	return respond(200, d1Body(a, o, "", func(q *ask.Question, ans ask.Answer) any { return typedValue(q, ans) }))
}

// typedValue is an answer as JSON has it: a label or an array of labels, a
// text, a number, a boolean, a date as a string.
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

// D2Pending says that the ask waits.
func D2Pending(a *ask.Ask, p Pending) Response { return D1Pending(a, p) }

// D2Show writes a request with typed questions.
func D2Show(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	s.bounds(a, familyQuestions, familyOptions)
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		shown := ordered("id", recall(a, q.ID, i, "id"), "question", s.text(a, i, true), "header", header(a, i), "type", string(q.Kind), "required", !q.Optional)
		if q.Kind == ask.KindChoice {
			shown.set("options", s.familyOptions(q, "", false))
			shown.set("multiSelect", q.Multiple)
		}
		if q.Placeholder != "" {
			shown.set("placeholder", q.Placeholder)
		}
		if q.Default != nil {
			shown.set("default", typedValue(q, *q.Default))
		}
		if limits := d2Limits(q); len(limits.keys) > 0 {
			shown.set("validation", limits)
		}
		questions = append(questions, shown)
	}
	return encode(d1Shown(a, questions)), s.warnings
}

func d2Limits(q *ask.Question) *object {
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

// D2Reply reads typed answers.
func D2Reply(a *ask.Ask, body []byte) (Given, error) { return d1Reply("d2", a, body, "") }
