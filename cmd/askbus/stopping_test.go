package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/coder/websocket"
)

// Everything that waits while "askbus up" is told to stop gets a status or a 503, never a refusal of
// its token, and the outcome from the next process.
func TestHeldRequestsSurviveARestartOfUp(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	secret, _ := pl.must(0, "token", "issue", "--session", "s1", "--output", "json")["token"].(string)
	type reply struct {
		status int
		header http.Header
		body   string
	}
	call := func(method, path, body string) (reply, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, pl.context().HTTPURL+path, strings.NewReader(body))
		if err != nil {
			return reply{}, err
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return reply{}, err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		return reply{res.StatusCode, res.Header, string(data)}, err
	}
	// 38 waits over HTTP, a tool call of MCP, and a hook.
	requests := map[string][2]string{
		"mcp":  {"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":{"ask_id":"mcp","questions":[{"question":"Go on?","header":"Go","options":[{"label":"yes"},{"label":"no"}]}]}}}`},
		"hook": {"/v1/hook", `{"session_id":"s-1","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"hook","tool_input":{"questions":[{"question":"Go on?","header":"Go","options":[{"label":"yes"},{"label":"no"}]}]}}`},
	}
	for i := range 38 {
		id := fmt.Sprintf("a%d", i)
		requests[id] = [2]string{"/v1/asks?wait=1m", `{"id":"` + id + `","questions":[{"id":"q","text":"Go on?","options":[{"id":"yes","label":"Yes"}]}]}`}
	}
	type result struct {
		id string
		reply
		err error
	}
	results := make(chan result, len(requests))
	for id, r := range requests {
		go func() {
			res, err := call("POST", r[0], r[1])
			results <- result{id, res, err}
		}()
	}
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(pl.context().HTTPURL, "http")+"/t/"+secret+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	natstest.Eventually(t, "all are asked", func() bool {
		res, err := call("GET", "/v1/asks?session=s1&limit=100", "")
		return err == nil && strings.Count(res.body, `"state":"pending"`) == len(requests)
	})
	waits := start(t, "", "ask", "--question", "And here?", "--option", "yes", "--id", "here", "--dir", pl.dir)
	waits.err.wait(t, "waiting for")

	if code := p.stop(); code != 0 {
		t.Errorf("up: exit %d: %s", code, p.err)
	}
	for range requests {
		res := <-results
		switch {
		case res.err != nil:
			t.Errorf("%s: %v", res.id, res.err)
		case res.status == 503 && res.header.Get("Retry-After") != "":
		case res.status == 202 && res.header.Get("Askbus-State") == "pending":
		case res.id == "mcp" && res.status == 200 && strings.Contains(res.body, "pending"):
		case res.id == "hook" && res.status == 204 && strings.Contains(res.header.Get("Askbus-Reason"), "stopping"):
		default:
			t.Errorf("%s: %d, %v: %s", res.id, res.status, res.header, res.body)
		}
	}
	for err == nil {
		_, _, err = conn.Read(t.Context())
	}
	if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
		t.Errorf("the WebSocket is closed with %d: %v", code, errors.Unwrap(err))
	}
	waits.err.wait(t, "the bus is away")

	pl.up()
	pl.must(0, "answer", "a0", "--session", "s1", "--select", "yes")
	if res, err := call("POST", requests["a0"][0], requests["a0"][1]); err != nil || res.status != 200 || !strings.Contains(res.body, `"yes"`) {
		t.Errorf("the same again at the next process: %+v, %v", res, err)
	}
	pl.must(0, "answer", "here", "--reply", "yes")
	if code := waits.wait(); code != 0 || strings.Contains(waits.err.String(), "level=") || strings.Count(waits.err.String(), "the bus is away") != 1 {
		t.Errorf("exit %d: %s", code, waits.err)
	}
}
