package dialect

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The bounds that D1, D2 and D3 have in common.
const (
	familyQuestions  = 4
	familyOptions    = 4
	familyLabelWords = 5
)

// familyFields maps native fields to those of D1 and D3.
func familyFields() map[string]string {
	return map[string]string{"text": "question", "multiple": "multiSelect", "options/#/preview/body": "options/#/preview"}
}

// familyList reads the questions of a request of this family.
func (b *builder) familyList(v value, read func(i int, v value) ask.Question) {
	list := v.list()
	switch n := len(list); {
	case v.missing():
		v.fault("is missing; give 1 to %d questions", familyQuestions)
	case n == 0:
		v.fault("is empty; ask at least one question")
	case n > familyQuestions:
		v.fault("has %d questions; use at most %d", n, familyQuestions)
		return
	}
	for i, item := range list {
		if item.raw == nil {
			item.fault("is null; give an object")
		}
		item.object()
		b.add(read(i, item), place{at: item.at, fields: familyFields()})
	}
}

// familyQuestion reads what D1, D2 and D3 share of a question.
func (b *builder) familyQuestion(i int, v value) ask.Question {
	q := ask.Question{
		Text:     v.field("question").need(),
		Header:   b.header(v.field("header"), i),
		Multiple: v.field("multiSelect").bool(false),
	}
	if text := strings.TrimSpace(q.Text); text != "" && !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "？") && !strings.HasSuffix(text, "؟") {
		v.field("question").warn("does not end in a question mark")
	}
	return q
}

// familyOptions reads 2 to 4 options.
func (b *builder) familyOptions(v value, preview func(option value) *ask.Preview) []ask.Option {
	list := v.list()
	switch n := len(list); {
	case v.missing():
		v.fault("is missing; give 2 to %d options", familyOptions)
	case n < 2 || n > familyOptions:
		if _, ok := v.raw.([]any); ok {
			v.fault("has %d options; give 2 to %d", n, familyOptions)
		}
		return nil
	}
	options := make([]ask.Option, 0, len(list))
	for _, item := range list {
		o := option(item)
		if preview != nil {
			o.Preview = preview(item)
		}
		options = append(options, o)
	}
	return options
}

// option reads a label and its description.
func option(v value) ask.Option {
	if v.raw == nil {
		v.fault("is null; give an object")
	}
	v.object()
	o := ask.Option{Label: v.field("label").need(), Description: v.field("description").string()}
	o.Recommended = saysRecommended(o.Label)
	if n := len(strings.Fields(strings.TrimSuffix(o.Label, recommendedMark))); n > familyLabelWords {
		v.field("label").warn("has %d words; labels of 1 to %d are read faster", n, familyLabelWords)
	}
	return o
}

const recommendedMark = "(Recommended)"

// saysRecommended reports whether a label says so itself.
func saysRecommended(label string) bool {
	label = strings.NewReplacer("（", "(", "）", ")").Replace(strings.TrimSpace(label))
	return len(label) >= len(recommendedMark) && strings.EqualFold(label[len(label)-len(recommendedMark):], recommendedMark)
}

// list makes an array that is never null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// ordered makes an object of keys and values that stay in this order.
func ordered(pairs ...any) *object {
	o := &object{values: make(map[string]any, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			o.set(key, pairs[i+1])
		}
	}
	return o
}

// ending adds to an answer how the ask ended, where answers alone would not
// say it: status, source, reason, and the rest in words.
func (o *object) ending(a *ask.Ask, out *ask.Outcome, separator string) *object {
	r := rowOf(out)
	if r != rowAnswered && r != rowResponse {
		o.set("status", string(out.Status))
	}
	if out.Source == ask.SourceDefault || out.Source == ask.SourcePolicy {
		o.set("source", string(out.Source))
	}
	if out.Reason != "" && !r.decided() {
		o.set("reason", out.Reason)
	}
	if text := remarks(a, out, separator); text != "" {
		o.set("text", text)
	}
	if r == rowAnswered {
		o.skipped(a, out)
	}
	return o
}

// skipped lists the questions that an answered ask left out.
func (o *object) skipped(a *ask.Ask, out *ask.Outcome) {
	var left []string
	for i := range a.Questions {
		if answerTo(out, &a.Questions[i]) == nil {
			left = append(left, a.Questions[i].Text)
		}
	}
	if len(left) > 0 {
		o.set("skipped", left)
	}
}

// waiting is the body that says that an ask is pending.
func waiting(a *ask.Ask, p Pending) *object {
	return ordered("status", string(ask.StatePending), "ask_id", a.ID, "hint", p.hint(a))
}

// pending is the response to an agent whose shape has no word for waiting.
func pending(body any, p Pending) Response {
	r := respond(202, body)
	if p.Location != "" {
		r.Header["Location"] = p.Location
	}
	return r
}
