package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

// Strict decodes JSON from outside into v, a pointer to a struct. It refuses
// unknown fields, duplicate fields and wrong types: the error is an
// [*ask.Error] with [ask.ErrInvalid] that holds every fault with its JSON
// pointer (RFC 6901). Null counts as left out. It also refuses what [CheckText]
// does: data may come from base64.
func Strict(what string, data []byte, v any) error {
	if at, why := badText(data); why != "" {
		return ask.InvalidError(what, []ask.Fault{{Message: fmt.Sprintf("byte %d %s", at, why)}})
	}
	c := checker{dec: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if err := c.document(shapeFor(v)); err != nil {
		c.faults = append(c.faults, ask.Fault{Message: "is not valid JSON: " + err.Error()})
	}
	if len(c.faults) > 0 {
		return ask.InvalidError(what, c.faults)
	}
	decode := jsonv1.Unmarshal
	if self, ok := v.(json.Unmarshaler); ok { // data is one valid document: no need to check it again
		decode = func(data []byte, _ any) error { return self.UnmarshalJSON(data) }
	}
	if err := decode(data, v); err != nil {
		return ask.InvalidError(what, []ask.Fault{{Message: err.Error()}})
	}
	return nil
}

// checker checks JSON tokens against a shape.
type checker struct {
	dec    *jsontext.Decoder
	name   []byte // the last name read
	faults []ask.Fault
}

func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, ask.Fault{Pointer: string(c.dec.StackPointer()), Message: fmt.Sprintf(format, args...)})
	}
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
			c.fault("is a string; give %s", s.kinds)
		} else if s.text != nil {
			if complaint := s.text(tok.String()); complaint != "" {
				c.fault("%s", complaint)
			}
		}
	case '0':
		if s.kinds&isNumber == 0 {
			c.fault("is a number; give %s", s.kinds)
		} else if complaint := s.number(tok.String()); complaint != "" {
			c.fault("%s", complaint)
		}
	case 't', 'f':
		if s.kinds&isBool == 0 {
			c.fault("is a boolean; give %s", s.kinds)
		}
	}
	return nil
}

func (c *checker) object(s *shape, depth int) error {
	if s.kinds&isObject == 0 {
		c.fault("is an object; give %s", s.kinds)
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
			c.fault("is given twice")
		}
		if !ok && s.fields != nil {
			c.fault("is unknown; the fields are %s", s.list)
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
		c.fault("is an array; give %s", s.kinds)
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

func (k kinds) String() string {
	var names []string
	for i, name := range []string{"a string", "a number", "true or false", "an object", "an array"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func durationText(s string) string {
	if _, err := time.ParseDuration(s); err != nil {
		return `is not a duration; give one such as "90s", "30m" or "2h"`
	}
	return ""
}

func timeText(s string) string {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return `is not a time; give RFC 3339 such as "2026-11-20T10:00:00Z"`
	}
	return ""
}

func boundText(s string) string {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return `is not a limit; give a number, or for a date one such as "2026-11-20"`
	}
	return ""
}

func anyNumber(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return "is too large a number"
	}
	return ""
}

func signed(s string) string {
	if _, err := strconv.ParseInt(s, 10, 64); err != nil {
		return fmt.Sprintf("is %s; give a whole number", s)
	}
	return ""
}

func unsigned(s string) string {
	if _, err := strconv.ParseUint(s, 10, 64); err != nil {
		return fmt.Sprintf("is %s; give a whole number, 0 or more", s)
	}
	return ""
}
