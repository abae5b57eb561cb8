package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// AgentCardPath is the path of the agent card of the Agent2Agent protocol.
const AgentCardPath = "/.well-known/agent-card.json"

// Codes of A2A.
const (
	a2aNoTask       = -32001
	a2aNotCancelled = -32002
	a2aNoPush       = -32003
	a2aUnsupported  = -32004
)

// rpcCall is one JSON-RPC request.
type rpcCall struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`

	legacy bool   // A2A 0.3, which encodes tasks differently
	stored func() // the files that it holds are stored
}

// a2a serves people as an agent for other agents: a message is an ask, and its task requires input
// until somebody answers. Callers who may answer do so with a message to the task. It supports
// JSON-RPC, versions 1.0 and 0.3.
func (api *API) a2a(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	body, stored, err := api.access.BodyWithFiles(w, r, c)
	if errors.Is(err, ask.ErrInvalid) {
		return sendRPC(w, &rpcCall{}, nil, &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: err.Error()})
	}
	if err != nil {
		return err
	}
	defer stored()
	call := rpcCall{stored: stored}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return sendRPC(w, &call, nil, &jsonrpc.Error{Code: jsonrpc.CodeRequest, Message: "batches are not supported; send one request at a time"})
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return sendRPC(w, &call, nil, &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: "the body is not a JSON-RPC request"})
	}
	if call.Version != "2.0" || call.Method == "" {
		return sendRPC(w, &call, nil, &jsonrpc.Error{Code: jsonrpc.CodeRequest, Message: `give "jsonrpc": "2.0" and a method`})
	}
	call.legacy = strings.Contains(call.Method, "/")
	switch call.Method {
	case "SendStreamingMessage", "message/stream", "SubscribeToTask", "tasks/resubscribe":
		return api.a2aStream(w, r, c, &call)
	}
	if call.Method == "ListTasks" {
		result, err := api.a2aList(r, c, call.Params)
		return sendResult(w, &call, result, err)
	}
	if verb := a2aPushVerb(call.Method); verb != "" {
		result, err := api.a2aPush(r, c, &call, verb)
		return sendResult(w, &call, result, err)
	}
	task, err := api.a2aCall(w, r, c, &call)
	return sendRPC(w, &call, task, err)
}

func (api *API) a2aCall(w http.ResponseWriter, r *http.Request, c *access.Caller, call *rpcCall) (task []byte, err error) {
	switch call.Method {
	case "SendMessage", "message/send":
		return api.a2aMessage(w, r, c, call)
	case "GetTask", "tasks/get":
		k, err := a2aTask(r, c, call.Params, c.CheckSee)
		if err != nil {
			return nil, err
		}
		return api.a2aShow(w, r, c, k, nil)
	case "CancelTask", "tasks/cancel":
		k, err := a2aTask(r, c, call.Params, c.CheckAsk)
		if err != nil {
			return nil, err
		}
		o, err := api.end(r, k, "its task was cancelled")
		if err != nil {
			return nil, err
		}
		return dialect.A2ATask(o.Ask, &o, "", nil), nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethod, Message: fmt.Sprintf("unknown method %.80q; use SendMessage, SendStreamingMessage, SubscribeToTask, GetTask, ListTasks, CancelTask or one of those for push notification configurations", call.Method)}
}

// a2aMessage asks, or answers the task that a message names.
func (api *API) a2aMessage(w http.ResponseWriter, r *http.Request, c *access.Caller, call *rpcCall) ([]byte, error) {
	var to struct {
		Message struct {
			ID     string     `json:"messageId"`
			TaskID string     `json:"taskId"`
			Parts  []dataPart `json:"parts"`
		} `json:"message"`
		Configuration struct {
			Push    *pushConfig `json:"taskPushNotificationConfig"`
			PushV03 *pushConfig `json:"pushNotificationConfig"`
		} `json:"configuration"`
	}
	if err := json.Unmarshal(call.Params, &to); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: "give a message with a messageId and parts"}
	}
	if to.Message.TaskID != "" {
		return api.a2aAnswer(w, r, c, to.Message.TaskID, to.Message.ID, call.Params)
	}
	if err := checkData(to.Message.Parts); err != nil {
		return nil, err
	}
	a, files, warnings, err := dialect.Named("a2a").AskFiles(call.Params)
	if err != nil {
		return nil, err
	}
	// A message without a context begins one.
	a.Session = c.SessionOr(r, a.Session, cmp.Or(a.ID, ask.DefaultSession))
	call.Params = nil // a wait does not keep the files in memory
	var push *wire.TaskPush
	if given := cmp.Or(to.Configuration.Push, to.Configuration.PushV03); given != nil {
		if push, err = api.pushFor(r, c, call, given); err != nil {
			return nil, err
		}
		r = withoutWait(r) // the client is told
	}
	o, warnings, err := api.askFor(w, r, c, &a, sameask.Origin{}, warnings, 0, held{files, call.stored})
	if err != nil {
		return nil, err
	}
	warn(w, warnings)
	if o == nil && push != nil {
		rec, err := api.addPush(r.Context(), a.Key(), push)
		if err != nil {
			return nil, err
		}
		o = rec.Outcome
	}
	if o != nil {
		api.delivered(r, c, a.Key())
		return dialect.A2ATask(&a, o, "", api.carry(r.Context(), c, a.Key())), nil
	}
	return dialect.A2ATask(&a, nil, "", api.linked(a.Key())), nil
}

// dataPart is a part of a message, of which only the data counts.
type dataPart struct {
	Data json.RawMessage `json:"data"`
}

// checkData refuses what is unknown in questions in native JSON, as at /v1/asks: a misspelt min_proof would ask for less
// than was meant, and nobody reads the warnings of the dialect here.
func checkData(parts []dataPart) error {
	for i, part := range parts {
		var has struct {
			Questions json.RawMessage `json:"questions"`
		}
		if json.Unmarshal(part.Data, &has) != nil || has.Questions == nil {
			continue
		}
		_, err := wire.DecodeAsk(part.Data)
		e, refused := errors.AsType[*ask.Error](err)
		if refused {
			for j := range e.Faults {
				e.Faults[j].Pointer = fmt.Sprintf("/message/parts/%d/data%s", i, e.Faults[j].Pointer)
			}
			return e
		}
		return nil // only the first one counts
	}
	return nil
}

// a2aAnswer handles a message to a task as a person's answer.
func (api *API) a2aAnswer(w http.ResponseWriter, r *http.Request, c *access.Caller, id, messageID string, params []byte) ([]byte, error) {
	k, err := a2aKey(r, c, id, c.CheckAnswer)
	if err != nil {
		return nil, err
	}
	rec, err := api.resp.Get(r.Context(), k)
	if err != nil {
		return nil, err
	}
	given, err := asking.ReadReply(dialect.Named("a2a"), &rec, params, false)
	if err != nil {
		return nil, err
	}
	if err := api.uploadAll(r, k.InSession(), given.Files); err != nil {
		return nil, err
	}
	if given.Decision == dialect.Dismissed {
		return api.a2aShow(w, r, c, k, &rec)
	}
	ctx, cancel := asking.Detached(r.Context())
	defer cancel()
	given.Reply.By, given.Reply.AnswerID = c.By(r.URL.Query().Get("by")), cloudevent.NewID()
	if messageID != "" { // a repeated message is the same answer
		given.Reply.AnswerID = ask.Token(messageID)
	}
	o, err := asking.Decide(ctx, api.resp, k, given)
	if err != nil {
		return nil, err
	}
	return dialect.A2ATask(&rec.Ask, &o, "", api.carry(r.Context(), c, k)), nil
}

// a2aShow writes a task, with ?wait= after waiting for its end.
func (api *API) a2aShow(w http.ResponseWriter, r *http.Request, c *access.Caller, k ask.Key, rec *ask.Record) ([]byte, error) {
	wait, err := waitOf(r, 0)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		read, err := api.resp.Get(r.Context(), k)
		if err != nil {
			return nil, err
		}
		rec = &read
	}
	o := rec.Outcome
	if o == nil {
		if o, err = api.await(w, r, api.asks.Asked(k), wait); err != nil {
			return nil, err
		}
	}
	if o != nil {
		api.delivered(r, c, k)
		return dialect.A2ATask(&rec.Ask, o, "", api.carry(r.Context(), c, k)), nil
	}
	return dialect.A2ATask(&rec.Ask, nil, rec.Waits("", time.Now()), api.linked(k)), nil
}

// a2aTask returns the ask that the parameters of a call name, in whose session the caller must pass check.
func a2aTask(r *http.Request, c *access.Caller, params []byte, check access.Check) (ask.Key, error) {
	var task struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(params, &task); err != nil || task.ID == "" {
		return ask.Key{}, &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: "give the id of the task"}
	}
	return a2aKey(r, c, task.ID, check)
}

// a2aKey parses a task id: session/id.
func a2aKey(r *http.Request, c *access.Caller, id string, check access.Check) (ask.Key, error) {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return ask.Key{}, err
	}
	session, name, _ := strings.Cut(id, "/")
	k := ask.Key{Tenant: tenant, Session: session, ID: name}
	if !k.Valid() {
		return ask.Key{}, &jsonrpc.Error{Code: a2aNoTask, Message: fmt.Sprintf("unknown task %.150q; use the task's id, SESSION/ID", id)}
	}
	return k, check(k.Tenant, k.Session)
}

// sendRPC responds with a task or an error. Missing rights and exceeded limits are HTTP statuses,
// as everywhere.
func sendRPC(w http.ResponseWriter, call *rpcCall, task []byte, err error) error {
	var result json.RawMessage
	if err == nil {
		result, err = a2aResult(call, task)
	}
	return sendResult(w, call, result, err)
}

func sendResult(w http.ResponseWriter, call *rpcCall, result json.RawMessage, err error) error {
	body, err := rpcReply(call, result, err)
	if err != nil {
		return err
	}
	access.SendJSON(w, http.StatusOK, body)
	return nil
}

// rpcReply returns a response, or err if that is an HTTP status.
func rpcReply(call *rpcCall, result json.RawMessage, err error) ([]byte, error) {
	if err == nil {
		return bytes.TrimSpace(jsonrpc.Response(call.ID, result)), nil
	}
	refused := rpcRefusal(call, err)
	if refused == nil {
		return nil, err
	}
	return bytes.TrimSpace(jsonrpc.Failure(call.ID, refused.Code, refused.Message)), nil
}

// rpcRefusal returns an error as a JSON-RPC error, or nil if it is an HTTP status.
func rpcRefusal(call *rpcCall, err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	e := access.Problem(err)
	switch e.Code {
	case ask.CodeInvalid, ask.CodeIDReused, ask.CodeTooLarge:
		return &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: err.Error()}
	case ask.CodeNotFound:
		return &jsonrpc.Error{Code: a2aNoTask, Message: e.Detail}
	case ask.CodeResolved, ask.CodeExpired:
		if call.Method == "CancelTask" || call.Method == "tasks/cancel" {
			return &jsonrpc.Error{Code: a2aNotCancelled, Message: e.Detail}
		}
		return &jsonrpc.Error{Code: a2aUnsupported, Message: e.Detail}
	}
	return nil
}

// a2aResult returns the result of a call; version 1.0 wraps that of SendMessage.
func a2aResult(call *rpcCall, task []byte) (json.RawMessage, error) {
	switch {
	case call.legacy:
		return dialect.A2AVersion03(task)
	case call.Method == "SendMessage":
		return wire.Marshal(map[string]json.RawMessage{"task": task})
	}
	return task, nil
}

// AgentCard serves the public card of the agent at /a2a.
func (api *API) AgentCard(w http.ResponseWriter, r *http.Request, _ *access.Caller) error {
	url := api.opts.BaseURL + "/a2a"
	modes := append([]string{"application/json"}, ask.MediaTypes()...)
	body, err := wire.Marshal(map[string]any{
		"name": "askbus", "version": "1", "description": "Asks people. A message is a question; its task waits for input until somebody has answered, and its artifact is the answer.",
		"supportedInterfaces": []map[string]any{{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}, {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}},
		"protocolVersion":     "0.3.0", "url": url, "preferredTransport": "JSONRPC", // for clients of version 0.3
		"capabilities":      map[string]any{"streaming": true, "pushNotifications": api.callbacks.any(r.Context())},
		"defaultInputModes": modes, "defaultOutputModes": modes,
		"skills": []map[string]any{{
			"id": "ask", "name": "Ask people", "tags": []string{"human", "approval", "question"},
			"description": "Text is one question. A data part with questions (as at /schemas/ask.json) asks several, with options, numbers, dates and a deadline. File parts are shown beside the question.",
		}},
		"securitySchemes": map[string]any{"bearer": map[string]any{
			"httpAuthSecurityScheme": map[string]any{"scheme": "Bearer"}, "type": "http", "scheme": "bearer",
		}},
		"securityRequirements": []map[string]any{{"schemes": map[string]any{"bearer": map[string]any{"list": []string{}}}}},
		"security":             []map[string]any{{"bearer": []string{}}},
	})
	if err != nil {
		return err
	}
	access.SendJSON(w, http.StatusOK, body)
	return nil
}
