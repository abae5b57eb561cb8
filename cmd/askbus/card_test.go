package main

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

func TestAPersonSeesTheCard(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	body := `{"id":"two","agent":{"name":"builder"},"questions":[{"id":"db","text":"Which?","options":[{"label":"JWT (Recommended)"},{"label":"Sessions"}]},{"id":"n","text":"How many?","kind":"number","limits":{"max":9}}]}`
	if _, stderr, code := pl.runWith(body, "ask", "--session", "s1", "--file", "-", "--wait", "0"); code != cli.ExitPending {
		t.Fatalf("%d: %s", code, stderr)
	}
	text, _, code := pl.run("get", "s1/two", "--output", "text")
	for _, want := range []string{"builder asks · ", " · session s1 · waiting ", "[db] Which?", "  1. JWT (recommended)\n", "Answer it with: askbus answer s1/two"} {
		if !strings.Contains(text, want) || code != cli.ExitPending {
			t.Errorf("%d: the card does not say %q:\n%s", code, want, text)
		}
	}
	if strings.Contains(text, "ends ") || strings.Contains(text, "Nothing is decided") {
		t.Errorf("a deadline that nobody declared is shown:\n%s", text)
	}
	_, stderr, code := pl.run("answer", "s1/two", "--reply", "db=jwt", "--reply", "n=12", "--output", "text")
	if code != cli.ExitRefused || !strings.Contains(stderr, "[n] How many?") || !strings.Contains(stderr, "give at most 9") || !strings.Contains(stderr, "one question needs another look") || strings.Contains(stderr, "[db]") {
		t.Errorf("%d: what is asked again: %s", code, stderr)
	}
	if _, stderr, code := pl.run("answer", "s1/two", "--reply", "db=jwt", "--reply", "n=3"); code != cli.ExitAnswered {
		t.Fatalf("%d: %s", code, stderr)
	}
	if text, _, _ := pl.run("get", "s1/two", "--output", "text"); !strings.Contains(text, "You answered at ") || !strings.Contains(text, "Which? JWT\n") {
		t.Errorf("the end:\n%s", text)
	}
}
