package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/askbus/askbus/pkg/ask"
)

// maxDepth bounds the nesting of a foreign body; no dialect needs ten levels.
const maxDepth = 64

// maxFaults and maxWarnings bound the messages about a body that is wrong
// everywhere.
const (
	maxFaults   = 100
	maxWarnings = 50
)

// object is a JSON object that keeps the order of its keys, because some
// dialects show values in the given order.
type object struct {
	keys   []string
	values map[string]any
	read   map[string]bool // the keys that were read
	opaque bool            // everything in it counts as read
}

func (o *object) markRead(key string) {
	if o.read == nil {
		o.read = make(map[string]bool, len(o.keys))
	}
	o.read[key] = true
}

// MarshalJSON writes the object in its order.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(k))
		b.WriteByte(':')
		b.Write(encode(o.values[k]))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// set replaces a field in place, or appends it. It has 320 callers: inlined, it makes the binary 150 kB larger.
//
//go:noinline
func (o *object) set(key string, v any) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// setText sets a field to a text, unless that is empty.
func (o *object) setText(key, text string) {
	if text != "" {
		o.set(key, text)
	}
}

// reader walks a foreign body and collects its faults.
type reader struct {
	what     string // for errors, such as "by-id request"
	faults   []ask.Fault
	counted  []string // pointers of lists that are too short or too long, but were read
	warnings []Warning
	spelled  map[string]string // by a question's pointer: the pointer of its [value.multiple]
	root     value             // the object with the dialect's own fields

	answered map[string]string // by a question's id: the pointer of its answer
	native   string            // the pointer of a reply in native JSON
	rest     string            // the pointer of what belongs to no answer
}

// parse reads a whole body. Its error can be returned as it is.
func (r *reader) parse(body []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	raw, err := decode(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("unexpected data after its end")
		}
	}
	v := value{r: r, raw: raw}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("unexpected end")
	}
	if err != nil {
		v.fault(ask.FaultNotJSON, err)
		return v, r.err()
	}
	r.root, r.spelled = v, make(map[string]string)
	return v, nil
}

// unread warns about every unread field below v, so that no field is dropped
// silently.
func (r *reader) unread(v value) {
	switch raw := v.raw.(type) {
	case *object:
		if raw.opaque {
			return
		}
		for _, key := range raw.keys {
			below := value{r: r, at: v.at + "/" + escape(clip(key)), raw: raw.values[key]}
			switch {
			case raw.read[key]:
				r.unread(below)
			case below.given():
				below.warn("is unknown; it is dropped")
			}
		}
	case []any:
		for i, item := range raw {
			r.unread(value{r: r, at: v.at + "/" + key(i), raw: item})
		}
	}
}

func decode(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{values: make(map[string]any)}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string) // the decoder allows nothing else
			o.set(name, v)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// err returns a refusal with all faults, or nil.
func (r *reader) err() error { return ask.InvalidError(r.what, r.faults) }
