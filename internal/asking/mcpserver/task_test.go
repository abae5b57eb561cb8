package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// taskClient sends requests of a client that knows tasks, or not.
type taskClient func(method, params string) map[string]any

const knowsTasks, knowsNone = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `{}`

func request(method, params, capabilities string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s},%s}}`, method, capabilities, params)
}

func result(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var reply struct {
		Result map[string]any `json:"result"`
		Error  map[string]any `json:"error"`
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if reply.Error != nil {
		return reply.Error
	}
	return reply.Result
}

// taskClients returns clients on both transports.
func (f *fixture) taskClients(capabilities string) map[string]taskClient {
	f.t.Helper()
	url, _ := f.serve()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	server, who := f.server, f.who // a test sets others afterwards
	go func() {
		_ = server.Run(f.t.Context(), who, inR, outW)
		_ = outW.Close()
	}()
	f.t.Cleanup(func() { _ = inW.Close() })
	lines := bufio.NewReader(outR)
	return map[string]taskClient{
		"HTTP": func(method, params string) map[string]any {
			f.t.Helper()
			body := request(method, params, capabilities)
			req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
			if err != nil {
				f.t.Fatal(err)
			}
			for name, value := range map[string]string{
				"Authorization": "Bearer good", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
				"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method,
			} {
				req.Header.Set(name, value)
			}
			if method == "tools/call" {
				req.Header.Set("Mcp-Name", "AskUserQuestion")
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				f.t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			all, err := io.ReadAll(res.Body)
			if err != nil {
				f.t.Fatal(err)
			}
			for line := range strings.Lines(string(all)) { // a stream, with one response
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					all = []byte(data)
				}
			}
			return result(f.t, all)
		},
		"stdio": func(method, params string) map[string]any {
			f.t.Helper()
			if _, err := io.WriteString(inW, request(method, params, capabilities)+"\n"); err != nil {
				f.t.Fatal(err)
			}
			line, err := lines.ReadBytes('\n')
			if err != nil {
				f.t.Fatal(err)
			}
			return result(f.t, line)
		},
	}
}

func call(id, more string) string {
	return `"name":"AskUserQuestion","arguments":{"ask_id":"` + id + `"` + more + `,"questions":[{"question":"Which?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}`
}

func TestAQuestionIsATaskForClientsThatKnowTasks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{Link: func(k ask.Key) string { return "https://bus.example.com/ask/" + k.ID }})
	for name, client := range f.taskClients(knowsTasks) {
		id := "ask-" + name
		for range 2 { // the same call again is the same task
			made := client("tools/call", call(id, ""))
			if made["resultType"] != "task" || made["taskId"] != id || made["status"] != "working" || made["content"] != nil {
				t.Fatalf("%s: %v", name, made)
			}
			if at, err := time.Parse(time.RFC3339, fmt.Sprint(made["createdAt"])); err != nil || time.Since(at) > time.Hour || made["ttlMs"].(float64) < float64(time.Hour.Milliseconds()) || made["pollIntervalMs"] != 2000.0 {
				t.Errorf("%s: %v", name, made)
			}
		}
		if now := client("tasks/get", `"taskId":"`+id+`"`); now["resultType"] != "complete" || now["status"] != "working" || now["result"] != nil || now["statusMessage"] != "https://bus.example.com/ask/"+id {
			t.Errorf("%s: %v", name, now)
		}
		if done := client("tasks/update", `"taskId":"`+id+`","inputResponses":{}`); done["resultType"] != "complete" {
			t.Errorf("%s: %v", name, done)
		}
		f.screen.Choose(f.screen.Next(board.Pending), "o2")
		for range 2 {
			now := client("tasks/get", `"taskId":"`+id+`"`)
			inner, _ := now["result"].(map[string]any)
			if now["status"] != "completed" || inner["resultType"] != "complete" || !strings.Contains(fmt.Sprint(inner["content"]), `"Which?"="B"`) || inner["isError"] == true {
				t.Errorf("%s: %v", name, now)
			}
		}
		if again := client("tools/call", call(id, "")); again["resultType"] != "complete" || !strings.Contains(fmt.Sprint(again["content"]), `"Which?"="B"`) {
			t.Errorf("%s: an ended question: %v", name, again)
		}
		if done := client("tasks/cancel", `"taskId":"`+id+`"`); done["resultType"] != "complete" {
			t.Errorf("%s: too late: %v", name, done)
		}

		client("tools/call", call(id+"-2", ""))
		f.screen.Next(board.Pending)
		if done := client("tasks/cancel", `"taskId":"`+id+`-2"`); done["resultType"] != "complete" {
			t.Errorf("%s: %v", name, done)
		}
		if now := client("tasks/get", `"taskId":"`+id+`-2"`); now["status"] != "cancelled" || now["result"] != nil {
			t.Errorf("%s: %v", name, now)
		}
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			for _, unknown := range []string{"none", "", "a.b"} {
				if no := client(method, `"taskId":"`+unknown+`"`); no["code"] != -32602.0 {
					t.Errorf("%s: %s of %q: %v", name, method, unknown, no)
				}
			}
		}
		// An agent that says how long it waits gets what it says.
		if now := client("tools/call", call(id+"-3", `,"wait_seconds":0`)); now["resultType"] != "complete" || !strings.Contains(fmt.Sprint(now["structuredContent"]), "pending") {
			t.Errorf("%s: %v", name, now)
		}
		f.screen.Next(board.Pending)
	}
}

func TestAQuestionIsNoTaskForOtherClients(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	for name, client := range f.taskClients(knowsNone) {
		f.soon()
		if got := client("tools/call", call("ask-"+name, "")); got["resultType"] != "complete" || !strings.Contains(fmt.Sprint(got["content"]), `"Which?"="A"`) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A task of another session is unknown.
func TestATaskIsItsSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	f.taskClients(knowsTasks)["HTTP"]("tools/call", call("mine", ""))
	f.who.Session = "s2"
	f.server = mcpserver.New(natstest.Opener{Conn: f.bus.Agent("acme", "s2")}, mcpserver.Options{Logger: natstest.Logger()})
	other := f.taskClients(knowsTasks)["HTTP"]
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		if no := other(method, `"taskId":"mine"`); no["code"] != -32602.0 {
			t.Errorf("%s: %v", method, no)
		}
	}
	if rec := f.screen.Next(board.Pending); rec.Ask.ID != "mine" {
		t.Errorf("pending is %+v", rec.Ask)
	}
}
