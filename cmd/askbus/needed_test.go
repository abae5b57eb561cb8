//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
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
