package gateway_test

import (
	"encoding/json"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
)

func TestA2A(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	call := func(secret, method, params string) reply {
		t.Helper()
		return d.do(secret, "POST", "/a2a?wait=0", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
	}
	d.do("", "GET", "/.well-known/agent-card.json", "").want(t, 200, `/a2a"`, `"protocolBinding":"JSONRPC"`)

	const send = `{"message":{"messageId":"m1","contextId":"s1","role":"ROLE_USER","parts":[{"text":"I deploy."},{"data":{"questions":[{"id":"db","text":"Which?","options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}]}}]}}`
	for range 2 { // the same message again is the same task
		call(agent, "SendMessage", send).want(t, 200, `"id":7`, `"task":{"id":"s1/m1"`, "TASK_STATE_INPUT_REQUIRED", `"id":"db"`)
	}
	call(screen, "GetTask", `{"id":"s1/m1"}`).want(t, 200, `"result":{"id":"s1/m1"`, "TASK_STATE_INPUT_REQUIRED", "I deploy.")
	call(agent, "SendMessage", `{"message":{"messageId":"m2","taskId":"s1/m1","parts":[{"text":"2"}]}}`).want(t, 403, "beyond it")
	call(screen, "SendMessage", `{"message":{"messageId":"m2","taskId":"s1/m1","parts":[{"text":"perhaps: x"},{"data":{"answers":[{"question_id":"db","selected":["z"]}]}}]}}`).want(t, 200, `"code":-32602`)
	for range 2 { // and the same answer again the same answer
		call(screen, "SendMessage", `{"message":{"messageId":"m3","taskId":"s1/m1","parts":[{"text":"2"}]}}`).want(t, 200, "TASK_STATE_COMPLETED", `"selected":["b"]`)
	}
	call(screen, "SendMessage", `{"message":{"messageId":"m4","taskId":"s1/m1","parts":[{"text":"1"}]}}`).want(t, 200, `"code":-32002`)
	call(agent, "GetTask", `{"id":"s1/m1"}`).want(t, 200, "TASK_STATE_COMPLETED", `"artifacts":[`)

	// Version 0.3.
	call(agent, "message/send", `{"message":{"kind":"message","messageId":"m5","role":"user","parts":[{"kind":"text","text":"Which branch?"}]}}`).
		want(t, 200, `"kind":"task"`, `"state":"input-required"`, `"kind":"text"`, `"role":"agent"`)
	waiting := d.meanwhile(agent, "POST", "/a2a?wait=1m", `{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{"id":"s1/m5"}}`)
	d.answers(d.key("s1", "m5"), ask.Answer{QuestionID: "q1", Text: "main"})
	(<-waiting).want(t, 200, `"id":"x"`, `"state":"completed"`, `"text":"main"`)

	call(agent, "SendMessage", `{"message":{"messageId":"m6","parts":[{"text":"Forget it?"}]}}`).want(t, 200, "TASK_STATE_INPUT_REQUIRED")
	call(agent, "CancelTask", `{"id":"s1/m6"}`).want(t, 200, "TASK_STATE_CANCELED", "its task was cancelled")
	call(agent, "CancelTask", `{"id":"s1/m1"}`).want(t, 200, `"code":-32002`)
	call(screen, "SendMessage", `{"message":{"messageId":"m7","parts":[{"text":"May I ask?"}]}}`).want(t, 403)

	for body, code := range map[string]string{
		`{`: "-32700", `[]`: "-32600", `{"jsonrpc":"1.0","method":"GetTask"}`: "-32600", `{"jsonrpc":"2.0","method":"x"}`: "-32601",
		`{"jsonrpc":"2.0","method":"GetTask","params":{}}`: "-32602", `{"jsonrpc":"2.0","method":"GetTask","params":{"id":"none"}}`: "-32001",
		`{"jsonrpc":"2.0","method":"GetTask","params":{"id":"s1/none"}}`: "-32001", `{"jsonrpc":"2.0","method":"SendMessage","params":{"message":{"messageId":"e","parts":[]}}}`: "-32602",
		`{"jsonrpc":"2.0","method":"SendStreamingMessage","params":{}}`: "-32004", `{"jsonrpc":"2.0","method":"SendMessage","params":7}`: "-32602",
	} {
		res := d.do(agent, "POST", "/a2a", body).want(t, 200, `"code":`+code, `"id":null`)
		if !json.Valid([]byte(res.body)) {
			t.Errorf("%s gives %s", body, res.body)
		}
	}
	d.do("", "POST", "/a2a", `{}`).want(t, 401)
	only := d.token(token.Token{Role: token.Agent, Sessions: []string{"s1"}, Endpoints: []token.Endpoint{token.HTTP}})
	d.do(only, "POST", "/a2a", `{}`).want(t, 403, "a2a")
	call(d.agent("s2"), "GetTask", `{"id":"s1/m1"}`).want(t, 403)
}
