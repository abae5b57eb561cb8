package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// member is one member of an object, or (with an empty key) one element of an
// array, as places in the text.
type member struct {
	key        string
	start      int // of the key, or of the element
	value, end int // of the value
	comma      int // behind it, or -1
}

// container is an object or an array as places in the text.
type container struct {
	open, close int // its brackets
	members     []member
}

// scanner finds its way through JSON with comments and trailing commas.
type scanner struct {
	text string
	at   int
}

var errSyntax = errors.New("it is not JSON that this program understands")

func (s *scanner) fail(what string) error {
	return fmt.Errorf("%w: %s in line %d", errSyntax, what, 1+strings.Count(s.text[:min(s.at, len(s.text))], "\n"))
}

// space skips white space and comments.
func (s *scanner) space() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			s.at++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			s.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return s.fail("a comment without an end")
			}
			s.at += end + 2
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) next() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// str reads a string.
func (s *scanner) str() (string, error) {
	start := s.at
	if s.next() != '"' {
		return "", s.fail("no key")
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			var v string
			if err := json.Unmarshal([]byte(s.text[start:s.at]), &v); err != nil {
				return "", s.fail("a bad string")
			}
			return v, nil
		}
	}
	return "", s.fail("a string without an end")
}

// skip passes over one value.
func (s *scanner) skip() error {
	switch c := s.next(); c {
	case '{', '[':
		_, err := s.container()
		return err
	case '"':
		_, err := s.str()
		return err
	default:
		start := s.at
		for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n,:]}/", rune(s.text[s.at])) {
			s.at++
		}
		if !json.Valid([]byte(s.text[start:s.at])) {
			return s.fail("a bad value")
		}
		return nil
	}
}

// container reads an object or an array.
func (s *scanner) container() (container, error) {
	c := container{open: s.at}
	object := s.next() == '{'
	if !object && s.next() != '[' {
		return c, s.fail("no object")
	}
	s.at++
	for {
		if err := s.space(); err != nil {
			return c, err
		}
		if b := s.next(); b == '}' && object || b == ']' && !object {
			c.close = s.at
			s.at++
			return c, nil
		}
		if n := len(c.members); n > 0 && c.members[n-1].comma < 0 {
			return c, s.fail("no comma")
		}
		m, err := s.member(object)
		if err != nil {
			return c, err
		}
		c.members = append(c.members, m)
	}
}

func (s *scanner) member(object bool) (member, error) {
	m := member{start: s.at, comma: -1}
	if object {
		var err error
		if m.key, err = s.str(); err != nil {
			return m, err
		}
		if err := s.space(); err != nil {
			return m, err
		}
		if s.next() != ':' {
			return m, s.fail("no colon")
		}
		s.at++
		if err := s.space(); err != nil {
			return m, err
		}
	}
	m.value = s.at
	if err := s.skip(); err != nil {
		return m, err
	}
	m.end = s.at
	if err := s.space(); err != nil {
		return m, err
	}
	if s.next() == ',' {
		m.comma = s.at
		s.at++
	}
	return m, nil
}

// document reads a whole text, whose value must be an object.
func document(text string) (container, error) {
	s := &scanner{text: text}
	if err := s.space(); err != nil {
		return container{}, err
	}
	c, err := s.container()
	if err != nil {
		return c, err
	}
	if c.open >= len(text) || text[c.open] != '{' {
		return c, fmt.Errorf("%w: it is not an object", errSyntax)
	}
	if err := s.space(); err != nil {
		return c, err
	}
	if s.at < len(text) {
		return c, s.fail("something behind the end")
	}
	return c, nil
}

// plain is a value of the text without comments and trailing commas.
func plain(text string) any {
	var b strings.Builder
	s := &scanner{text: text}
	for s.at < len(text) {
		start := s.at
		if err := s.space(); err != nil {
			return nil
		}
		if s.at > start {
			b.WriteByte(' ')
			continue
		}
		if s.next() == '"' {
			if _, err := s.str(); err != nil {
				return nil
			}
			b.WriteString(text[start:s.at])
			continue
		}
		if s.at++; text[start] == ',' {
			_ = s.space()
			if c := s.next(); c == '}' || c == ']' {
				continue
			}
		}
		b.WriteByte(text[start])
	}
	var v any
	if err := json.Unmarshal([]byte(b.String()), &v); err != nil {
		return nil
	}
	return v
}
