package hostcall_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/internal/testkit/goldentest"
	"github.com/askbus/askbus/pkg/ask"
)

const input = `{"questions":[
 {"question":"Which layout should the page have?","header":"Layout","multiSelect":false,"options":[
  {"label":"Sidebar (Recommended)","description":"Navigation on the left","preview":"+--+----+\n|  |    |\n+--+----+"},
  {"label":"Top bar","description":"Navigation above","markdown":"+-------+\n|       |"}]},
 {"question":"Which features?","header":"Features","multiSelect":true,"options":[{"label":"Search, full text"},{"label":"Export","description":""},{"label":"Login"}]}],
 "answers":{"Which features?":"Login"},"annotations":[1],"metadata":{"source":"remember"}}`

func TestWhatTheHostIsToldForEveryOutcome(t *testing.T) {
	t.Parallel()
	hook := func(event, id string) hostcall.Event {
		call, ok, err := hostcall.ReadEvent([]byte(`{"session_id":"sess-1","cwd":"/home/mei","permission_mode":"default","hook_event_name":"` + event +
			`","tool_name":"AskUserQuestion",` + id + `"tool_input":` + input + `}`))
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		call.Ask.Deadline = asktest.Deadline
		return call
	}
	pre, dialog := hook(hostcall.PreToolUse, `"tool_use_id":"toolu_01",`), hook(hostcall.PermissionRequest, "")
	callback, err := hostcall.ReadCallback([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	callback.Ask.Deadline = asktest.Deadline
	for name, c := range map[string]struct {
		ask    ask.Ask
		decide func(o *ask.Outcome) []byte
	}{"pretooluse": {pre.Ask, pre.Decide}, "permissionrequest": {dialog.Ask, dialog.Decide}, "callback": {callback.Ask, callback.Decide}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, row := range asktest.Outcomes(&c.ask) {
				fmt.Fprintf(&b, "-- %s --\n%s\n", row.Name, orNothing(c.decide(&row.Outcome)))
			}
			goldentest.Equal(t, "testdata/"+name+".golden", b.String())
		})
	}
	if got, want := string(pre.Defer()), `"permissionDecision":"defer"`; !strings.Contains(got, want) {
		t.Errorf("defer is %s", got)
	}
	if dialog.Defer() != nil {
		t.Error("a permission request defers")
	}
}

func orNothing(out []byte) string {
	if out == nil {
		return "(prints nothing)"
	}
	var b bytes.Buffer
	if json.Indent(&b, out, "", "  ") != nil {
		return string(out)
	}
	return b.String()
}

// FuzzCalls checks that no input panics, and that nothing is allowed without an answer.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{
		input, `{"input":` + input + `}`, `{`, `[]`, `{"tool_name":"AskUserQuestion","input":{"questions":[]}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"t","tool_input":` + oneQuestion + `}`,
		`{"hook_event_name":"PostToolUse","tool_name":"AskUserQuestion","tool_input":` + oneQuestion + `,"tool_response":"\"Sure?\"=\"Yes\""}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(out []byte) {
			if out != nil && !json.Valid(out) || strings.Contains(string(out), `"behavior":"allow"`) && strings.Contains(string(out), `"answers":{}`) && !strings.Contains(string(out), `"response":`) {
				t.Fatalf("it is told %s", out)
			}
		}
		if e, ok, err := hostcall.ReadEvent(body); err == nil && ok {
			e.Native()
			for _, row := range asktest.Outcomes(&e.Ask) {
				check(e.Decide(&row.Outcome))
			}
		}
		if c, err := hostcall.ReadCallback(body); err == nil {
			for _, row := range asktest.Outcomes(&c.Ask) {
				check(c.Decide(&row.Outcome))
			}
		}
	})
}
