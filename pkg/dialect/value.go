package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// value is one place in a foreign body. A missing value and null are the same;
// reading one gives the zero value.
type value struct {
	r    *reader
	at   string // JSON pointer
	raw  any
	lost bool // a field of a value that is not an object, which was already reported
}

func (v value) fault(code ask.FaultCode, args ...any) { v.faultIn("", code, args...) }

// faultIn adds a fault of an answer to the question with this id.
func (v value) faultIn(questionID string, code ask.FaultCode, args ...any) {
	f := ask.NewFault(v.at, code, args...)
	f.QuestionID = questionID
	v.add(f)
}

// refused adds the faults of typed text that does not answer its question. The
// error is that of ParseReply, or nil.
func (v value) refused(err error) {
	if e, ok := errors.AsType[*ask.ReplyError](err); ok {
		for _, f := range e.Faults {
			v.add(f)
		}
	}
}

func (v value) add(f ask.Fault) {
	f.Pointer = v.at
	twice := slices.ContainsFunc(v.r.faults, func(g ask.Fault) bool { // a value that is read twice has one fault
		return g.Pointer == f.Pointer && g.QuestionID == f.QuestionID && g.Message == f.Message
	})
	if len(v.r.faults) < maxFaults && !twice {
		v.r.faults = append(v.r.faults, f)
	}
}

// faultCount adds a fault of a list with too few or too many items. The items
// are still read, so that their faults are reported as well.
func (v value) faultCount(code ask.FaultCode, args ...any) {
	v.fault(code, args...)
	v.r.counted = append(v.r.counted, v.at)
}

func (v value) warn(format string, args ...any) {
	w := Warning{Pointer: v.at, Message: fmt.Sprintf(format, args...)}
	if len(v.r.warnings) < maxWarnings && !slices.Contains(v.r.warnings, w) {
		v.r.warnings = append(v.r.warnings, w)
	}
}

func (v value) given() bool { return v.raw != nil }

// missing reports whether to report v as missing.
func (v value) missing() bool { return v.raw == nil && !v.lost }

func (v value) wrongType(want string) { v.fault(ask.FaultWrongType, typeName(v.raw), want) }

func typeName(raw any) string {
	switch raw.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case *object:
		return "object"
	}
	return "missing"
}

// object reads an object; anything but a missing value is a fault.
func (v value) object() *object {
	o, ok := v.raw.(*object)
	if !ok {
		if v.given() {
			v.wrongType("object")
		}
		return &object{}
	}
	return o
}

// body checks that a whole body, or an item of a list, is an object.
func (v value) body() {
	if !v.given() {
		v.fault(ask.FaultWrongType, "null", "object")
	}
	v.object()
}

// field returns a field of an object. It reports no fault if v is not an
// object: [value.object] does.
func (v value) field(key string) value {
	o, ok := v.raw.(*object)
	f := value{r: v.r, at: v.at + "/" + escape(key), lost: !ok}
	if ok {
		f.raw = o.values[key]
		o.markRead(key)
	}
	return f
}

// ignore marks known fields as read that the dialect does not use, such as the
// answers in a request; without keys it marks everything below v.
func (v value) ignore(keys ...string) {
	o, ok := v.raw.(*object)
	switch {
	case !ok:
	case len(keys) == 0:
		o.opaque = true
	}
	for _, key := range keys {
		v.field(key).ignore()
	}
}

// first returns the first of these fields that is given, else the first one.
func (v value) first(keys ...string) value {
	o, _ := v.raw.(*object)
	for _, key := range keys {
		if o != nil && o.values[key] != nil {
			return v.field(key)
		}
	}
	return v.field(keys[0])
}

func (v value) list() []value {
	list, ok := v.raw.([]any)
	if !ok && v.given() {
		v.wrongType("array")
	}
	values := make([]value, len(list))
	for i, raw := range list {
		values[i] = value{r: v.r, at: v.at + "/" + strconv.Itoa(i), raw: raw}
	}
	return values
}

// oneOrMore reads an object, or a list of objects.
func (v value) oneOrMore() []value {
	if _, several := v.raw.([]any); several {
		return v.list()
	}
	v.body()
	return []value{v}
}

// onlyItem returns the item of a list that must have one, or v if it is no list.
func (v value) onlyItem() (one value, ok bool) {
	all, isList := v.raw.([]any)
	switch {
	case !isList:
		return v, true
	case len(all) != 1:
		v.fault(ask.FaultOneAtATime, len(all))
		return v, false
	}
	return v.list()[0], true
}

// upTo reads a list. Items beyond so many are a fault, and are not read.
func (v value) upTo(most int, what string) []value {
	list := v.list()
	if n := len(list); n > most {
		v.faultCount(ask.FaultTooMany, n, what, most)
	}
	return list[:min(len(list), most)]
}

// objects reads a list of objects, like upTo.
func (v value) objects(most int, what string) iter.Seq2[int, value] {
	list := v.upTo(most, what)
	return func(yield func(int, value) bool) {
		for i, item := range list {
			if item.body(); !yield(i, item) {
				return
			}
		}
	}
}

// some reads a list of objects that must not be empty; wants says what it should have.
func (v value) some(most int, what, wants string) iter.Seq2[int, value] {
	if all, isList := v.raw.([]any); v.missing() || isList && len(all) == 0 {
		v.fault(ask.FaultEmptyList, wants)
	}
	return v.objects(most, what)
}

func (v value) string() string {
	s, ok := v.raw.(string)
	if !ok && v.given() {
		v.wrongType("string")
	}
	return s
}

// wanted returns v, and adds a fault if it is not given.
func (v value) wanted(what string) value {
	if !v.given() {
		v.fault(ask.FaultMissing, what)
	}
	return v
}

// need reads a string that must not be empty.
func (v value) need() string {
	s := v.string()
	if v.missing() {
		v.fault(ask.FaultMissing, "string")
	}
	return s
}

// strings reads an array of strings, or one string if the shape allows both.
func (v value) strings() []string {
	if s, ok := v.raw.(string); ok {
		return []string{s}
	}
	var all []string
	for _, item := range v.list() {
		if item.raw == nil {
			item.fault(ask.FaultWrongType, "null", "string")
		}
		all = append(all, item.string())
	}
	return all
}

func (v value) bool(missing bool) bool {
	if !v.given() {
		return missing
	}
	b, ok := v.raw.(bool)
	if !ok {
		v.wrongType("true, false")
	}
	return b
}

func (v value) number() *float64 {
	if !v.given() {
		return nil
	}
	n, ok := v.raw.(json.Number)
	if !ok {
		v.wrongType("number")
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		v.fault(ask.FaultNumberTooLarge, clip(n.String()))
		return nil
	}
	return &f
}

func (v value) int() int {
	n := v.number()
	switch {
	case n == nil:
		return 0
	case *n != float64(int32(*n)):
		v.fault(ask.FaultNotWhole, *n)
		return 0
	}
	return int(*n)
}

// escape writes a key as part of a JSON pointer.
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// clip shortens a value that a message quotes.
func clip(s string) string { return ask.Clip(s, 80) }
