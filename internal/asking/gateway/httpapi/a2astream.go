package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
)

// a2aPart is what a stream needs to know of a task.
type a2aPart struct {
	ID        string            `json:"id"`
	Context   json.RawMessage   `json:"contextId,omitempty"`
	Status    json.RawMessage   `json:"status"`
	Artifacts []json.RawMessage `json:"artifacts"`
}

// waits reports whether a task still requires input.
func (p *a2aPart) waits() bool {
	var status struct {
		State string `json:"state"`
	}
	return json.Unmarshal(p.Status, &status) == nil && status.State == "TASK_STATE_INPUT_REQUIRED"
}

// a2aStream asks, or looks at a task, and sends server-sent events: the task, its status when votes on it move on, and when somebody has
// answered, its artifact and its last status. The stream ends with them, with its token, and when the gateway stops: then the client subscribes to the task again.
func (api *API) a2aStream(w http.ResponseWriter, r *http.Request, c *access.Caller, call *rpcCall) error {
	r = withoutWait(r)
	task, err := api.a2aFirst(w, r, c, call)
	if err != nil {
		return sendRPC(w, call, nil, err)
	}
	var first a2aPart
	if err := json.Unmarshal(task, &first); err != nil {
		return err
	}
	k, err := a2aKey(r, c, first.ID, c.CheckSee)
	if err != nil {
		return sendRPC(w, call, nil, err)
	}
	eventHeaders(w)
	s := &a2aEvents{sse: sse{w: w}, call: call, begun: string(first.Status)}
	if err := s.task(task); err != nil || !first.waits() {
		return nil //nolint:nilerr // the client is gone
	}
	s.run(api, r, c, k)
	return nil
}

// a2aFirst returns the task with which a stream begins.
func (api *API) a2aFirst(w http.ResponseWriter, r *http.Request, c *access.Caller, call *rpcCall) ([]byte, error) {
	if call.Method == "SendStreamingMessage" || call.Method == "message/stream" {
		return api.a2aMessage(w, r, c, call)
	}
	k, err := a2aTask(r, c, call.Params, c.CheckSee)
	if err != nil {
		return nil, err
	}
	task, err := api.a2aShow(w, r, c, k, nil)
	if err != nil {
		return nil, err
	}
	var part a2aPart
	if err := json.Unmarshal(task, &part); err == nil && !part.waits() {
		return nil, &jsonrpc.Error{Code: a2aUnsupported, Message: "the task has ended; use GetTask"}
	}
	return task, nil
}

// a2aEvents is one open stream about a task.
type a2aEvents struct {
	sse

	call     *rpcCall
	begun    string // the status in the first event
	progress string // that was sent last, after that
}

func (s *a2aEvents) run(api *API, r *http.Request, c *access.Caller, k ask.Key) {
	type end struct {
		outcome ask.Outcome
		err     error
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ended := make(chan end, 1)
	go func() {
		o, err := api.asks.Asked(k).Wait(ctx)
		ended <- end{o, err}
	}()
	beat, rest := time.NewTicker(beatEvery), time.NewTimer(0) // what changed since the first event was read
	defer beat.Stop()
	defer rest.Stop()
	changed, stop := api.board.Changes(board.Filter{Tenant: k.Tenant, Session: k.Session})
	defer stop()
	for {
		select {
		case <-beat.C:
			if s.beat() != nil {
				return
			}
		case <-changed:
			rest.Reset(restBetween)
		case <-rest.C:
			moves, err := s.moved(ctx, api, k)
			if err != nil {
				return
			}
			if !moves { // one answer decides it: there is nothing to tell before the end
				changed = nil
			}
		case <-api.drain:
			return
		case e := <-ended:
			switch {
			case e.err == nil:
				api.delivered(r, c, k)
				s.ended(dialect.A2ATask(e.outcome.Ask, &e.outcome, "", api.carry(r.Context(), c, k)))
			case access.Ended(r.Context()) != nil:
				s.refuse(access.Ended(r.Context()))
			case r.Context().Err() == nil && !errors.Is(e.err, client.ErrClosed):
				s.refuse(e.err)
			}
			return
		}
	}
}

// moved sends the status of a task whose votes or ladder moved on since the last
// one: the same sentence as everywhere. It reports whether that can happen; its error
// is that of a client that is gone.
func (s *a2aEvents) moved(ctx context.Context, api *API, k ask.Key) (moves bool, err error) {
	rec, err := api.resp.Get(ctx, k)
	if err != nil || rec.State != ask.StatePending {
		return true, nil //nolint:nilerr // the wait tells the end; the bus may be away for a moment
	}
	progress := rec.Waits("", time.Now())
	if progress == "" {
		return rec.Ask.Approval != nil || len(rec.Ask.Escalate) > 0, nil
	}
	quoted, err := wire.Marshal(progress)
	if err != nil || progress == s.progress || s.progress == "" && strings.Contains(s.begun, string(quoted)) {
		return true, err
	}
	of, err := s.part(dialect.A2ATask(&rec.Ask, nil, progress, api.linked(k)))
	if err != nil {
		return true, err
	}
	s.progress = progress
	return true, s.status(&of, false)
}

// part reads a task as the version of A2A of this call has it.
func (s *a2aEvents) part(task []byte) (of a2aPart, err error) {
	if s.call.legacy {
		if task, err = dialect.A2AVersion03(task); err != nil {
			return of, err
		}
	}
	return of, json.Unmarshal(task, &of)
}

// task sends the whole task.
func (s *a2aEvents) task(task []byte) error {
	if s.call.legacy {
		old, err := dialect.A2AVersion03(task)
		if err != nil {
			return err
		}
		return s.send(old)
	}
	return s.send(map[string]json.RawMessage{"task": task})
}

// ended sends what an ended task has more than the one before: its artifacts, and its status.
func (s *a2aEvents) ended(task []byte) {
	of, err := s.part(task)
	if err != nil {
		return
	}
	for i, artifact := range of.Artifacts {
		_ = s.update(&of, "artifact-update", "artifactUpdate", map[string]any{"artifact": artifact, "lastChunk": i == len(of.Artifacts)-1}) // the client may be gone
	}
	_ = s.status(&of, true) // likewise
}

// status sends the status of a task; final: it is the last.
func (s *a2aEvents) status(of *a2aPart, final bool) error {
	now := map[string]any{"status": of.Status}
	if s.call.legacy {
		now["final"] = final
	}
	return s.update(of, "status-update", "statusUpdate", now)
}

// update sends something about a task, under its name in this version of A2A.
func (s *a2aEvents) update(of *a2aPart, kind, name string, more map[string]any) error {
	more["taskId"], more["contextId"] = of.ID, of.Context
	if s.call.legacy {
		more["kind"] = kind
		return s.send(more)
	}
	return s.send(map[string]any{name: more})
}

// refuse ends the stream with an error.
func (s *a2aEvents) refuse(err error) {
	body, err := rpcReply(s.call, nil, err)
	if err != nil { // an HTTP status elsewhere; here it is too late for one
		body, err = rpcReply(s.call, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: access.Problem(err).Detail})
	}
	if err == nil {
		s.event("", body)
		_ = s.flush() // the client may be gone
	}
}

func (s *a2aEvents) send(result any) error {
	raw, err := wire.Marshal(result)
	if err != nil {
		return err
	}
	body, err := rpcReply(s.call, raw, nil)
	if err != nil {
		return err
	}
	s.event("", body)
	return s.flush()
}
