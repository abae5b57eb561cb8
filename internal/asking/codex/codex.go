package codex

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	lru "github.com/hashicorp/golang-lru/v2"
)

// The methods of the server that are read.
const (
	methodCommand     = "item/commandExecution/requestApproval"
	methodFiles       = "item/fileChange/requestApproval"
	methodPermissions = "item/permissions/requestApproval"
	methodInput       = "item/tool/requestUserInput"
	methodForm        = "mcpServer/elicitation/request"
	methodOldCommand  = "execCommandApproval"
	methodOldFiles    = "applyPatchApproval"

	methodResolved  = "serverRequest/resolved"
	methodStarted   = "item/started"
	methodCompleted = "item/completed"
	methodThread    = "thread/started"
)

// Options are the settings of [New].
type Options struct {
	Session  func(dir string) string            // the session of what is asked in a directory
	Work     func(dir string, agent *ask.Agent) // sets repository and branch of a directory; optional
	Language string                             // of the words of permissions; default: English
	MinProof string                             // what the answer to a permission must prove; a lasting one needs [ask.ProofOS] or more
}

// Protocol is the protocol of the app-server between one client and one server.
type Protocol struct {
	Options
	threads *lru.Cache[string, string]          // the directory of each thread
	items   *lru.Cache[string, json.RawMessage] // running file changes, which an approval does not repeat
}

// maxRemembered bounds the threads, and the items, that are remembered.
const maxRemembered = 64

// New returns the protocol of one connection.
func New(opts Options) *Protocol {
	threads, _ := lru.New[string, string](maxRemembered) // fails for sizes below 1 only
	items, _ := lru.New[string, json.RawMessage](maxRemembered)
	return &Protocol{Options: opts, threads: threads, items: items}
}

// Name is the agent's name.
func (p *Protocol) Name() string { return "Codex" }

// FromEditor changes nothing: all that the client says is for the server.
func (p *Protocol) FromEditor([]byte, *relay.Message) relay.Effect { return relay.Effect{} }

// FromAgent reads the server's requests, and remembers threads and file changes.
func (p *Protocol) FromAgent(_ []byte, m *relay.Message) relay.Effect {
	switch {
	case m.Request():
		if q := p.question(m); q != nil {
			return relay.Effect{Asks: q}
		}
	case m.Response():
		p.thread(m.Result) // of thread/start, thread/resume, thread/fork
	case m.Method == methodThread:
		p.thread(m.Params)
	case m.Method == methodResolved:
		var of struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &of) // invalid: nothing is resolved
		return relay.Effect{TakenBack: of.RequestID}
	case m.Method == methodStarted, m.Method == methodCompleted:
		p.item(m)
	}
	return relay.Effect{}
}

// thread remembers the directory of a thread.
func (p *Protocol) thread(body json.RawMessage) {
	var of struct {
		Thread struct {
			ID  string `json:"id"`
			Dir string `json:"cwd"`
		} `json:"thread"`
	}
	if json.Unmarshal(body, &of) == nil && of.Thread.ID != "" {
		p.threads.Add(of.Thread.ID, of.Thread.Dir)
	}
}

// item remembers a running file change.
func (p *Protocol) item(m *relay.Message) {
	var of struct {
		Thread string `json:"threadId"`
		Item   struct {
			ID      string          `json:"id"`
			Type    string          `json:"type"`
			Changes json.RawMessage `json:"changes"`
		} `json:"item"`
	}
	if json.Unmarshal(m.Params, &of) != nil || of.Item.Type != "fileChange" {
		return
	}
	key := of.Thread + "\n" + of.Item.ID
	if m.Method == methodCompleted {
		p.items.Remove(key)
	} else if len(of.Item.Changes) <= maxChanges {
		p.items.Add(key, of.Item.Changes)
	}
}

// maxChanges bounds the remembered changes of one item; only the client shows longer ones.
const maxChanges = 1 << 20

// errUnknownChanges says that the card could not show what is approved.
var errUnknownChanges = errors.New("the changed files are unknown, or too long")

// Result returns a response with a result.
func (p *Protocol) Result(id json.RawMessage, body []byte) []byte {
	return jsonrpc.Line(struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
	}{id, body})
}

// Refusal returns a response with an error.
func (p *Protocol) Refusal(id json.RawMessage, why error, broken bool) []byte {
	code := jsonrpc.CodeParams
	if broken {
		code = jsonrpc.CodeInternal
	}
	return jsonrpc.Line(struct {
		ID    json.RawMessage `json:"id"`
		Error jsonrpc.Error   `json:"error"`
	}{id, jsonrpc.Error{Code: code, Message: ask.CleanText("askbus: " + why.Error())}})
}

// Close returns nothing: the server closes the client's dialog.
func (p *Protocol) Close(json.RawMessage) []byte { return nil }

// Refused is false: a client's error means that it cannot show the question.
func (p *Protocol) Refused(*jsonrpc.Error) bool { return false }

func input(q *relay.Question, params json.RawMessage) {
	speak(q, "codex", params, func(d dialect.Dialect, o *ask.Outcome) []byte {
		if r := d.Answer(o.Ask, o); r.Status == http.StatusOK {
			return r.Body
		}
		return nil
	})
}

// form makes the question of an MCP server's form. Without a person's answer nothing is declined in their name.
func form(q *relay.Question, params json.RawMessage) {
	speak(q, "elicitation", params, func(d dialect.Dialect, o *ask.Outcome) []byte {
		if o.Status != ask.StatusAnswered && o.Status != ask.StatusCancelled || o.Status == ask.StatusAnswered && o.Source != ask.SourceHuman {
			return nil
		}
		var result struct {
			Action  json.RawMessage `json:"action"`
			Content json.RawMessage `json:"content"`
			Meta    json.RawMessage `json:"_meta"`
		}
		if json.Unmarshal(d.Answer(o.Ask, o).Body, &result) != nil {
			return nil
		}
		return body(result)
	})
}

// speak makes a question of a dialect. The outcome that answer gets has the ask as the server sent it.
func speak(q *relay.Question, name string, params json.RawMessage, answer func(d dialect.Dialect, o *ask.Outcome) []byte) {
	d := dialect.Named(name)
	q.Ask, _, q.Unfit = d.Ask(params)
	q.Ask.ID = "" // its call's: another turn may have the same
	sent := q.Ask
	q.Answer = func(o *ask.Outcome) []byte {
		own := *o
		own.Ask = &sent
		return answer(d, &own)
	}
	q.Reply = func(result json.RawMessage) (dialect.Given, error) { return d.Reply(&sent, result) }
}

func body(v any) []byte { return jsonrpc.Line(v) }
