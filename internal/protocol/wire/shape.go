package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// shape describes the JSON that a type accepts. It is derived from the type's
// tags, except where pkg/ask encodes a type differently.
type shape struct {
	kinds  kinds
	want   string           // the term of what it accepts; empty: that of the kinds
	fields map[string]field // of an object whose fields are known
	list   string           // the names of the fields, for messages
	elem   *shape           // of an array
	text   func(string) ask.FaultCode
	number func(string) ask.FaultCode
}

//nolint:gochecknoglobals // constants and caches
var (
	anything  = &shape{kinds: isString | isNumber | isBool | isObject | isArray, number: anyNumber}
	aDuration = &shape{kinds: isString, text: durationText}
	aTimeout  = &shape{kinds: isString, text: timeoutText}
	aTime     = &shape{kinds: isString, text: timeText}
	aString   = &shape{kinds: isString}
	aDefault  = &shape{kinds: isString | isNumber | isBool | isArray, want: "a_default", elem: aString, number: anyNumber}
	aBound    = &shape{kinds: isString | isNumber, text: boundText, number: anyNumber}

	shapes sync.Map // by reflect.Type
)

// field is a field of an object. Its name is the key of the fields map, so a
// known name need not be copied from the input.
type field struct {
	name string
	*shape
}

func shapeOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[Duration]():
		return aDuration
	case reflect.TypeFor[time.Time]():
		return aTime
	case reflect.TypeFor[json.RawMessage]():
		return anything
	}
	switch t.Kind() {
	case reflect.String:
		return aString
	case reflect.Bool:
		return &shape{kinds: isBool}
	case reflect.Int, reflect.Int64:
		return &shape{kinds: isNumber, number: signed}
	case reflect.Uint64:
		return &shape{kinds: isNumber, number: unsigned}
	case reflect.Float64:
		return &shape{kinds: isNumber, number: anyNumber}
	case reflect.Slice:
		return &shape{kinds: isArray, elem: shapeOf(t.Elem())}
	case reflect.Map:
		return &shape{kinds: isObject}
	case reflect.Struct:
		return structShape(t)
	}
	return anything
}

func structShape(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	s := &shape{kinds: isObject, fields: map[string]field{}}
	var list []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" || f.Tag.Get("wire") == "broker" { // what only the broker writes is unknown from outside
			continue
		}
		inner := shapeOf(f.Type)
		switch {
		case f.Type == reflect.TypeFor[*ask.Answer]() && name == "default":
			inner = aDefault
		case t == reflect.TypeFor[ask.Limits]() && (name == "min" || name == "max"):
			inner = aBound
		case t == reflect.TypeFor[ask.Ask]() && name == "timeout":
			inner = aTimeout
		}
		s.fields[name] = field{name, inner}
		list = append(list, name)
	}
	s.list = strings.Join(list, ", ")
	shapes.Store(t, s)
	return s
}
