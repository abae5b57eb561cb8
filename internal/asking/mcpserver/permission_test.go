package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

func TestThePermissionToolDecidesOnlyAsAPersonDid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	f.who.Permissions = true
	cs, sent := f.connect(nil), f.bus.Requests()
	call := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "ls", "n": 1.0}, "tool_use_id": "toolu_1"}
	for _, c := range []struct{ chosen, want string }{
		{"allow", `{"behavior":"allow","updatedInput":{"command":"ls","n":1}}`},
		{"refuse", `{"behavior":"deny","message":"use make"}`},
		{"allow", `{"behavior":"allow","updatedInput":{"command":"ls","n":1}}`}, // the same call again is asked again
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			rec := f.screen.Next(board.Pending)
			reply := ask.Reply{By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "permission", Selected: []string{c.chosen}}}}
			if c.chosen == "refuse" {
				reply.Answers[0].Notes = "use make"
			}
			if _, err := f.screen.Answer(t.Context(), rec.Ask.Key(), reply); err != nil {
				t.Error(err)
			}
		}()
		if r := f.must(cs, "PermissionPrompt", call); r.text != c.want {
			t.Errorf("%s: %s", c.chosen, r.text)
		}
		<-done
	}
	long := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": strings.Repeat("x", 200_000) + "END"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rec := f.screen.Next(board.Pending)
		if whole := f.screen.Whole(&rec.Ask); !strings.Contains(whole, "xEND") {
			t.Errorf("the file of a long call has %d bytes", len(whole))
		}
		f.screen.Choose(rec, "allow")
	}()
	if r := f.must(cs, "PermissionPrompt", long); !strings.Contains(r.text, `xEND`) {
		t.Errorf("a long call: %.200s", r.text)
	}
	<-done
	if n := sent(subject.VerbWait); n != 0 {
		t.Errorf("%d waits were sent besides the asks", n)
	}
	var v struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
	}
	for name, bad := range map[string]any{"no input": map[string]any{"tool_name": "Bash"}, "no tool": map[string]any{"input": map[string]any{}}} {
		if r := f.must(cs, "PermissionPrompt", bad); json.Unmarshal([]byte(r.text), &v) != nil || v.Behavior != "deny" || !strings.Contains(v.Message, "is missing") {
			t.Errorf("%s: %s", name, r.text)
		}
	}
}
