package acp

import (
	"bytes"
	"encoding/json"

	"github.com/askbus/askbus/pkg/ask"
)

// The methods that the proxy handles.
const (
	methodInitialize = "initialize"
	methodElicit     = "elicitation/create"
	methodPermission = "session/request_permission"
	methodUpdate     = "session/update"
	methodCancelTurn = "session/cancel"
	methodClose      = "session/close"
	methodCancel     = "$/cancel_request"
)

// JSON-RPC error codes.
const (
	codeInvalidParams = -32602
	codeInternal      = -32603
	codeCancelled     = -32800
)

// message has the fields of a JSON-RPC message that tell its kind.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *failure        `json:"error"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// read parses a line. An invalid message is the zero value.
func read(line []byte) message {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return message{}
	}
	if bytes.Equal(m.ID, []byte("null")) {
		m.ID = nil
	}
	return m
}

func (m *message) request() bool  { return m.Method != "" && len(m.ID) > 0 }
func (m *message) response() bool { return m.Method == "" && len(m.ID) > 0 }

// params are the parsed parameters of all methods.
type params struct {
	SessionID string          `json:"sessionId"`
	RequestID json.RawMessage `json:"requestId"`
	Mode      string          `json:"mode"`
}

func (m *message) read() params {
	var p params
	_ = json.Unmarshal(m.Params, &p) // missing fields stay empty
	return p
}

// result returns a response line with a result.
func result(id json.RawMessage, body []byte) []byte {
	return line(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
	}{"2.0", id, body})
}

// refusal returns a response line with an error.
func refusal(id json.RawMessage, code int, text string) []byte {
	return line(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}{"2.0", id, failure{code, ask.CleanText(text)}})
}

// cancelRequest returns the line that cancels a request.
func cancelRequest(id json.RawMessage) []byte {
	type requestID struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	return line(struct {
		JSONRPC string    `json:"jsonrpc"`
		Method  string    `json:"method"`
		Params  requestID `json:"params"`
	}{"2.0", methodCancel, requestID{id}})
}

// line encodes a message without HTML escaping.
func line(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // cannot happen with these types
	}
	return b.Bytes()
}
