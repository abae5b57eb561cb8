package hook_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// hooked runs hooks of a host on a bus whose time the test advances.
type hooked struct {
	t      *testing.T
	asks   client.Session
	people *responder.Responder
	hook   *hook.Hook
	ahead  atomic.Int64
}

func newHooked(t *testing.T) *hooked {
	t.Helper()
	h := &hooked{t: t}
	bus := natstest.Start(t, natstest.Options{NoBroker: true})
	bus.BrokerAhead(func() time.Duration { return time.Duration(h.ahead.Load()) }, broker.Options{})
	open := natstest.Opener{Conn: bus.Agent("acme", "s-1")}
	h.hook = hook.New(open, hook.Options{})
	var err error
	if h.asks, err = open.Open(t.Context(), "acme", "s-1"); err != nil {
		t.Fatal(err)
	}
	if h.people, err = responder.New(bus.Responder("web"), "web", responder.Options{}); err != nil {
		t.Fatal(err)
	}
	return h
}

// event runs one event about the question and returns the output and the ids of what is open.
func (h *hooked) event(name, more string) (out string, open []string) {
	h.t.Helper()
	body := fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s-1",%s"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Deploy?","header":"H","multiSelect":false,"options":[{"label":"Yes","description":""},{"label":"No","description":""}]}]}}`, name, more)
	mode := hook.Wait
	if name == "PreToolUse" {
		mode = hook.Race
	}
	printed, _ := h.hook.Run(h.t.Context(), hook.Call{Tenant: "acme", Mode: mode, Limit: 1}, []byte(body))
	return string(printed), h.open()
}

func (h *hooked) open() (ids []string) {
	h.t.Helper()
	for rec, err := range h.asks.All(h.t.Context(), client.Query{State: ask.StatePending}) {
		if err != nil {
			h.t.Fatal(err)
		}
		ids = append(ids, rec.Ask.ID)
	}
	return ids
}

func (h *hooked) answers(id string) {
	h.t.Helper()
	if _, err := h.people.Answer(h.t.Context(), ask.Key{Tenant: "acme", Session: "s-1", ID: id}, ask.Reply{
		Answers: []ask.Answer{{QuestionID: "q1", Selected: []string{"o1"}}}, By: ask.By{Principal: "os:mei", Proof: "test"},
	}); err != nil {
		h.t.Fatal(err)
	}
}

// The dialog's hook finds the ask of its tool use, and its answer once.
func TestADialogGetsTheAnswerOfItsOwnToolUse(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	_, asked := h.event("PreToolUse", `"tool_use_id":"call_0",`)
	if _, open := h.event("PermissionRequest", ""); len(open) != 1 || open[0] != asked[0] {
		t.Fatalf("asked %v, then %v", asked, open)
	}
	h.answers(asked[0])
	if out, open := h.event("PermissionRequest", ""); !strings.Contains(out, `"Yes"`) || len(open) != 0 {
		t.Errorf("printed %s, open %v", out, open)
	}
	if out, open := h.event("PermissionRequest", ""); out != "" || len(open) != 1 {
		t.Errorf("a later dialog: printed %s, open %v", out, open)
	}
}

func TestADialogGetsNoOldAnswer(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	_, asked := h.event("PreToolUse", `"tool_use_id":"call_0",`)
	h.answers(asked[0])
	h.ahead.Add(int64(10 * time.Minute))
	if out, open := h.event("PermissionRequest", ""); out != "" || len(open) != 1 || open[0] == asked[0] {
		t.Errorf("printed %s, open %v", out, open)
	}
}

// The resumed host of a deferred question finds its answer, however late.
func TestTheSameToolUseIsTheSameAsk(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	_, asked := h.event("PreToolUse", `"tool_use_id":"call_0",`)
	h.answers(asked[0])
	h.ahead.Add(int64(10 * time.Hour))
	if out, open := h.event("PreToolUse", `"tool_use_id":"call_0",`); !strings.Contains(out, `"Yes"`) || len(open) != 0 {
		t.Errorf("printed %s, open %v", out, open)
	}
	if out, open := h.event("PreToolUse", `"tool_use_id":"call_1",`); out != "" || len(open) != 1 {
		t.Errorf("another tool use: printed %s, open %v", out, open)
	}
}

func TestTheSameElsewhereIsAnotherAsk(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	h.event("PermissionRequest", `"cwd":"/work",`)
	if _, open := h.event("PermissionRequest", `"cwd":"/work",`); len(open) != 1 {
		t.Errorf("the same place: %v", open)
	}
	if _, open := h.event("PermissionRequest", `"cwd":"/other",`); len(open) != 2 {
		t.Errorf("another directory: %v", open)
	}
	if _, open := h.event("PermissionRequest", `"cwd":"/work","agent_id":"sub-1",`); len(open) != 3 {
		t.Errorf("a subagent: %v", open)
	}
}
