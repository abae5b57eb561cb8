package mcpserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/pkg/ask"
)

func TestEverythingWrongWithACallIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	r := f.must(cs, "AskUserQuestion", map[string]any{"question": "Which?", "wait_seconds": -1, "timeout": "soon", "ask_id": "a b"})
	for _, want := range []string{"/wait_seconds: is -1; give 0 or more", "/timeout: ", "/ask_id: "} {
		if !r.isError || !strings.Contains(r.text, want) {
			t.Errorf("it does not say %q: %+v", want, r)
		}
	}
}

func TestACallIsUnderstoodInOtherSpellings(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	r := f.must(cs, "AskUserQuestion", map[string]any{
		"questions": []any{map[string]any{
			"question": "Which?", "header": "H", "allow_multiple": true, "icon": "star",
			"options": []any{map[string]any{"label": "a"}, map[string]any{"label": "b"}},
		}},
		"timeout_ms": 90_000, "ask_id": "x-1", "wait_seconds": 0,
	})
	if r.isError || !strings.Contains(r.text, "/questions/0/icon: is unknown; it is dropped") {
		t.Errorf("the result is %+v", r)
	}
	rec, err := f.screen.Get(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "x-1"})
	if err != nil || !rec.Ask.Questions[0].Multiple || time.Until(rec.Ask.Deadline) > 90*time.Second {
		t.Errorf("%v: %+v", err, rec.Ask)
	}
}
