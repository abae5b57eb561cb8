package audit

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// HeaderSalt is a random value of each message that the audit holds, from which the salts of its
// fields are derived. It goes with the message, and then nobody can confirm a guess of what was in it.
const HeaderSalt = "Askbus-Salt"

// NewSalt returns a value for [HeaderSalt].
func NewSalt() string {
	var salt [16]byte
	_, _ = rand.Read(salt[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(salt[:])
}

// Raw is a message of the audit's stream, as it is stored.
type Raw struct {
	Seq     uint64      `json:"seq"`
	At      time.Time   `json:"at"` // when it was stored, by the server's clock
	Subject string      `json:"subject"`
	Header  nats.Header `json:"header,omitempty"`
	Data    []byte      `json:"data"`
}

// About returns the ask that the record is about; the zero key if it is about none.
func (m *Raw) About() ask.Key {
	if src, ok := SourceOf(m.Header); ok {
		k, _, _, _ := subject.ParseLedger(src.Subject) // else the zero key
		return k
	}
	r, err := Decode(m.Data)
	if err != nil || r.Ask == "" {
		return ask.Key{}
	}
	return ask.Key{Tenant: r.Tenant, Session: r.Session, ID: r.Ask}
}

// Size returns about how many bytes the message has as JSON.
func (m *Raw) Size() int {
	n := 128 + len(m.Subject) + base64.StdEncoding.EncodedLen(len(m.Data))
	for name, values := range m.Header {
		for _, v := range values {
			n += len(name) + len(v) + 8
		}
	}
	return n
}

// LeafVersion is the first line of a leaf.
const LeafVersion = "askbus.audit.leaf.v1"

// Field is one value of a record, with what is needed to check it against its line in the leaf.
type Field struct {
	Line  int    `json:"line"` // in the leaf, from 0
	Path  string `json:"path"` // "header <name>", or the JSON pointer in the body
	Value any    `json:"value"`
	Salt  []byte `json:"salt"`
}

// Leaf is what the log of the audit holds of a record: its sequence, when and where it was stored, and
// a salted hash of each of its values, in the order of their paths.
type Leaf struct {
	Text   []byte
	Fields []Field
}

// maxFields bounds the values of one record. What has more is hashed as one value.
const maxFields = 4096

// value is one value of a record.
type value struct {
	path string
	v    any
}

// Leaf returns the leaf of a record. The same record has the same leaf, whoever computes it.
func (m *Raw) Leaf() Leaf {
	values := make([]value, 0, 64)
	for name, v := range m.Header {
		if name == HeaderSalt || strings.HasPrefix(name, "Nats-") {
			continue // the server's own; the origin follows
		}
		values = append(values, value{"header " + name, strings.Join(v, "\n")})
	}
	if src, ok := SourceOf(m.Header); ok {
		values = append(values, value{"source", src.String()})
	}
	var body any
	all, ok := values, decode(m.Data, &body) == nil
	if ok {
		all, ok = flatten(values, "", body)
	}
	if !ok {
		all = append(values, value{"body", base64.StdEncoding.EncodeToString(m.Data)})
	}
	values = all
	slices.SortFunc(values, func(a, b value) int { return strings.Compare(a.path, b.path) })
	text := make([]byte, 0, 256+45*len(values))
	text = fmt.Appendf(text, "%s\nrecord %d\nstored %s\nsubject %s\n", LeafVersion, m.Seq, m.At.UTC().Format(time.RFC3339Nano), m.Subject)
	const head = 4 // lines
	l := Leaf{Fields: make([]Field, len(values))}
	salt, buf := m.Header.Get(HeaderSalt), make([]byte, 0, 512)
	for i, v := range values {
		f := &l.Fields[i]
		buf = append(append(append(append(buf[:0], "askbus audit salt\x00"...), salt...), 0), v.path...)
		own := sha256.Sum256(buf)
		*f = Field{Line: head + i, Path: v.path, Value: v.v, Salt: own[:16:16]}
		text, buf = f.appendHash(text, buf)
		text = append(text, '\n')
	}
	l.Text = text
	return l
}

// appendHash appends the field's line: SHA-256 of its salt, its path, a zero byte and its value as JSON. It
// uses and returns buf.
func (f *Field) appendHash(text, buf []byte) (line, used []byte) {
	buf = append(append(append(buf[:0], f.Salt...), f.Path...), 0)
	buf = appendScalar(buf, f.Value)
	sum := sha256.Sum256(buf)
	return base64.StdEncoding.AppendEncode(text, sum[:]), buf
}

// Check returns an error unless the field is in the leaf.
func (f *Field) Check(leaf []byte) error {
	line, _ := f.appendHash(nil, nil)
	lines := strings.Split(string(leaf), "\n")
	if f.Line < 0 || f.Line >= len(lines) || lines[f.Line] != string(line) {
		return fmt.Errorf("%s is not what was recorded", strconv.Quote(f.Path))
	}
	return nil
}

// appendScalar appends the JSON of a value without members.
func appendScalar(b []byte, v any) []byte {
	if s, ok := v.(string); ok && plain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return b // no value of JSON
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// plain reports whether a text is in JSON as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// flatten appends the values below a path. ok is false if there are too many.
func flatten(to []value, path string, v any) (all []value, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if strings.ContainsAny(name, "~/") {
				name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
			}
			if to, ok = flatten(to, path+"/"+name, member); !ok {
				return nil, false
			}
		}
		if len(v) > 0 {
			return to, true
		}
	case []any:
		for i, item := range v {
			if to, ok = flatten(to, path+"/"+strconv.Itoa(i), item); !ok {
				return nil, false
			}
		}
		if len(v) > 0 {
			return to, true
		}
	}
	if path == "" {
		path = "/" // the body is a bare value
	}
	return append(to, value{path, v}), len(to) < maxFields
}

// decode reads one JSON value, with its numbers as they are written.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
