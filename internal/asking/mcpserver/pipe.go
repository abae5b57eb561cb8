package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// pipe is the standard input and output of one client, in lines. A line that is no message gets an
// error of JSON-RPC, and the library never sees it: it would end the connection. After the end of
// its input, running calls still get their results: only then does it report the end. So a script
// that writes a few lines and closes can ask questions.
type pipe struct {
	in  *bufio.Reader
	out io.Writer
	ctx context.Context //nolint:containedctx // ends the wait for running calls

	rest []byte // of the line that is being read
	over error  // why there are no further lines

	writing sync.Mutex // of out: a line at a time

	mu   sync.Mutex
	open map[string]bool // requests without a response, by id
	none chan struct{}   // closed when the input has ended and no request is open
	end  bool
}

func newPipe(ctx context.Context, in io.Reader, out io.Writer) *pipe {
	return &pipe{in: bufio.NewReader(in), out: out, ctx: ctx, open: map[string]bool{}, none: make(chan struct{})}
}

// Read reads lines that are messages.
func (p *pipe) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.over != nil {
			return 0, p.ended()
		}
		var line []byte
		line, p.over = p.line()
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := checkLine(line); err != nil {
			if err := p.refuse(err); err != nil {
				return 0, err
			}
			continue
		}
		p.mu.Lock()
		p.asked(line)
		p.mu.Unlock()
		p.rest = append(bytes.TrimRight(line, "\r\n"), '\n')
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// ended waits for running calls after the end of the input.
func (p *pipe) ended() error {
	p.mu.Lock()
	p.end = true
	p.check()
	p.mu.Unlock()
	if errors.Is(p.over, io.EOF) {
		select {
		case <-p.none:
		case <-p.ctx.Done():
		}
	}
	return p.over
}

// maxLine bounds one message on the pipe: a call, and as many files in base64 as an ask may have. A host has no reply to
// a message that is longer, because nothing says which one it was.
const maxLine = maxBody + ask.MaxFiles*4*(ask.MaxFileBytes/3+1)

// line reads a line. Of one that is longer than maxLine it keeps a byte more.
func (p *pipe) line() (line []byte, err error) {
	for {
		part, err := p.in.ReadSlice('\n')
		if room := maxLine + 1 - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// maxBatch is the maximum number of messages of a batch, which revisions of MCP before 2025-06-18
// have.
const maxBatch = 50

// checkLine refuses what is no message, and no batch of at most [maxBatch]. The error is a
// [*jsonrpc.Error].
func checkLine(line []byte) error {
	if len(line) > maxLine {
		return &jsonrpc.Error{Code: jsonrpc.CodeRequest, Message: fmt.Sprintf("the message has more than %d bytes", maxLine)}
	}
	if err := wire.CheckText(line); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: err.Error()}
	}
	if !json.Valid(line) {
		var v any
		return &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: fmt.Sprintf("not valid JSON: %v; send one message a line", json.Unmarshal(line, &v))}
	}
	all := []json.RawMessage{line}
	if bytes.TrimLeft(line, " \t\r\n")[0] == '[' {
		if err := json.Unmarshal(line, &all); err != nil || len(all) == 0 || len(all) > maxBatch {
			return &jsonrpc.Error{Code: jsonrpc.CodeRequest, Message: fmt.Sprintf("the batch has %d messages; send 1 to %d, or one message a line", len(all), maxBatch)}
		}
	}
	for _, one := range all {
		var m struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  *string         `json:"method"`
			Result  json.RawMessage `json:"result"`
			Error   json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(one, &m); err != nil || m.Version != "2.0" || m.Method == nil && m.Result == nil && m.Error == nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeRequest, Message: `not a message of JSON-RPC; give "jsonrpc": "2.0" and a method`}
		}
		if id := bytes.TrimSpace(m.ID); len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f') {
			return &jsonrpc.Error{Code: jsonrpc.CodeRequest, Message: "the id is neither a string nor a number"}
		}
	}
	return nil
}

// refuse writes the error of a line whose id is unknown.
func (p *pipe) refuse(err error) error {
	code := jsonrpc.CodeParse
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		code = e.Code
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err = p.out.Write(jsonrpc.Failure(nil, code, err.Error()))
	return err
}

func (p *pipe) Write(b []byte) (int, error) {
	p.writing.Lock()
	n, err := p.out.Write(b)
	p.writing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.Lines(b) {
		p.told(line)
	}
	p.check()
	return n, err
}

// Close does nothing: the files belong to the process.
func (p *pipe) Close() error { return nil }

// message has the fields of a JSON-RPC message that tell requests from responses.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// asked counts the requests of a line from the client, and removes those that it cancels. The
// caller holds mu; the same applies to told.
func (p *pipe) asked(line []byte) {
	for _, m := range messages(line) {
		switch {
		case m.Method == "notifications/cancelled":
			delete(p.open, string(m.Params.RequestID))
		case m.Method != "" && len(m.ID) > 0:
			p.open[string(m.ID)] = true
		}
	}
}

// told counts the responses of a line to the client.
func (p *pipe) told(line []byte) {
	for _, m := range messages(line) {
		if m.Method == "" && len(m.ID) > 0 {
			delete(p.open, string(m.ID))
		}
	}
}

// messages returns the messages of a line: one, or a batch of older revisions.
func messages(line []byte) []message {
	var many []message
	if json.Unmarshal(line, &many) == nil {
		return many
	}
	var one message
	if json.Unmarshal(line, &one) != nil {
		return nil
	}
	return []message{one}
}

func (p *pipe) check() {
	if !p.end || len(p.open) > 0 {
		return
	}
	select {
	case <-p.none:
	default:
		close(p.none)
	}
}
