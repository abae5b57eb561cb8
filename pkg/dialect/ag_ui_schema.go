package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// response adds the question for one value of a response schema. What no field of a form holds, such as
// the edited arguments of a tool call, is typed as JSON.
func (b *builder) response(name string, v value, required bool) {
	i := len(b.ask.Questions)
	schema, nullable := plain(v)
	o, ok := schema.raw.(*object)
	if choices := numbers(o); choices != nil {
		b.remember("number", i, "json")
		v.ignore()
		schema.raw, o = choices, choices
	}
	if !ok || isField(o) {
		b.property(i, name, schema, required && !nullable)
		return
	}
	v.ignore()
	q := ask.Question{ID: ask.Token(name), Kind: ask.KindText, Optional: !required || nullable}
	title, _ := o.values["title"].(string)
	q.Text = cmp.Or(title, name)
	if about, _ := o.values["description"].(string); about != "" {
		q.Text += ": " + about
	}
	if slices.ContainsFunc(o.keys, func(key string) bool {
		return !slices.Contains([]string{"type", "title", "description", "default"}, key)
	}) {
		q.Text += "\n\n" + fenced("json", indented(encode(o)))
	}
	q.Text = shorten(q.Text, ask.MaxText-60)
	kind, _ := o.values["type"].(string)
	switch kind {
	case "object":
		q.Limits.Pattern, q.Limits.Message = `^\s*\{[\s\S]*\}\s*$`, "Give a JSON object."
	case "array":
		q.Limits.Pattern, q.Limits.Message = `^\s*\[[\s\S]*\]\s*$`, "Give a JSON array."
	}
	b.remember(cmp.Or(kind, "any"), i, "json")
	b.add(q, place{at: v.at})
}

// isField reports whether a form has a field for the values of a schema.
func isField(o *object) bool {
	switch typ := o.values["type"].(type) {
	case string:
		if typ != "array" {
			return typ != "object"
		}
		items, _ := o.values["items"].(*object)
		return items != nil && (items.values["type"] == nil || items.values["type"] == "string") && (items.values["enum"] != nil || items.values["anyOf"] != nil || items.values["oneOf"] != nil)
	case nil:
		return false
	}
	return typeName(o.values["type"]) != "array" // a fault
}

// numbers returns the schema of a choice of numbers as one of their texts, or nil.
func numbers(o *object) *object {
	if o == nil || o.values["type"] != nil && o.values["type"] != "integer" && o.values["type"] != "number" {
		return nil
	}
	choices := ordered("type", "string")
	for _, key := range []string{"title", "description"} {
		if o.values[key] != nil {
			choices.set(key, o.values[key])
		}
	}
	if n := o.values["default"]; typeName(n) == "number" {
		choices.set("default", string(encode(n)))
	}
	for _, key := range []string{"oneOf", "anyOf", "enum"} {
		list, _ := o.values[key].([]any)
		texts := []any{}
		for _, item := range list {
			titled, isObject := item.(*object)
			if isObject {
				item = titled.values["const"]
			}
			if typeName(item) != "number" || isObject == (key == "enum") {
				return nil
			}
			text := string(encode(item))
			if !isObject {
				texts = append(texts, text)
				continue
			}
			texts = append(texts, ordered("const", text, "title", cmp.Or(titled.values["title"], any(text)), "description", cmp.Or(titled.values["description"], any(""))))
		}
		if len(texts) > 0 {
			choices.set(key, texts)
			return choices
		}
	}
	return nil
}

// plain returns a schema as forms write it: generators write an optional value as one that may be null,
// and some write no type beside texts to choose from.
func plain(v value) (_ value, nullable bool) {
	o, ok := v.raw.(*object)
	if !ok {
		return v, false
	}
	flat, changed := ordered(), false
	for _, key := range o.keys {
		list, _ := o.values[key].([]any)
		rest := slices.DeleteFunc(slices.Clone(list), isNull)
		switch {
		case (key == "anyOf" || key == "oneOf" || key == "type") && len(list) == 2 && len(rest) == 1:
			nullable, changed = true, true
			if inner, ok := rest[0].(*object); ok {
				for _, k := range inner.keys {
					flat.set(k, inner.values[k])
				}
				continue
			}
			flat.set(key, rest[0])
		default:
			flat.set(key, o.values[key])
		}
	}
	for _, key := range []string{"oneOf", "anyOf", "enum"} {
		choices, _ := flat.values[key].([]any)
		if flat.values["type"] == nil && len(choices) > 0 && !slices.ContainsFunc(choices, func(c any) bool {
			if o, ok := c.(*object); ok && key != "enum" {
				c = o.values["const"]
			}
			return typeName(c) != "string"
		}) {
			flat.set("type", "string")
			changed = true
		}
	}
	if !changed {
		return v, false
	}
	v.ignore()
	return value{r: v.r, at: v.at, raw: flat}, nullable
}

// isNull reports whether a schema, or the name of a type, allows null alone.
func isNull(schema any) bool {
	if o, ok := schema.(*object); ok {
		schema = o.values["type"]
	}
	return schema == "null"
}

// responseValue returns the answer to a question of [builder.response] for the payload. It is false if
// the answer should be JSON and is not.
func responseValue(a *ask.Ask, i int, ans ask.Answer) (any, bool) {
	kind := recall(a, "", i, "json")
	if kind == "" {
		return elicitedValue(a, i, ans), true
	}
	if a.Questions[i].Kind == ask.KindChoice {
		ans.Text, _ = elicitedValue(a, i, ans).(string)
	}
	v, err := (&reader{}).parse([]byte(strings.TrimSpace(ans.Text)))
	if kind == "any" && err != nil {
		return ans.Text, true
	}
	return v.raw, err == nil && (kind == "any" || typeName(v.raw) == kind)
}

func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err == nil && err2 == nil && x == y
}

// responseAnswer reads the answer to question i from a payload.
func (v value) responseAnswer(a *ask.Ask, i int) ask.Answer {
	if recall(a, "", i, "json") == "" || !v.given() {
		return v.elicited(a, i)
	}
	if a.Questions[i].Kind == ask.KindChoice {
		text := string(encode(v.raw))
		for _, o := range a.Questions[i].Options { // Python writes 1.0, and JavaScript answers 1
			if n := foreignOption(a, i, o.ID); sameNumber(n, text) {
				text = n
				break
			}
		}
		return value{r: v.r, at: v.at, raw: text}.elicited(a, i)
	}
	v.answers(a.Questions[i].ID)
	if s, ok := v.raw.(string); ok {
		return ask.Answer{QuestionID: a.Questions[i].ID, Text: s}
	}
	return ask.Answer{QuestionID: a.Questions[i].ID, Text: string(encode(v.raw))}
}
