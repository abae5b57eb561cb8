package interop_test

import (
	"testing"
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
	need(t, string(encode(t, asked)), "I deploy.", "Which database?", `"id":"pg"`)
	answered := s.result()
	need(t, string(encode(t, answered.Result)), `"ended":true`, `"got":true`, `"selected":["lite"]`)
	need(t, answered.Text, "SQLite")
	need(t, string(encode(t, s.result().Result)), `"waits":true`, `"cancelled":true`, "withdrawn", "TaskNotFoundError")
}

// TestA2ASDKOfVersion03 does the same with an SDK of version 0.3.
func TestA2ASDKOfVersion03(t *testing.T) {
	t.Parallel()
	b := up(t)
	s := run(t, "a2a/old.mjs", map[string]any{
		"url": b.url, "agent": b.token("s1"), "screen": b.issue("--role", "screen", "--session", "s1", "--principal", "api:mei"),
	})
	need(t, string(encode(t, s.result().Result)), `"kind":"task"`, `"asked":"input-required"`, `"ended":"completed"`, `"got":"completed"`, `"text":"main"`)
}
