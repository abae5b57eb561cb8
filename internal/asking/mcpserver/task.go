package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is MCP's extension of tasks, 2026-07-28 (SEP-2663): a call of AskUserQuestion returns a
// task, whose id is the ask's, and its client asks for the task until it has the call's result. So no call
// is held, and any replica tells of any task.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskPoll is how long clients should wait between two looks at a task.
const taskPoll = 2 * time.Second

// The statuses of tasks that are used here. A question that people see needs no input from its client.
const (
	taskWorking   = "working"
	taskCompleted = "completed"
	taskCancelled = "cancelled"
)

// task is a task in place of a call's result, and the result of tasks/get.
type task struct {
	mcp.ResultBase

	ResultType string          `json:"resultType"`
	ID         string          `json:"taskId"`
	Status     string          `json:"status"`
	Message    string          `json:"statusMessage,omitempty"`
	Created    time.Time       `json:"createdAt"`
	Updated    time.Time       `json:"lastUpdatedAt"`
	TTL        int64           `json:"ttlMs"` // since it was made; its outcome is kept longer
	Poll       int64           `json:"pollIntervalMs"`
	Result     json.RawMessage `json:"result,omitempty"`
}

// acknowledged is the result of tasks/cancel and tasks/update.
type acknowledged struct {
	mcp.ResultBase

	ResultType string `json:"resultType"`
}

type taskParams struct {
	mcp.ParamsBase

	ID string `json:"taskId"`
}

func newTask(kind string, a *ask.Ask, asked time.Time) *task {
	asked = asked.UTC().Truncate(time.Millisecond)
	return &task{
		ResultType: kind, ID: a.ID, Status: taskWorking, Created: asked, Updated: asked,
		TTL: max(a.Deadline.Sub(asked), 0).Milliseconds() + time.Hour.Milliseconds(), Poll: taskPoll.Milliseconds(),
	}
}

// tasks reports whether the client takes a task for a result.
func (c *call) tasks() bool {
	init := c.req.Session.InitializeParams()
	return init != nil && init.ProtocolVersion >= multiRound && init.Capabilities != nil && init.Capabilities.Extensions[tasksExtension] != nil
}

type taskKey struct{}

// hand makes a task the result of the call, instead of the result that is returned: a tool returns no other
// kind of result.
func (c *call) hand(ctx context.Context, a *ask.Ask, n notes) *mcp.CallToolResult {
	if made, ok := ctx.Value(taskKey{}).(**task); ok {
		*made = newTask("task", a, c.began)
		(*made).Message = n.link
	}
	return pending(ctx, a, n)
}

// serveTasks makes m answer calls with tasks, and tell of them.
func (s *Server) serveTasks(m *mcp.Server, by func(context.Context) (called, bool)) {
	m.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			var made *task
			res, err := next(context.WithValue(ctx, taskKey{}, &made), method, req)
			if err == nil && made != nil {
				return made, nil
			}
			return res, err
		}
	})
	at := func(ctx context.Context, id string) (*call, ask.Record, error) {
		who, ok := by(ctx)
		if !ok {
			return nil, ask.Record{}, errors.New("the request has no caller")
		}
		c := &call{s: s, life: who.life, over: who.over, who: who.Caller, began: time.Now()}
		session, err := s.open.Open(ctx, c.who.Tenant, c.who.Session)
		if err != nil {
			return nil, ask.Record{}, err
		}
		rec, err := c.get(ctx, session, id)
		if errors.Is(err, ask.ErrNotFound) || errors.Is(err, ask.ErrInvalid) {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown task: " + err.Error()}
		}
		return c, rec, err
	}
	for method, serve := range map[string]func(context.Context, *mcp.ServerSession, *taskParams) (mcp.Result, error){
		"tasks/get": func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (mcp.Result, error) {
			c, rec, err := at(ctx, p.ID)
			if err != nil {
				return nil, err
			}
			return c.task(ctx, &rec)
		},
		"tasks/cancel": func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (mcp.Result, error) {
			c, rec, err := at(ctx, p.ID)
			if err != nil || rec.Outcome != nil {
				return &acknowledged{ResultType: "complete"}, err
			}
			return &acknowledged{ResultType: "complete"}, c.cancel(ctx, p.ID)
		},
		"tasks/update": func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (mcp.Result, error) { // no task requires input
			_, _, err := at(ctx, p.ID)
			return &acknowledged{ResultType: "complete"}, err
		},
	} {
		if err := mcp.AddReceivingCustomMethod(m, method, serve); err != nil {
			s.opts.Logger.Error("cannot serve a method of tasks", slog.String("method", method), slog.Any("error", err)) // a later library may have it itself
		}
	}
}

// task returns the task of an ask; one that has ended has the result of its call.
func (c *call) task(ctx context.Context, rec *ask.Record) (*task, error) {
	t := newTask("complete", &rec.Ask, rec.AskedAt)
	o := rec.Outcome
	if o == nil {
		if t.Message = rec.Waits(rec.Ask.Language(), time.Now()); t.Message == "" {
			t.Message = c.link(&rec.Ask)
		}
		return t, nil
	}
	session, err := c.s.open.Open(ctx, c.who.Tenant, c.who.Session)
	if err != nil {
		return nil, err
	}
	c.delivered(ctx, session, rec.Ask.ID)
	t.Updated = o.At.UTC().Truncate(time.Millisecond)
	if t.Status = taskCompleted; o.Status == ask.StatusWithdrawn {
		t.Status, t.Message = taskCancelled, o.Reason
		return t, nil
	}
	result, err := json.Marshal(c.ended(ctx, session, &rec.Ask, o, notes{link: c.link(&rec.Ask)}))
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(result, &whole); err != nil {
		return nil, err
	}
	whole["resultType"] = json.RawMessage(`"complete"`)
	t.Result, err = json.Marshal(whole)
	return t, err
}

// cancel withdraws the ask of a task. If somebody was faster, the task says so.
func (c *call) cancel(ctx context.Context, id string) error {
	session, err := c.s.open.Open(ctx, c.who.Tenant, c.who.Session)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if _, err = session.Withdraw(ctx, id, "its task was cancelled"); winner(err) != nil {
		return nil
	}
	return err
}
