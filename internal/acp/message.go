package acp

import (
	"bytes"
	"encoding/json"

	"github.com/askbus/askbus/pkg/ask"
)

// The methods that are not just passed on.
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

// message is as much of a JSON-RPC message as says what it is.
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

// read reads a line. An invalid message is the zero value.
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

// params is what is read of the parameters of any method.
type params struct {
	SessionID string          `json:"sessionId"`
	RequestID json.RawMessage `json:"requestId"`
	Mode      string          `json:"mode"`
}

func (m *message) read() params {
	var p params
	_ = json.Unmarshal(m.Params, &p) // what is not there stays empty
	return p
}

// result is the response line with a result.
func result(id json.RawMessage, body []byte) []byte {
	return line(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
	}{"2.0", id, body})
}

// refusal is the response line with an error.
func refusal(id json.RawMessage, code int, text string) []byte {
	return line(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}{"2.0", id, failure{code, ask.CleanText(text)}})
}

// cancelRequest is the line that takes a request back.
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

// line encodes a message, without escaping what is only special in HTML.
func line(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // not with these types
	}
	return b.Bytes()
}
