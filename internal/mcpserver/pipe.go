package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// pipe is the standard input and output of one client. After the end of its input, running calls
// still get their results: only then does it report the end. So a script that writes a few lines
// and closes can ask questions.
type pipe struct {
	in  io.Reader
	out io.Writer
	ctx context.Context //nolint:containedctx // ends the wait for running calls

	mu   sync.Mutex
	open map[string]bool // requests without a response, by id
	none chan struct{}   // closed when the input has ended and no request is open
	line []byte          // rest of the last read
	end  bool
}

func newPipe(ctx context.Context, in io.Reader, out io.Writer) *pipe {
	return &pipe{in: in, out: out, ctx: ctx, open: map[string]bool{}, none: make(chan struct{})}
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.mu.Lock()
	p.line = append(p.line, b[:n]...)
	for {
		i := bytes.IndexByte(p.line, '\n')
		if i < 0 {
			break
		}
		p.asked(p.line[:i])
		p.line = p.line[i+1:]
	}
	if err != nil {
		p.asked(p.line)
		p.line, p.end = nil, true
		p.check()
	}
	p.mu.Unlock()
	if n == 0 && errors.Is(err, io.EOF) {
		select {
		case <-p.none:
		case <-p.ctx.Done():
		}
	} else if errors.Is(err, io.EOF) {
		err = nil // reported by the next read
	}
	return n, err
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
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
