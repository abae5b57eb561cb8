package guard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/go-json-experiment/json/jsontext"
)

// The methods that the guard reads.
const (
	methodInitialize = "initialize"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodCancelled  = "notifications/cancelled"
)

// maxLine bounds a message.
const maxLine = 16 << 20

var errLong = fmt.Errorf("a message has more than %d bytes", maxLine)

// message is a JSON-RPC message by its fields, whose names count as they are written.
type message map[string]json.RawMessage

// read parses a line strictly: what two programs may read differently is an error.
func read(line []byte) (message, error) {
	if err := wire.CheckText(line); err != nil {
		return nil, err
	}
	if bytes.IndexByte(bytes.TrimRight(line, "\r\n"), '\r') >= 0 {
		return nil, errors.New("it has a carriage return within it, where many servers begin the next message")
	}
	if !jsontext.Value(line).IsValid() {
		return nil, errors.New("it is no JSON, or an object in it has a name twice")
	}
	var m message
	if json.Unmarshal(line, &m) != nil || m == nil {
		return nil, errors.New("it is no object; send one message a line")
	}
	return m, m.exact("jsonrpc", "id", "method", "params")
}

// oneLine escapes the characters within texts at which some servers end a line, such as those that read with Python's
// codecs: they would begin the next message there.
func oneLine(line []byte) []byte {
	for _, end := range []rune{'\u0085', '\u2028', '\u2029'} {
		line = bytes.ReplaceAll(line, []byte(string(end)), fmt.Appendf(nil, `\u%04x`, end))
	}
	return line
}

// exact refuses one of these names in another case: many servers, such as those that use Go's encoding/json, read it
// as the name itself.
func (m message) exact(names ...string) error {
	for got := range m {
		for _, want := range names {
			if got != want && strings.EqualFold(got, want) {
				return fmt.Errorf("it has the name %q; write it %q", got, want)
			}
		}
	}
	return nil
}

// readCall returns the error of a tool call that two servers may read differently: one of them ignores the case of
// names.
func readCall(params message, raw json.RawMessage) error {
	if err := params.exact("name", "arguments"); err != nil {
		return err
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	var names []map[string]bool // of each object or array that is open
	for {
		t, err := d.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // the end: the line is valid
		}
		switch t.Kind() {
		case '{', '[':
			names = append(names, map[string]bool{})
		case '}', ']':
			names = names[:len(names)-1]
		case '"':
			if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
				name := folded(t.String())
				if names[len(names)-1][name] {
					return fmt.Errorf("an object in it has the name %q twice, in another case", t.String())
				}
				names[len(names)-1][name] = true
			}
		default:
		}
	}
}

// folded returns the same text for texts that differ in case only, as strings.EqualFold says.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}

// id returns the id of a request or a response, or nil.
func (m message) id() json.RawMessage {
	if id := m["id"]; string(id) != "null" {
		return id
	}
	return nil
}

// text returns a field that is a string, or "".
func (m message) text(name string) string {
	var s string
	if json.Unmarshal(m[name], &s) != nil {
		return ""
	}
	return s
}

// object returns a field that is an object, or nil.
func (m message) object(name string) message {
	var o message
	if json.Unmarshal(m[name], &o) != nil {
		return nil
	}
	return o
}

// lines calls each with every line of from, with its end.
func lines(from io.Reader, each func(line []byte) error) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, long, err := jsonrpc.ReadLine(r, maxLine)
		if long || len(line) > maxLine {
			return errLong
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if failed := each(line); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// request returns the line of a tool call with an id of ours.
func request(id string, params json.RawMessage) []byte {
	return jsonrpc.Line(struct {
		Version string          `json:"jsonrpc"`
		ID      string          `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}{"2.0", id, methodCall, params})
}

// said returns the result of a tool call that was not carried out, or not yet. It is marked as an error, because the
// tool may have an output schema that only its own results fit.
func said(format string, args ...any) json.RawMessage {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return bytes.TrimSpace(jsonrpc.Line(struct {
		Content []part `json:"content"`
		IsError bool   `json:"isError"`
	}{[]part{{"text", ask.CleanText(fmt.Sprintf(format, args...))}}, true}))
}

// compact returns JSON on one line.
func compact(value []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}
