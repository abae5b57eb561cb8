package wire

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
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

const (
	maxDepth  = 64  // of nested JSON from outside
	maxFaults = 100 // reported at once
	maxGiven  = 80  // code points of a value in a fault
)

// Strict decodes JSON from outside into v, a pointer to a struct. It refuses
// unknown fields, duplicate fields and wrong types: the error is an
// [*ask.Error] with [ask.ErrInvalid] that holds every fault with its JSON
// pointer (RFC 6901). Null counts as left out. It also refuses what [CheckText]
// does: data may come from base64. The reader of pkg/dialect is another one: it has no type to hold a
// document against, and only warns of fields that it does not know.
func Strict(what string, data []byte, v any) error {
	if bad := badText(data); bad != nil {
		return ask.InvalidError(what, []ask.Fault{*bad})
	}
	c := checker{dec: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if err := c.document(shapeOf(reflect.TypeOf(v))); err != nil {
		c.faults = append(c.faults, ask.NewFault("", ask.FaultNotJSON, err.Error()))
	}
	if len(c.faults) > 0 {
		return ask.InvalidError(what, c.faults)
	}
	decode := jsonv1.Unmarshal
	if self, ok := v.(json.Unmarshaler); ok { // data is one valid document: no need to check it again
		decode = func(data []byte, _ any) error { return self.UnmarshalJSON(data) }
	}
	if err := decode(data, v); err != nil {
		return ask.InvalidError(what, []ask.Fault{ask.NewFault("", ask.FaultUnreadable, err.Error())})
	}
	return nil
}

// decode reads a body from outside, strictly, and refuses it with the faults that check finds.
func decode[T any](what string, data []byte, check func(*T) []ask.Fault) (T, error) {
	var body T
	err := Strict(what, data, &body)
	if err == nil {
		err = ask.InvalidError(what, check(&body))
	}
	return body, err
}

// optional returns a body that may be left out.
func optional(data []byte) []byte {
	if len(data) == 0 {
		return []byte("{}")
	}
	return data
}

// checker checks JSON tokens against a shape.
type checker struct {
	dec    *jsontext.Decoder
	name   []byte // the last name read
	faults []ask.Fault
}

func (c *checker) fault(code ask.FaultCode, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, ask.NewFault(string(c.dec.StackPointer()), code, args...))
	}
}

// wrongType notes that a value has a type that s does not accept.
func (c *checker) wrongType(given string, s *shape) {
	want := s.kinds.terms()
	if s.want != "" {
		want = []string{s.want}
	}
	c.fault(ask.FaultWrongType, given, want)
}

// document reads the one value that data must be.
func (c *checker) document(s *shape) error {
	err := c.value(s, 0)
	if err == nil {
		if _, extra := c.dec.ReadToken(); !errors.Is(extra, io.EOF) {
			err = errors.New("unexpected data after the JSON value")
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("unexpected end")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("%w at byte %d", syntax.Err, syntax.ByteOffset)
	}
	return err
}

// value checks one value against the shape s. After an error the rest cannot be
// read.
func (c *checker) value(s *shape, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	tok, err := c.dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case '{':
		return c.object(s, depth)
	case '[':
		return c.array(s, depth)
	case '"':
		if s.kinds&isString == 0 {
			c.wrongType("string", s)
		} else if s.text != nil {
			if code := s.text(tok.String()); code != "" {
				c.fault(code, ask.Clip(tok.String(), maxGiven))
			}
		}
	case '0':
		if s.kinds&isNumber == 0 {
			c.wrongType("number", s)
		} else if code := s.number(tok.String()); code != "" {
			c.fault(code, ask.Clip(tok.String(), maxGiven))
		}
	case 't', 'f':
		if s.kinds&isBool == 0 {
			c.wrongType("boolean", s)
		}
	}
	return nil
}

func (c *checker) object(s *shape, depth int) error {
	if s.kinds&isObject == 0 {
		c.wrongType("object", s)
	}
	var most [16]string // without a piece of heap, as a rule
	seen := names{few: most[:0]}
	for c.dec.PeekKind() != '}' {
		quoted, err := c.dec.ReadValue()
		if err != nil {
			return err
		}
		c.name, _ = jsontext.AppendUnquote(c.name[:0], quoted) // broken UTF-8 is replaced, as in values
		known, ok := s.fields[string(c.name)]
		if !ok {
			known = field{string(c.name), anything}
		}
		if !seen.add(known.name) {
			c.fault(ask.FaultGivenTwice)
		}
		if !ok && s.fields != nil {
			c.fault(ask.FaultUnknownField, s.list)
		}
		inner := known.shape
		if err := c.value(inner, depth+1); err != nil {
			return err
		}
	}
	_, err := c.dec.ReadToken()
	return err
}

func (c *checker) array(s *shape, depth int) error {
	if s.kinds&isArray == 0 {
		c.wrongType("array", s)
	}
	inner := anything
	if s.elem != nil {
		inner = s.elem
	}
	for c.dec.PeekKind() != ']' {
		if err := c.value(inner, depth+1); err != nil {
			return err
		}
	}
	_, err := c.dec.ReadToken()
	return err
}

// names is a set of names, usually small.
type names struct {
	few  []string
	many map[string]bool
}

// add reports whether name is new.
func (n *names) add(name string) bool {
	if n.many == nil {
		if slices.Contains(n.few, name) {
			return false
		}
		if n.few = append(n.few, name); len(n.few) == 32 {
			n.many = map[string]bool{}
			for _, f := range n.few {
				n.many[f] = true
			}
		}
		return true
	}
	if n.many[name] {
		return false
	}
	n.many[name] = true
	return true
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

// terms returns the types as terms of a fault.
func (k kinds) terms() []string {
	var names []string
	for i, name := range []string{"string", "number", "true, false", "object", "array"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// What follows returns the code of what is wrong with a text or a number; its
// one argument is the value.

func durationText(s string) ask.FaultCode {
	if _, err := time.ParseDuration(s); err != nil {
		return ask.FaultBadDuration
	}
	return ""
}

// timeoutText refuses zero, which would be read as left out: 30 days.
func timeoutText(s string) ask.FaultCode {
	if d, err := time.ParseDuration(s); err == nil && d == 0 {
		return ask.FaultZeroDuration
	}
	return durationText(s)
}

func timeText(s string) ask.FaultCode {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return ask.FaultBadTime
	}
	return ""
}

func boundText(s string) ask.FaultCode {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return ask.FaultBadBound
	}
	return ""
}

func anyNumber(s string) ask.FaultCode {
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return ask.FaultNumberTooLarge
	}
	return ""
}

func signed(s string) ask.FaultCode {
	if _, err := strconv.ParseInt(s, 10, 64); err != nil {
		return ask.FaultNotWhole
	}
	return ""
}

func unsigned(s string) ask.FaultCode {
	if strings.HasPrefix(s, "-") {
		return ask.FaultNegative
	}
	if _, err := strconv.ParseUint(s, 10, 64); err != nil {
		return ask.FaultNotWhole
	}
	return ""
}
