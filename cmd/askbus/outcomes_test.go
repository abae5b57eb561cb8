package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/coder/websocket"
)

// TestWhoCanCauseAnOutcome is the table of docs/guarantees.md: each way to an outcome, tried with
// each credential. A cell is the resulting state of the ask. A way without a cell for every
// credential fails.
func TestWhoCanCauseAnOutcome(t *testing.T) {
	t.Parallel()
	company := newOAuthIssuer(t)
	pl, _ := up(t, "--mcp-rules", company.mcpRules())
	secrets := map[string]string{
		"nobody":        "",
		"access token":  company.token(pl.context().HTTPURL+"/mcp", nil), // an OAuth issuer's, for MCP
		"agent":         pl.token("--role", "agent", "--session", "s1"),
		"host":          pl.token("--role", "host", "--session", "s1", "--principal", "os:ben"),
		"screen":        pl.token("--role", "screen", "--session", "s1", "--principal", "oidc:id.example.com#mei"),
		"other screen":  pl.token("--role", "screen", "--session", "s2", "--principal", "oidc:id.example.com#mei"),
		"responder":     pl.token("--role", "responder", "--principal", "oidc:id.example.com#mei"),
		"operator":      pl.token("--role", "operator", "--principal", "oidc:id.example.com#mei"),
		"agent as host": "", // the agent's token in both headers
		"agent, host":   "", // both
		"access, host":  "", // an access token in place of the agent's
	}
	const (
		open     = "pending"
		mei      = "answered human oidc:id.example.com#mei token"
		declined = "cancelled oidc:id.example.com#mei token"
		ben      = "answered human os:ben host-dialog"
		taken    = "withdrawn"
	)
	cells := map[string]map[string]string{
		"POST …/answer":                   {"nobody": open, "access token": open, "agent": open, "host": open, "screen": mei, "other screen": open, "responder": mei, "operator": mei, "agent as host": open, "agent, host": open, "access, host": open},
		"POST …/answer?dialect=":          {"nobody": open, "access token": open, "agent": open, "host": open, "screen": mei, "other screen": open, "responder": mei, "operator": mei, "agent as host": open, "agent, host": open, "access, host": open},
		"POST …/decline":                  {"nobody": open, "access token": open, "agent": open, "host": open, "screen": declined, "other screen": open, "responder": declined, "operator": declined, "agent as host": open, "agent, host": open, "access, host": open},
		"POST /v1/events":                 {"nobody": open, "access token": open, "agent": open, "host": open, "screen": mei, "other screen": open, "responder": mei, "operator": mei, "agent as host": open, "agent, host": open, "access, host": open},
		"DELETE":                          {"nobody": open, "access token": open, "agent": taken, "host": open, "screen": open, "other screen": open, "responder": open, "operator": taken, "agent as host": taken, "agent, host": taken, "access, host": open},
		"POST /v1/permission PostToolUse": {"nobody": open, "access token": open, "agent": taken, "host": open, "screen": open, "other screen": open, "responder": open, "operator": taken, "agent as host": taken, "agent, host": taken, "access, host": open},
		"POST /v1/hook PostToolUse":       {"nobody": open, "access token": open, "agent": open, "host": open, "screen": open, "other screen": open, "responder": open, "operator": open, "agent as host": open, "agent, host": ben, "access, host": open},
		"POST /v1/hook PermissionRequest": {"nobody": open, "access token": open, "agent": open, "host": open, "screen": open, "other screen": open, "responder": open, "operator": open, "agent as host": open, "agent, host": open, "access, host": open},
		"/mcp form":                       {"nobody": open, "access token": open, "agent": open, "host": open, "screen": open, "other screen": open, "responder": open, "operator": open, "agent as host": open, "agent, host": ben, "access, host": ben},
		"/a2a message":                    {"nobody": open, "access token": open, "agent": open, "host": open, "screen": mei, "other screen": open, "responder": mei, "operator": mei, "agent as host": open, "agent, host": open, "access, host": open},
		"/a2a cancel":                     {"nobody": open, "access token": open, "agent": taken, "host": open, "screen": open, "other screen": open, "responder": open, "operator": taken, "agent as host": taken, "agent, host": taken, "access, host": open},
		"POST /push/subscribe":            {"nobody": open, "access token": open, "agent": open, "host": open, "screen": open, "other screen": open, "responder": open, "operator": open, "agent as host": open, "agent, host": open, "access, host": open},
		"/terminal/credential":            {"nobody": open, "access token": open, "agent": open, "host": open, "screen": open, "other screen": open, "responder": open, "operator": open, "agent as host": open, "agent, host": open, "access, host": open},
		"/ws":                             {"nobody": open, "access token": open, "agent": open, "host": open, "screen": mei, "other screen": open, "responder": mei, "operator": mei, "agent as host": open, "agent, host": open, "access, host": open},
		"web inbox":                       {"nobody": open, "access token": open, "agent": open, "host": open, "screen": open, "other screen": open, "responder": open, "operator": open, "agent as host": open, "agent, host": open, "access, host": open},
	}
	n := 0
	for way, cell := range cells {
		for who := range secrets {
			want, known := cell[who]
			if !known {
				t.Errorf("%s, %s: there is no cell", way, who)
				continue
			}
			credentials := []string{secrets[who]}
			switch who {
			case "agent as host":
				credentials = []string{secrets["agent"], secrets["agent"]}
			case "access, host":
				credentials = []string{secrets["access token"], secrets["host"]}
			case "agent, host":
				credentials = []string{secrets["agent"], secrets["host"]}
			}
			n++
			id := fmt.Sprintf("c%d", n)
			pl.hosted(id, secrets["agent"], secrets["host"])
			pl.act(way, id, credentials)
			if got := pl.read(id, secrets["operator"]); got != want {
				t.Errorf("%s with the credential of %s: the ask is %s, want %s", way, who, got, want)
			}
		}
	}
}

// hosted asks as the agent with its host, so that only the answering credential matters.
func (pl place) hosted(id string, credentials ...string) {
	pl.t.Helper()
	if status, _, body := pl.post("/v1/hook?limit=1ms", strings.ReplaceAll(hookFor("PreToolUse", id), "s-1", "s1"), credentials...); status != http.StatusNoContent {
		pl.t.Fatalf("asking %s: %d %s", id, status, body)
	}
}

// read returns the state of an ask of session s1, read as an operator.
func (pl place) read(id, operator string) string {
	pl.t.Helper()
	req, err := http.NewRequestWithContext(pl.t.Context(), http.MethodGet, pl.context().HTTPURL+"/v1/asks/s1/"+id, nil)
	if err != nil {
		pl.t.Fatal(err)
	}
	req.Header = credentialHeaders(operator)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		pl.t.Fatal(err)
	}
	defer res.Body.Close()
	var st map[string]any
	if err := json.NewDecoder(res.Body).Decode(&st); err != nil || res.StatusCode != http.StatusOK {
		pl.t.Fatalf("reading %s: %s, %v", id, res.Status, err)
	}
	return stateIn(st)
}

// act tries one way to an outcome.
func (pl place) act(way, id string, credentials []string) {
	pl.t.Helper()
	const answer = `{"answers":[{"question_id":"q1","selected":["o2"]}],"by":{"principal":"oidc:ceo","name":"Me"}}`
	post := func(path, body string) { pl.post(path, strings.ReplaceAll(body, "s-1", "s1"), credentials...) }
	switch way {
	case "POST …/answer":
		post("/v1/asks/s1/"+id+"/answer", answer)
	case "POST …/answer?dialect=":
		post("/v1/asks/s1/"+id+"/answer?dialect=claude-code", `{"answers":{"Which database?":"SQLite"}}`)
	case "POST …/decline":
		post("/v1/asks/s1/"+id+"/decline", `{}`)
	case "POST /v1/events":
		post("/v1/events", `{"specversion":"1.0","id":"e","source":"x","partitionkey":"default/s1","subject":"`+id+`","type":"dev.askbus.answer.given.v1","data":`+answer+`}`)
	case "DELETE":
		req, err := http.NewRequestWithContext(pl.t.Context(), http.MethodDelete, pl.context().HTTPURL+"/v1/asks/s1/"+id, nil)
		if err != nil {
			pl.t.Fatal(err)
		}
		req.Header = credentialHeaders(credentials...)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			pl.t.Fatal(err)
		}
		_ = res.Body.Close()
	case "POST /v1/permission PostToolUse":
		post("/v1/permission", hookFor("PostToolUse", id, toolResponse))
	case "POST /v1/hook PostToolUse":
		post("/v1/hook", hookFor("PostToolUse", id, toolResponse))
	case "POST /v1/hook PermissionRequest":
		post("/v1/hook?limit=1ms", hookFor("PermissionRequest", id, toolResponse))
	case "/mcp form":
		pl.form(id, credentials)
	case "/a2a message":
		post("/a2a?wait=0", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-`+id+`","taskId":"s1/`+id+`","parts":[{"text":"2"}]}}}`)
	case "/a2a cancel":
		post("/a2a?wait=0", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"s1/`+id+`"}}`)
	case "POST /push/subscribe":
		post("/push/subscribe", `{"endpoint":"https://fcm.googleapis.com/x","keys":{}}`)
	case "/terminal/credential":
		post("/terminal/credential", `{}`)
	case "/ws":
		pl.socket(id, credentials)
	case "web inbox":
		post("/ask/default/s1/"+id+"/answer", "s.q1=o:o2")
	default:
		pl.t.Fatalf("nobody knows the way %s", way)
	}
}

// form submits a filled-in form.
func (pl place) form(id string, credentials []string) {
	pl.t.Helper()
	params := which(id)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": params.Name, "arguments": params.Arguments, "requestState": id,
		"inputResponses": map[string]any{"answer": map[string]any{"action": "accept", "content": map[string]any{"q1": "o2"}}},
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "t", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
		},
	}})
	if err != nil {
		pl.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(pl.t.Context(), http.MethodPost, pl.context().HTTPURL+"/mcp?elicit=true&session=s1", strings.NewReader(string(body)))
	if err != nil {
		pl.t.Fatal(err)
	}
	req.Header = credentialHeaders(credentials...)
	for name, value := range map[string]string{"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": params.Name} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		pl.t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // a call that is still pending waits for a second
}

// socket answers over a WebSocket, if it opens.
func (pl place) socket(id string, credentials []string) {
	pl.t.Helper()
	ctx := pl.t.Context()
	conn, res, err := websocket.Dial(ctx, pl.context().HTTPURL+"/ws?session=s1", &websocket.DialOptions{HTTPHeader: credentialHeaders(credentials...)})
	if res != nil && res.Body != nil {
		defer res.Body.Close()
	}
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	for _, frame := range []string{`{"type":"interaction_response","data":{"id":"` + id + `","result":"SQLite","by":"Me"}}`, `{"type":"ping"}`} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			pl.t.Fatal(err)
		}
	}
	for {
		_, body, err := conn.Read(ctx)
		if err != nil || strings.Contains(string(body), `"pong"`) {
			return
		}
	}
}

// TestWhoCanCauseAnOutcomeOnTheBus covers the rows of the same table for NATS credentials and the
// command line.
func TestWhoCanCauseAnOutcomeOnTheBus(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	answer := func(id string) string {
		return `{"specversion":"1.0","id":"1","source":"/x","subject":"` + id + `","type":"dev.askbus.answer.given.v1","data":{"ask_id":"` + id +
			`","answer_id":"b","response":"yes","by":{"principal":"os:ben","proof":"host-dialog"}}}`
	}
	ask := func(id string) {
		pl.must(cli.ExitPending, "ask", "--question", "Deploy?", "--session", "s1", "--id", id, "--wait", "0")
	}
	for id, c := range map[string]struct {
		creds   []string
		subject string
		want    string
	}{
		"agent-as-agent":     {[]string{"agent", "--session", "s1"}, "askv1.default.s1.answer.", "pending"},
		"agent-as-gateway":   {[]string{"agent", "--session", "s1"}, "ansv1.gateway.default.s1.answer.", "pending"},
		"agent-as-native":    {[]string{"agent", "--session", "s1"}, "ansv1.native.default.s1.answer.", "pending"},
		"agent-as-operator":  {[]string{"agent", "--session", "s1"}, "admv1.default.s1.abort.", "pending"},
		"agent-as-host":      {[]string{"agent", "--session", "s1"}, "hostv1.default.s1.answer.", "pending"},
		"host-elsewhere":     {[]string{"host", "--session", "s2"}, "hostv1.default.s1.answer.", "pending"},
		"host-as-native":     {[]string{"host", "--session", "s1"}, "ansv1.native.default.s1.answer.", "pending"},
		"host-as-web":        {[]string{"host", "--session", "s1"}, "ansv1.web.default.s1.answer.", "pending"},
		"host":               {[]string{"host", "--session", "s1"}, "hostv1.default.s1.answer.", "answered human os:ben host-dialog"},
		"host-of-another":    {[]string{"host", "--session", "s1", "--asserts", "host-dialog=os:mei"}, "hostv1.default.s1.answer.", "pending"},
		"native-screen":      {[]string{"responder", "--type", "native", "--session", "s1"}, "ansv1.native.default.s1.answer.", "pending"},
		"native":             {[]string{"responder", "--type", "native"}, "ansv1.native.default.s1.answer.", "answered human os:ben host-dialog"},
		"web-screen":         {[]string{"responder", "--type", "web", "--session", "s1"}, "ansv1.web.default.s1.answer.", "pending"},
		"web":                {[]string{"responder", "--type", "web"}, "ansv1.web.default.s1.answer.", "pending"},
		"other-type":         {[]string{"responder", "--type", "teams"}, "ansv1.teams.default.s1.answer.", "pending"},
		"other-type-asserts": {[]string{"responder", "--type", "teams", "--asserts", "host-dialog=os:*"}, "ansv1.teams.default.s1.answer.", "answered human os:ben host-dialog"},
		"gateway-as-gateway": {[]string{"gateway"}, "ansv1.gateway.default.s1.answer.", "pending"},
		"gateway-as-web":     {[]string{"gateway"}, "ansv1.web.default.s1.answer.", "pending"},
		"operator-as-web":    {[]string{"operator"}, "ansv1.web.default.s1.answer.", "pending"},
		"operator":           {[]string{"operator"}, "ansv1.operator.default.s1.answer.", "pending"},
	} {
		ask(id)
		nc, _ := pl.plain(c.creds...)
		limit := waittest.Limit
		if c.want == "pending" {
			limit = 300 * time.Millisecond // what is not allowed is not answered
		}
		_, _ = nc.RequestMsg(natstest.Signed(t, nc, request(c.subject+id, answer(id))), limit)
		if got := pl.state("s1/" + id); got != c.want {
			t.Errorf("%s: the ask is %s, want %s", id, got, c.want)
		}
	}
	out, _, _ := pl.run("auth", "agent", "--session", "s1", "--output", "json")
	mine := filepath.Join(t.TempDir(), "agent.json")
	if err := os.WriteFile(mine, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	ask("by-cli")
	pl.must(cli.ExitRefused, "answer", "s1/by-cli", "--text", "yes", "--creds", mine)
	if got := pl.state("s1/by-cli"); got != "pending" {
		t.Errorf("answered with an agent's credential: %s", got)
	}
	pl.must(0, "answer", "s1/by-cli", "--text", "yes")
	if got := pl.state("s1/by-cli"); got != "answered human "+cli.LocalUser(nil).Principal+" os" {
		t.Errorf("answered at the terminal: %s", got)
	}
}
