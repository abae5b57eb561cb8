package interop_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// TestA2ASDK asks and answers with the unmodified SDK of the Agent2Agent
// protocol.
func TestA2ASDK(t *testing.T) {
	t.Parallel()
	b := up(t)
	s := run(t, "a2a/people.mjs", map[string]any{
		"url": b.url, "agent": b.token("s1"), "screen": b.issue("--role", "screen", "--session", "s1", "--principal", "api:mei"),
	})
	asked := s.result().Asked
	if asked["id"] != "s1/m-1" || asked["waits"] != true || asked["shown"] != true {
		t.Errorf("asked: %v", asked)
	}
	need(t, string(encode(t, asked)), "I deploy.", "Which database?", `"id":"pg"`, `"plan":"1. migrate"`)
	answered := s.result()
	need(t, string(encode(t, answered.Result)), `"ended":true`, `"got":true`, `"selected":["lite"]`, `"why":"measured"`)
	need(t, answered.Text, "SQLite")
	streamed := string(encode(t, s.result().Result))
	need(t, streamed, `"waits":true`)
	for _, stream := range []string{"stream", "again"} {
		need(t, streamed, `"`+stream+`":"artifactUpdate `)
	}
	need(t, streamed, "main", "statusUpdate true")
	need(t, string(encode(t, s.result().Result)), `["s1/m-5 true 0, s1/m-3 true 0 of 3","s1/m-1 true 0 of 3"]`, "main", "SQLite", `"cancelled":true`, "withdrawn", "TaskNotFoundError")
}

// TestA2ASDKOfVersion03 does the same with an SDK of version 0.3.
func TestA2ASDKOfVersion03(t *testing.T) {
	t.Parallel()
	b := up(t)
	s := run(t, "a2a/old.mjs", map[string]any{
		"url": b.url, "agent": b.token("s1"), "screen": b.issue("--role", "screen", "--session", "s1", "--principal", "api:mei"),
	})
	need(t, string(encode(t, s.result().Result)), `"kind":"task"`, `"asked":"input-required"`, `"ended":"completed"`, `"got":"completed"`, `"text":"main"`, `"bytes":"b25l"`, `["task","artifact-update true","status-update true"]`)
}

// TestA2ASDKIsNotified registers a callback, and lets the SDKs ask to be notified there.
func TestA2ASDKIsNotified(t *testing.T) {
	t.Parallel()
	type call struct {
		Body    string            `json:"body"`
		Headers map[string]string `json:"headers"`
	}
	came := make(chan call, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c := call{string(body), map[string]string{}}
		for name := range r.Header {
			c.Headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		came <- c
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret":        webhookSecret,
		"webhooks.yaml": "callbacks:\n  - { name: builder, url: '" + receiver.URL + "/a2a', secret_file: secret, allow_private: true }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := upWith(t, nil, "--webhooks", filepath.Join(dir, "webhooks.yaml"))
	s := run(t, "a2a/push.mjs", map[string]any{"url": b.url, "agent": b.token("s1"), "receiver": receiver.URL + "/a2a", "secret": webhookSecret})
	answer := func() {
		t.Helper()
		rec := b.next()
		if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), ask.Reply{By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "q1", Text: "main"}}}); err != nil {
			t.Fatal(err)
		}
		s.send(<-came)
	}
	need(t, string(encode(t, s.result().Result)), "registered: builder", `"second":"builder"`, `"configs":["first","builder"]`, `"got":true`)
	answer()
	need(t, string(encode(t, s.result().Result)), `"kind":"task"`, `"id":"s1/m-1"`, `"state":"TASK_STATE_COMPLETED"`, "main", `"token":"secret"`, `"type":"application/a2a+json"`)
	need(t, string(encode(t, s.result().Result)), `"set":"builder"`, `"listed":["s1/m-2"]`)
	answer()
	need(t, string(encode(t, s.result().Result)), `"kind":"task"`, `"id":"s1/m-2"`, `"state":"completed"`, `"token":"other"`, `"type":"application/json"`)
	if len(came) > 0 {
		t.Errorf("it was also sent %v", <-came)
	}
}
