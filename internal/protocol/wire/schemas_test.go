package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/schematest"
	"github.com/askbus/askbus/pkg/ask"
	"pgregory.net/rapid"
)

// The schemas and the code agree on structure: fields, types, enumerations,
// lengths, counts, what goes with which kind. These rules are the code's alone,
// because a schema cannot say them:
//
//   - ids of questions, ids and labels of options differ
//   - a pattern is RE2
//   - min and max, min_length and max_length, min_items and max_items are in order
//   - min_items and max_items are at most the number of choices
//   - a default is an answer: known options, within the limits, none that cancels
//   - a timeout is 1s to 720h; a deadline lies ahead, at most 30 days
//   - ids agree with the NATS subject
//
// And the code is more lenient in what it takes for left out: null, empty
// strings, "timeout": "0s". Numbers such as 1.0 are whole in a schema and not
// in the code.

func TestSchemasAreValidAndNamed(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(wire.Schemas(), "*.json")
	if err != nil || len(files) < 14 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		data, err := fs.ReadFile(wire.Schemas(), f)
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			Schema string `json:"$schema"`
			ID     string `json:"$id"`
			Title  string `json:"title"`
		}
		if err := json.Unmarshal(data, &head); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if head.Schema != "https://json-schema.org/draft/2020-12/schema" || head.ID != "https://askbus.dev/schemas/v1/"+f || head.Title == "" {
			t.Errorf("%s: %+v", f, head)
		}
		schematest.Compile(t, strings.TrimSuffix(f, ".json"))
	}
}

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// byCode decodes and validates an ask like the broker.
func byCode(data []byte) error {
	a, err := wire.DecodeAsk(data)
	if err != nil {
		return err
	}
	a.Normalize()
	return a.Validate(now)
}

type object = map[string]any

func word(t *rapid.T, label string, most int) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("aZ09 _-é中😀\"\\<&>\n")), 0, most, -1).Draw(t, label)
}

func said(t *rapid.T, label string, most int) string { return "x" + word(t, label, most-1) }

func maybe(t *rapid.T, o object, name string, value func() any) {
	if rapid.Bool().Draw(t, "has "+name) {
		o[name] = value()
	}
}

func yesOrNo(t *rapid.T, name string) func() any {
	return func() any { return rapid.Bool().Draw(t, name) }
}

// drawAsk generates a valid ask.
func drawAsk(t *rapid.T) object {
	a := object{"id": rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`).Draw(t, "id")}
	maybe(t, a, "title", func() any { return word(t, "title", 20) })
	maybe(t, a, "context", func() any { return word(t, "context", 40) })
	maybe(t, a, "agent", func() any {
		return object{"id": word(t, "agent", 9), "name": word(t, "name", 9), "parent": "p/a", "repository": word(t, "repository", 9), "branch": "fix/" + word(t, "branch", 9), "link": "https://example.com/" + rapid.StringMatching(`[a-z0-9/?#&=%~.-]{0,12}`).Draw(t, "link")}
	})
	maybe(t, a, "priority", func() any { return rapid.SampledFrom([]string{"low", "normal", "high", "urgent"}).Draw(t, "priority") })
	maybe(t, a, "audience", func() any { return []any{said(t, "principal", 9), "group:" + said(t, "group", 9)} })
	maybe(t, a, "require_responder", yesOrNo(t, "require"))
	maybe(t, a, "asker", func() any { return []any{"os:mei", said(t, "asker", 9)} })
	if a["asker"] != nil {
		maybe(t, a, "exclude_asker", yesOrNo(t, "exclude"))
	}
	maybe(t, a, "while_waiting", yesOrNo(t, "while waiting"))
	maybe(t, a, "metadata", func() any { return object{word(t, "meta", 5): 1.5, "deep": object{"x": []any{nil, true, "s"}}} })
	if rapid.Bool().Draw(t, "by timeout") {
		a["timeout"] = rapid.SampledFrom([]string{"1s", "90m", "2h30m", "1.5h", "720h", "1500ms"}).Draw(t, "timeout")
	} else {
		maybe(t, a, "deadline", func() any {
			return rapid.SampledFrom([]string{"2026-11-20T10:00:01Z", "2026-12-01T00:00:00.123456+01:00"}).Draw(t, "deadline")
		})
	}
	defaults := rapid.Bool().Draw(t, "defaults")
	if defaults {
		a["at_deadline"] = "default"
	} else {
		maybe(t, a, "at_deadline", func() any { return "expire" })
	}
	n := rapid.IntRange(1, 16).Draw(t, "questions")
	qs := make([]any, n)
	for i := range qs {
		qs[i] = drawQuestion(t, i, defaults)
	}
	a["questions"] = qs
	maybe(t, a, "exclude", func() any { return []any{said(t, "excluded", 9)} })
	if !defaults && rapid.IntRange(0, 3).Draw(t, "approval") == 0 {
		a["approval"], a["questions"] = drawApproval(t)
	}
	return a
}

// drawApproval generates an approval and the one question that it allows.
func drawApproval(t *rapid.T) (object, []any) {
	need := func(label string) any { return rapid.IntRange(0, 50).Draw(t, label) }
	from := func() any { return []any{"group:" + said(t, "from", 9)} }
	alt := object{}
	maybe(t, alt, "need", func() any { return need("need") })
	maybe(t, alt, "from", from)
	if rapid.Bool().Draw(t, "factors") {
		alt = object{"all_of": []any{object{"need": rapid.IntRange(1, 20).Draw(t, "factor"), "from": from()}, object{"from": from()}}, "distinct": true}
	}
	if rapid.Bool().Draw(t, "reason") {
		alt["reason"] = "required"
		maybe(t, alt, "reason_prompt", func() any { return word(t, "prompt", 9) })
		maybe(t, alt, "reason_pattern", func() any { return "^OPS-[0-9]+$" })
	}
	maybe(t, alt, "min_proof", func() any { return "passkey" })
	p := object{"any_of": []any{alt, object{"from": []any{"os:jo"}}}}
	if rapid.Bool().Draw(t, "anybody") {
		p["any_of"] = []any{alt}
	}
	maybe(t, p, "deny", func() any { return object{"need": need("denials"), "from": from()} })
	maybe(t, p, "fresh", func() any { return rapid.SampledFrom([]string{"1s", "90m"}).Draw(t, "fresh") })
	if rapid.Bool().Draw(t, "yes or no") {
		return p, []any{object{"text": "Deploy?", "kind": "boolean"}}
	}
	p["approve_options"] = []any{"yes"}
	maybe(t, p, "deny_options", func() any { return []any{"no"} })
	return p, []any{object{"text": "Deploy?", "allow_other": false, "options": []any{object{"id": "yes", "label": "Yes"}, object{"id": "no", "label": "No"}}}}
}

func drawQuestion(t *rapid.T, i int, defaults bool) object {
	q := object{"text": said(t, "text", 20)}
	maybe(t, q, "id", func() any { return fmt.Sprintf("id%d!é", i) })
	maybe(t, q, "header", func() any { return word(t, "header", 12) })
	maybe(t, q, "placeholder", func() any { return word(t, "placeholder", 9) })
	optional := !defaults && rapid.Bool().Draw(t, "optional") || defaults && rapid.IntRange(0, 3).Draw(t, "optional") == 0
	if optional {
		q["required"] = false
	}
	def := func(v any) {
		if defaults && !optional || rapid.Bool().Draw(t, "default") {
			q["default"] = v
		}
	}
	limits := func(l object) {
		if rapid.Bool().Draw(t, "limits") {
			maybe(t, l, "message", func() any { return word(t, "message", 9) })
			q["limits"] = l
		}
	}
	switch rapid.SampledFrom([]string{"choice", "text", "number", "boolean", "date", "nothing", "empty choice"}).Draw(t, "kind") {
	case "choice":
		maybe(t, q, "kind", func() any { return "choice" })
		drawOptions(t, q)
		def([]any{"o1"})
		limits(object{})
	case "text":
		q["kind"] = "text"
		def("abc")
		limits(object{"min_length": 1, "max_length": 9, "pattern": "b"})
	case "nothing":
		maybe(t, q, "options", func() any { return []any{} })
		maybe(t, q, "allow_other", yesOrNo(t, "other"))
		def("abc")
		limits(object{"min_length": 0})
	case "empty choice":
		q["kind"] = "choice"
		maybe(t, q, "allow_other", func() any { return true })
		maybe(t, q, "multiple", func() any { return false })
		def("abc")
		limits(object{"max_length": 0})
	case "number":
		q["kind"] = "number"
		def(3)
		limits(object{"min": -1.5, "max": 1e9, "integer": true})
	case "boolean":
		q["kind"] = "boolean"
		def(false)
		limits(object{"integer": false})
	case "date":
		q["kind"] = "date"
		def("2026-11-21")
		limits(object{"min": "2026-11-20", "max": "2028-02-29"})
	}
	return q
}

func drawOptions(t *rapid.T, q object) {
	n := rapid.IntRange(1, 100).Draw(t, "options")
	if n > 5 && rapid.IntRange(0, 9).Draw(t, "few") > 0 {
		n = 3
	}
	multiple := rapid.Bool().Draw(t, "multiple")
	options := make([]any, n)
	for j := range options {
		o := object{"label": fmt.Sprint(j, said(t, "label", 9))}
		maybe(t, o, "description", func() any { return word(t, "description", 9) })
		maybe(t, o, "recommended", yesOrNo(t, "recommended"))
		if j > 0 {
			maybe(t, o, "id", func() any { return fmt.Sprintf("opt-%d", j) })
			maybe(t, o, "cancels", yesOrNo(t, "cancels"))
		}
		if !multiple {
			maybe(t, o, "preview", func() any {
				return object{"format": rapid.SampledFrom([]string{"markdown", "text"}).Draw(t, "format"), "body": said(t, "body", 9)}
			})
		}
		options[j] = o
	}
	q["options"] = options
	maybe(t, q, "allow_other", yesOrNo(t, "other"))
	if multiple {
		q["multiple"] = true
		maybe(t, q, "min_items", func() any { return rapid.IntRange(0, 1).Draw(t, "min") })
		maybe(t, q, "max_items", func() any { return rapid.IntRange(1, n).Draw(t, "max") })
	}
}

// mutations make a valid ask structurally invalid. They get the ask and one of
// its questions.
func mutations() map[string]func(a, q object) {
	set := func(name string, v any) func(a, q object) { return func(a, _ object) { a[name] = v } }
	setQ := func(name string, v any) func(a, q object) { return func(_, q object) { q[name] = v } }
	long := func(n int) string { return strings.Repeat("é", n+1) }
	many := func(n int, v any) []any {
		all := make([]any, n+1)
		for i := range all {
			all[i] = v
		}
		return all
	}
	choice := func(change func(q, o object)) func(a, q object) {
		return func(_, q object) {
			for _, f := range []string{"kind", "default", "limits", "multiple", "min_items", "max_items", "allow_other"} {
				delete(q, f)
			}
			q["required"] = false
			o := object{"label": "fine"}
			q["options"] = []any{object{"label": "also fine"}, o}
			change(q, o)
		}
	}
	option := func(name string, v any) func(a, q object) { return choice(func(_, o object) { o[name] = v }) }
	kind := func(k string, fields object) func(a, q object) {
		return choice(func(q, _ object) {
			delete(q, "options")
			q["kind"] = k
			maps.Copy(q, fields)
		})
	}
	of := func(fields object) func(a, q object) {
		return choice(func(q, _ object) {
			maps.Copy(q, fields)
		})
	}
	m := map[string]func(a, q object){
		"no id": func(a, _ object) { delete(a, "id") }, "no questions": func(a, _ object) { delete(a, "questions") },
		"no text":              func(_, q object) { delete(q, "text") },
		"timeout and deadline": func(a, _ object) { a["timeout"], a["deadline"] = "1h", "2026-11-20T11:00:00Z" },
		"a default is missing": func(a, q object) {
			a["at_deadline"] = "default"
			delete(q, "default")
			delete(q, "required")
		},
		"min_items without multiple": of(object{"min_items": 1}), "max_items without multiple": of(object{"max_items": 1}),
		"a preview of many":     choice(func(q, o object) { q["multiple"], o["preview"] = true, object{"body": "x"} }),
		"no options":            of(object{"kind": "choice", "options": []any{}, "allow_other": false}),
		"none of many":          of(object{"kind": "choice", "options": []any{}, "multiple": true}),
		"options of a text":     of(object{"kind": "text"}),
		"options of a number":   of(object{"kind": "number"}),
		"limits of a choice":    of(object{"limits": object{"min_length": 1}}),
		"two of a single":       of(object{"default": []any{"o1", "o2"}}),
		"none as default":       of(object{"default": []any{}}),
		"many texts":            kind("text", object{"multiple": true}),
		"a date for a number":   kind("number", object{"limits": object{"min": "2026-01-01"}}),
		"a number for a date":   kind("date", object{"limits": object{"max": 5}}),
		"a number for a text":   kind("text", object{"limits": object{"min": 5}}),
		"whole dates":           kind("date", object{"limits": object{"integer": true}}),
		"a pattern of numbers":  kind("number", object{"limits": object{"pattern": "x"}}),
		"a length of booleans":  kind("boolean", object{"limits": object{"max_length": 5}}),
		"a negative length":     kind("text", object{"limits": object{"min_length": -1}}),
		"a length beyond all":   kind("text", object{"limits": object{"max_length": ask.MaxLong + 1}}),
		"an unknown limit":      kind("text", object{"limits": object{"max_len": 1}}),
		"a limit of true":       kind("number", object{"limits": object{"max": true}}),
		"a 32nd of January":     kind("date", object{"limits": object{"max": "2026-01-32"}}),
		"a day as default":      kind("date", object{"default": "tomorrow"}),
		"a text for a boolean":  kind("boolean", object{"default": "yes"}),
		"a number for a choice": of(object{"default": 1}),
		"a text for a choice":   of(object{"default": "o1"}),
		"a list for a text":     kind("text", object{"default": []any{"x"}}),
		"a message too long":    kind("text", object{"limits": object{"message": long(ask.MaxText)}}),
		"a pattern too long":    kind("text", object{"limits": object{"pattern": long(ask.MaxText)}}),
		"an agent with more":    set("agent", object{"nme": "x"}),
		"an agent in words":     set("agent", "x"),
		"an agent's name long":  set("agent", object{"name": long(ask.MaxName)}),
		"an agent's id long":    set("agent", object{"id": long(ask.MaxName)}),
		"an agent's parent":     set("agent", object{"parent": long(ask.MaxText)}),
		"a repository too long": set("agent", object{"repository": long(ask.MaxName)}),
		"a branch too long":     set("agent", object{"branch": long(ask.MaxName)}),
		"a link too long":       set("agent", object{"link": "https://example.com/" + long(ask.MaxLink)}),
		"a link that is a path": set("agent", object{"link": "/login"}),
		"a link with a script":  set("agent", object{"link": "javascript:alert(1)"}),
		"a link without a host": set("agent", object{"link": "https:///x"}),
		"a link with a user":    set("agent", object{"link": "https://example.com@elsewhere.test/"}),
		"a link with a space":   set("agent", object{"link": "https://example.com/a b"}),
		"metadata as a list":    set("metadata", []any{}),
		"no question":           set("questions", []any{}),
		"17 questions":          set("questions", many(16, object{"text": "t"})),
		"questions of strings":  set("questions", []any{"t"}),
		"a preview in HTML":     option("preview", object{"format": "html", "body": "x"}),
		"a preview of nothing":  option("preview", object{"body": "\u2003 \n"}),
		"a preview without":     option("preview", object{"format": "text"}),
		"a preview too long":    option("preview", object{"body": long(ask.MaxLong)}),
		"a preview with more":   option("preview", object{"body": "x", "title": "y"}),
		"101 options":           of(object{"options": many(100, object{"label": "x"})}),
	}
	meta := object{}
	for i := range ask.MaxMetadata + 1 {
		meta[fmt.Sprint(i)] = i
	}
	m["65 entries"] = set("metadata", meta)
	for i, bad := range []any{"a b", "a.b", "*", ">", "", "é", strings.Repeat("x", 65), 7, []any{}, true} {
		m[fmt.Sprint("id ", i)] = set("id", bad)
	}
	for name, bad := range map[string][]any{
		"title": {long(ask.MaxTitle), 1, []any{}, object{}, false}, "context": {long(ask.MaxLong), 1},
		"priority": {"asap", "NORMAL", 1, []any{}}, "at_deadline": {"approve", "Expire", true},
		"audience": {"x", []any{""}, []any{" \t"}, []any{"group:"}, []any{long(ask.MaxName)}, many(ask.MaxAudience, "x"), []any{1}, object{}},
		"asker":    {"x", []any{""}, []any{" \t"}, []any{long(ask.MaxName)}, many(ask.MaxAskers, "x"), []any{1}, object{}}, "exclude_asker": {"yes", 1, []any{}},
		"require_responder": {"yes", 1, []any{}}, "while_waiting": {"yes", 0, object{}}, "timeout": {30, "a day", "1d", "-1s", "1h ", "h", true},
		"deadline": {"tomorrow", "2026-11-21", "2026-11-21T10:00:00", "2026-13-01T00:00:00Z", "2026-11-21 10:00:00Z", 1795000000, true},
		"only":     {"me", true}, "exclude": {"x", []any{""}, []any{"group:x"}, many(ask.MaxAudience, "x"), []any{1}},
		"approval": {
			"two",
			[]any{},
			object{},
			object{"any_of": []any{}},
			object{"any_of": many(ask.MaxAlternatives, object{})},
			object{"any_of": []any{"x"}},
			object{"any_of": []any{object{"need": -1}}},
			object{"any_of": []any{object{"need": 51}}},
			object{"any_of": []any{object{"need": "2"}}},
			object{"any_of": []any{object{"from": []any{"group:"}}}},
			object{"any_of": []any{object{"from": "group:x"}}},
			object{"any_of": []any{object{"all_of": []any{object{"votes": 1}}}}},
			object{"any_of": []any{object{"all_of": many(ask.MaxAlternatives, object{})}}},
			object{"any_of": []any{object{"distinct": 1}}},
			object{"any_of": []any{object{"reason": "optional"}}},
			object{"any_of": []any{object{"min_proof": "blood"}}},
			object{"any_of": []any{object{"reason": "required", "reason_pattern": long(ask.MaxVoteReason)}}},
			object{"any_of": []any{object{}}, "deny": 1},
			object{"any_of": []any{object{}}, "deny": object{"need": 51}},
			object{"any_of": []any{object{}}, "after": "some"},
			object{"any_of": []any{object{}}, "fresh": 60},
			object{"any_of": []any{object{}}, "approve_options": "x"},
			object{"any_of": []any{object{}}, "need": 2},
		},
		"unknown": {1, object{}}, "Title": {"x"}, "ID": {"x"}, "tenant": {"acme"}, "session": {"s1"},
	} {
		for i, v := range bad {
			m[fmt.Sprint(name, " ", i)] = func(a, q object) {
				switch name {
				case "timeout":
					delete(a, "deadline")
				case "deadline":
					delete(a, "timeout")
				}
				a[name] = v
			}
		}
	}
	for name, bad := range map[string][]any{
		"text": {"", " ", "\u00a0\u3000\n", long(ask.MaxText), 1, []any{}}, "id": {"a b", "a\u007f", "a\n", strings.Repeat("é", 129), 1},
		"kind": {"colour", "Choice", 1}, "header": {long(ask.MaxHeader), 1}, "placeholder": {long(ask.MaxName), 1},
		"options": {"x", object{}, []any{"x"}, []any{1}}, "multiple": {"yes", 1}, "min_items": {"1", 1.5, true, -1}, "max_items": {"1", 1.5, -1},
		"allow_other": {"yes", 0}, "required": {"yes", 0}, "default": {object{}, object{"x": 1}}, "limits": {[]any{}, "x", 1}, "answer": {"x"}, "Text": {"x"},
	} {
		for i, v := range bad {
			m[fmt.Sprint("question's ", name, " ", i)] = setQ(name, v)
		}
	}
	for name, bad := range map[string][]any{
		"label": {"", "\t", long(ask.MaxLabel), 1}, "id": {"a b", strings.Repeat("x", 129), 1}, "description": {long(ask.MaxText), 1},
		"recommended": {"yes", 1}, "cancels": {"no", 0}, "preview": {"x", []any{}}, "value": {"x"},
	} {
		for i, v := range bad {
			m[fmt.Sprint("option's ", name, " ", i)] = option(name, v)
		}
	}
	m["option without label"] = choice(func(_, o object) { delete(o, "label") })
	return m
}

func encode(t interface{ Fatal(args ...any) }, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheAskSchemaAgreesWithValidate(t *testing.T) {
	t.Parallel()
	schema := schematest.Compile(t, "ask")
	t.Run("what is valid passes both", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			data := encode(t, drawAsk(t))
			if err := byCode(data); err != nil {
				t.Fatalf("the code refuses %s: %v", data, err)
			}
			if err := schematest.Check(schema, data); err != nil {
				t.Fatalf("the schema refuses %s: %v", data, err)
			}
			// What is stored of it is also valid.
			a, err := wire.DecodeAsk(data)
			if err != nil {
				t.Fatal(err)
			}
			a.Normalize()
			stored, err := wire.EncodeAsk(&a)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(byCode(stored), schematest.Check(schema, stored)); err != nil {
				t.Fatalf("stored as %s: %v", stored, err)
			}
		})
	})
	t.Run("every mutation is refused by both", func(t *testing.T) {
		t.Parallel()
		for name, mutate := range mutations() {
			check := func(a object, q object) {
				mutate(a, q)
				data := encode(t, a)
				shown := data[:min(len(data), 300)]
				if err := byCode(data); !errors.Is(err, ask.ErrInvalid) {
					t.Errorf("%s: the code says %v to %s", name, err, shown)
				}
				if err := schematest.Check(schema, data); err == nil {
					t.Errorf("%s: the schema accepts %s", name, shown)
				}
			}
			q := object{"text": "t"}
			check(object{"id": "a1", "questions": []any{q}}, q)
		}
	})
	t.Run("every mutation of a drawn ask is refused by both", func(t *testing.T) {
		t.Parallel()
		all := mutations()
		names := make([]string, 0, len(all))
		for name := range all {
			names = append(names, name)
		}
		rapid.Check(t, func(t *rapid.T) {
			a := drawAsk(t)
			name := rapid.SampledFrom(names).Draw(t, "mutation")
			qs, _ := a["questions"].([]any)
			q, _ := qs[rapid.IntRange(0, len(qs)-1).Draw(t, "which")].(object)
			all[name](a, q)
			data := encode(t, a)
			if err := byCode(data); !errors.Is(err, ask.ErrInvalid) {
				t.Fatalf("%s: the code says %v", name, err)
			}
			if err := schematest.Check(schema, data); err == nil {
				t.Fatalf("%s: the schema accepts %.300s", name, data)
			}
		})
	})
}

// TestSchemasOfRequestsAgreeWithTheCode compares each request's schema with its
// decoder.
func TestSchemasOfRequestsAgreeWithTheCode(t *testing.T) {
	t.Parallel()
	const by = `"by":{"principal":"os:mei"}`
	reply := func(data []byte) error { _, err := wire.DecodeReply(data, "a1"); return err }
	decline := func(data []byte) error { _, _, err := wire.DecodeDecline(data, "a1"); return err }
	end := func(data []byte) error { _, err := wire.DecodeEnd("withdraw", data, "a1"); return err }
	receipt := func(data []byte) error { _, err := wire.DecodeReceipt(data, "a1"); return err }
	list := func(data []byte) error { _, err := wire.DecodeQuery(data); return err }
	next := func(data []byte) error { _, err := wire.DecodeNext(data); return err }
	snooze := func(data []byte) error { _, err := wire.DecodeSnooze(data); return err }
	handover := func(data []byte) error { _, err := wire.DecodeHandover(data); return err }
	repeat := func(data []byte) error { _, err := wire.DecodeRepeat(data, "q-0123456789abcdef0123"); return err }
	settle := func(data []byte) error { _, _, err := wire.DecodeSettle("later", data); return err }
	long := func(n int) string { return strings.Repeat("é", n+1) }
	for _, v := range []struct {
		schema    string
		code      func([]byte) error
		good, bad []string
	}{
		{"answer", reply, []string{
			`{"ask_id":"a1","answer_id":"w",` + by + `}`, `{"ask_id":"a1","answer_id":"w"}`, `{"ask_id":"a1","answer_id":"w","by":{}}`,
			`{"ask_id":"a1","answer_id":"` + strings.Repeat("é", 128) + `","answers":[{"question_id":"q","selected":["a"],"other":"x","text":"y","number":1.5,"boolean":false,"date":"2026-01-01","notes":"n","skipped":true}],"response":"r","by":{"principal":"p","name":"n","groups":["g"],"responder":"r","proof":"p"}}`,
		}, []string{
			`{}`, `[]`, `"x"`, `{"answer_id":"w",` + by + `}`, `{"ask_id":"a1",` + by + `}`, `{"ask_id":"a1","answer_id":"",` + by + `}`,
			`{"ask_id":"a1","answer_id":"` + long(128) + `",` + by + `}`, `{"ask_id":"a b","answer_id":"w",` + by + `}`,
			`{"ask_id":"a1","answer_id":"w","by":{"principal":"` + long(256) + `"}}`, `{"ask_id":"a1","answer_id":"w","by":{"principal":"x","email":"y"}}`,
			`{"ask_id":"a1","answer_id":"w","by":{"principal":"x","groups":"g"}}`, `{"ask_id":"a1","answer_id":"w","answers":{},` + by + `}`,
			`{"ask_id":"a1","answer_id":"w","answers":[{"question_id":"q","value":1}],` + by + `}`, `{"ask_id":"a1","answer_id":"w","answers":[{"question_id":"q","selected":"a"}],` + by + `}`,
			`{"ask_id":"a1","answer_id":"w","answers":[{"question_id":"q","number":"1"}],` + by + `}`, `{"ask_id":"a1","answer_id":"w","answers":[{"question_id":"q","boolean":"true"}],` + by + `}`,
			`{"ask_id":"a1","answer_id":"w","at":"2026-01-01T00:00:00Z",` + by + `}`,
		}},
		{"decline", decline, []string{`{"ask_id":"a1","answer_id":"w","reason":"no",` + by + `}`, `{"ask_id":"a1","answer_id":"w",` + by + `}`, `{"ask_id":"a1","answer_id":"w"}`}, []string{
			`{"ask_id":"a1",` + by + `}`, `{"ask_id":"a1","answer_id":"w","reason":"` + long(10_000) + `",` + by + `}`, `{"ask_id":"a1","answer_id":"w","answers":[],` + by + `}`,
		}},
		{"end", end, []string{`{"ask_id":"a1"}`, `{"ask_id":"a1","reason":"moot"}`}, []string{`{}`, `{"ask_id":7}`, `{"ask_id":"a1","why":"x"}`, `{"ask_id":"a1","reason":"` + long(10_000) + `"}`}},
		{"receipt", receipt, []string{`{"ask_id":"a1","life":"01J","state":"posting"}`, `{"ask_id":"a1","life":"01J","state":"failed","key":"k","places":[{"ref":"C1/2","where":"w"},{"ref":"C2/3"},{}],"type":"slack","at":"2026-01-01T00:00:00Z"}`}, []string{
			`{"ask_id":"a1","state":"posted"}`, `{"ask_id":"a1","life":"","state":"posted"}`, `{"ask_id":"a1","life":"a b","state":"posted"}`, `{"ask_id":"a1","life":1,"state":"posted"}`, `{"ask_id":"a1","life":"01J","seq":1,"state":"posted"}`,
			`{"ask_id":"a1","life":"01J","state":"seen"}`, `{"ask_id":"a1","life":"01J"}`, `{"life":"01J","state":"posted"}`, `{"ask_id":"a1","life":"01J","state":"posted","key":"` + long(256) + `"}`,
			`{"ask_id":"a1","life":"01J","state":"posted","where":"w"}`, `{"ask_id":"a1","life":"01J","state":"posted","places":[{"where":"` + long(10_000) + `"}]}`, `{"ask_id":"a1","life":"01J","state":"posted","places":[{"ref":"` + long(500) + `"}]}`,
			`{"ask_id":"a1","life":"01J","state":"posted","places":[` + strings.Repeat(`{},`, 100) + `{}]}`, `{"ask_id":"a1","life":"01J","state":"posted","places":[{"url":"x"}]}`, `{"ask_id":"a1","life":"01J","state":"posted","places":{}}`,
			`{"ask_id":"a1","life":"01J","state":"posted","at":"now"}`, `{"ask_id":"a1","life":"01J","state":"posted","url":"x"}`,
		}},
		{"list-request", list, []string{`{}`, `{"tenant":"acme","session":"s1","id":"a1","state":"pending","question":"db","limit":500,"cursor":"x"}`}, []string{
			`{"tenant":"a.b"}`, `{"session":"*"}`, `{"id":"a b"}`, `{"state":"open"}`, `{"limit":501}`, `{"limit":-1}`, `{"limit":"5"}`, `{"page":2}`, `[]`, `{"cursor":5}`,
		}},
		{"next-request", next, []string{`{"of":"question"}`, `{"of":"outcome","max":10,"wait":"30s"}`}, []string{`{}`, `{"of":"all"}`, `{"of":"question","max":11}`, `{"of":"question","max":-1}`, `{"of":"question","wait":30}`, `{"of":"question","wait":"-1s"}`, `{"of":"question","x":1}`}},
		{"snooze", snooze, []string{`{}`, `{"life":"01J","until":"2026-01-01T00:00:00Z","id":"w",` + by + `}`}, []string{
			`{"until":"2026-01-01T00:00:00Z"}`, `{"life":"a b"," until":"2026-01-01T00:00:00Z"}`, `{"life":"01J","until":"now"}`, `{"principal":"os:mei"}`, `{"id":"a b"}`, `{"by":{"principal":"` + long(256) + `"}}`,
		}},
		{"handover", handover, []string{`{"life":"01J"}`, `{"life":"01J","to":"group:ops","word":"you know it","id":"w",` + by + `}`}, []string{
			`{}`, `{"life":"a b"}`, `{"life":"01J","to":"` + long(256) + `"}`, `{"life":"01J","word":"` + long(280) + `"}`, `{"life":"01J","name":"The CEO"}`, `{"life":"01J","id":"a b"}`,
		}},
		{"repeat", repeat, []string{`{"ask_id":"q-0123456789abcdef0123-x"}`, `{"ask_id":"q-0123456789abcdef0123-01J","timeout":"1h","replace":true}`}, []string{`{}`, `{"ask_id":""}`, `{"ask_id":"q-0123456789abcdef0123-x","timeout":1}`, `{"ask_id":"q-0123456789abcdef0123-x.y"}`, `{"ask_id":"q-0123456789abcdef0123-x","id":"y"}`}},
		{"settle", settle, []string{`{"token":"x"}`, `{"token":"x","delay":"1h"}`}, []string{`{}`, `{"token":""}`, `{"token":1}`, `{"token":"x","delay":"-1s"}`, `{"token":"x","delay":1}`, `{"token":"x","of":"q"}`}},
	} {
		t.Run(v.schema, func(t *testing.T) {
			t.Parallel()
			schema := schematest.Compile(t, v.schema)
			for _, good := range v.good {
				if err := v.code([]byte(good)); err != nil {
					t.Errorf("the code refuses %s: %v", good, err)
				}
				if err := schematest.Check(schema, []byte(good)); err != nil {
					t.Errorf("the schema refuses %s: %v", good, err)
				}
			}
			for _, bad := range v.bad {
				if err := v.code([]byte(bad)); !errors.Is(err, ask.ErrInvalid) {
					t.Errorf("the code says %v to %.200s", err, bad)
				}
				if err := schematest.Check(schema, []byte(bad)); err == nil {
					t.Errorf("the schema accepts %.200s", bad)
				}
			}
		})
	}
}
