package hook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// A hook's ask depends on its agent's wait, unless the host's process ends on purpose or the person
// opted out.
func TestAHooksAskLivesWhileItsAgentWaits(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	open := natstest.Opener{Conn: bus.Agent("acme", "s-1")}
	asks, err := open.Open(t.Context(), "acme", "s-1")
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range map[string]struct {
		call  hook.Call
		while bool
	}{
		"race": {hook.Call{Mode: hook.Race}, true}, "wait": {hook.Call{Limit: 1}, true},
		"outlive": {hook.Call{Mode: hook.Race, Outlive: true}, false}, "defer": {hook.Call{Mode: hook.Defer, Limit: 1}, false},
	} {
		c.call.Tenant = "acme"
		hook.New(open, hook.Options{}).Run(t.Context(), c.call, []byte(`{"hook_event_name":"PreToolUse","session_id":"s-1","tool_use_id":"`+id+`","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which `+id+`?","header":"H","multiSelect":false,"options":[{"label":"A","description":""},{"label":"B","description":""}]}]}}`))
		page, err := asks.Page(t.Context(), client.Query{Question: "Which " + id + "?"})
		if err != nil || len(page.Items) != 1 || page.Items[0].Ask.WhileWaiting != c.while {
			t.Errorf("%s: %v, %+v", id, err, page.Items)
		}
	}
}

// A hook that waits asks the broker once.
func TestAHookThatWaitsSendsNoWait(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	bus.AnswerAll("web")
	h, sent := hook.New(natstest.Opener{Conn: bus.Agent("acme", "s-1")}, hook.Options{}), bus.Requests()
	for i, event := range []string{"PreToolUse", "PermissionRequest"} {
		out, say := h.Run(t.Context(), hook.Call{Tenant: "acme", Mode: hook.Wait, Limit: time.Minute},
			[]byte(`{"hook_event_name":"`+event+`","session_id":"s-1","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A","description":""},{"label":"B","description":""}]}]}}`))
		if asks, waits := sent(subject.VerbAsk), sent(subject.VerbWait); len(out) == 0 || asks != i+1 || waits != 0 {
			t.Errorf("%s: %s %s; %d asks and %d waits were sent, want %d and none", event, out, say, asks, waits, i+1)
		}
	}
}

// Where the host's dialog opens after the hook, others alone are asked for a while, at once; then nothing stays open for which
// nobody waits.
func TestAHookBeforeItsDialogMakesWayForIt(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	open := natstest.Opener{Conn: bus.Agent("acme", "s-1")}
	host, _ := hostcall.HostOf("qwen")
	asks, err := open.Open(t.Context(), "acme", "s-1")
	if err != nil {
		t.Fatal(err)
	}
	for tool, input := range map[string]string{
		"run_shell_command": `{"command":"ls"}`,
		"ask_user_question": `{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A","description":""},{"label":"B","description":""}]}]}`,
	} {
		out, say := hook.New(open, hook.Options{}).Run(t.Context(), hook.Call{Tenant: "acme", Host: host, Limit: time.Hour, After: time.Hour, Forms: time.Millisecond},
			[]byte(`{"hook_event_name":"PermissionRequest","session_id":"s-1","tool_name":"`+tool+`","tool_input":`+input+`}`))
		if out != nil || !strings.Contains(say, "is withdrawn: only the agent's terminal asks now") {
			t.Errorf("%s: %s, %s", tool, out, say)
		}
	}
	page, err := asks.Page(t.Context(), client.Query{})
	if err != nil || len(page.Items) != 2 || page.Items[0].State != ask.StateResolved || page.Items[1].State != ask.StateResolved {
		t.Errorf("%v, %+v", err, page.Items)
	}
}
