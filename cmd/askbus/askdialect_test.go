package main

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

func TestAskAFileOfADialect(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	const request = `{"questions":[{"question_id":"pick","question":"Which?","allow_multiple":true,"colour":"red","options":[{"id":"candidate_1","label":"One"},{"id":"candidate_2","label":"Two"}]}]}`
	if out, said, code := pl.runWith(request, "ask", "--file", "-", "--dialect", "by-id", "--id", "d-1", "--wait", "0"); code != 0 && code != cli.ExitPending || !strings.Contains(said, "/questions/0/colour") {
		t.Fatalf("exit %d: %s%s", code, out, said)
	}
	if _, said, code := pl.run("answer", "d-1", "--select", "pick=candidate_2"); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	out, said, code := pl.runWith(request, "ask", "--file", "-", "--dialect", "by-id", "--id", "d-1", "--output", "json")
	if code != 0 || strings.TrimSpace(out) != `{"status":"answered","answers":[{"question_id":"pick","selected_option_ids":["candidate_2"]}]}` {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	for _, args := range [][]string{{"--dialect", "nobody's", "--file", "-"}, {"--dialect", "by-id", "--question", "Why?"}} {
		if _, said, code := pl.runWith(request, append([]string{"ask"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%q: exit %d: %s", args, code, said)
		}
	}
	if _, said, code := pl.runWith(`{"questions":[]}`, "ask", "--file", "-", "--dialect", "by-id"); code == 0 || !strings.Contains(said, "/questions") {
		t.Errorf("exit %d: %s", code, said)
	}
}
