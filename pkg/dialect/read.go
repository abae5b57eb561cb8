package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/askbus/askbus/pkg/ask"
)

// maxDepth bounds how deep a foreign body nests; no dialect needs ten.
const maxDepth = 64

// maxFaults and maxWarnings bound what is said about a body that is wrong, or
// odd, all over.
const (
	maxFaults   = 100
	maxWarnings = 50
)

// object is a JSON object that remembers the order of its keys: some dialects
// show what they are given in that order.
type object struct {
	keys   []string
	values map[string]any
	read   map[string]bool // the keys that somebody has looked at
	opaque bool            // whatever is in it counts as read
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

// set puts a field at its place, or at the end.
func (o *object) set(key string, v any) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// reader walks a foreign body and collects all that is wrong with it.
type reader struct {
	what     string // for errors, such as "by-id request"
	faults   []ask.Fault
	counted  []string // pointers of lists that are too short or too long, but read
	warnings []Warning
	spelled  map[string]string // by the pointer of a question: that of its [value.multiple]
	root     value             // where the dialect's own fields begin
}

// parse reads a whole body. Its error is ready to return.
func (r *reader) parse(body []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	raw, err := decode(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after its end")
		}
	}
	v := value{r: r, raw: raw}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	if err != nil {
		v.fault("is not JSON: %v", err)
		return v, r.err()
	}
	r.root, r.spelled = v, make(map[string]string)
	return v, nil
}

// unread warns of every field below v that nobody looked at: what is dropped
// is named, so that it never changes the meaning unseen.
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
				below.warn("is not known here; it is dropped")
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
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
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

// err is the refusal with everything that is wrong, or nil.
func (r *reader) err() error { return ask.InvalidError(r.what, r.faults) }
