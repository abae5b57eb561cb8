package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/coder/websocket"
)

// issue makes a bearer token.
func (b *bus) issue(args ...string) string {
	b.t.Helper()
	out, err := exec.Command(b.binary, append([]string{"token", "issue", "--dir", b.dir, "--output", "json"}, args...)...).Output()
	if err != nil {
		b.t.Fatal(err)
	}
	var made struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(out, &made); err != nil || made.Token == "" {
		b.t.Fatalf("%v: %s", err, out)
	}
	return made.Token
}

// program is a running client.
type program struct {
	t   *testing.T
	cmd *exec.Cmd
	out chan string
}

// start runs a client with the address and a token in its environment.
func (b *bus) start(token, stdin string, env []string, name string, args ...string) *program {
	b.t.Helper()
	p := &program{b.t, exec.Command(name, args...), make(chan string, 1)}
	p.cmd.Env = append(append(os.Environ(), "ASKBUS_HTTP_URL="+b.url, "ASKBUS_TOKEN="+token), env...)
	p.cmd.Stderr = os.Stderr
	p.cmd.Stdin = strings.NewReader(stdin)
	go func() {
		out, err := p.cmd.Output()
		if err != nil {
			b.t.Errorf("%s %s: %v", name, strings.Join(args, " "), err)
		}
		p.out <- string(out)
	}()
	return p
}

func (p *program) end() string {
	p.t.Helper()
	select {
	case out := <-p.out:
		return out
	case <-time.After(8 * time.Minute):
		p.t.Fatalf("%s does not end", p.cmd)
		return ""
	}
}

func need(t *testing.T, out string, says ...string) {
	t.Helper()
	for _, s := range says {
		if !strings.Contains(out, s) {
			t.Errorf("it does not say %s:\n%s", s, out)
		}
	}
}

// TestOpenAPIPassesTheRecommendedRules checks the description that clients are
// generated from with a linter of others.
func TestOpenAPIPassesTheRecommendedRules(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules/@redocly"); err != nil {
		t.Fatal("the linter is not installed: run npm ci in interop, as make test does")
	}
	out, err := exec.Command("node", "http/lint.mjs", "../internal/asking/gateway/openapi.yaml").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCloudEventsSDK(t *testing.T) {
	t.Parallel()
	b := up(t)
	p := b.start(b.issue("--session", "*"), "", nil, "node", "http/events.mjs")
	for range 2 {
		b.choose(b.next(), "b")
	}
	for line := range strings.Lines(p.end()) {
		need(t, line, `"status":200`, `"type":"dev.askbus.ask.resolved.v1"`, `"selected":["b"]`, `"authid":"os:mei"`, `"valid":true`, `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`)
	}
}

// TestNodeFetchWaits waits for an answer with one fetch and Node's defaults.
// With ASKBUS_SLOW=1 the answer takes six minutes; without a header, fetch
// would give up after five.
func TestNodeFetchWaits(t *testing.T) {
	t.Parallel()
	b := up(t)
	screen, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(b.url, "http")+"/t/"+b.issue("--role", "screen", "--session", "slow")+"/ws", nil) // somebody is there
	if err != nil {
		t.Fatal(err)
	}
	defer screen.CloseNow()
	_ = screen.CloseRead(t.Context())
	if err := screen.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := b.start(b.issue("--session", "*"), "", nil, "node", "http/fetch.mjs")
	rec := b.next()
	began := time.Now()
	if os.Getenv("ASKBUS_SLOW") != "" {
		<-time.After(6 * time.Minute)
	}
	b.choose(rec, "o2")
	need(t, p.end(), `"status":200`, `"result":"B"`)
	t.Logf("the answer came after %s", time.Since(began).Round(time.Millisecond))
}

func TestForeignScreensRaceTheInbox(t *testing.T) {
	t.Parallel()
	b := up(t)
	agent, screen := b.issue("--session", "race"), b.issue("--role", "screen", "--session", "race")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "http/screens.mjs")
	cmd.Env = append(os.Environ(), "ASKBUS_HTTP_URL="+b.url, "ASKBUS_TOKEN="+screen)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	says := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("the screens said %q, want %q", lines.Text(), want)
		}
	}
	says("open")
	asks := b.start(agent, "", nil, "node", "../examples/node/ask.mjs", "contested")
	rec := b.next()
	says("shown") // and both have answered at that moment
	// The third surface is as fast as it can be; whichever is first, all three get the same outcome.
	_, err = b.screen.Answer(ctx, rec.Ask.Key(), ask.Reply{
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS},
	})
	t.Logf("the third surface: %v", err)
	need(t, asks.end(), `answered [{"question_id":"db","selected":[`)
	if !lines.Scan() {
		t.Fatal("the screens were not told how it ended")
	}
	type told struct {
		By     string `json:"by"`
		Status string `json:"status"`
	}
	var last struct {
		Interact told `json:"interact"`
		Pair     told `json:"pair"`
	}
	if err := json.Unmarshal(lines.Bytes(), &last); err != nil || last.Interact.Status != "answered" || last.Pair.By == "" || !strings.HasPrefix(last.Interact.By, last.Pair.By) {
		t.Errorf("%v: the screens were told different things: %s", err, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestBridge(t *testing.T) {
	t.Parallel()
	b := up(t)
	p := b.start(b.issue("--session", "bridge"), "", []string{"ASKBUS_SCREEN=" + b.issue("--role", "screen", "--session", "bridge")}, "node", "http/bridge.mjs")
	need(t, p.end(), `"agentId":"host-agent"`, `"question-0":"react"`, `"question-1":"a,c"`,
		`{"refusal":{"agentId":"hasty"`, `"response":{"agentId":"hasty"`, `"status":"refused","reason":"invalid event-pair request"`)
}

func TestExamples(t *testing.T) {
	t.Parallel()
	b := up(t)
	agent := b.issue("--session", "examples")
	for name, c := range map[string]struct {
		command []string
		stdin   func() string
		answer  ask.Answer
		want    string
	}{
		"curl":   {[]string{"bash", "../examples/shell/ask.sh", "curl-1"}, nil, ask.Answer{QuestionID: "go", Selected: []string{"no"}}, "answered: no"},
		"nats":   {[]string{"bash", "../examples/shell/nats.sh", "nats-1"}, b.agentCreds, ask.Answer{QuestionID: "q1", Selected: []string{"yes"}}, "answered: yes"},
		"fetch":  {[]string{"node", "../examples/node/ask.mjs", "fetch-1"}, nil, ask.Answer{QuestionID: "db", Selected: []string{"pg"}}, `answered [{"question_id":"db","selected":["pg"]}]`},
		"python": {[]string{"python3", "../examples/python/ask.py", "python-1"}, nil, ask.Answer{QuestionID: "n", Number: new(3.0)}, `answered [{"question_id": "n", "number": 3}]`},
	} {
		stdin := ""
		if c.stdin != nil {
			stdin = c.stdin()
		}
		p := b.start(agent, stdin, nil, c.command[0], c.command[1:]...)
		rec := b.next()
		if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), ask.Reply{Answers: []ask.Answer{c.answer}, By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		need(t, p.end(), c.want)
	}
	screen := b.start(b.issue("--role", "screen", "--session", "examples"), "2\n", nil, "node", "--experimental-websocket", "../examples/node/screen.mjs", "examples")
	p := b.start(agent, "", nil, "bash", "../examples/shell/ask.sh", "screen-1")
	need(t, p.end(), "answered: no")
	need(t, screen.end(), "Deploy now?", "screen-1: answered")
}

func (b *bus) agentCreds() string {
	b.t.Helper()
	out, err := exec.Command(b.binary, "auth", "agent", "--dir", b.dir, "--session", "examples", "--output", "json").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	return string(out)
}
