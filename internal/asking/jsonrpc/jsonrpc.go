// Package jsonrpc reads and writes messages of JSON-RPC 2.0, a line each, for the packages that speak it with an
// agent, its host or a server: MCP, ACP, Codex's app-server and A2A.
//
// It knows no method. What a message must be, its callers decide.
package jsonrpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/askbus/askbus/pkg/ask"
)

// The codes of errors.
const (
	CodeParse    = -32700
	CodeRequest  = -32600
	CodeMethod   = -32601
	CodeParams   = -32602
	CodeInternal = -32603
)

// Error is the error of a response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Response returns the line of a response with a result, which is JSON. A nil id is null.
func Response(id, result json.RawMessage) []byte {
	return Line(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
	}{"2.0", id, result})
}

// Failure returns the line of a response with an error, likewise.
func Failure(id json.RawMessage, code int, text string) []byte {
	return Line(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   Error           `json:"error"`
	}{"2.0", id, Error{code, ask.CleanText(text)}})
}

// Line encodes a message without HTML escaping.
func Line(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // cannot happen: every raw value was parsed
	}
	return b.Bytes()
}

// Sink takes the lines for one side, from several senders. Who writes a line in parts locks it and writes to To.
type Sink struct {
	sync.Mutex
	To io.Writer
}

// WriteLine writes a line, unless it is empty.
func (s *Sink) WriteLine(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	s.Lock()
	defer s.Unlock()
	_, err := s.To.Write(line)
	return err
}

// ReadLine reads a line with its end, or the beginning of one that is longer than about most.
func ReadLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, false, err
		}
		if len(line) >= most {
			return line, true, nil
		}
	}
}
