package dialect

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The bounds that event-pair, typed and claude-code share.
const (
	familyQuestions  = 4
	familyOptions    = 4
	familyLabelWords = 5
)

// familyFields maps native fields to those of event-pair and claude-code.
func familyFields() map[string]string {
	return map[string]string{"text": "question", "multiple": "multiSelect", "options/#/preview/body": "options/#/preview"}
}

// familyList reads the questions of a request of this family.
func (b *builder) familyList(v value, read func(i int, v value) ask.Question) {
	list := v.list()
	b.tops["/questions"] = v.at
	switch n := len(list); {
	case v.missing():
		v.fault(ask.FaultMissingItems, 1, familyQuestions, "questions")
	case n > familyQuestions:
		v.faultCount(ask.FaultTooMany, n, "questions", familyQuestions)
	}
	for i, item := range atMost(list, ask.MaxQuestions) {
		if item.raw == nil {
			item.fault(ask.FaultWrongType, "null", "object")
		}
		item.object()
		b.add(read(i, item), place{at: item.at, fields: familyFields()})
	}
}

// atMost limits how many items are read of a list that is too long.
func atMost(list []value, n int) []value { return list[:min(len(list), n)] }

// familyQuestion reads the fields of a question that event-pair, typed and
// claude-code share.
func (b *builder) familyQuestion(i int, v value) ask.Question {
	return ask.Question{
		Text:     v.field("question").need(),
		Header:   b.header(v.field("header"), i),
		Multiple: v.multiple(),
	}
}

// familyOptions reads 2 to 4 options.
func (b *builder) familyOptions(v value, preview func(j int, option value) *ask.Preview) []ask.Option {
	list := v.list()
	switch n := len(list); {
	case v.missing():
		v.fault(ask.FaultMissingItems, 2, familyOptions, "options")
	case n < 2 || n > familyOptions:
		if _, ok := v.raw.([]any); ok {
			v.faultCount(ask.FaultWrongCount, n, "options", 2, familyOptions)
		}
	}
	options := make([]ask.Option, 0, len(list))
	for j, item := range atMost(list, ask.MaxOptions) {
		o := option(item)
		if preview != nil {
			o.Preview = preview(j, item)
		}
		options = append(options, o)
	}
	return options
}

// option reads a label and its description.
func option(v value) ask.Option {
	if label, ok := v.raw.(string); ok { // many models write it this way
		return ask.Option{Label: label, Recommended: saysRecommended(label)}
	}
	if v.raw == nil {
		v.fault(ask.FaultWrongType, "null", "object")
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

// saysRecommended reports whether a label itself contains the mark.
func saysRecommended(label string) bool {
	label = strings.NewReplacer("（", "(", "）", ")").Replace(strings.TrimSpace(label))
	return len(label) >= len(recommendedMark) && strings.EqualFold(label[len(label)-len(recommendedMark):], recommendedMark)
}

// list returns an array that is never null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// ordered returns an object with keys and values in this order.
func ordered(pairs ...any) *object {
	o := &object{values: make(map[string]any, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			o.set(key, pairs[i+1])
		}
	}
	return o
}

// ending adds to an answer how the ask ended, if the answers alone do not say
// so: status, source, reason, and the rest in words.
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
	o.setText("text", remarks(a, out, separator))
	if r == rowAnswered {
		o.skipped(a, out)
	}
	return o
}

// skipped lists the questions that were skipped in an answered ask.
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

// waiting returns the body for a pending ask.
func waiting(a *ask.Ask, p Pending) *object {
	return ordered("status", string(ask.StatePending), "ask_id", a.ID, "hint", p.hint(a))
}

// waitingResponse is [pending] with the common body.
func waitingResponse(a *ask.Ask, p Pending) Response { return pending(waiting(a, p), p) }

// pending returns the response for a pending ask, for a shape that has none of
// its own.
func pending(body any, p Pending) Response {
	r := respond(202, body)
	if p.Location != "" {
		r.Header["Location"] = p.Location
	}
	return r
}
