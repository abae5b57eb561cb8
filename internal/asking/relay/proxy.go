package relay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// Caller is the asking agent, which an editor runs.
type Caller struct {
	Tenant   string        // default: [ask.DefaultTenant]
	Session  string        // default: one per session of the editor, with its name
	Fallback string        // session of asks without one; default "agent"
	Agent    ask.Agent     // a missing name comes from the agent
	Human    ask.By        // the person at the editor
	Timeout  time.Duration // of each ask; default: the protocol's
	Outlive  bool          // asks stay open when nobody waits for them
}

// Side is one end of a connection.
type Side struct {
	In  io.Reader
	Out io.WriteCloser
}

// Opener returns the asks of one session, for one ask. Calls may be concurrent.
type Opener interface {
	Open(ctx context.Context, tenant, session string) (client.Session, error)
}

// Decider sends the answers of the editor's dialog, as responder type [ask.ResponderNative]. Errors
// are those of pkg/responder.
type Decider interface {
	Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error)
	Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error)
}

// Options tunes [Run]. The zero value is ready to use.
type Options struct {
	Logger  *slog.Logger // default: discard
	Decider Decider      // default: an answer in the editor's dialog withdraws the ask
}

// patience is how long an editor's answer may wait for the bus.
const patience = 5 * time.Second

// maxOpen bounds the open questions. Further ones are only forwarded to the editor.
const maxOpen = 256

// maxLate bounds the expected late answers of an editor.
const maxLate = 1024

// The reasons of withdrawals.
var (
	errEditorGone = errors.New("the editor has gone")
	errAgentGone  = errors.New("the agent has gone")
	errStopped    = errors.New("the session was stopped")
)

// proxy connects one editor and one agent.
type proxy struct {
	open   Opener
	opts   Options
	who    Caller
	speaks Protocol
	editor jsonrpc.Sink
	agent  jsonrpc.Sink

	mu        sync.Mutex
	questions map[string]*Question // open ones, by the agent's request id
	late      []string             // ids of ended ones without the editor's response
	serving   sync.WaitGroup
	ending    bool
}

// Run passes messages on between an editor and an agent until either is gone or
// ctx ends. When the editor is gone the agent is told so by the end of its
// input, and Run goes on until the agent's output ends. It withdraws the asks
// that are then open, and returns. A read of editor.In that does not end is left
// behind.
func Run(ctx context.Context, speaks Protocol, open Opener, who Caller, editor, agent Side, opts Options) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	who.Tenant, who.Fallback = cmp.Or(who.Tenant, ask.DefaultTenant), cmp.Or(who.Fallback, "agent")
	p := &proxy{open: open, opts: opts, who: who, speaks: speaks, editor: jsonrpc.Sink{To: editor.Out}, agent: jsonrpc.Sink{To: agent.Out}, questions: map[string]*Question{}}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errStopped)
	fromEditor, fromAgent := make(chan error, 1), make(chan error, 1)
	go func() {
		fromEditor <- copyLines(editor.In, &p.agent, func(l []byte) ([]byte, func()) { return p.fromEditor(l) })
	}()
	go func() {
		fromAgent <- copyLines(agent.In, &p.editor, func(l []byte) ([]byte, func()) { return p.fromAgent(life, l) })
	}()
	agentEnded := false
	select {
	case err := <-fromEditor:
		end(gone(err, errEditorGone, errAgentGone))
	case err := <-fromAgent:
		agentEnded = true
		end(gone(err, errAgentGone, errEditorGone))
	case <-ctx.Done():
		end(errStopped)
	}
	p.close()
	_ = agent.Out.Close() // already closed if the agent exited
	if !agentEnded {
		select {
		case err := <-fromAgent: // all its output is forwarded
			opts.Logger.DebugContext(ctx, "the agent's output has ended", slog.Any("error", err))
		case <-ctx.Done():
		}
	}
}

// gone returns which side ended when a copy ended: the side that was read, unless the other one
// stopped reading.
func gone(err, read, written error) error {
	if errors.Is(err, errClosed) {
		return written
	}
	return read
}

// close refuses new questions and waits until the open ones are withdrawn.
func (p *proxy) close() {
	p.mu.Lock()
	p.ending = true
	p.mu.Unlock()
	p.serving.Wait()
}

// fromEditor handles a line of the editor.
func (p *proxy) fromEditor(line []byte) (pass []byte, after func()) {
	m := read(line)
	if m.Response() && p.answered(line, &m) {
		return nil, nil
	}
	e := p.speaks.FromEditor(line, &m)
	if e.Stops != "" {
		after = func() { p.stop(e.Stops) }
	}
	if e.Instead != nil {
		line = e.Instead
	}
	return line, after
}

// answered handles the editor's response to a question, and reports whether it was one.
func (p *proxy) answered(line []byte, m *Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := string(m.ID)
	if i := slices.Index(p.late, id); i >= 0 {
		p.late = slices.Delete(p.late, i, i+1)
		return true // an answer came first
	}
	q := p.questions[id]
	if q == nil || !q.Shown || q.replied {
		return false
	}
	q.replied = true
	q.reply <- reply{bytes.Clone(line), *m}
	return true
}

// stop ends the questions of one session of the editor.
func (p *proxy) stop(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.questions {
		if q.Session == session {
			q.cancel(byEditor)
		}
	}
}

// fromAgent handles a line of the agent.
func (p *proxy) fromAgent(life context.Context, line []byte) (pass []byte, after func()) {
	m := read(line)
	switch e := p.speaks.FromAgent(line, &m); {
	case e.Asks != nil:
		return p.asked(life, line, e.Asks)
	case len(e.TakenBack) > 0:
		return p.takenBack(line, e.TakenBack), nil
	case e.Instead != nil:
		return e.Instead, nil
	}
	return line, nil
}

// takenBack forwards the agent's cancellation of a question to an editor that shows it.
func (p *proxy) takenBack(line []byte, id json.RawMessage) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	agentCloses := p.speaks.Close(id) == nil
	q := p.questions[string(id)]
	if q == nil {
		if slices.Contains(p.late, string(id)) && !agentCloses {
			return nil // already sent
		}
		return line
	}
	told := q.Shown && !q.replied
	q.told = q.told || told
	q.cancel(byAgent)
	if !told && !agentCloses {
		return nil
	}
	return line
}
