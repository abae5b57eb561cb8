package cloudevent

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// clean reports whether JSON has nothing that a [checker] would find fault
// with. It is the fast way through [Strict]: one look at the bytes and no words.
// When it is in doubt it says no, and the checker says why, or finds nothing.
func clean(t reflect.Type, data []byte) bool {
	if !json.Valid(data) { // which also bounds what the scanner meets
		return false
	}
	s := scanner{data: data}
	return s.value(t, 0)
}

// scanner walks valid JSON along a Go type.
type scanner struct {
	data []byte
	at   int
}

// next skips space and looks at the next byte; 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value passes one value and reports whether it fits t.
func (s *scanner) value(t reflect.Type, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := wants(t)
	switch c := s.next(); c {
	case '{':
		return want&isObject != 0 && s.object(t, depth)
	case '[':
		return want&isArray != 0 && s.array(t, depth)
	case '"':
		text, ok := s.text()
		return ok && want&isString != 0 && fits(t, text)
	case 't', 'f', 'n':
		word := s.word()
		return c == 'n' && len(word) == len("null") || want&isBool != 0
	default:
		return want&isNumber != 0 && whole(t, s.word())
	}
}

func (s *scanner) object(t reflect.Type, depth int) bool {
	var of *fields
	if t.Kind() == reflect.Struct {
		of = fieldsOf(t)
	}
	var room [32][]byte // more names than a wire struct has
	seen := room[:0]
	var many names
	s.at++
	for s.next() != '}' {
		if s.data[s.at] == ',' {
			s.at++
			s.next()
		}
		name, ok := s.text()
		if !ok || bytes.IndexByte(name, '\\') >= 0 {
			return false
		}
		ft := anyType
		if of != nil {
			if ft, ok = of.types[string(name)]; !ok || len(seen) == cap(seen) || slices.ContainsFunc(seen, func(n []byte) bool { return bytes.Equal(n, name) }) {
				return false
			}
			seen = append(seen, name)
		} else if !many.add(string(name)) {
			return false
		}
		s.next()
		s.at++ // the colon
		if !s.value(ft, depth+1) {
			return false
		}
	}
	s.at++
	return true
}

func (s *scanner) array(t reflect.Type, depth int) bool {
	et := elem(t)
	s.at++
	for s.next() != ']' {
		if s.data[s.at] == ',' {
			s.at++
		}
		if !s.value(et, depth+1) {
			return false
		}
	}
	s.at++
	return true
}

// text passes a string and returns it as it stands there, escapes and all. It
// is not ok when it is no UTF-8.
func (s *scanner) text() ([]byte, bool) {
	s.at++
	start := s.at
	for {
		switch s.data[s.at] {
		case '"':
			text := s.data[start:s.at]
			s.at++
			return text, utf8.Valid(text)
		case '\\':
			s.at++ // whatever follows ends nothing
		}
		s.at++
	}
}

// word passes a number or a literal.
func (s *scanner) word() []byte {
	start := s.at
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return s.data[start:s.at]
		}
	}
	return s.data[start:]
}

// fits reports whether a string that is a duration or a time is one.
func fits(t reflect.Type, text []byte) bool {
	switch t {
	case durationType:
		_, err := time.ParseDuration(string(text))
		return err == nil
	case timeType:
		_, err := time.Parse(time.RFC3339, string(text))
		return err == nil
	}
	return true
}

// whole reports whether a number fits the number type t.
func whole(t reflect.Type, word []byte) bool {
	var err error
	switch t.Kind() {
	case reflect.Uint64:
		_, err = strconv.ParseUint(string(word), 10, 64)
	case reflect.Int, reflect.Int64:
		_, err = strconv.ParseInt(string(word), 10, 64)
	default:
		_, err = strconv.ParseFloat(string(word), 64)
	}
	return err == nil
}
