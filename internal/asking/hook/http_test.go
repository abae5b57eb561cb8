package hook_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

const before = `{"session_id":"s-1","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"toolu_9","tool_input":{"questions":[{"question":"Which?","header":"H","options":[{"label":"a"},{"label":"b"}]}]}}`

func TestTheSameOverHTTP(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	h := hook.New(natstest.Opener{Conn: bus.Agent("acme", "s-1")}, hook.Options{Logger: natstest.Logger()})
	served := h.Handler(func(r *http.Request) (func(string) (hook.Call, error), error) {
		if r.Header.Get("Authorization") != "Bearer good" {
			return nil, ask.Refuse(ask.CodeUnauthorized, "there is no token")
		}
		return func(session string) (hook.Call, error) { return hook.Call{Tenant: "acme", Session: session}, nil }, nil
	})
	post := func(query, token, body string) (*http.Response, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, hook.Path+query, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		served.ServeHTTP(w, r)
		out, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Result(), string(out)
	}
	for name, c := range map[string]struct {
		query, token, body string
		status             int
		header, want       string
	}{
		"no token":       {"", "bad", before, 401, "WWW-Authenticate", "Bearer"},
		"no token, junk": {"", "bad", "junk", 401, "WWW-Authenticate", "Bearer"},
		"junk":           {"", "good", "junk", 400, "Content-Type", "application/problem+json"},
		"another tool":   {"", "good", strings.ReplaceAll(before, "AskUserQuestion", "Bash"), 204, "Askbus-Reason", ""},
		"another mode":   {"?mode=what", "good", before, 400, "Content-Type", "application/problem+json"},
		"a misspelling":  {"?limits=1ns", "good", before, 400, "Content-Type", "application/problem+json"},
		"a long limit":   {"?limit=24h", "good", before, 400, "Content-Type", "application/problem+json"},
		"nobody answers": {"?limit=1ns", "good", before, 204, "Askbus-Reason", "nobody answered"},
		"defer":          {"?mode=defer", "good", before, 200, "Content-Type", "application/json"},
	} {
		if res, body := post(c.query, c.token, c.body); res.StatusCode != c.status || !strings.Contains(res.Header.Get(c.header), c.want) {
			t.Errorf("%s: %s, %v, %s", name, res.Status, res.Header, body)
		}
	}
	s := newScreen(t, bus)
	s.decide("o2")
	if res, body := post("", "good", before); res.StatusCode != 200 || !strings.Contains(body, `"Which?":"b"`) {
		t.Errorf("answered: %s, %s", res.Status, body)
	}
	// The events of another host, which sends a permission in its own words.
	answered := make(chan struct{})
	go func() { defer close(answered); s.decide("allow") }()
	const permission = `{"hookName":"permissionRequest","sessionId":"s-1","cwd":"/work","toolName":"bash","toolInput":{"command":"ls"}}`
	if res, body := post("?host=copilot", "good", permission); res.StatusCode != 200 || body != `{"behavior":"allow"}` {
		t.Errorf("Copilot CLI: %s, %s", res.Status, body)
	}
	<-answered
	if res, body := post("?host=nano", "good", permission); res.StatusCode != 400 || !strings.Contains(body, "claude-code, codex, qwen, copilot") {
		t.Errorf("an unknown host: %s, %s", res.Status, body)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, hook.Path, nil)
	w := httptest.NewRecorder()
	if served.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}
