package audit

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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

// LeafVersion is the first line of a leaf.
const LeafVersion = "askbus.audit.leaf.v1"

// saltSize is the size of a value's salt. A longer one could hide the beginning of its path.
const saltSize = 16

// headLines are the lines of a leaf before those of its values.
const headLines = 4

// Field is one value of a record, with what is needed to check it against its line in the leaf.
type Field struct {
	Line  int    `json:"line"` // in the leaf, from 0
	Path  string `json:"path"` // "header <name>", or the JSON pointer in the body
	Value any    `json:"value"`
	Salt  []byte `json:"salt"`
}

// maxFields bounds the values of one record's body. One that has more is hashed as one value.
const maxFields = 4096

// AppendLeaf appends the leaf of a record, what the log of the audit holds of it: its sequence, when and
// where it was stored, and a salted hash of each of its values, first those of its headers. Every
// program that computes the leaf of a record gets the same bytes.
func (m *Raw) AppendLeaf(to []byte) []byte {
	w, _ := leaves.Get().(*leaf) // nothing else is put in
	defer leaves.Put(w)
	w.text = to
	w.of(m)
	text := w.text
	w.text = nil
	return text
}

// Fields returns the values of a record, in the order of their lines in its leaf.
func (m *Raw) Fields() []Field {
	w := leaf{fields: []Field{}, body: new(jsontext.Decoder)}
	w.of(m)
	return w.fields
}

// leaves are those that are used again.
var leaves = sync.Pool{New: func() any { return &leaf{body: new(jsontext.Decoder)} }} //nolint:gochecknoglobals // a pool

// leaf is a leaf that is being written. An auditor's log writes one for each message of the bus, so it
// reads the body's tokens and keeps nothing.
type leaf struct {
	text   []byte
	line   int
	fields []Field // nil: not wanted
	salts  cipher.Block

	counter, salt [saltSize]byte // here, or each would be an allocation

	path   []byte
	names  []string // of headers
	quoted []byte   // the last text that was quoted
	buf    []byte
	body   *jsontext.Decoder
}

func (w *leaf) of(m *Raw) {
	key := sha256.Sum256([]byte("askbus audit salt\x00" + m.Header.Get(HeaderSalt)))
	w.salts, _ = aes.NewCipher(key[:16]) // fails for other lengths only
	w.text = append(w.text, LeafVersion+"\nrecord "...)
	w.text = strconv.AppendUint(w.text, m.Seq, 10)
	w.text = m.At.UTC().AppendFormat(append(w.text, "\nstored "...), time.RFC3339Nano)
	w.text = append(append(append(w.text, "\nsubject "...), m.Subject...), '\n')
	w.line = headLines
	w.names, w.path = w.names[:0], w.path[:0]
	for name := range m.Header {
		if name != HeaderSalt && !strings.HasPrefix(name, "Nats-") { // the server's own; the origin follows
			w.names = append(w.names, name)
		}
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		w.path = append(w.path, "header "...)
		w.addText(name, strings.Join(m.Header[name], "\n"))
	}
	if src, ok := SourceOf(m.Header); ok {
		w.addText("source", src.String())
	}
	before, line, fields := len(w.text), w.line, len(w.fields)
	if err := w.values(m.Data); err != nil {
		w.text, w.line, w.fields, w.path = w.text[:before], line, w.fields[:fields], w.path[:0]
		w.addText("body", base64.StdEncoding.EncodeToString(m.Data))
	}
}

// addText adds a value that is a text, and whose path ends like this.
func (w *leaf) addText(path, value string) {
	w.path = append(w.path, path...)
	w.quoted, _ = jsontext.AppendQuote(w.quoted[:0], value) // broken UTF-8 is replaced
	w.add(w.quoted)
	w.path = w.path[:0]
}

// add adds the value at the path. It is canonical JSON: see [canonical].
func (w *leaf) add(value []byte) {
	binary.BigEndian.PutUint64(w.counter[saltSize-8:], uint64(w.line)) //nolint:gosec // a line's number
	w.salts.Encrypt(w.salt[:], w.counter[:])
	w.text, w.buf = appendHash(w.text, w.buf, w.salt[:], w.path, value)
	w.text = append(w.text, '\n')
	if w.fields != nil {
		w.fields = append(w.fields, Field{Line: w.line, Path: string(w.path), Value: json.RawMessage(bytes.Clone(value)), Salt: slices.Clone(w.salt[:])})
	}
	w.line++
}

// errNoFields means that a body is not hashed value by value.
var errNoFields = errors.New("too many values, or not one JSON value")

// values adds the values of a body. A name that comes twice has two.
func (w *leaf) values(data []byte) error {
	d := w.body
	d.Reset(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	if err := w.value(d, w.line+maxFields); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errNoFields
	}
	return nil
}

// value adds the next value, or those below it.
func (w *leaf) value(d *jsontext.Decoder, most int) error {
	begin := d.PeekKind()
	if begin != '{' && begin != '[' {
		v, err := d.ReadValue()
		if err == nil {
			err = w.addScalar(v, most)
		}
		return err
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	end, at := begin+2, len(w.path) // '}' or ']'
	for n := int64(0); ; n++ {
		if d.PeekKind() == end {
			if n == 0 {
				if err := w.addScalar(jsontext.Value{byte(begin), byte(end)}, most); err != nil {
					return err
				}
			}
			_, err := d.ReadToken()
			return err
		}
		w.path = append(w.path, '/')
		if begin == '[' {
			w.path = strconv.AppendInt(w.path, n, 10)
		} else {
			name, err := d.ReadValue()
			if err != nil {
				return err
			}
			w.path = appendName(w.path, name)
		}
		if err := w.value(d, most); err != nil {
			return err
		}
		w.path = w.path[:at]
	}
}

// addScalar adds a value without members, as it is written.
func (w *leaf) addScalar(v jsontext.Value, most int) error {
	if w.line >= most {
		return errNoFields
	}
	if len(w.path) == 0 {
		w.path = append(w.path, '/') // the body is a bare value
	}
	w.add(canonical(v))
	return nil
}

// canonical returns a value as it is hashed: a text as RFC 8785 writes it, everything else as it was written.
func canonical(v []byte) []byte {
	if v[0] != '"' || bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	text, _ := jsontext.AppendUnquote(nil, v) // it was read as JSON
	quoted, _ := jsontext.AppendQuote(nil, text)
	return quoted
}

// appendName appends the name of a member as a token of a JSON pointer.
func appendName(path []byte, name jsontext.Value) []byte {
	at := len(path)
	path, _ = jsontext.AppendUnquote(path, name) // it was read as JSON
	if bytes.ContainsAny(path[at:], "~/") {
		return append(path[:at], strings.NewReplacer("~", "~0", "/", "~1").Replace(string(path[at:]))...)
	}
	return path
}

// appendHash appends a value's line: SHA-256 of its salt, its path, a zero byte and the value, in base64. It
// uses and returns buf.
func appendHash(text, buf, salt, path, value []byte) (line, used []byte) {
	buf = append(append(append(append(buf[:0], salt...), path...), 0), value...)
	sum := sha256.Sum256(buf)
	return base64.StdEncoding.AppendEncode(text, sum[:]), buf
}

// Check returns an error unless the field is in the leaf.
func (f *Field) Check(leaf []byte) error {
	value, err := jsonOf(f.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", strconv.Quote(f.Path), err)
	}
	line, _ := appendHash(nil, nil, f.Salt, []byte(f.Path), value)
	lines := strings.Split(string(leaf), "\n")
	if len(f.Salt) != saltSize || f.Line < 0 || f.Line >= len(lines) || lines[f.Line] != string(line) {
		return fmt.Errorf("%s is not what was recorded", strconv.Quote(f.Path))
	}
	return nil
}

// jsonOf returns the JSON of a field's value, of which a number is a [json.Number].
func jsonOf(v any) ([]byte, error) {
	switch v := v.(type) {
	case json.RawMessage:
		return canonical(v), nil
	case string:
		return jsontext.AppendQuote(nil, v)
	default: // a number, true, false, null, {}, []
		return json.Marshal(v)
	}
}
