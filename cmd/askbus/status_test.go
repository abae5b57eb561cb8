package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

func TestStatusCountsWhatWaitsForYou(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	if out, _, code := pl.run("status", "--format", "tmux"); code != 0 || out != "" {
		t.Errorf("nothing waits: exit %d, %q", code, out)
	}
	if got := pl.must(0, "status"); fmt.Sprint(got) != "map[for_others:0 oldest_age_seconds:0 urgent:0 waiting:0]" {
		t.Errorf("nothing waits: %v", got)
	}
	pl.must(3, "ask", "--question", "A?", "--wait", "0")
	pl.must(3, "ask", "--question", "B?", "--session", "b", "--wait", "0")
	pl.must(3, "ask", "--question", "Not you?", "--audience", "group:finance", "--wait", "0")
	for format, want := range map[string]string{"plain": "◆ 2 waiting, oldest ", "tmux": "#[fg=yellow]◆ 2#[default] "} {
		if out, _, code := pl.run("status", "--format", format); code != 0 || !strings.HasPrefix(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", format, code, out)
		}
	}
	pl.must(3, "ask", "--question", "Now?", "--priority", "urgent", "--wait", "0")
	for format, want := range map[string]string{"plain": "▲ 3 waiting, 1 urgent, oldest ", "tmux": "#[fg=red,bold]▲ 3#[default] "} {
		if out, _, code := pl.run("status", "--format", format); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("%s: exit %d, %q", format, code, out)
		}
	}
	if got := pl.must(0, "status", "--format", "json"); got["waiting"] != 3.0 || got["urgent"] != 1.0 || got["for_others"] != 1.0 || got["oldest_asked_at"] == nil {
		t.Errorf("json: %v", got)
	}
	if got := pl.must(0, "status", "--all"); got["waiting"] != 4.0 || got["for_others"] != 0.0 {
		t.Errorf("all: %v", got)
	}
	if got := pl.must(0, "status", "--session", "b"); got["waiting"] != 1.0 {
		t.Errorf("one session: %v", got)
	}
	if _, stderr, code := pl.run("status", "--format", "xml"); code != cli.ExitUsage || !strings.Contains(stderr, "use tmux, plain or json") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
