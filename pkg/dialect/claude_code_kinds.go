package dialect

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
)

// askbus's MCP tool offers more than the coding agent's own: other kinds of
// questions, ids, defaults and limits. Models write them as in JSON Schema,
// forms and other tools, so every common word is accepted.

// kindOf returns the kind that a word names.
func kindOf(word string) (kind ask.Kind, several, integer, known bool) {
	switch spelling(word) {
	case "choice", "singlechoice", "select", "singleselect", "radio", "enum", "options":
		return ask.KindChoice, false, false, true
	case "multiselect", "multichoice", "multiplechoice", "multiple", "checkbox", "checkboxes":
		return ask.KindChoice, true, false, true
	case "text", "string", "freetext", "longtext", "textarea", "input", "open":
		return ask.KindText, false, false, true
	case "number", "float", "numeric":
		return ask.KindNumber, false, false, true
	case "integer", "int":
		return ask.KindNumber, false, true, true
	case "boolean", "bool", "yesno", "confirm", "confirmation":
		return ask.KindBoolean, false, false, true
	case "date":
		return ask.KindDate, false, false, true
	}
	return "", false, false, false
}

// claudeCodeKind reads a question's type. The default is a choice.
func (b *builder) claudeCodeKind(v value, q *ask.Question) {
	q.Kind = ask.KindChoice
	f := v.first("type", "kind")
	if !f.given() {
		return
	}
	kind, several, integer, known := kindOf(f.string())
	if !known {
		if typeName(f.raw) == "string" {
			f.fault(ask.FaultNotOneOf, clip(f.string()), "choice, text, number, integer, boolean, date")
		}
		return
	}
	q.Kind, q.Limits.Integer = kind, integer
	q.Multiple = q.Multiple || several
}

// claudeCodeMore reads ids, defaults and limits, and the options of a question
// that is not a choice, which validation refuses.
func (b *builder) claudeCodeMore(i int, v value, q *ask.Question) {
	if q.Kind != ask.KindChoice {
		q.Options = b.options(v.field("options"))
		if len(v.multiples()) > 0 {
			v.single(q)
		}
	}
	if id := v.first("id", "question_id"); id.given() {
		q.ID = b.id(id, i)
	}
	for j, item := range atMost(v.field("options").list(), len(q.Options)) {
		if _, isObject := item.raw.(*object); isObject && item.field("id").given() {
			q.Options[j].ID = b.id(item.field("id"), i, j)
		}
	}
	q.Optional = !v.field("required").bool(true)
	q.Placeholder = v.field("placeholder").string()
	integer := q.Limits.Integer
	at := v
	for _, key := range []string{"validation", "limits"} {
		if v.field(key).given() {
			at = v.field(key)
			at.object()
		}
	}
	if q.Kind == ask.KindDate {
		q.Limits.MinDate, q.Limits.MaxDate = at.first("earliest", "min", "minimum").string(), at.first("latest", "max", "maximum").string()
	} else {
		q.Limits.Min, q.Limits.Max = at.first("min", "minimum").number(), at.first("max", "maximum").number()
	}
	q.Limits.Integer = at.field("integer").bool(integer)
	q.Limits.MinLength, q.Limits.MaxLength = at.first("min_length", "minLength").int(), at.first("max_length", "maxLength").int()
	q.Limits.Pattern, q.Limits.Message = at.field("pattern").string(), at.field("message").string()
	q.MinItems, q.MaxItems = at.first("min_items", "minItems").int(), at.first("max_items", "maxItems").int()
	q.Default = v.field("default").preset(q, claudeCodeSeparator)
}

// claudeCodeFields maps native fields to those of the tool.
func claudeCodeFields() map[string]string {
	fields := familyFields()
	maps.Copy(fields, map[string]string{
		"kind": "type", "limits/min": "min", "limits/max": "max", "limits/min_length": "min_length", "limits/max_length": "max_length",
		"limits/pattern": "pattern", "limits": "min",
	})
	return fields
}

// toolFields reads the fields next to the questions that askbus's MCP tool accepts, in any of its shapes.
// The tool itself reads wait_seconds.
func (b *builder) toolFields(v value) {
	v.ignore("wait_seconds")
	b.times(v)
	if id := v.field("ask_id"); id.given() {
		if b.ask.ID = id.string(); !ask.ValidToken(b.ask.ID) {
			id.fault(ask.FaultBadToken, clip(b.ask.ID), ask.MaxToken)
		}
	}
	exclude := v.field("exclude_asker")
	b.tops["/exclude_asker"], b.ask.ExcludeAsker = exclude.at, exclude.bool(false)
	for native, set := range map[string]func(string){
		"title":       func(s string) { b.ask.Title = s },
		"context":     func(s string) { b.ask.Context = s },
		"priority":    func(s string) { b.ask.Priority = ask.Priority(s) },
		"at_deadline": func(s string) { b.ask.AtDeadline = ask.AtDeadline(s) },
	} {
		f := v.field(native)
		b.tops["/"+native] = f.at
		if s := f.string(); s != "" {
			set(s)
		}
	}
}

// unpacked parses a list or an object that a client sent as JSON text, as some do with lists, and OpenAI with the arguments of a call.
func (v value) unpacked() value {
	text, ok := v.raw.(string)
	if !ok {
		return v
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	raw, err := decode(d, 1)
	if err != nil {
		return v
	}
	switch raw.(type) {
	case []any:
		v.warn("is the text of an array; it is read as one")
		v.raw = raw
	case *object:
		v.raw = raw
	}
	return v
}

// named returns the options that a default names by id.
func named(q *ask.Question, raw any) (ids []string, ok bool) {
	list, isList := raw.([]any)
	if !isList {
		list = []any{raw}
	}
	for _, one := range list {
		id, _ := one.(string)
		if !slices.ContainsFunc(q.Options, func(o ask.Option) bool { return o.ID == id }) || slices.ContainsFunc(q.Options, func(o ask.Option) bool { return o.Label == id }) {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, len(ids) > 0
}
