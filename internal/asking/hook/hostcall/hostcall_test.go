package hostcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/pkg/ask"
)

const oneQuestion = `{"questions":[{"question":"Which one?","header":"One","multiSelect":true,"options":[{"label":"Search, full text"},{"label":"Export"}]},
 {"question":"Sure?","header":"Two","options":[{"label":"Yes"},{"label":"No"}]}]}`

func TestHookCallsAboutOtherThingsAreNotOurs(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"another tool":  `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		"another event": `{"hook_event_name":"SessionStart","session_id":"s"}`,
	} {
		if call, ok, err := hostcall.ReadEvent([]byte(body)); ok || err != nil || call.Name != "" {
			t.Errorf("%s: %+v, %v, %v", name, call, ok, err)
		}
	}
	_, _, err := hostcall.ReadEvent([]byte(`{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":7}]}}`))
	if err == nil || !strings.Contains(err.Error(), "/tool_input/questions/0/question: is a number") {
		t.Errorf("the error is %v", err)
	}
}

func TestHookKeepsTheIDsOfItsHost(t *testing.T) {
	t.Parallel()
	body := `{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","session_id":"a b","tool_use_id":"toolu_01","cwd":"/w","permission_mode":"plan","tool_input":` + oneQuestion + `}`
	call, ok, err := hostcall.ReadEvent([]byte(body))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if call.Ask.ID != "toolu_01" || call.Ask.Session != ask.Token("a b") || call.CWD != "/w" || call.Mode != "plan" {
		t.Errorf("the call is %+v", call)
	}
}

func TestAnswersInTheTerminalAreRead(t *testing.T) {
	t.Parallel()
	want := []ask.Answer{{QuestionID: "q1", Selected: []string{"o1"}, Other: "more"}, {QuestionID: "q2", Selected: []string{"o2"}}}
	for name, c := range map[string]struct {
		response string
		want     ask.Reply
		ok       bool
	}{
		"as the tool's output":   {`{"questions":[],"answers":{"Which one?":"Search, full text, more","Sure?":"No"}}`, ask.Reply{Answers: want}, true},
		"as JSON in a string":    {quote(`{"answers":{"Which one?":["Search, full text","more"],"Sure?":"No"}}`), ask.Reply{Answers: want}, true},
		"as the host's sentence": {quote(`User has answered your questions: "Which one?"="Search, full text, more", "Sure?"="No". You can now continue with the user's answers in mind.`), ask.Reply{Answers: want}, true},
		"as content blocks":      {`{"content":[{"type":"text","text":"\"Which one?\"=\"Search, full text, more\", \"Sure?\"=\"No\""}]}`, ask.Reply{Answers: want}, true},
		"as other words":         {quote(`do what you like`), ask.Reply{Response: "do what you like"}, true},
		"an empty output":        {`{"answers":{}}`, ask.Reply{}, false},
		"no output":              {`null`, ask.Reply{}, false},
		"our own expiry":         {quote(`nobody answered by 2026-11-20T11:00:00Z; no decision was made`), ask.Reply{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `{"hook_event_name":"PostToolUse","tool_name":"AskUserQuestion","tool_use_id":"t","tool_input":` + oneQuestion + `,"tool_response":` + c.response + `}`
			call, ok, err := hostcall.ReadEvent([]byte(body))
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			reply, ok := call.Native()
			if ok != c.ok || ok && dump(reply) != dump(c.want) {
				t.Errorf("got %v\n%s\nwant %v\n%s", ok, dump(reply), c.ok, dump(c.want))
			}
			if call.Decide(&ask.Outcome{Status: ask.StatusAnswered, Answers: want}) != nil {
				t.Error("PostToolUse decides")
			}
		})
	}
}

func TestPermissionCallsMayBeWrapped(t *testing.T) {
	t.Parallel()
	call, err := hostcall.ReadCallback([]byte(`{"tool_name":"AskUserQuestion","tool_use_id":"t-1","session_id":"s-1","input":` + oneQuestion + `}`))
	if err != nil || call.Ask.ID != "t-1" || call.Ask.Session != "s-1" {
		t.Errorf("%v: %s", err, dump(call.Ask))
	}
	_, err = hostcall.ReadCallback([]byte(`{"tool_name":"Bash","input":{"questions":[]}}`))
	if got := err.Error(); !strings.Contains(got, "/tool_name: ") || !strings.Contains(got, "/input/questions: ") {
		t.Errorf("the faults are %s", got)
	}
	skipped := &ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "q1", Skipped: true}}}
	if out := string(call.Decide(skipped)); strings.Contains(out, "allow") {
		t.Errorf("allows without an answer: %s", out)
	}
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func dump(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
