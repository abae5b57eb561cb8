package acp

import (
	"encoding/json"
	"sync"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
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
	codeCancelled = -32800
)

// Protocol is the Agent Client Protocol between one editor and one agent. The zero value is ready to use.
type Protocol struct {
	tools toolCalls

	mu         sync.Mutex
	forms      bool   // the editor shows forms itself
	initialize string // id of the editor's last initialize request
	name       string // the agent's name
}

// params are the parsed parameters of all methods.
type params struct {
	SessionID string          `json:"sessionId"`
	RequestID json.RawMessage `json:"requestId"`
	Mode      string          `json:"mode"`
}

func read(m *relay.Message) params {
	var p params
	_ = json.Unmarshal(m.Params, &p) // missing fields stay empty
	return p
}

// Name is the agent's name.
func (p *Protocol) Name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name
}

// FromEditor adds forms to what an editor can show, and notices the end of turns.
func (p *Protocol) FromEditor(line []byte, m *relay.Message) relay.Effect {
	switch {
	case m.Method == methodInitialize && m.Request():
		out, forms := declare(line)
		p.mu.Lock()
		p.forms, p.initialize = forms, string(m.ID)
		p.mu.Unlock()
		return relay.Effect{Instead: out}
	case m.Method == methodCancelTurn, m.Method == methodClose:
		return relay.Effect{Stops: read(m).SessionID}
	}
	return relay.Effect{}
}

// FromAgent reads questions and their cancellations, and remembers tool calls.
func (p *Protocol) FromAgent(_ []byte, m *relay.Message) relay.Effect {
	switch {
	case m.Method == methodElicit && m.Request():
		if mode := read(m).Mode; mode == "" || mode == "form" {
			return relay.Effect{Asks: p.question(m)}
		}
	case m.Method == methodPermission && m.Request():
		return relay.Effect{Asks: p.question(m)}
	case m.Method == methodCancel:
		return relay.Effect{TakenBack: read(m).RequestID}
	case m.Method == methodUpdate:
		p.tools.update(m.Params)
	case m.Response():
		p.mu.Lock()
		defer p.mu.Unlock()
		if string(m.ID) == p.initialize {
			p.initialize, p.name = "", agentName(m.Result)
		}
	}
	return relay.Effect{}
}

// question parses a request of the agent.
func (p *Protocol) question(m *relay.Message) *relay.Question {
	permission := m.Method == methodPermission
	name, params := "elicitation", m.Params
	if permission {
		name, params = "acp-permission", p.tools.complete(params)
	}
	d := dialect.Named(name)
	q := &relay.Question{ID: m.ID, Session: read(m).SessionID}
	q.Ask, q.Files, _, q.Unfit = d.AskFiles(params)
	asked := q.Ask // as the agent sent it
	q.Answer = func(o *ask.Outcome) []byte { return d.Answer(&asked, o).Body }
	q.Reply = func(result json.RawMessage) (dialect.Given, error) { return d.Reply(&asked, result) }
	q.Withdrawn = func(byAgent bool) []byte {
		if byAgent && !permission {
			return jsonrpc.Failure(m.ID, codeCancelled, "Request cancelled")
		}
		o := ask.Outcome{Status: ask.StatusWithdrawn, Ask: &asked}
		return p.Result(m.ID, d.Answer(&asked, &o).Body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q.Shown = permission || p.forms
	return q
}

// Result returns a response with a result.
func (p *Protocol) Result(id json.RawMessage, body []byte) []byte { return jsonrpc.Response(id, body) }

// Refusal returns a response with an error.
func (p *Protocol) Refusal(id json.RawMessage, why error, broken bool) []byte {
	code := jsonrpc.CodeParams
	if broken {
		code = jsonrpc.CodeInternal
	}
	return jsonrpc.Failure(id, code, "askbus: "+why.Error())
}

// Close returns the notification that cancels a request.
func (p *Protocol) Close(id json.RawMessage) []byte {
	type requestID struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	return jsonrpc.Line(struct {
		JSONRPC string    `json:"jsonrpc"`
		Method  string    `json:"method"`
		Params  requestID `json:"params"`
	}{"2.0", methodCancel, requestID{id}})
}

// Refused reports whether the editor cancelled its dialog.
func (p *Protocol) Refused(e *jsonrpc.Error) bool { return e.Code == codeCancelled }
