package main

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/coder/websocket"
)

// canaries are secret words, each of which only its audience may see.
type canaries struct {
	mu    sync.Mutex
	words map[string]string // by the field that contains them
}

// text returns a unique word for a text field.
func (c *canaries) text(field string) string {
	return c.add(field, "Cnry"+hex.EncodeToString([]byte(field))+"z")
}

// add records a secret.
func (c *canaries) add(what, secret string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(secret) < 12 {
		panic("too short to be unique: " + what)
	}
	c.words[what] = secret
	return secret
}

// leaked returns the canaries that a text contains, plain or encoded.
func (c *canaries) leaked(text string) (found []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lower := strings.ToLower(text)
	for what, word := range c.words {
		for _, form := range []string{word, url.QueryEscape(word), base64.StdEncoding.EncodeToString([]byte(word)), hex.EncodeToString([]byte(word))} {
			if strings.Contains(lower, strings.ToLower(form)) {
				found = append(found, what)
				break
			}
		}
	}
	return found
}

// nkeySeeds matches the private keys of NATS.
var nkeySeeds = regexp.MustCompile(`\bS[A-Z2-7]{57}\b`)

// secretsOf records every private key of a directory and every secret of its context.json.
func (c *canaries) secretsOf(t *testing.T, dir string) {
	t.Helper()
	keys := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/nats/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, seed := range nkeySeeds.FindAllString(string(data), -1) {
			c.add("key in "+filepath.Base(path)+" "+seed[:4]+hex.EncodeToString([]byte(seed[50:])), seed)
			keys++
		}
		if strings.Contains(string(data), "PRIVATE KEY") {
			for i, line := range strings.Split(string(data), "\n") {
				if len(line) > 30 && !strings.HasPrefix(line, "-----") {
					c.add(fmt.Sprintf("line %d of %s", i, filepath.Base(path)), line)
					keys++
				}
			}
		}
		return nil
	})
	if err != nil || keys < 5 {
		t.Fatalf("%d keys in %s: %v", keys, dir, err)
	}
}

// TestNoSecretAndNoTextLeaks puts a canary into every text field and every token, and looks for
// them in what bystanders can see: the debug logs of every process, metrics, arguments, and the
// output of a crash.
func TestNoSecretAndNoTextLeaks(t *testing.T) {
	t.Parallel()
	c := &canaries{words: map[string]string{}}
	talkative := []string{
		"ASKBUS_LOG_LEVEL=debug", "ASKBUS_LOG_FORMAT=json", "ASKBUS_WEB_COOKIE_KEY_FILE=" + write(t, "cookie", c.add("cookie key", strings.Repeat("Cnry-cookie-", 4))),
		"ASKBUS_OTLP_ENDPOINT=http://127.0.0.1:1", "ASKBUS_OTLP_HEADERS=authorization=" + c.text("OTLP header"), "GOTRACEBACK=all",
	}
	pl := place{t, filepath.Join(t.TempDir(), "state")}
	run := func(env []string, stdin string, args ...string) *process {
		t.Helper()
		return startWith(t, append(talkative, env...), stdin, append(args, "--dir", pl.dir)...)
	}
	bus := run(nil, "", "up", "--tls", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open")
	bus.out.wait(t, "askbus is up.")
	c.secretsOf(t, pl.dir)
	bystanders, seen := []*process{bus}, map[string]string{}

	// A posting surface.
	slackServer, err := fakeslack.Start(fakeslack.Options{BotToken: c.add("bot token", "xoxb-cnry-bot-token"), AppToken: c.add("app token", "xapp-cnry-app-token")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slackServer.Close)
	slackServer.AddUser(fakeslack.User{ID: "U0MEI", Name: c.text("name in Slack")})
	slackServer.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{"U0MEI", fakeslack.BotUser}})
	surface := run([]string{"ASKBUS_SLACK_URL=" + slackServer.URL(), "ASKBUS_SLACK_BOT_TOKEN_FILE=" + write(t, "bot", "xoxb-cnry-bot-token"), "ASKBUS_SLACK_APP_TOKEN_FILE=" + write(t, "app", "xapp-cnry-app-token")},
		"", "slack", "--channel", "C0ASKS", "--ops-addr", "127.0.0.1:0")
	surface.err.wait(t, "askbus: connected to Slack")
	bystanders = append(bystanders, surface)

	// Valid and invalid tokens.
	at, web := pl.context().HTTPURL, browser(t, filepath.Join(pl.dir, "tls-ca.crt"))
	agent, host, operator := c.add("agent's token", pl.token("--role", "agent", "--session", "s1")), c.add("host's token", pl.token("--role", "host", "--session", "s1")), c.add("operator's token", pl.token("--role", "operator"))
	wrong := c.text("wrong token")
	send := func(method, path, body string, header http.Header) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}

	// A question with a canary in every field, through each API.
	full := c.ask()
	for id, credentials := range map[string][]string{"http": {agent}, "nobody": {wrong}} {
		if status, text := send(http.MethodPost, "/v1/asks?session=s1", strings.Replace(full, "ID", id, 1), credentialHeaders(credentials...)); (status < 300) != (id == "http") {
			t.Fatalf("%s: %d %s", id, status, text)
		}
	}
	for _, bad := range []string{
		`{"` + c.text("unknown field") + `":1}`, `{"questions":"` + c.text("wrong type") + `"}`, `{"questions":[{"text":"x","kind":"` + c.text("unknown kind") + `"}]}`, c.text("no JSON"),
	} {
		if status, text := send(http.MethodPost, "/v1/asks?session=s1", bad, credentialHeaders(agent)); status < 400 {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
	send(http.MethodPost, "/t/askb_"+wrong+"/v1/asks", full, credentialHeaders())
	send(http.MethodGet, "/v1/asks?session=s1&token="+wrong+"&"+c.text("query"), "", credentialHeaders(agent))
	send(http.MethodGet, "/login?t="+wrong, "", http.Header{})
	send(http.MethodGet, "/"+c.text("path"), "", http.Header{"Cookie": {"askbus=" + c.text("cookie")}})
	event := strings.NewReplacer("Which database?", c.text("question of a hook"), "Storage", "Short", "PostgreSQL", c.text("label of a hook"), "/work", "/"+c.text("directory of a hook")).Replace(hookEvent)
	send(http.MethodPost, "/v1/hook?limit=1ms", event, credentialHeaders(agent, host))
	send(http.MethodPost, "/v1/hook?limit=1ms", c.text("malformed hook"), credentialHeaders(agent, host))
	send(http.MethodPost, "/v1/credentials", "", credentialHeaders(wrong))
	// The newer endpoints: tasks of A2A, the exchange, tokens of other issuers, terminals.
	message := func(text, more string) string {
		return `{"jsonrpc":"2.0","id":"` + c.text("id of a call") + `","method":"SendMessage","params":{"message":{"messageId":"a2a1","contextId":"s1","role":"ROLE_USER","parts":[{"text":"` + text + `"}]` + more + `}}}`
	}
	if status, text := send(http.MethodPost, "/a2a?wait=0", message(c.text("message of A2A"), `,"metadata":{"x":"`+c.text("metadata of A2A")+`"}`), credentialHeaders(agent)); status != http.StatusOK || !strings.Contains(text, `"result"`) {
		t.Errorf("A2A: %d %s", status, text)
	}
	send(http.MethodPost, "/a2a?wait=0", message(c.text("answer of an agent over A2A"), `,"taskId":"s1/a2a1"`), credentialHeaders(agent))
	send(http.MethodPost, "/a2a", c.text("no call of A2A"), credentialHeaders(agent))
	send(http.MethodPost, "/a2a", message(c.text("message with a wrong token"), ""), credentialHeaders(wrong))
	status, swapped := send(http.MethodPost, "/v1/credentials?session=s1", "", http.Header{"Authorization": {"Bearer " + agent}})
	if seeds := nkeySeeds.FindAllString(strings.ReplaceAll(swapped, `\n`, "\n"), -1); status != http.StatusOK || len(seeds) == 0 {
		t.Errorf("the exchange: %d", status)
	} else {
		c.add("key by exchange", seeds[0])
	}
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://id.example","sub":"`+c.text("subject of a forged token")+`"}`)) + "." + c.text("signature of a token")
	c.add("a forged access token", forged)
	for _, path := range []string{"/mcp", "/v1/credentials?session=s1", "/v1/asks"} {
		send(http.MethodPost, path, "", http.Header{"Authorization": {"Bearer " + forged}})
	}
	for path, body := range map[string]string{
		"/terminal/token": `{"code":"` + c.text("code of a terminal") + `","verifier":"` + c.text("verifier of a terminal") + `"}`, "/terminal/credential": `{"tenant":"` + c.text("tenant of a terminal") + `"}`,
	} {
		send(http.MethodPost, path, body, http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer askb_t_" + c.text("secret of a terminal")}})
	}
	send(http.MethodPost, "/mcp?session=s1", mcpCall(c.text("question over MCP")), http.Header{
		"Authorization": {"Bearer " + agent}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	})
	conn, res, err := websocket.Dial(t.Context(), at+"/ws?session=s1", &websocket.DialOptions{HTTPClient: web, HTTPHeader: credentialHeaders(operator)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if res.Body != nil {
		defer res.Body.Close()
	}
	for _, frame := range []string{`{"type":"` + c.text("frame") + `"}`, `{"type":"ping","data":"` + c.text("data of a frame") + `"}`} {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}

	// The commands that coding agents start.
	mcp := run(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+c.text("MCP client")+`","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+mcpCall(c.text("question to askbus mcp"))+"\n"+c.text("no MCP")+"\n", "mcp", "--session", "s1")
	hook := run(nil, strings.Replace(event, "toolu_1", "toolu_2", 1), "hook", "--limit", "1s")
	badHook := run(nil, c.text("no hook"), "hook")
	asker := run(nil, "", "ask", "--file", write(t, "ask.json", strings.Replace(full, "ID", "cli", 1)), "--session", "s1", "--wait", "0")
	for _, p := range []*process{mcp, hook, badHook, asker} {
		p.wait()
		bystanders = append(bystanders, p)
	}

	// A person signs in, looks, and answers with a canary in each field.
	login := run(nil, "", "login", "--output", "text")
	login.wait()
	u, err := url.Parse(strings.TrimSpace(login.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	c.add("login link", u.Query().Get("t"))
	if status, text := send(http.MethodGet, u.RequestURI(), "", http.Header{}); status != http.StatusOK {
		t.Fatalf("sign-in: %d %s", status, text)
	}
	home, _ := url.Parse(at)
	for _, k := range web.Jar.Cookies(home) {
		c.add("cookie "+k.Name, k.Value)
	}
	natstest.Eventually(t, "the page shows the ask", func() bool {
		status, text := send(http.MethodGet, "/ask/default/s1/http", "", http.Header{})
		return status == http.StatusOK && strings.Contains(text, c.words["title"]) // its audience does see them
	})
	send(http.MethodGet, "/history?q="+c.text("search"), "", http.Header{})
	// A browser that subscribes to notifications, and one whose subscription is damaged.
	phone, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.add("key of a subscription", base64.RawURLEncoding.EncodeToString([]byte("Cnry-push-key-16")))
	for host, want := range map[string]int{"fcm.googleapis.com": http.StatusNoContent, "push.evil.example": http.StatusUnprocessableEntity} {
		if status, text := send(http.MethodPost, "/push/subscribe", `{"endpoint":"https://`+host+`/fcm/send/`+c.text("address of a subscription")+`","keys":{"auth":"`+c.words["key of a subscription"]+`","p256dh":"`+base64.RawURLEncoding.EncodeToString(phone.PublicKey().Bytes())+`"}}`,
			http.Header{"Content-Type": {"application/json"}, "Origin": {at}}); status != want {
			t.Errorf("a subscription at %s: %d %s", host, status, text)
		}
	}
	send(http.MethodPost, "/push/subscribe", c.text("no subscription"), http.Header{"Content-Type": {"application/json"}, "Origin": {at}})
	form := url.Values{"select:q1": {"=o1"}, "note:q1": {c.text("note")}, "text:q2": {c.text("typed answer")}, "answer_id": {"x1"}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {at}}
	if status, text := send(http.MethodPost, "/ask/default/s1/http/answer", form.Encode(), header); status >= 400 {
		t.Errorf("answer: %d %s", status, text)
	}
	send(http.MethodPost, "/ask/default/s1/cli/decline", url.Values{"reason": {c.text("reason")}, "answer_id": {"x2"}}.Encode(), header)
	for _, id := range []string{"http", "cli"} {
		if text, said, code := pl.run("get", "s1/"+id); code == cli.ExitPending || code == cli.ExitFailure {
			t.Errorf("%s is not decided: exit %d, %s%s", id, code, text, said)
		}
	}
	// Who searches the audit, and who makes invitations and tokens.
	auditor, _, _ := pl.run("auth", "auditor", "--output", "json")
	if seeds := nkeySeeds.FindAllString(strings.ReplaceAll(auditor, `\n`, "\n"), -1); len(seeds) > 0 {
		c.add("key of the auditor", seeds[0])
	}
	audited := run([]string{"ASKBUS_CREDS=" + write(t, "auditor", auditor)}, "", "audit", "--all", "--output", "json")
	for _, p := range []*process{audited, run(nil, "", "people", "list"), run(nil, "", "token", "list"), run(nil, "", "auth", "list")} {
		p.wait()
		bystanders = append(bystanders, p)
	}
	if !strings.Contains(audited.out.String(), "s1") {
		t.Errorf("the audit is empty: %s", audited.err)
	}
	// An auditor reads who was asked what, as headings and labels, and the reason of a
	// refusal; without --whole nothing that was typed, and no secret ever.
	for _, what := range c.leaked(audited.out.String()) {
		if !slices.Contains([]string{"title", "question", "question of a hook", "question over MCP", "question to askbus mcp", "message of A2A", "label", "label of a hook", "agent", "MCP client", "directory of a hook", "header", "reason"}, what) {
			t.Errorf("the audit tells of %q", what)
		}
	}
	natstest.Eventually(t, "the card in Slack", func() bool { return len(slackServer.Messages("C0ASKS")) > 0 })

	// Metrics, and what the ops address reveals about its process.
	for role, ops := range pl.context().Ops {
		for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/cmdline"} {
			res, err := http.Get(ops + path)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			seen[path+" of "+role] = string(text)
		}
	}
	if !strings.Contains(seen["/metrics of up"], "askbus_") {
		t.Error("no metrics were read")
	}
	// Crashes.
	for _, p := range []*process{bus, surface} {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
		if err == nil {
			seen["arguments of "+p.cmd.Args[1]+" as others see them"] = string(line)
		}
		if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		p.wait()
		if !strings.Contains(p.err.String(), "goroutine ") {
			t.Errorf("%s printed no crash", p.cmd.Args[1])
		}
	}
	for _, p := range bystanders {
		name := p.cmd.Args[1]
		seen["log of "+name] += p.err.String()
		if name != "ask" {
			seen["arguments of "+name] = strings.Join(p.cmd.Args, " ")
		}
	}
	if lines := strings.Count(seen["log of up"], "\n"); lines < 20 {
		t.Errorf("the log of up has %d lines: it is not at debug level", lines)
	}
	if len(c.words) < 50 {
		t.Errorf("only %d canaries", len(c.words))
	}
	for where, text := range seen {
		if found := c.leaked(text); len(found) > 0 {
			t.Errorf("%s contains %q", where, found)
		}
	}
	// Check the test itself: it finds known canaries.
	if len(c.leaked("x "+url.QueryEscape(agent)+" y")) != 1 || len(c.leaked(base64.StdEncoding.EncodeToString([]byte(c.words["note"])))) != 1 {
		t.Error("the search finds nothing")
	}
}

// ask returns an ask with a canary in every text field.
func (c *canaries) ask() string {
	doc, err := json.Marshal(map[string]any{
		"id": "ID", "title": c.text("title"), "context": c.text("context") + " `" + c.text("code") + "` [x](https://example.com/" + c.text("link in Markdown") + ")",
		"agent":    map[string]any{"name": c.text("agent"), "repository": "acme/" + c.text("repository"), "branch": c.text("branch"), "link": "https://example.com/" + c.text("agent's link")},
		"metadata": map[string]any{c.text("key of metadata"): c.text("metadata")},
		"questions": []any{
			map[string]any{
				"id": "q1", "text": c.text("question"), "header": "CnryHeader12",
				"options": []any{
					map[string]any{"id": "o1", "label": c.text("label"), "description": c.text("description"), "preview": map[string]any{"format": "markdown", "body": c.text("preview")}},
					map[string]any{"id": "o2", "label": "No"},
				},
			},
			map[string]any{"id": "q2", "text": "Why?", "kind": "text", "required": false, "placeholder": c.text("placeholder"), "limits": map[string]any{"max_length": 200, "pattern": "^(" + c.text("pattern") + "|.*)$", "message": c.text("message")}},
		},
	})
	if err != nil {
		panic(err)
	}
	c.add("header", "CnryHeader12")
	return string(doc)
}

// mcpCall asks a question over MCP.
func mcpCall(question string) string {
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":{"wait_seconds":1,"question":"` + question + `"}}}`
}
