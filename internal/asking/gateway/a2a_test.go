package gateway_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
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
	call(screen, "SendMessage", `{"message":{"messageId":"m4","taskId":"s1/m1","parts":[{"text":"1"}]}}`).want(t, 200, `"code":-32004`)
	call(agent, "GetTask", `{"id":"s1/m1"}`).want(t, 200, "TASK_STATE_COMPLETED", `"artifacts":[`)

	// Version 0.3.
	call(agent, "message/send", `{"message":{"kind":"message","messageId":"m5","role":"user","parts":[{"kind":"text","text":"Which branch?"}]}}`).
		want(t, 200, `"kind":"task"`, `"state":"input-required"`, `"kind":"text"`, `"role":"agent"`)
	waiting := d.meanwhile(agent, "POST", "/a2a?wait=1m", `{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{"id":"s1/m5"}}`)
	d.answers(d.key("s1", "m5"), ask.Answer{QuestionID: "q1", Text: "main"})
	(<-waiting).want(t, 200, `"id":"x"`, `"state":"completed"`, `"text":"main"`)

	// A message without a context begins one, unless its token or the address names the session.
	everywhere := d.token(token.Token{Role: token.Agent, Sessions: []string{"*"}})
	for range 2 {
		call(everywhere, "SendMessage", `{"message":{"messageId":"c1","parts":[{"text":"Which?"}]}}`).want(t, 200, `"id":"c1/c1"`, `"contextId":"c1"`)
	}
	d.do(everywhere, "POST", "/a2a?wait=0&session=s9", `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"c1","parts":[{"text":"Which?"}]}}}`).want(t, 200, `"id":"s9/c1"`)

	call(agent, "SendMessage", `{"message":{"messageId":"m6","parts":[{"text":"Forget it?"}]}}`).want(t, 200, "TASK_STATE_INPUT_REQUIRED")
	call(agent, "CancelTask", `{"id":"s1/m6"}`).want(t, 200, "TASK_STATE_CANCELED", "its task was cancelled")
	call(agent, "CancelTask", `{"id":"s1/m1"}`).want(t, 200, `"code":-32002`)
	call(screen, "SendMessage", `{"message":{"messageId":"m7","parts":[{"text":"May I ask?"}]}}`).want(t, 403)

	// Questions in native JSON are read as at /v1/asks: what is misspelt or wrong is named where it stands.
	call(agent, "SendMessage", `{"message":{"messageId":"w1","parts":[{"text":"I deploy."},{"data":{"questions":[{"text":"Deploy?","option":[]}],"min_prof":"os","timeout":"0s"}}]}}`).
		want(t, 200, `"code":-32602`, "/message/parts/1/data/min_prof", "/message/parts/1/data/timeout", "/message/parts/1/data/questions/0/option")
	call(agent, "SendMessage", `{"message":{"messageId":"w2","parts":[{"data":{"questions":[{"text":"Deploy?"}],"audience":["oidc:mei"],"metadata":{"build":"42"}}}]}}`).
		want(t, 200, `"code":-32602`, "/message/parts/0/data/audience/0", `is \"oidc:mei\", which is nobody`)
	d.do(agent, "POST", "/v1/asks?dialect=a2a&session=s1", `{"messageId":"w3","parts":[{"data":{"questions":[{"text":"Deploy?"}],"require_responder":true,"metadata":{"build":"42"}}}]}`).want(t, 503, "nobody_there")
	call(agent, "SendMessage", `{"message":{"messageId":"w4","parts":[{"data":{"questions":[{"text":"Deploy?"}],"metadata":{"build":"42"}}}]}}`).want(t, 200, "INPUT_REQUIRED")
	d.do(screen, "GET", "/v1/asks/s1/w4", "").want(t, 200, `"build":"42"`)

	for body, code := range map[string]string{
		`{`: "-32700", `[]`: "-32600", `{"jsonrpc":"1.0","method":"GetTask"}`: "-32600", `{"jsonrpc":"2.0","method":"x"}`: "-32601",
		`{"jsonrpc":"2.0","method":"GetTask","params":{}}`: "-32602", `{"jsonrpc":"2.0","method":"GetTask","params":{"id":"none"}}`: "-32001",
		`{"jsonrpc":"2.0","method":"GetTask","params":{"id":"s1/none"}}`: "-32001", `{"jsonrpc":"2.0","method":"SendMessage","params":{"message":{"messageId":"e","parts":[]}}}`: "-32602",
		`{"jsonrpc":"2.0","method":"SendStreamingMessage","params":{}}`: "-32602", `{"jsonrpc":"2.0","method":"SubscribeToTask","params":{"id":"s1/none"}}`: "-32001", `{"jsonrpc":"2.0","method":"SendMessage","params":7}`: "-32602",
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

// A list has the task that changed last first, a page at a time, and only what its caller may see.
func TestA2ALists(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	call := func(secret, method, params string) reply {
		t.Helper()
		return d.do(secret, "POST", "/a2a?wait=0", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
	}
	send := func(secret, session, id string) {
		t.Helper()
		call(secret, "SendMessage", `{"message":{"messageId":"`+id+`","contextId":"`+session+`","role":"ROLE_USER","parts":[{"text":"`+id+`?"}]}}`).want(t, 200, "TASK_STATE_INPUT_REQUIRED")
	}
	type listed struct {
		Tasks []struct {
			ID     string `json:"id"`
			Status struct {
				State     string    `json:"state"`
				Timestamp time.Time `json:"timestamp"`
			} `json:"status"`
		} `json:"tasks"`
		Next  *string `json:"nextPageToken"`
		Size  int     `json:"pageSize"`
		Total int     `json:"totalSize"`
	}
	list := func(secret, params string) (ids []string, page listed) {
		t.Helper()
		var got struct {
			Result listed `json:"result"`
		}
		if err := json.Unmarshal([]byte(call(secret, "ListTasks", params).want(t, 200, `"result":{`).body), &got); err != nil {
			t.Fatal(err)
		}
		if got.Result.Next == nil {
			t.Error("nextPageToken is missing")
		}
		for _, task := range got.Result.Tasks {
			if task.Status.Timestamp.IsZero() {
				t.Errorf("%s has no time", task.ID)
			}
			ids = append(ids, task.ID)
		}
		return ids, got.Result
	}
	is := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	if ids, page := list(agent, `{}`); len(ids) != 0 || page.Tasks == nil || page.Total != 0 || page.Size != 50 {
		t.Errorf("without tasks: %v, %+v", ids, page)
	}
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		send(agent, "s1", id)
	}
	send(d.agent("s2"), "s2", "other")
	d.answers(d.key("s1", "m2"), ask.Answer{QuestionID: "q1", Text: "main"})
	d.declines(d.key("s1", "m1"), "no")

	ids, page := list(agent, `{}`)
	is("all of the session", ids, "s1/m1", "s1/m2", "s1/m4", "s1/m3")
	if page.Tasks[0].Status.State != "TASK_STATE_REJECTED" || page.Tasks[1].Status.State != "TASK_STATE_COMPLETED" || *page.Next != "" || page.Total != 4 {
		t.Errorf("the page: %+v", page)
	}
	var paged []string
	for params := `{"pageSize":3}`; params != ""; {
		ids, page := list(agent, params)
		if paged = append(paged, ids...); page.Total != 4 || page.Size != 3 || len(ids) > 3 {
			t.Errorf("a page: %+v", page)
		}
		if params = ""; *page.Next != "" {
			params = `{"pageSize":3,"pageToken":"` + *page.Next + `"}`
		}
	}
	is("in pages", paged, "s1/m1", "s1/m2", "s1/m4", "s1/m3")
	ids, _ = list(agent, `{"status":"TASK_STATE_INPUT_REQUIRED"}`)
	is("those that wait", ids, "s1/m4", "s1/m3")
	ids, _ = list(agent, `{"status":"TASK_STATE_COMPLETED","contextId":"s1"}`)
	is("those that are answered", ids, "s1/m2")
	ids, _ = list(agent, `{"status":"TASK_STATE_WORKING"}`)
	is("a state that no task has", ids)
	ids, _ = list(agent, `{"statusTimestampAfter":"2999-01-01T00:00:00Z"}`)
	is("later ones", ids)
	ids, _ = list(d.agent("s1", "s2"), `{"status":"TASK_STATE_INPUT_REQUIRED"}`)
	is("of both sessions", ids, "s2/other", "s1/m4", "s1/m3")
	ids, _ = list(d.agent("s1", "s2"), `{"contextId":"s2"}`)
	is("of one of them", ids, "s2/other")
	ids, _ = list(d.agent("s3"), `{}`)
	is("of another session", ids)
	call(agent, "ListTasks", `{"contextId":"s2"}`).want(t, 403)

	if body := call(agent, "ListTasks", `{}`).body; strings.Contains(body, "artifacts") {
		t.Errorf("it has artifacts that nobody asked for: %s", body)
	}
	call(agent, "ListTasks", `{"includeArtifacts":true,"status":"TASK_STATE_COMPLETED"}`).want(t, 200, `"artifacts":[{"artifactId":"answer"`)
	call(agent, "ListTasks", `{"includeArtifacts":true,"status":"TASK_STATE_INPUT_REQUIRED"}`).want(t, 200, `"artifacts":[]`)
	d.do(agent, "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"ListTasks"}`).want(t, 200, `"totalSize":4`)
	for params, says := range map[string]string{
		`{"pageSize":0}`: "pageSize is 0", `{"pageSize":101}`: "1 to 100", `{"pageToken":"x"}`: "nextPageToken", `{"pageToken":"MjAyNiB4"}`: "nextPageToken",
		`{"status":"working"}`: "TASK_STATE_WORKING", `{"statusTimestampAfter":"today"}`: "RFC 3339", `7`: "contextId",
	} {
		call(agent, "ListTasks", params).want(t, 200, `"code":-32602`, says)
	}
}

// What others ask does not count in what one call may look at.
func TestA2AListsATokensTasksAmongManyOfOthers(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	crowd, err := client.New(d.bus.Agent("acme", "crowd"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for i := range 21 {
		asking.Go(func() {
			for n := range 100 {
				if _, err := crowd.Session("acme", "crowd").Ask(t.Context(), ask.Ask{ID: fmt.Sprintf("c%d-%d", i, n), Questions: []ask.Question{{Kind: ask.KindText, Text: "?"}}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	asking.Wait()
	call := func(secret, params string) reply {
		return d.do(secret, "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"ListTasks","params":`+params+`}`)
	}
	few := d.agent("ci-1", "ci-2")
	d.do(few, "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m1","contextId":"ci-1","role":"ROLE_USER","parts":[{"text":"Which?"}]}}}`).want(t, 200, "TASK_STATE_INPUT_REQUIRED")
	for what, secret := range map[string]string{"two sessions": few, "a pattern": d.agent("ci-*")} {
		if body := call(secret, `{}`).body; !strings.Contains(body, `"totalSize":1`) {
			t.Errorf("%s: %s", what, body)
		}
	}
	call(d.agent("*"), `{}`).want(t, 200, `"code":-32602`, "too many asks")
	call(d.agent("*"), `{"contextId":"ci-1"}`).want(t, 200, `"totalSize":1`)
}

// A stream has the task, and when somebody has answered, its artifact and its last status.
func TestA2AStreams(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	call := func(method, params string) (first string, rest func() string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/a2a?wait=1m", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+agent)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultTransport.RoundTrip(req) // d.http reads the whole response before it returns it
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		in := bufio.NewReader(res.Body)
		if first, err = in.ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return first, func() string {
			all, err := io.ReadAll(in)
			if err != nil {
				t.Error(err)
			}
			return string(all)
		}
	}
	says := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("it does not say %s:\n%s", part, text)
			}
		}
	}
	send := func(id string) string {
		return `{"message":{"messageId":"` + id + `","contextId":"s1","role":"ROLE_USER","parts":[{"data":{"questions":[{"id":"db","text":"Which?","options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}]}}]}}`
	}
	first, asked := call("SendStreamingMessage", send("m1"))
	says(first, `data: {"jsonrpc":"2.0","id":7,"result":{"task":{"id":"s1/m1"`, "TASK_STATE_INPUT_REQUIRED")
	_, again := call("SubscribeToTask", `{"id":"s1/m1"}`)
	first, old := call("tasks/resubscribe", `{"id":"s1/m1"}`)
	says(first, `"kind":"task"`, `"state":"input-required"`)
	d.answers(d.key("s1", "m1"), ask.Answer{QuestionID: "db", Selected: []string{"b"}})
	for _, stream := range []func() string{asked, again} {
		says(stream(), `"result":{"artifactUpdate":{"artifact":{"artifactId":"answer"`, `"lastChunk":true`, `"result":{"statusUpdate":{"contextId":"s1","status":{"state":"TASK_STATE_COMPLETED"`)
	}
	says(old(), `"kind":"artifact-update"`, `"final":true`, `"kind":"status-update"`, `"state":"completed"`)
	first, _ = call("SubscribeToTask", `{"id":"s1/m1"}`)
	says(first, `"code":-32004`, "has ended")

	_, asked = call("SendStreamingMessage", send("m2"))
	d.do(agent, "POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"s1/m2"}}`).want(t, 200, "TASK_STATE_CANCELED")
	says(asked(), `"statusUpdate"`, "TASK_STATE_CANCELED")
	d.do(screen, "POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":`+send("m3")+`}`).want(t, 403)
}

// A vote that decides nothing is a status, with the sentence that everybody reads.
func TestA2AStreamsTellVotes(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	c, err := client.New(d.bus.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	deploy := ask.Ask{ID: "d1", Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"}}, Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"os:mei", "os:jo"}}}}}
	if _, err := c.Session("acme", "s1").Ask(t.Context(), deploy); err != nil {
		t.Fatal(err)
	}
	d.pending("s1", "d1")
	subscribe := func(method string) (until func(parts ...string)) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/a2a", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{"id":"s1/d1"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+agent)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		in := bufio.NewReader(res.Body)
		return func(parts ...string) {
			t.Helper()
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					t.Fatalf("no event with %q: %v", parts, err)
				}
				if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
					return
				}
			}
		}
	}
	vote := func(name string) error {
		_, err := d.people.Answer(t.Context(), d.key("s1", "d1"), ask.Reply{By: ask.By{Principal: "os:" + strings.ToLower(name), Name: name, Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "go", Boolean: new(true)}}})
		return err
	}
	now, old := subscribe("SubscribeToTask"), subscribe("tasks/resubscribe")
	now(`"task"`, "0 of 2 approvals")
	old(`"kind":"task"`)
	if err := vote("Mei"); !errors.Is(err, ask.ErrVoted) {
		t.Fatal(err)
	}
	now(`"statusUpdate"`, "TASK_STATE_INPUT_REQUIRED", "1 of 2 approvals: Mei; 1 more needed from os:jo")
	old(`"kind":"status-update"`, `"final":false`, "1 of 2 approvals: Mei; 1 more needed from os:jo")
	if err := vote("Jo"); err != nil {
		t.Fatal(err)
	}
	now(`"statusUpdate"`, "TASK_STATE_COMPLETED")
	old(`"final":true`, `"state":"completed"`)
}

// registered registers a callback, as "askbus webhook" does.
func (d *fixture) registered(name string, cb wire.Callback) {
	d.t.Helper()
	names := state.Open(d.bus.Responder("webhook"), state.Responder("webhook", ""), state.Callbacks)
	if _, err := names.Put(d.t.Context(), state.Key{Tenant: "acme", Name: name}, cb, 0); err != nil {
		d.t.Fatal(err)
	}
}

// A2A clients are notified at addresses of registered callbacks only.
func TestA2APushNotificationConfigurations(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	d := open(t, gateway.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	agent, screen := d.agent("s1"), d.screen("s1")
	call := func(secret, method, params string) reply {
		t.Helper()
		return d.do(secret, "POST", "/a2a?wait=1m", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
	}
	send := func(id, config string) string {
		return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"Which?"}]},"configuration":` + config + `}`
	}
	const url = "https://agents.example.com/a2a?x=1"
	none := d.do("", "GET", "/.well-known/agent-card.json", "").want(t, 200, `"streaming":true`, `"pushNotifications":false`)
	call(agent, "SendMessage", send("m0", `{"taskPushNotificationConfig":{"url":"`+url+`"}}`)).want(t, 200, `"code":-32003`, "askbus webhook")

	d.registered("builder", wire.Callback{Address: wire.CallbackAddress(url)})
	d.registered("ci", wire.Callback{Address: wire.CallbackAddress("https://ci.example.com/"), Tokens: []string{"another"}})
	if again := d.do("", "GET", "/.well-known/agent-card.json", ""); again.body != none.body {
		t.Error("everybody may make the gateway look for callbacks")
	}
	ahead.Store(int64(time.Minute))
	d.do("", "GET", "/.well-known/agent-card.json", "").want(t, 200, `"pushNotifications":true`)
	for config, why := range map[string]string{
		`{"url":"https://evil.example.com/"}`:                                "registered: builder\"",
		`{"url":"https://ci.example.com/"}`:                                  "registered: builder\"",
		`{"url":""}`:                                                         "url is missing",
		`{"url":"` + url + `","token":"a b"}`:                                "visible ASCII",
		`{"url":"` + url + `","id":"` + strings.Repeat("x", 201) + `"}`:      "id has more than 200 bytes",
		`{"url":"` + url + `","authentication":{"scheme":"Bearer"}}`:         "authentication is not supported",
		`{"url":"` + url + `","authentication":{"schemes":["Bearer"]}}`:      "authentication is not supported",
		`{"url":"` + strings.Repeat("https://agents.example.com", 99) + `"}`: "more than 1500 bytes",
	} {
		call(agent, "SendMessage", send("m0", `{"taskPushNotificationConfig":`+config+`}`)).want(t, 200, `"code":-32602`, why)
	}
	call(agent, "GetTask", `{"id":"s1/m0"}`).want(t, 200, `"code":-32001`) // nothing was asked

	// With the message, it returns at once; by then the configuration is stored.
	for range 2 {
		call(agent, "SendMessage", send("m1", `{"taskPushNotificationConfig":{"id":"one","url":"`+url+`","token":"secret"}}`)).want(t, 200, "TASK_STATE_INPUT_REQUIRED")
	}
	call(agent, "CreateTaskPushNotificationConfig", `{"taskId":"s1/m1","url":"`+url+`"}`).want(t, 200, `"result":{"taskId":"s1/m1","id":"builder","url":"`+url+`"}`)
	call(agent, "tasks/pushNotificationConfig/set", `{"taskId":"s1/m1","pushNotificationConfig":{"id":"old","url":"`+url+`","token":"other"}}`).
		want(t, 200, `"result":{"pushNotificationConfig":{"id":"old","url":"`+url+`"},"taskId":"s1/m1"}`)
	call(agent, "ListTaskPushNotificationConfigs", `{"taskId":"s1/m1"}`).want(t, 200, `"configs":[{"taskId":"s1/m1","id":"one"`, `"id":"builder"`, `"id":"old"`)
	call(agent, "tasks/pushNotificationConfig/list", `{"id":"s1/m1"}`).want(t, 200, `"result":[{"pushNotificationConfig":{"id":"one"`)
	call(agent, "GetTaskPushNotificationConfig", `{"taskId":"s1/m1","id":"one"}`).want(t, 200, `"result":{"taskId":"s1/m1","id":"one","url":"`+url+`"}`)
	call(agent, "tasks/pushNotificationConfig/get", `{"id":"s1/m1"}`).want(t, 200, `{"id":"one","url":"`+url+`"}`)
	call(agent, "tasks/pushNotificationConfig/get", `{"id":"s1/m1","pushNotificationConfigId":"two"}`).want(t, 200, `"code":-32001`, `\"two\"`)
	call(agent, "CreateTaskPushNotificationConfig", `{"taskId":"s1/m1","id":"four","url":"`+url+`"}`).want(t, 200, `"id":"four"`)
	call(agent, "CreateTaskPushNotificationConfig", `{"taskId":"s1/m1","id":"five","url":"`+url+`"}`).want(t, 200, `"code":-32602`, "delete one")
	call(agent, "DeleteTaskPushNotificationConfig", `{"taskId":"s1/m1","id":"builder"}`).want(t, 200, `"result":{}`)
	for range 2 {
		call(agent, "tasks/pushNotificationConfig/delete", `{"id":"s1/m1","pushNotificationConfigId":"four"}`).want(t, 200, `"result":null`)
	}
	held, err := state.Open(d.bus.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.TaskPushes).List(t.Context())
	if err != nil || len(held) != 1 {
		t.Fatalf("%v, %v", held, err)
	}
	for _, part := range []string{`"configs":[{"id":"one","callback":"builder","url":"` + url + `","token":"secret"},{"id":"old","callback":"builder","url":"` + url + `","token":"other","v03":true}]`} {
		if !strings.Contains(string(held[0].Value), part) {
			t.Errorf("it holds %s", held[0].Value)
		}
	}

	for _, method := range []string{"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"} {
		for _, secret := range []string{screen, d.agent("s2")} {
			call(secret, method, `{"taskId":"s1/m1","id":"one","url":"`+url+`"}`).want(t, 403)
		}
		call(agent, method, `{"taskId":"s1/none","id":"one","url":"`+url+`"}`).want(t, 200, `"code":-32001`)
		call(agent, method, `7`).want(t, 200, `"code":-32602`)
	}
	call(agent, "tasks/pushNotificationConfig/set", `{"taskId":"s1/m1"}`).want(t, 200, `"code":-32602`)
	call(agent, "set", `{"taskId":"s1/m1"}`).want(t, 200, `"code":-32601`)
	d.do(agent, "POST", "/v1/asks", database).want(t, 201)
	call(agent, "CreateTaskPushNotificationConfig", `{"taskId":"s1/deploy-42","url":"`+url+`"}`).want(t, 200, `"code":-32004`, "asked by A2A")
	d.answers(d.key("s1", "m1"), ask.Answer{QuestionID: "q1", Text: "main"})
	call(agent, "CreateTaskPushNotificationConfig", `{"taskId":"s1/m1","url":"`+url+`"}`).want(t, 200, `"code":-32004`, "has ended")
	call(agent, "SendMessage", send("m1", `{"taskPushNotificationConfig":{"url":"`+url+`"}}`)).want(t, 200, "TASK_STATE_COMPLETED")
}
