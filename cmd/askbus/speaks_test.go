package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// token issues a bearer token.
func (pl place) token(args ...string) string {
	pl.t.Helper()
	secret, _ := pl.must(0, append([]string{"token", "issue"}, args...)...)["token"].(string)
	return secret
}

// post sends a body to an HTTP path. Credentials are the agent's and optionally the host's.
func (pl place) post(path, body string, credentials ...string) (status int, header http.Header, text string) {
	pl.t.Helper()
	req, err := http.NewRequestWithContext(pl.t.Context(), http.MethodPost, pl.context().HTTPURL+path, strings.NewReader(body))
	if err != nil {
		pl.t.Fatal(err)
	}
	req.Header = credentialHeaders(credentials...)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		pl.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		pl.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(data)
}

func credentialHeaders(credentials ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i, name := range []string{"Authorization", "Askbus-Host-Authorization"} {
		if i < len(credentials) && credentials[i] != "" {
			h.Set(name, "Bearer "+credentials[i])
		}
	}
	return h
}

// state returns "pending", or an outcome's status, principal and proof.
func (pl place) state(key string) string {
	pl.t.Helper()
	got, said, code := pl.run("get", key)
	if code != cli.ExitAnswered && code != cli.ExitPending {
		pl.t.Fatalf("get %s: exit %d, %s", key, code, said)
	}
	return stateIn(decode(pl.t, got))
}

func stateIn(st map[string]any) string {
	o, ended := st["outcome"].(map[string]any)
	if !ended {
		return "pending"
	}
	words := []string{o["status"].(string)}
	if source, ok := o["source"].(string); ok {
		words = append(words, source)
	}
	if by, ok := o["by"].(map[string]any); ok {
		words = append(words, by["principal"].(string), by["proof"].(string))
	}
	return strings.Join(words, " ")
}

// hookFor returns a hook's event about one tool use.
func hookFor(event, tool string, more ...string) string {
	s := strings.NewReplacer("PreToolUse", event, "toolu_1", tool).Replace(hookEvent)
	return strings.TrimSuffix(s, "}") + strings.Join(more, "") + "}"
}

const toolResponse = `,"tool_response":{"answers":{"Which database?":"SQLite"}}`

// TestAnAgentsTokenNeverAnswersOverTheHook is the attack: a client with only the agent's token
// plays the host and reports an answer of its dialog.
func TestAnAgentsTokenNeverAnswersOverTheHook(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	agent := pl.token("--role", "agent", "--session", "s-1")
	other := pl.token("--role", "agent", "--session", "*")
	operator := pl.token("--role", "operator")
	for name, c := range map[string]struct{ tool, credential string }{
		"the agent's own token":         {"a1", agent},
		"an agent of every session":     {"a2", other},
		"an operator's, without a host": {"a3", operator},
	} {
		if status, _, body := pl.post("/v1/hook?limit=1ms", hookFor("PreToolUse", c.tool), c.credential); status != http.StatusNoContent {
			t.Fatalf("%s asks: %d %s", name, status, body)
		}
		status, header, body := pl.post("/v1/hook", hookFor("PostToolUse", c.tool, toolResponse), c.credential)
		if status != http.StatusNoContent || !strings.Contains(header.Get("Askbus-Reason"), "Askbus-Host-Authorization") {
			t.Errorf("%s: %d %v %s", name, status, header, body)
		}
		if got := pl.state("s-1/" + c.tool); got != "pending" {
			t.Errorf("%s: the ask is %s", name, got)
		}
	}
	// An ask of another API, named by its id.
	pl.must(cli.ExitPending, "ask", "--question", "Which database?", "--session", "s-1", "--id", "a4", "--wait", "0")
	pl.post("/v1/hook", hookFor("PostToolUse", "a4", toolResponse), agent)
	pl.post("/v1/hook?limit=1ms", hookFor("PermissionRequest", "a4", toolResponse), agent)
	if got := pl.state("s-1/a4"); got != "pending" {
		t.Errorf("another API's ask is %s", got)
	}
}

// mcp connects to the MCP tools over HTTP and answers every form with SQLite.
func (pl place) mcp(credentials ...string) (*mcp.ClientSession, *int) {
	pl.t.Helper()
	shown := new(int)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			*shown++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"q1": "o2"}}, nil
		},
	})
	cs, err := c.Connect(pl.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: pl.context().HTTPURL + "/mcp?elicit=true", HTTPClient: &http.Client{Transport: withHeaders(credentialHeaders(credentials...))}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	if err != nil {
		pl.t.Fatal(err)
	}
	pl.t.Cleanup(func() { _ = cs.Close() })
	return cs, shown
}

type withHeaders http.Header

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, name := range []string{"Authorization", "Askbus-Host-Authorization"} {
		if v := http.Header(h).Get(name); v != "" {
			r.Header.Set(name, v)
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

func which(id string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "AskUserQuestion", Arguments: map[string]any{
		"ask_id": id, "wait_seconds": 1, "questions": []any{map[string]any{
			"question": "Which database?", "header": "Storage", "multiSelect": false,
			"options": []any{map[string]any{"label": "PostgreSQL", "description": ""}, map[string]any{"label": "SQLite", "description": ""}},
		}},
	}}
}

// TestAnAgentsTokenNeverAnswersAForm is the attack: the agent is the MCP
// client, and fills in the form itself.
func TestAnAgentsTokenNeverAnswersAForm(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	agent := pl.token("--role", "agent", "--session", "s1")
	cs, shown := pl.mcp(agent)
	if _, err := cs.CallTool(t.Context(), which("f1")); err != nil {
		t.Fatal(err)
	}
	if got := pl.state("s1/f1"); got != "pending" || *shown != 0 {
		t.Errorf("the ask is %s, %d forms were shown", got, *shown)
	}
	answer := which("f1")
	answer.RequestState = "f1"
	answer.InputResponses = mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"q1": "o2"}}}
	res, err := cs.CallTool(t.Context(), answer)
	if err != nil {
		t.Fatal(err)
	}
	if text := res.Content[0].(*mcp.TextContent).Text; !res.IsError || !strings.Contains(text, "Askbus-Host-Authorization") {
		t.Errorf("the result is %q", text)
	}
	if got := pl.state("s1/f1"); got != "pending" {
		t.Errorf("the ask is %s", got)
	}
}

// TestAHostAnswersWhatItAsked is the allowed case: the host's own token, for its own asks, as the
// user who runs it.
func TestAHostAnswersWhatItAsked(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	agent := pl.token("--role", "agent", "--session", "*")
	host := pl.token("--role", "host", "--session", "s-1", "--principal", "os:ben")
	other := pl.token("--role", "host", "--session", "s-1", "--principal", "os:mal")
	elsewhere := pl.token("--role", "host", "--session", "s-2", "--principal", "os:mal")
	screen := pl.token("--role", "screen", "--session", "s-1")
	ask := func(tool string, credentials ...string) {
		t.Helper()
		if status, _, body := pl.post("/v1/hook?limit=1ms", hookFor("PreToolUse", tool), credentials...); status != http.StatusNoContent {
			t.Fatalf("asking %s: %d %s", tool, status, body)
		}
	}
	const mine, pending = "answered human os:ben host-dialog", "pending"
	ask("kept", agent, host)
	p.stop() // the mark survives the gateway
	pl.up()
	ask("unmarked", agent)
	ask("unmarked", agent, host) // attaches to what another asked
	ask("others", agent, other)
	pl.must(cli.ExitPending, "ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--session", "s-1", "--id", "plain", "--wait", "0")
	pl.ask("forged", `{"id":"forged","metadata":{"askbus_host":"`+strings.Split(host, "_")[1]+`.x"},"questions":[{"text":"Which database?"}]}`, agent)
	for _, c := range []struct {
		name, tool  string
		credentials []string
		status      int
		says, then  string
	}{
		{"the agent's token alone", "kept", []string{agent}, 204, "Askbus-Host-Authorization", pending},
		{"the host's token alone", "kept", []string{host}, 403, "Askbus-Host-Authorization", pending},
		{"the agent's token twice", "kept", []string{agent, agent}, 403, "role agent", pending},
		{"a screen's token as the host's", "kept", []string{agent, screen}, 403, "role screen", pending},
		{"nothing as the host's", "kept", []string{agent, "askb_x_y"}, 401, "unknown", pending},
		{"the host of another session", "kept", []string{agent, elsewhere}, 403, "beyond it", pending},
		{"another host of the session", "kept", []string{agent, other}, 204, "asked itself", pending},
		{"an ask of another host", "others", []string{agent, host}, 204, "asked itself", pending},
		{"an ask of the agent alone", "unmarked", []string{agent, host}, 204, "asked itself", pending},
		{"an ask of another API", "plain", []string{agent, host}, 204, "asked itself", pending},
		{"a mark that is made up", "forged", []string{agent, host}, 204, "asked itself", pending},
		{"the host that asked", "kept", []string{agent, host}, 204, "", mine},
		{"and again after it ended", "kept", []string{agent, host}, 204, "", mine},
	} {
		status, header, body := pl.post("/v1/hook", hookFor("PostToolUse", c.tool, toolResponse), c.credentials...)
		if status != c.status || !strings.Contains(header.Get("Askbus-Reason")+body, c.says) {
			t.Errorf("%s: %d, %q, %s", c.name, status, header.Get("Askbus-Reason"), body)
		}
		if got := pl.state("s-1/" + c.tool); got != c.then {
			t.Errorf("%s: the ask is %s, want %s", c.name, got, c.then)
		}
	}
}

// ask asks at /v1/asks.
func (pl place) ask(id, body string, credentials ...string) {
	pl.t.Helper()
	if status, _, said := pl.post("/v1/asks?session=s-1", body, credentials...); status != http.StatusCreated {
		pl.t.Fatalf("asking %s: %d %s", id, status, said)
	}
}

func TestAHostAnswersTheFormsThatItShows(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	agent := pl.token("--role", "agent", "--session", "s1")
	host := pl.token("--role", "host", "--session", "s1", "--principal", "os:ben")
	alone, _ := pl.mcp(agent)
	if _, err := alone.CallTool(t.Context(), which("first")); err != nil { // the agent asks, without its host
		t.Fatal(err)
	}
	cs, shown := pl.mcp(agent, host)
	for id, want := range map[string]string{"first": "pending", "own": "answered human os:ben host-dialog"} {
		if _, err := cs.CallTool(t.Context(), which(id)); err != nil {
			t.Fatal(err)
		}
		if got := pl.state("s1/" + id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if *shown != 2 {
		t.Errorf("%d forms were shown", *shown)
	}
}

// A host's dialog proves no identity, so it cannot answer for an audience.
func TestAHostCannotAnswerForAnAudience(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	nc, _ := pl.plain("host", "--session", "s1")
	pl.must(cli.ExitPending, "ask", "--question", "Deploy?", "--session", "s1", "--id", "a", "--audience", "os:ben", "--wait", "0")
	m, err := nc.RequestMsg(natstest.Signed(t, nc, request("hostv1.default.s1.answer.a",
		`{"specversion":"1.0","id":"1","source":"/x","subject":"a","type":"dev.askbus.answer.given.v1","data":{"ask_id":"a","answer_id":"b","response":"yes","by":{"principal":"os:ben","proof":"host-dialog"}}}`)), 10*time.Second)
	if err != nil || !strings.Contains(string(m.Data), "does not prove who answers") {
		t.Fatalf("%v: %s", err, m.Data)
	}
	if got := pl.state("s1/a"); got != "pending" {
		t.Errorf("the ask is %s", got)
	}
}

func TestOnlyAPersonsTokenHasAPersonsPrincipal(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an agent with a principal":     {[]string{"--role", "agent", "--principal", "oidc:mei"}, "never answers"},
		"an agent with groups":          {[]string{"--role", "agent", "--groups", "platform"}, "cannot have groups"},
		"a host as a person":            {[]string{"--role", "host", "--session", "s", "--principal", "oidc:mei"}, "os:"},
		"a host with groups":            {[]string{"--role", "host", "--session", "s", "--groups", "platform"}, "cannot have groups"},
		"a host without a session":      {[]string{"--role", "host"}, "exactly one session"},
		"a host of two sessions":        {[]string{"--role", "host", "--session", "a,b"}, "exactly one session"},
		"a host of every session":       {[]string{"--role", "host", "--session", "*"}, "exactly one session"},
		"an agent of a wildcard":        {[]string{"--role", "agent", "--session", ">"}, `invalid session ">"`},
		"a person without a provider":   {[]string{"--role", "responder", "--principal", "oidc:mei"}, "name the provider"},
		"a screen of an inner wildcard": {[]string{"--role", "screen", "--session", "a*b"}, `invalid session "a*b"`},
	} {
		if out, said, code := pl.run(append([]string{"token", "issue"}, c.args...)...); code != cli.ExitUsage || out != "" || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit %d, %q", name, code, said)
		}
	}
	made := pl.must(0, "token", "issue", "--role", "host", "--session", "s")
	if principal, _ := made["principal"].(string); !strings.HasPrefix(principal, "os:") {
		t.Errorf("a host's principal is %q", principal)
	}
}
