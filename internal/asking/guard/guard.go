package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// ResultTool is the tool that the guard adds to the server's.
const ResultTool = "askbus_result"

const aboutResult = `Gives the state or the result of a tool call that waits for a person's permission ("pending"), by the id that the call returned. Results are kept for a day.`

// Caller is the agent whose calls are guarded.
type Caller struct {
	Tenant, Session string
	Agent           ask.Agent // a missing name comes from the client
	Language        string    // of the card; default: English
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

// Options tunes [Run]. Dir is required.
type Options struct {
	Dir    string        // where calls are kept; the guards of one server in one session share it
	Rules  Rules         // default: ask for every call
	Name   string        // of the server on the card; default: its own
	Wait   time.Duration // how long a call waits before it is answered "pending"; default 50 s
	Logger *slog.Logger  // default: discard
	// Waiting is called when a wait for people begins; done ends it. Default: none.
	Waiting func(*ask.Ask) (done func())
}

// defaultWait is shorter than the 60 s after which most clients give up.
const defaultWait = 50 * time.Second

// maxOpen bounds the calls that wait for people at a time, and the requests whose responses are awaited.
const maxOpen = 256

// guard connects one client and one server.
type guard struct {
	open    Opener
	who     Caller
	opts    Options
	client  jsonrpc.Sink
	server  jsonrpc.Sink
	journal journal

	mu          sync.Mutex
	name        string                          // of the server, as it says itself
	asked       map[string]string               // the client's requests of interest: id to method
	destructive map[string]bool                 // tools that the server calls so
	waiting     map[string]*call                // by the client's request id
	known       map[string]*call                // by the id of the ask
	results     map[string]chan json.RawMessage // of our own requests to the server
	ready       chan struct{}                   // closed when the client has initialized the server
	ending      bool                            // no call begins
	serving     sync.WaitGroup
}

// Errors that end calls.
var (
	errClientGone = errors.New("the client has gone")
	errServerGone = errors.New("the server has gone")
	errCancelled  = errors.New("the client cancelled the call")
)

// Run passes messages on between a client and a server until the server's output ends. When the client is gone, calls
// that wait for people are withdrawn, except those that are to be carried out without it; then the server's input is
// closed. When ctx ends, that happens at once, and another guard of the session takes over what is left. The error is
// of a message that could not be read. A read of client.In that does not end is left behind.
func Run(ctx context.Context, open Opener, who Caller, from, to Side, opts Options) error {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Wait <= 0 {
		opts.Wait = defaultWait
	}
	g := &guard{
		open: open, who: who, opts: opts, client: jsonrpc.Sink{To: from.Out}, server: jsonrpc.Sink{To: to.Out}, journal: journal{opts.Dir},
		asked: map[string]string{}, destructive: map[string]bool{}, waiting: map[string]*call{}, known: map[string]*call{}, results: map[string]chan json.RawMessage{}, ready: make(chan struct{}),
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errServerGone)
	there, leave := context.WithCancelCause(life) // while the client is there
	defer leave(errServerGone)
	for _, k := range g.journal.left() {
		g.resume(life, k)
	}
	fromClient, fromServer := make(chan error, 1), make(chan error, 1)
	go func() {
		fromClient <- lines(from.In, func(line []byte) error { return g.fromClient(life, there, line) })
	}()
	go func() { fromServer <- lines(to.In, g.fromServer) }()
	var failed error
	select {
	case failed = <-fromServer:
		end(errServerGone)
		g.drain()
		return failed
	case failed = <-fromClient:
		leave(errClientGone)
		idle := make(chan struct{})
		go func() { g.drain(); close(idle) }()
		select {
		case <-idle:
		case <-ctx.Done():
		case failed = <-fromServer:
			end(errServerGone)
			<-idle
			return failed
		}
	case <-ctx.Done():
	}
	end(errClientGone)
	g.drain()
	g.server.Lock()
	defer g.server.Unlock()
	_ = to.Out.Close() // the other side notices
	return errors.Join(failed, <-fromServer)
}

// drain waits for all calls, and lets no other begin.
func (g *guard) drain() {
	g.mu.Lock()
	g.ending = true
	g.mu.Unlock()
	g.serving.Wait()
}

// fromClient handles a line of the client.
func (g *guard) fromClient(life, there context.Context, line []byte) error {
	line = oneLine(line)
	m, err := read(line)
	if err == nil && m.text("method") == methodCall {
		err = readCall(m.object("params"), m["params"])
	}
	if err != nil {
		return g.client.WriteLine(jsonrpc.Failure(nil, jsonrpc.CodeParse, "the message is not passed on: "+err.Error()))
	}
	method, id := m.text("method"), m.id()
	params := m.object("params")
	if method != methodInitialize {
		defer g.initialized()
	}
	switch method {
	case methodInitialize, methodList:
		g.mu.Lock()
		if len(g.asked) < maxOpen {
			g.asked[string(id)] = method
		}
		if info := params.object("clientInfo"); method == methodInitialize && g.who.Agent.Name == "" {
			g.who.Agent.Name = info.text("name")
		}
		g.mu.Unlock()
	case methodCancelled:
		if g.cancelled(params["requestId"]) {
			return nil
		}
	case methodCall:
		return g.called(life, there, id, params, m["params"], line)
	}
	return g.server.WriteLine(whole(line))
}

// initialized lets calls that another guard left be carried out.
func (g *guard) initialized() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.ready:
	default:
		close(g.ready)
	}
}

// fromServer handles a line of the server. What cannot be read passes: only the client's calls are guarded.
func (g *guard) fromServer(line []byte) error {
	var m message
	if json.Unmarshal(line, &m) == nil && m["method"] == nil && m.id() != nil {
		if g.ours(m) {
			return nil
		}
		g.mu.Lock()
		method, ok := g.asked[string(m.id())]
		delete(g.asked, string(m.id()))
		g.mu.Unlock()
		switch {
		case !ok:
		case method == methodInitialize:
			g.mu.Lock()
			g.name = m.object("result").object("serverInfo").text("name")
			g.mu.Unlock()
		case method == methodList:
			g.learn(m)
			line = withResultTool(m, line)
		}
	}
	return g.client.WriteLine(whole(line))
}

// ours takes the response to a request of ours.
func (g *guard) ours(m message) bool {
	var id string
	if json.Unmarshal(m.id(), &id) != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	to, ok := g.results[id]
	if !ok {
		return false
	}
	delete(g.results, id)
	result := m["result"]
	if result == nil {
		result = said("the server refused the call: %s", m.object("error").text("message"))
	}
	to <- result // it has room for one
	return true
}

// maxTools bounds the tools that are remembered as destructive.
const maxTools = 4096

// learn remembers which tools the server calls destructive. What it does not call so may be, too.
func (g *guard) learn(m message) {
	var tools []struct {
		Name        string `json:"name"`
		Annotations struct {
			Destructive bool `json:"destructiveHint"`
		} `json:"annotations"`
	}
	if json.Unmarshal(m.object("result")["tools"], &tools) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range tools {
		if t.Annotations.Destructive && len(g.destructive) < maxTools {
			g.destructive[t.Name] = true
		}
	}
}

// withResultTool adds our tool to the last page of the server's tools.
func withResultTool(m message, line []byte) []byte {
	result := m.object("result")
	var tools []json.RawMessage
	if result == nil || result.text("nextCursor") != "" || json.Unmarshal(result["tools"], &tools) != nil {
		return line
	}
	kept := []json.RawMessage{}
	for _, tool := range tools {
		var t message
		if json.Unmarshal(tool, &t) != nil || t.text("name") != ResultTool {
			kept = append(kept, tool)
		}
	}
	type object map[string]any
	kept = append(kept, bytes.TrimSpace(jsonrpc.Line(object{
		"name": ResultTool, "description": aboutResult, "annotations": object{"title": "Result of a call that waited for a person", "readOnlyHint": true, "openWorldHint": true},
		"inputSchema": object{"type": "object", "required": []string{"id"}, "properties": object{
			"id":           object{"type": "string", "description": "the id that the pending call returned"},
			"wait_seconds": object{"type": "number", "minimum": 0, "description": "for how long to wait while the call is pending; default 50"},
		}},
	})))
	result["tools"] = bytes.TrimSpace(jsonrpc.Line(kept))
	m["result"] = bytes.TrimSpace(jsonrpc.Line(result))
	return jsonrpc.Line(m)
}

// whole returns a line with its end.
func whole(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("\n")) {
		return line
	}
	return append(line, '\n')
}
