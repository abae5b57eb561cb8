package dialect

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// property adds a question for one property of a form's schema.
func (b *builder) property(i int, name string, v value, required bool) {
	if v.raw == nil {
		v.fault(ask.FaultWrongType, "null", "a_schema")
	}
	v.object()
	v.ignore("_meta")
	q := ask.Question{ID: ask.Token(name), NoOther: true, Optional: !required}
	if q.ID != name {
		b.remember(name, i, "id")
	}
	title, description := v.field("title").string(), v.field("description").string()
	q.Text = cmp.Or(description, title, name)
	if description != "" && title != "" {
		q.Header = title
		if utf8.RuneCountInString(title) > ask.MaxHeader {
			q.Header, q.Text = "", title+"\n\n"+description
		}
	}
	at := place{at: v.at, fields: map[string]string{
		"text": "description", "header": "title", "kind": "type", "limits/min": "minimum", "limits/max": "maximum",
		"limits/min_length": "minLength", "limits/max_length": "maxLength", "limits/pattern": "pattern",
		"min_items": "minItems", "max_items": "maxItems",
	}}
	switch typ := v.field("type").need(); typ {
	case "string":
		b.stringProperty(i, v, &q, &at)
	case "number", "integer":
		q.Kind, q.Limits.Integer = ask.KindNumber, typ == "integer"
		q.Limits.Min = v.limit("minimum", "exclusiveMinimum", typ, 1)
		q.Limits.Max = v.limit("maximum", "exclusiveMaximum", typ, -1)
	case "boolean":
		q.Kind = ask.KindBoolean
	case "array":
		items := v.field("items")
		items.object()
		if typ, _ := items.field("type").raw.(string); typ == "string" && !items.first("anyOf", "oneOf", "enum").given() { // a list of Python
			q.Kind = ask.KindText
			q.Text += "\n\nOne per line."
			b.remember("text", i, "lines")
			items.ignore()
			break
		}
		q.Kind, q.Multiple = ask.KindChoice, true
		q.MinItems, q.MaxItems = v.field("minItems").int(), v.field("maxItems").int()
		b.constants(i, items, "anyOf", "items/", &q, &at)
	default:
		if v.field("type").given() {
			v.field("type").fault(ask.FaultNotOneOf, clip(typ), "string, number, integer, boolean, array")
		}
		q.Kind = ask.KindText
	}
	for _, f := range v.multiples() {
		if f.bool(false) != q.Multiple {
			f.warn("is dropped: the type says how many may be chosen; use array for several, string for one")
		}
	}
	q.Default = b.elicited(i, v.field("default"), &q)
	b.add(q, at)
}

// limit returns the tighter one of the two limits of a number. Whole numbers begin a step after an exclusive
// limit; others may be the limit itself.
func (v value) limit(inclusive, exclusive, typ string, step float64) *float64 {
	limit, beyond := v.field(inclusive).number(), v.field(exclusive)
	if !beyond.given() {
		return limit
	}
	if typeName(beyond.raw) != "number" || typ != "integer" {
		beyond.warn("is checked as %s: the number itself is allowed, too", inclusive)
	}
	if typeName(beyond.raw) != "number" {
		return limit // true, of an early JSON Schema
	}
	n := beyond.number()
	if n != nil && typ == "integer" {
		*n = step * (math.Floor(step**n) + 1)
	}
	if n == nil || limit != nil && step**limit > step**n {
		return limit
	}
	return n
}

// stringFormat is a format of strings and the limit that it implies.
type stringFormat struct{ name, pattern, message string }

func formats() []stringFormat {
	return []stringFormat{
		{"email", `^[\w.!#$%&'*+/=?^{|}~-]+@([A-Za-z0-9-]+\.)+[A-Za-z0-9]+$`, "Give an email address such as mei@example.com."},
		{"uri", `^[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\[\]_a-z~]+$`, "Give a URI with its scheme; write other characters than those of ASCII as %XX."},
		{"date-time", `^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`, "Give a time such as 2026-11-20T10:00:00Z."},
	}
}

func (b *builder) stringProperty(i int, v value, q *ask.Question, at *place) {
	if v.first("oneOf", "anyOf", "enum").given() {
		q.Kind = ask.KindChoice
		b.constants(i, v, "oneOf", "", q, at)
		return
	}
	q.Kind = ask.KindText
	format := v.field("format").string()
	if format == "date" {
		q.Kind = ask.KindDate
		return
	}
	if i := slices.IndexFunc(formats(), func(f stringFormat) bool { return f.name == format }); i >= 0 {
		q.Limits.Pattern, q.Limits.Message = formats()[i].pattern, formats()[i].message
	} else if format != "" {
		v.field("format").warn("is %s, which is not checked; it is dropped", clip(format))
	}
	if pattern := v.field("pattern").string(); pattern != "" {
		if _, err := regexp.Compile(pattern); err != nil || len(pattern) > ask.MaxText { // generators write lookaheads
			v.field("pattern").warn("is not checked: it is no RE2 regular expression of at most %d bytes", ask.MaxText)
		} else {
			q.Limits.Pattern = pattern
			if len(pattern) <= 40 {
				q.Limits.Message = "" // what people wrote says more than the format; what generators write says less
			}
		}
	}
	q.Limits.MinLength, q.Limits.MaxLength = v.field("minLength").int(), min(v.field("maxLength").int(), ask.MaxLong)
}

// constants reads the choices of a schema: const and title, or an enum with
// enumNames.
func (b *builder) constants(i int, v value, titled, below string, q *ask.Question, at *place) {
	var labels []string
	add := func(j int, constant value, label, about string) {
		if label == "" {
			label = constant.need()
		}
		label = distinct(label, j, labels)
		labels = append(labels, label)
		q.Options = append(q.Options, ask.Option{ID: b.id(constant, i, j), Label: label, Description: about})
	}
	choices := v.first(titled, "oneOf", "anyOf", "enum")
	field := choices.at[strings.LastIndexByte(choices.at, '/')+1:]
	list := choices.upTo(ask.MaxOptions, "choices")
	if len(list) == 0 {
		choices.fault(ask.FaultEmptyList, "choices_given")
	}
	names := v.field("enumNames").strings()
	for j, item := range list {
		if field == "enum" {
			label := ""
			if j < len(names) {
				label = names[j]
			}
			add(j, item, label, "")
			continue
		}
		item.object()
		item.ignore("_meta")
		add(j, item.field("const"), item.field("title").string(), item.field("description").string())
		if meta := item.field("_meta").field(claudeOptionMeta); meta.given() {
			q.Options[len(q.Options)-1].Preview = b.preview(meta, q.Multiple, i, j)
		}
	}
	at.fields["options"] = below + field
	if field == "enum" {
		at.fields["options/#/id"], at.fields["options/#/label"] = below+"enum/#", below+"enum/#"
	} else {
		at.fields["options/#/id"], at.fields["options/#/label"] = below+field+"/#/const", below+field+"/#/title"
	}
}

func (b *builder) elicited(i int, v value, q *ask.Question) *ask.Answer {
	if !v.given() {
		return nil
	}
	var ans ask.Answer
	if b.origin[originKey(i, "lines")] != nil {
		ans.Text = strings.Join(v.strings(), "\n")
	} else if q.Kind == ask.KindChoice {
		for _, foreign := range v.strings() {
			ans.Selected = append(ans.Selected, b.constant(i, v, q, foreign))
		}
	} else {
		ans = v.answer(q, "")
		ans.QuestionID, ans.Skipped = "", false
	}
	if ans.Empty() {
		return nil
	}
	return &ans
}

func (b *builder) constant(i int, v value, q *ask.Question, foreign string) string {
	for j := range q.Options {
		if id := q.Options[j].ID; id == foreign || b.origin[originKey(i, j, "id")] == foreign {
			return id
		}
	}
	v.fault(ask.FaultNotAmong, clip(foreign), "the_choices")
	return foreign
}

// refer puts what a schema defines in the places where its properties refer to it, as generators write enums.
func (v value) refer() {
	v.ignore("$defs", "definitions")
	properties, _ := v.field("properties").raw.(*object)
	if properties == nil {
		return
	}
	for i, name := range properties.keys {
		if i > ask.MaxQuestions {
			return // one too many
		}
		properties.values[name] = v.object().referred(properties.values[name], 3)
	}
}

// referred returns a schema with what it refers to in the root o, at most so many references deep. A title or a
// description of that is about the type, not about the field.
func (o *object) referred(schema any, hops int) any {
	s, ok := schema.(*object)
	if !ok || hops == 0 {
		return schema
	}
	flat := ordered()
	for _, key := range s.keys {
		list, _ := s.values[key].([]any)
		switch {
		case key == "$ref" || key == "allOf" && len(list) == 1:
			named := o.named(s.values[key])
			if key == "allOf" {
				named = list[0]
			}
			whole, ok := o.referred(named, hops-1).(*object)
			if !ok || len(encode(whole)) > ask.MaxLong { // no form has it, and many references would make a long one of a short body
				return schema
			}
			for _, k := range whole.keys {
				if flat.values[k] == nil && k != "title" && k != "description" {
					flat.set(k, whole.values[k])
				}
			}
		case key == "items":
			flat.set(key, o.referred(s.values[key], hops-1))
		case (key == "anyOf" || key == "oneOf") && len(list) == 2: // a value, or null
			flat.set(key, []any{o.referred(list[0], hops-1), o.referred(list[1], hops-1)})
		default:
			flat.set(key, s.values[key])
		}
	}
	return flat
}

// named returns the value at a reference such as #/$defs/Color, or nil.
func (o *object) named(ref any) any {
	text, _ := ref.(string)
	path, local := strings.CutPrefix(text, "#/")
	at := any(o)
	for name := range strings.SplitSeq(path, "/") {
		in, ok := at.(*object)
		if !ok || !local {
			return nil
		}
		at = in.values[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return at
}
