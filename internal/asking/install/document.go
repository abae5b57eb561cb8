package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// member is one member of an object, or (with an empty key) one element of an
// array, as places in the text.
type member struct {
	key        string
	start      int // of the key, or of the element
	value, end int // of the value
	comma      int // after it, or -1
	in         *hujson.Value
}

// container is an object or an array as places in the text.
type container struct {
	open, close int // its brackets
	members     []member
}

var errSyntax = errors.New("it is not JSON that this program understands")

// parse reads JSON with comments and trailing commas.
func parse(text string) (*hujson.Value, error) {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSyntax, err)
	}
	v.UpdateOffsets()
	return &v, nil
}

// document reads a whole text, whose value must be an object.
func document(text string) (container, error) {
	v, err := parse(text)
	if err != nil {
		return container{}, err
	}
	if v.Value.Kind() != '{' {
		return container{}, fmt.Errorf("%w: it is not an object", errSyntax)
	}
	return within(v), nil
}

// within is the object or array that v is.
func within(v *hujson.Value) container {
	c := container{open: v.StartOffset, close: v.EndOffset - 1}
	add := func(key string, start int, in *hujson.Value, last bool) {
		m := member{key: key, start: start, value: in.StartOffset, end: in.EndOffset, comma: -1, in: in}
		if !last || in.AfterExtra != nil {
			m.comma = in.EndOffset + len(in.AfterExtra)
		}
		c.members = append(c.members, m)
	}
	switch list := v.Value.(type) {
	case *hujson.Object:
		for i := range list.Members {
			m := &list.Members[i]
			name, _ := m.Name.Value.(hujson.Literal)
			add(name.String(), m.Name.StartOffset, &m.Value, i == len(list.Members)-1)
		}
	case *hujson.Array:
		for i := range list.Elements {
			add("", list.Elements[i].StartOffset, &list.Elements[i], i == len(list.Elements)-1)
		}
	}
	return c
}

// says reports whether the object or array that opens at a place of the text
// contains anything but space.
func says(text string, open int) bool {
	v, err := parse(text)
	if err != nil {
		return true
	}
	for in := range v.All() {
		if in.StartOffset == open {
			return len(within(in).members) > 0 || strings.TrimSpace(text[open+1:in.EndOffset-1]) != ""
		}
	}
	return true
}

// plain is a value of the text without comments and trailing commas.
func plain(text string) any {
	data, err := hujson.Standardize([]byte(text))
	if err != nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil
	}
	return v
}
