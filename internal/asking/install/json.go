package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// setJSON sets a value at a path of objects, and leaves the rest of the text unchanged. The text
// may be empty.
func setJSON(text string, path []string, value any) (string, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	root, err := document(text)
	if err != nil {
		return "", err
	}
	unit := indentOf(text)
	at := root
	for depth, key := range path {
		m, err := at.find(key)
		if err != nil {
			return "", err
		}
		if m == nil {
			for _, outer := range slices.Backward(path[depth+1:]) {
				value = map[string]any{outer: value}
			}
			return at.insert(text, key, value, unit, depth+1), nil
		}
		if depth == len(path)-1 {
			if same(plain(text[m.value:m.end]), value) {
				return text, nil
			}
			return text[:m.value] + encode(value, unit, depth+1) + text[m.end:], nil
		}
		if text[m.value] != '{' {
			return "", fmt.Errorf("%w: %q is not an object", errSyntax, key)
		}
		at = within(m.in)
	}
	return text, nil
}

// removeJSON removes the member at a path, and the objects that become empty, except the outermost.
func removeJSON(text string, path []string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return text, nil
	}
	root, err := document(text)
	if err != nil {
		return "", err
	}
	at := root
	for depth, key := range path {
		m, err := at.find(key)
		if err != nil || m == nil {
			return text, err
		}
		if depth == len(path)-1 {
			text = at.remove(text, m)
			break
		}
		if text[m.value] != '{' {
			return text, nil
		}
		at = within(m.in)
	}
	if len(path) > 1 && len(at.members) == 1 && !says(text, at.open) {
		return removeJSON(text, path[:len(path)-1])
	}
	return text, nil
}

func (c container) find(key string) (*member, error) {
	var found *member
	for i := range c.members {
		if c.members[i].key != key {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: duplicate key %q", errSyntax, key)
		}
		found = &c.members[i]
	}
	return found, nil
}

// insert appends a member (or, with an empty key, an element).
func (c container) insert(text, key string, value any, unit string, depth int) string {
	added := encode(value, unit, depth)
	if key != "" {
		added = quote(key) + ": " + added
	}
	inner := "\n" + strings.Repeat(unit, depth)
	end := len(strings.TrimRight(text[:c.close], " \t\r\n"))
	n, outer := len(c.members), text[end:c.close] // kept, so that removing it leaves what was there
	if n == 0 && !strings.Contains(outer, "\n") {
		outer = "\n" + strings.Repeat(unit, depth-1)
	}
	if n > 0 && c.members[n-1].comma >= 0 {
		added += "," // keep trailing commas
	}
	text = text[:end] + inner + added + outer + text[c.close:]
	if n > 0 && c.members[n-1].comma < 0 {
		text = text[:c.members[n-1].end] + "," + text[c.members[n-1].end:]
	}
	return text
}

// remove removes a member with its comma, and with its line if it has one.
func (c container) remove(text string, m *member) string {
	start, end := m.start, m.end
	last := m.start == c.members[len(c.members)-1].start
	if m.comma >= 0 {
		end = m.comma + 1
	}
	before := strings.TrimRight(text[:start], " \t")
	if strings.HasSuffix(before, "\n") {
		start = len(before) - 1
		if strings.HasSuffix(text[:start], "\r") {
			start--
		}
	} else if !last {
		end += len(text[end:]) - len(strings.TrimLeft(text[end:], " \t"))
	}
	text = text[:start] + text[end:]
	if n := len(c.members); last && n > 1 && m.comma < 0 {
		comma := c.members[n-2].comma
		text = text[:comma] + text[comma+1:]
	}
	if len(c.members) == 1 && !says(text, c.open) {
		text = text[:c.open+1] + strings.TrimLeft(text[c.open+1:], " \t\r\n")
	}
	return text
}

// indentOf returns the indentation step of the text.
func indentOf(text string) string {
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && strings.HasPrefix(rest, `"`) {
			return line[:n]
		}
	}
	return "  "
}

func encode(value any, unit string, depth int) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(strings.Repeat(unit, depth), unit)
	if err := e.Encode(value); err != nil {
		return "null" // cannot happen for our values
	}
	return strings.TrimRight(b.String(), "\n")
}

func quote(s string) string { return encode(s, "", 0) }

// same compares two JSON values.
func same(a, b any) bool {
	var v any
	if err := json.Unmarshal([]byte(encode(b, "", 0)), &v); err != nil {
		return false
	}
	return reflect.DeepEqual(a, v)
}
