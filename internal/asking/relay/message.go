package relay

import (
	"bytes"
	"encoding/json"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
)

// Message has the fields of a JSON-RPC message that tell its kind.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// read parses a line. An invalid message is the zero value.
func read(line []byte) Message {
	var m Message
	if json.Unmarshal(line, &m) != nil {
		return Message{}
	}
	if bytes.Equal(m.ID, []byte("null")) {
		m.ID = nil
	}
	return m
}

// Request reports whether the message is a request.
func (m *Message) Request() bool { return m.Method != "" && len(m.ID) > 0 }

// Response reports whether the message is a response.
func (m *Message) Response() bool { return m.Method == "" && len(m.ID) > 0 }

// Object parses a JSON object; the map is never nil.
func Object(text []byte) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	if len(text) == 0 || json.Unmarshal(text, &m) != nil || m == nil {
		return map[string]json.RawMessage{}, false
	}
	return m, true
}

// Word returns a JSON string, or "".
func Word(text json.RawMessage) string {
	var s string
	_ = json.Unmarshal(text, &s) // not a string: empty
	return s
}
