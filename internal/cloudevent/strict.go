package cloudevent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

const (
	maxDepth  = 64  // of nested JSON from outside
	maxFaults = 100 // reported at once
)

// Strict decodes JSON from outside into v, a pointer to a wire struct. It
// refuses unknown fields, fields given twice and wrong types: the error is an
// [*ask.Error] with [ask.ErrInvalid] that holds every such fault with its JSON
// pointer (RFC 6901). Null counts as left out.
func Strict(what string, data []byte, v any) error {
	if clean(data, v) {
		return nil
	}
	out := reflect.ValueOf(v).Elem()
	out.SetZero()
	if f := faults(out.Type(), data); len(f) > 0 {
		return ask.InvalidError(what, f)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return ask.InvalidError(what, []ask.Fault{{Message: err.Error()}})
	}
	return nil
}

// faults finds every fault of JSON that should fit t.
func faults(t reflect.Type, data []byte) []ask.Fault {
	c := checker{dec: json.NewDecoder(bytes.NewReader(data))}
	c.dec.UseNumber()
	err := c.value(t, nil, 0)
	if err == nil {
		if _, extra := c.dec.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("there is something after the JSON value")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		c.faults = append(c.faults, ask.Fault{Message: "is no valid JSON: " + err.Error()})
	}
	return c.faults
}

// checker walks JSON tokens along a Go type.
type checker struct {
	dec    *json.Decoder
	faults []ask.Fault
}

func (c *checker) fault(at *place, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, ask.Fault{Pointer: at.pointer(), Message: fmt.Sprintf(format, args...)})
	}
}

// place is where the walk is. Its JSON pointer is only written when there is
// something to say.
type place struct {
	up    *place
	name  string // in an object
	index int    // in an array
	array bool
}

func (p *place) pointer() string {
	switch {
	case p == nil:
		return ""
	case p.array:
		return p.up.pointer() + "/" + strconv.Itoa(p.index)
	}
	return p.up.pointer() + "/" + escape(p.name)
}

// value reads one value that should fit t. An error ends the walk: the rest
// cannot be read.
func (c *checker) value(t reflect.Type, at *place, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	tok, err := c.dec.Token()
	if err != nil {
		return err
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := wants(t)
	switch tok := tok.(type) {
	case nil:
	case json.Delim:
		if tok == '{' {
			return c.object(t, at, depth, want)
		}
		return c.array(t, at, depth, want)
	case string:
		c.text(t, at, tok, want)
	case json.Number:
		c.number(t, at, tok, want)
	case bool:
		if want&isBool == 0 {
			c.fault(at, "is a boolean; give %s", want)
		}
	}
	return nil
}

func (c *checker) object(t reflect.Type, at *place, depth int, want kinds) error {
	var of *fields
	if t.Kind() == reflect.Struct && want&isObject != 0 {
		of = fieldsOf(t)
	} else if want&isObject == 0 {
		c.fault(at, "is an object; give %s", want)
	}
	var seen names
	for c.dec.More() {
		tok, err := c.dec.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		inner := place{up: at, name: name}
		if !seen.add(name) {
			c.fault(&inner, "is given twice")
		}
		ft := anyType
		if of != nil {
			if known, ok := of.types[name]; ok {
				ft = known
			} else {
				c.fault(&inner, "is not known here; the fields are %s", of.list)
			}
		}
		if err := c.value(ft, &inner, depth+1); err != nil {
			return err
		}
	}
	_, err := c.dec.Token()
	return err
}

// fields are the JSON fields of a wire struct.
type fields struct {
	types map[string]reflect.Type
	list  string // for people
}

var fieldsByType sync.Map //nolint:gochecknoglobals // what the type system says, read once

func fieldsOf(t reflect.Type) *fields {
	if known, ok := fieldsByType.Load(t); ok {
		return known.(*fields) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	of := &fields{types: map[string]reflect.Type{}}
	var list []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of.types[name] = f.Type
		list = append(list, name)
	}
	of.list = strings.Join(list, ", ")
	fieldsByType.Store(t, of)
	return of
}

// names is a set of names: mostly a few.
type names struct {
	few  []string
	many map[string]bool
}

// add reports whether name is new.
func (n *names) add(name string) bool {
	if n.many == nil && len(n.few) < 32 {
		if slices.Contains(n.few, name) {
			return false
		}
		n.few = append(n.few, name)
		return true
	}
	if n.many == nil {
		n.many = map[string]bool{}
		for _, f := range n.few {
			n.many[f] = true
		}
	}
	if n.many[name] {
		return false
	}
	n.many[name] = true
	return true
}

func (c *checker) array(t reflect.Type, at *place, depth int, want kinds) error {
	if want&isArray == 0 {
		c.fault(at, "is an array; give %s", want)
	}
	et := elem(t)
	for i := 0; c.dec.More(); i++ {
		inner := place{up: at, index: i, array: true}
		if err := c.value(et, &inner, depth+1); err != nil {
			return err
		}
	}
	_, err := c.dec.Token()
	return err
}

// elem is the type of an array's values.
func elem(t reflect.Type) reflect.Type {
	switch {
	case t == valueType:
		return reflect.TypeFor[string]()
	case t.Kind() == reflect.Slice && t != rawType:
		return t.Elem()
	}
	return anyType
}

func (c *checker) text(t reflect.Type, at *place, s string, want kinds) {
	if want&isString == 0 {
		c.fault(at, "is a string; give %s", want)
		return
	}
	switch t {
	case durationType:
		if _, err := time.ParseDuration(s); err != nil {
			c.fault(at, `is no duration; give one such as "90s", "30m" or "2h"`)
		}
	case timeType:
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			c.fault(at, `is no time; give RFC 3339 such as "2026-11-20T10:00:00Z"`)
		}
	case boundType:
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			c.fault(at, `is no limit; give a number, or for a date one such as "2026-11-20"`)
		}
	}
}

func (c *checker) number(t reflect.Type, at *place, n json.Number, want kinds) {
	switch {
	case want&isNumber == 0:
		c.fault(at, "is a number; give %s", want)
	case t.Kind() == reflect.Uint64:
		if _, err := strconv.ParseUint(n.String(), 10, 64); err != nil {
			c.fault(at, "is %s; give a whole number, 0 or more", n)
		}
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		if _, err := strconv.ParseInt(n.String(), 10, 64); err != nil {
			c.fault(at, "is %s; give a whole number", n)
		}
	default:
		if _, err := n.Float64(); err != nil {
			c.fault(at, "is too large a number")
		}
	}
}

// kinds is a set of JSON types.
type kinds int

const (
	isString kinds = 1 << iota
	isNumber
	isBool
	isObject
	isArray
)

func (k kinds) String() string {
	var names []string
	for i, name := range []string{"a string", "a number", "true or false", "an object", "an array"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func wants(t reflect.Type) kinds {
	switch t {
	case durationType, timeType:
		return isString
	case valueType:
		return isString | isNumber | isBool | isArray
	case boundType:
		return isString | isNumber
	case rawType, anyType:
		return isString | isNumber | isBool | isObject | isArray
	}
	switch t.Kind() {
	case reflect.String:
		return isString
	case reflect.Bool:
		return isBool
	case reflect.Slice:
		return isArray
	case reflect.Struct, reflect.Map:
		return isObject
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return isNumber
	default:
		return isString | isNumber | isBool | isObject | isArray
	}
}

//nolint:gochecknoglobals // constants of the type system
var (
	anyType      = reflect.TypeFor[any]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	durationType = reflect.TypeFor[duration]()
	timeType     = reflect.TypeFor[time.Time]()
	valueType    = reflect.TypeFor[valueJSON]()
	boundType    = reflect.TypeFor[boundJSON]()
)

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
