package interop_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// acpEditor starts the official SDK's editor in front of askbus and the SDK's
// agent.
func (b *bus) acpEditor(version int, forms bool) *script {
	b.t.Helper()
	s := run(b.t, "acp/editor.mjs", map[string]any{
		"version": version, "forms": forms, "command": b.binary,
		"args": []string{"acp", "--dir", b.dir, "--", "node", "acp/agent.mjs", fmt.Sprint(version)},
	})
	s.patience = time.Minute
	s.until("a session", func(e event) bool { return e.Connected })
	return s
}

func acpPermission(version int) map[string]any {
	options := []any{
		map[string]any{"optionId": "once", "name": "Allow", "kind": "allow_once"},
		map[string]any{"optionId": "make", "name": "Always allow make", "kind": "allow_always"},
		map[string]any{"optionId": "all", "name": "Always allow everything", "kind": "allow_always"},
		map[string]any{"optionId": "no", "name": "Reject", "kind": "reject_once"},
	}
	p := map[string]any{"sessionId": "interop-session", "options": options}
	if version == 2 {
		p["title"] = "Run make?"
		p["subject"] = map[string]any{"type": "command", "command": "make", "cwd": "/src"}
	} else {
		p["toolCall"] = map[string]any{"toolCallId": "c1", "title": "Run make?", "rawInput": map[string]any{"command": "make"}}
	}
	return map[string]any{"ask": map[string]any{"method": "session/request_permission", "params": p}}
}

func acpForm() map[string]any {
	return map[string]any{"ask": map[string]any{"method": "elicitation/create", "params": map[string]any{
		"sessionId": "interop-session", "mode": "form", "message": "Which database?",
		"requestedSchema": map[string]any{"type": "object", "required": []any{"db"}, "properties": map[string]any{
			"db": map[string]any{"type": "string", "oneOf": []any{map[string]any{"const": "pg", "title": "PostgreSQL"}, map[string]any{"const": "lite", "title": "SQLite"}}},
		}},
	}}}
}

// asked returns the response that the agent got.
func (s *script) asked() string {
	s.t.Helper()
	e := s.until("the agent's response", func(e event) bool { return e.Asked != nil || e.Error != "" })
	text, err := json.Marshal(e.Asked)
	if err != nil || e.Error != "" {
		s.t.Fatalf("the agent got %+v, %v", e, err)
	}
	return string(text)
}

// over waits until an ask has ended.
func (b *bus) over() ask.Outcome {
	b.t.Helper()
	select {
	case rec := <-b.ended:
		return *rec.Outcome
	case <-time.After(time.Minute):
		b.t.Fatal("no ask ended")
		return ask.Outcome{}
	}
}

func TestACPBothVersions(t *testing.T) {
	b := up(t)
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			own := *b
			own.t = t
			b := &own
			plain := b.acpEditor(version, false)

			plain.send(acpPermission(version)) // answered elsewhere: the editor's dialog closes
			plain.until("a dialog", func(e event) bool { return e.Shown != nil })
			rec := b.next()
			if len(rec.Ask.Questions[0].Options) != 4 || rec.Ask.Agent.Name != "Interop Agent" || rec.Ask.Session != "interop-session" || rec.Ask.Heading() != "Run make?" || !strings.Contains(rec.Ask.Context, "make") {
				t.Errorf("the ask is %+v", rec.Ask)
			}
			b.choose(rec, "all")
			if got := plain.asked(); !strings.Contains(got, `"optionId":"all"`) {
				t.Errorf("the agent got %s", got)
			}
			if closed := func(e event) bool { return e.Closed }; !slices.ContainsFunc(plain.seen, closed) {
				plain.until("a closed dialog", closed)
			}
			b.over()

			plain.send(acpPermission(version)) // answered in the editor
			plain.until("a dialog", func(e event) bool { return e.Shown != nil })
			b.next()
			plain.send(map[string]any{"answer": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "make"}}})
			if got := plain.asked(); !strings.Contains(got, `"optionId":"make"`) {
				t.Errorf("the agent got %s", got)
			}
			if o := b.over(); o.By == nil || o.By.Responder != ask.ResponderNative || o.Answers[0].Selected[0] != "make" {
				t.Errorf("the outcome is %+v", o)
			}

			plain.send(acpForm()) // an editor without forms
			b.choose(b.next(), "lite")
			if got := plain.asked(); !strings.Contains(got, `"content":{"db":"lite"}`) || !strings.Contains(got, `"form":{}`) {
				t.Errorf("the agent got %s", got)
			}
			b.over()

			plain.send(acpForm()) // taken back by the agent
			b.next()
			plain.send(map[string]any{"cancel": true})
			if got := plain.asked(); !strings.Contains(got, "-32800") {
				t.Errorf("the agent got %s", got)
			}
			if o := b.over(); o.Status != ask.StatusWithdrawn {
				t.Errorf("the outcome is %+v", o)
			}

			plain.send(acpPermission(version)) // stopped in the editor
			plain.until("a dialog", func(e event) bool { return e.Shown != nil })
			b.next()
			plain.send(map[string]any{"stop": true})
			if got := plain.asked(); !strings.Contains(got, `"outcome":"cancelled"`) {
				t.Errorf("the agent got %s", got)
			}
			if o := b.over(); o.Status != ask.StatusWithdrawn || !strings.Contains(o.Reason, "cancelled in the editor") {
				t.Errorf("the outcome is %+v", o)
			}

			plain.send(acpForm()) // the editor goes away
			b.next()
			plain.send(map[string]any{"leave": true})
			if o := b.over(); o.Status != ask.StatusWithdrawn || o.Reason != "the editor has gone" {
				t.Errorf("the outcome is %+v", o)
			}

			forms := b.acpEditor(version, true)
			forms.send(acpForm()) // shown in the editor, too
			forms.until("a form", func(e event) bool { return e.Shown != nil })
			b.next()
			forms.send(map[string]any{"answer": map[string]any{"action": "accept", "content": map[string]any{"db": "pg"}}})
			if got := forms.asked(); !strings.Contains(got, `"content":{"db":"pg"}`) {
				t.Errorf("the agent got %s", got)
			}
			b.over()

			forms.send(acpForm()) // the agent dies, and its exit code arrives
			b.next()
			forms.send(map[string]any{"die": true})
			if e := forms.until("an exit", func(e event) bool { return e.Exited != nil }); *e.Exited != 9 {
				t.Errorf("the exit code is %d", *e.Exited)
			}
			if o := b.over(); o.Status != ask.StatusWithdrawn || o.Reason != "the agent has gone" {
				t.Errorf("the outcome is %+v", o)
			}
		})
	}
}
