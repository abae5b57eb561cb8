package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

const hookEvent = `{"session_id":"s-1","cwd":"/work","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"toolu_1","tool_input":{"questions":[{"question":"Which database?","header":"Storage","options":[{"label":"PostgreSQL","description":""},{"label":"SQLite","description":""}],"multiSelect":false}]}}`

func TestHookPrintsTheAnswer(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	in, host, err := os.Pipe() // not every host closes the input of its hook
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), host.Close() }()
	hook := startFrom(t, in, nil, "hook", "--dir", pl.dir)
	if _, err := host.WriteString(hookEvent); err != nil {
		t.Fatal(err)
	}
	for { // until it is asked
		if _, said, code := pl.run("answer", "s-1/toolu_1", "--select", "q1=o2"); code == 0 {
			break
		} else if code != cli.ExitRefused && code != cli.ExitFailure {
			t.Fatalf("exit %d, said %q", code, said)
		}
	}
	if code := hook.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, hook.err)
	}
	out := decode(t, hook.out.String())["hookSpecificOutput"].(map[string]any)
	answers := out["updatedInput"].(map[string]any)["answers"].(map[string]any)
	if out["permissionDecision"] != "allow" || answers["Which database?"] != "SQLite" {
		t.Errorf("printed %s", hook.out)
	}
	after := strings.Replace(hookEvent, "PreToolUse", "PostToolUse", 1)
	if out, said, code := pl.runWith(after, "hook"); out != "" || code != 0 || strings.Contains(said, "no decision") {
		t.Errorf("afterwards: exit %d, printed %q, said %q", code, out, said)
	}
}

func TestHookFailsOpen(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"no bus":        {hookEvent, []string{"hook"}, 0},
		"malformed":     {`{"hook_event_name":`, []string{"hook"}, 0},
		"nothing":       {"", []string{"hook"}, 0},
		"another mode":  {hookEvent, []string{"hook", "--mode", "what"}, 0},
		"another host":  {hookEvent, []string{"hook", "--host", "what"}, 0},
		"another flag":  {hookEvent, []string{"hook", "--what"}, 1}, // 2 would refuse the host's tool
		"bad credsfile": {hookEvent, []string{"hook", "--creds", "nobody"}, 0},
	} {
		out, said, code := pl.runWith(c.stdin, c.args...)
		if out != "" || code != c.code || strings.Count(strings.TrimSpace(said), "\n") != 0 || !strings.HasPrefix(said, "askbus: ") {
			t.Errorf("%s: exit %d, printed %q, said %q", name, code, out, said)
		}
	}
	if out, said, code := pl.runWith(strings.ReplaceAll(hookEvent, "AskUserQuestion", "Bash"), "hook"); out != "" || said != "" || code != 0 {
		t.Errorf("another tool: exit %d, printed %q, said %q", code, out, said)
	}
}

func TestHookPlaysAConversation(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	out, said, code := pl.runWith("", "hook", "test")
	if code != 0 || strings.Count(out, `"allow"`) != 2 || strings.Count(out, `"deny"`) != 1 || !strings.Contains(out, "hook prints  nothing; the question stays open") {
		t.Errorf("exit %d, printed %q, said %q", code, out, said)
	}
	if out, _, code := pl.runWith(hookEvent+`{"nothing":true}`, "hook", "test", "-", "--mode", "defer"); code != 0 || !strings.Contains(out, `"defer"`) {
		t.Errorf("exit %d, printed %q", code, out)
	}
}

// A client's server must survive while the bus is not up yet.
func TestMCPServesWhileTheBusIsDown(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":{"question":"Which?"}}}`,
	}
	out, said, code := pl.runWith(strings.Join(lines, "\n")+"\n", "mcp")
	if code != 0 || !strings.Contains(out, "askbus cannot be reached") || !strings.Contains(out, `"isError":true`) {
		t.Errorf("exit %d, printed %q, said %q", code, out, said)
	}
	for line := range strings.Lines(out) {
		var m struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Errorf("printed %q, which is not of the protocol", line)
		}
	}
}

func TestInstallPrintsAndWrites(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	for _, c := range []struct{ kind, name, title string }{
		{"mcp", "claude-code", "Claude Code"},
		{"mcp", "claude-desktop", "Claude Desktop"},
		{"mcp", "cursor", "Cursor"},
		{"mcp", "vscode", "VS Code"},
		{"mcp", "codex", "Codex"},
		{"mcp", "gemini", "Gemini CLI"},
		{"mcp", "opencode", "opencode"},
		{"mcp", "zed", "Zed"},
		{"hook", "claude-code", "Claude Code"},
		{"hook", "codex", "Codex"},
		{"hook", "qwen", "Qwen Code"},
		{"hook", "copilot", "GitHub Copilot CLI"},
	} {
		file := filepath.Join(pl.dir, c.kind+"-"+c.name)
		printed, said, code := pl.runWith("", c.kind, "install", c.name, "--file", file)
		if _, err := os.Stat(file); code != 0 || err == nil || !strings.Contains(said, file) || !strings.Contains(said, "For "+c.title) {
			t.Errorf("%s %s: exit %d, said %q", c.kind, c.name, code, said)
		}
		for _, want := range []string{"Written to", "already up to date"} {
			if _, said, code := pl.runWith("", c.kind, "install", c.name, "--file", file, "--write"); code != 0 || !strings.Contains(said, want) || !strings.Contains(said, "for "+c.title) {
				t.Errorf("%s %s: exit %d, said %q", c.kind, c.name, code, said)
			}
		}
		if written, err := os.ReadFile(file); err != nil || string(written) != printed || !strings.Contains(printed, pl.dir) {
			t.Errorf("%s %s: wrote %q, %v; printed %q", c.kind, c.name, written, err, printed)
		}
		if left, said, code := pl.runWith("", c.kind, "install", c.name, "--file", file, "--remove"); code != 0 || strings.Contains(left, "askbus") || !strings.Contains(said, "add --write") {
			t.Errorf("%s %s: exit %d, printed %q, said %q", c.kind, c.name, code, left, said)
		}
		if _, said, code := pl.runWith("", c.kind, "install", c.name, "--file", file, "--remove", "--write"); code != 0 || !strings.Contains(said, "Removed") {
			t.Errorf("%s %s: exit %d, said %q", c.kind, c.name, code, said)
		}
		if left, err := os.ReadFile(file); err != nil || strings.Contains(string(left), "askbus") {
			t.Errorf("%s %s: %q is left, %v", c.kind, c.name, left, err)
		}
	}
	shared, _, code := pl.runWith("", "mcp", "install", "claude-code", "--scope", "project")
	if code != 0 || strings.Contains(shared, "/") || !strings.Contains(shared, `"command": "askbus"`) {
		t.Errorf("shared scope: exit %d, %s", code, shared)
	}
	file, settings := filepath.Join(pl.dir, ".mcp.json"), filepath.Join(pl.dir, ".claude", "settings.local.json")
	if _, said, code := pl.runWith("", "mcp", "install", "claude-code", "--file", file, "--trust", "--write"); code != 0 || !strings.Contains(said, settings) {
		t.Errorf("exit %d, said %q", code, said)
	}
	if text, err := os.ReadFile(settings); err != nil || !strings.Contains(string(text), `"mcp__askbus"`) || !strings.Contains(string(text), `"AskUserQuestion"`) {
		t.Errorf("%v: %s", err, text)
	}
	if _, said, code := pl.runWith("", "mcp", "install", "claude-code", "--file", file, "--remove", "--write"); code != 0 || strings.Count(said, "Removed") != 2 {
		t.Errorf("exit %d, said %q", code, said)
	}
	for _, wrong := range [][]string{{"cursor", "--scope", "project"}, {"claude-code", "--scope", "world"}} {
		if _, said, code := pl.runWith("", append([]string{"mcp", "install"}, wrong...)...); code != cli.ExitUsage || !strings.Contains(said, "--scope") {
			t.Errorf("%q: exit %d, said %q", wrong, code, said)
		}
	}
	if printed, _, _ := pl.runWith("", "mcp", "install", "cursor"); !strings.Contains(printed, `"--session", "cursor"`) && !strings.Contains(printed, "\"cursor\"") {
		t.Errorf("no persistent session: %s", printed)
	}
	if _, said, code := pl.runWith("", "mcp", "install", "emacs"); code != cli.ExitUsage || !strings.Contains(said, "claude-code") {
		t.Errorf("exit %d, said %q", code, said)
	}
}

func TestTranscriptAsTextAndJSON(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	file := filepath.Join("..", "..", "internal", "asking", "transcript", "testdata", "session.jsonl")
	if out, _, code := pl.runWith("", "transcript", file, "--output", "text"); code != 0 || !strings.Contains(out, "    = SQLite\n") {
		t.Errorf("exit %d: %s", code, out)
	}
	var entries []map[string]any
	out, _, _ := pl.runWith("", "transcript", file, "--output", "json")
	if err := json.Unmarshal([]byte(out), &entries); err != nil || len(entries) != 6 {
		t.Errorf("%v: %s", err, out)
	}
	if _, said, code := pl.runWith("x", "transcript", "-"); code != 1 || !strings.Contains(said, "not JSON") {
		t.Errorf("exit %d, said %q", code, said)
	}
}

// Claude Code says nothing when claude -p has no tool to ask with. The hook sees it, and doctor says it.
func TestARunThatCannotAskIsNoted(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	home := t.TempDir()
	settings := filepath.Join(home, ".claude", "settings.json")
	if _, said, code := pl.runWith("", "hook", "install", "--file", settings, "--write"); code != 0 || !strings.Contains(said, "--permission-prompt-tool mcp__askbus__PermissionPrompt") {
		t.Fatalf("exit %d, said %q", code, said)
	}
	doctor := func() string {
		d := startWith(t, []string{"HOME=" + home}, "", "doctor", "--no-ask", "--dir", pl.dir, "--output", "text")
		if code := d.wait(); code != 0 {
			t.Fatalf("exit %d: %s%s", code, d.out, d.err)
		}
		return d.out.String()
	}
	if out := doctor(); !strings.Contains(out, "ok      claude code: ") || !strings.Contains(out, "--mode race") {
		t.Errorf("before: %s", out)
	}
	event := `{"session_id":"s-1","cwd":"/work/nightly","hook_event_name":"UserPromptSubmit","prompt":"x"}`
	prompted := func(args ...string) {
		agent := exec.CommandContext(t.Context(), "sh", append([]string{"-c", "read end", "claude", "-p"}, args...)...)
		stdin, err := agent.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stdin.Close(); _ = agent.Wait() }()
		h := startWith(t, []string{"CLAUDE_CODE_SESSION_ATTENDED=0", "CLAUDE_CODE_ENTRYPOINT=sdk-cli", fmt.Sprintf("CLAUDE_PID=%d", agent.Process.Pid)}, event, "hook", "--dir", pl.dir)
		if code := h.wait(); code != 0 || h.out.String() != "" {
			t.Fatalf("exit %d: %s%s", code, h.out, h.err)
		}
	}
	prompted()
	if out := doctor(); !strings.Contains(out, "missing claude code: a claude -p at ") || !strings.Contains(out, "/work/nightly could ask nobody") || !strings.Contains(out, "--permission-prompt-tool") {
		t.Errorf("after a run without the flag: %s", out)
	}
	prompted("--permission-prompt-tool", "x")
	if out := doctor(); !strings.Contains(out, "ok      claude code: ") {
		t.Errorf("after a run with the flag: %s", out)
	}
}
