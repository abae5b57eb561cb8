//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/clipperhouse/displaywidth"
)

const (
	saysNeeded = "\x1b]7501;state=blocked:kind=question:app=askbus:msg=V2hpY2ggZGF0YWJhc2U/\x1b\\"
	saysNoMore = "\x1b]7501;state=clear:app=askbus\x1b\\"
)

// While a command or a hook waits, its terminal is told, and told when it ends:
// also where standard output goes elsewhere.
func TestTheTerminalLearnsThatAPersonIsNeeded(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	ask := func(id string, env ...string) (*process, *os.File) {
		return onTerminal(t, 80, 24, env, "ask", "--question", "Which database?", "--text", "--id", id, "--session", "s", "--dir", pl.dir)
	}
	p, _ := ask("one")
	p.out.wait(t, saysNeeded)
	pl.must(0, "answer", "s/one", "--text", "pg")
	if code := p.wait(); code != 0 || strings.Count(p.out.String(), saysNoMore) != 1 {
		t.Errorf("exit %d: %q", code, p.out)
	}
	p, keys := ask("two", "TMUX=/tmp/tmux,1,0")
	p.out.wait(t, "\x1bPtmux;"+strings.ReplaceAll(saysNeeded, "\x1b", "\x1b\x1b")+"\x1b\\")
	if _, err := keys.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != cli.ExitPending || !strings.Contains(p.out.String(), "state=clear") {
		t.Errorf("exit %d: %q", code, p.out)
	}
	p, _ = ask("three", "ASKBUS_OSC7501=0")
	p.out.wait(t, "waiting for a human")
	pl.must(0, "answer", "s/three", "--text", "pg")
	if code := p.wait(); code != 0 || strings.Contains(p.out.String(), "7501") {
		t.Errorf("exit %d: %q", code, p.out)
	}
}

func TestAHookReportsToItsTerminal(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	event := `{"hook_event_name":"PreToolUse","session_id":"h","tool_name":"AskUserQuestion","tool_use_id":"t1","tool_input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":""},{"label":"SQLite","description":""}]}]}}`
	p, keys := onTerminal(t, 80, 24, nil, "hook", "--limit", "60s", "--dir", pl.dir)
	if _, err := keys.WriteString(event + "\n\x04"); err != nil {
		t.Fatal(err)
	}
	p.out.wait(t, saysNeeded)
	pl.must(0, "answer", "t1", "--reply", "2")
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), saysNoMore) {
		t.Errorf("exit %d: %q", code, p.out)
	}
}

// Codex kills its hook on Esc, which leaves it no time to withdraw its ask; a hook that ends by itself withdraws nothing.
func TestTheAskOfAKilledHookIsWithdrawn(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	start := func() (*process, string) {
		p, keys := onTerminal(t, 80, 24, nil, "hook", "--host", "codex", "--forms", "10m", "--dir", pl.dir)
		if _, err := keys.WriteString(`{"session_id":"s-1","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}` + "\n\x04"); err != nil {
			t.Fatal(err)
		}
		p.out.wait(t, "state=blocked")
		return p, "s-1/" + pl.must(0, "list", "--session", "s-1")["items"].([]any)[0].(map[string]any)["ask"].(map[string]any)["id"].(string)
	}
	killed, id := start()
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if out := pl.must(cli.ExitCancelled, "wait", id); out["status"] != "withdrawn" || out["reason"] != "decided at the agent's terminal, or left there" {
		t.Errorf("killed: %v", out)
	}
	answered, id := start()
	pl.must(0, "answer", id, "--reply", "1")
	if code := answered.wait(); code != 0 || !strings.Contains(answered.out.String(), `"behavior":"allow"`) {
		t.Errorf("answered: exit %d, %s", code, answered.out)
	}
	if out := pl.must(0, "wait", id); out["status"] != "answered" {
		t.Errorf("answered: %v", out)
	}
}

// In a narrow terminal an error breaks between words, and the line that counts while a command waits is drawn over itself.
func TestANarrowTerminal(t *testing.T) {
	t.Parallel()
	const width = 24
	refused, _ := onTerminal(t, width, 10, nil, "list", "--state", "ended")
	if code := refused.wait(); code != cli.ExitUsage || !strings.Contains(refused.out.String(), "askbus: invalid --state\r\n\"ended\": use pending,\r\nresolved or all\r\n") {
		t.Errorf("exit %d: %q", code, refused.out)
	}
	pl, _ := up(t)
	pl.must(3, "ask", "--question", "Which database?", "--text", "--id", "db", "--session", "s", "--wait", "0", "--timeout", "2h")
	p, _ := onTerminal(t, width, 10, nil, "wait", "s/db", "--dir", pl.dir)
	p.out.wait(t, "waiting for")
	pl.must(0, "answer", "s/db", "--text", "PostgreSQL")
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %q", code, p.out)
	}
	for _, drawn := range strings.Split(p.out.String(), "\r\x1b[K")[1:] {
		if line, _, _ := strings.Cut(drawn, "\r"); strings.Contains(line, "waiting for") && displaywidth.String(line) >= width {
			t.Errorf("%q is as wide as the terminal", line)
		}
	}
}
