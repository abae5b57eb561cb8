//go:build linux

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
)

// typed types text at a terminal.
func typed(t *testing.T, keys *os.File, s string) {
	t.Helper()
	if _, err := keys.WriteString(s); err != nil {
		t.Fatal(err)
	}
}

func TestNextAnswersTheMostUrgentAsk(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	if _, stderr, code := pl.run("next"); code != 0 || !strings.Contains(stderr, "nothing is waiting") {
		t.Errorf("nothing waits: exit %d, %s", code, stderr)
	}
	pl.must(3, "ask", "--question", "Old?", "--text", "--id", "old", "--session", "s", "--wait", "0")
	pl.must(3, "ask", "--question", "Soon?", "--text", "--id", "soon", "--session", "s", "--timeout", "1h", "--wait", "0")
	pl.must(3, "ask", "--question", "Now?", "--text", "--id", "now", "--session", "s", "--priority", "urgent", "--wait", "0")
	pl.must(3, "ask", "--question", "Not you?", "--text", "--id", "them", "--session", "s", "--priority", "urgent", "--audience", "group:x", "--wait", "0")
	pl.must(3, "ask", "--question", "Not you either?", "--text", "--id", "own", "--session", "s", "--priority", "urgent", "--exclude-asker", "--wait", "0")
	if _, stderr, code := pl.run("answer", "s/own", "--reply", "yes"); code == 0 || !strings.Contains(stderr, "excludes its asker: somebody else has to decide") {
		t.Errorf("an answer of the asker: exit %d, %s", code, stderr)
	}
	for _, id := range []string{"now", "soon", "old"} {
		stdout, stderr, code := pl.runWith("fine\n", "next")
		if code != 0 || decode(t, stdout)["ask_id"] != id {
			t.Fatalf("want %s: exit %d, %s%s", id, code, stdout, stderr)
		}
	}
	if _, stderr, code := pl.run("next"); code != 0 || !strings.Contains(stderr, "nothing is waiting") {
		t.Errorf("only others may decide: exit %d, %s", code, stderr)
	}
	pl.must(3, "ask", "--question", "Left?", "--text", "--id", "left", "--session", "s", "--wait", "0")
	if _, stderr, code := pl.runWith("/quit\n", "next"); code != cli.ExitPending {
		t.Errorf("left open: exit %d, %s", code, stderr)
	}
}

// A line that somebody types while its ask ends is no answer to the next one.
func TestALineForAnAskThatEndsAnswersNoOther(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	for _, id := range []string{"first", "second"} {
		pl.must(3, "ask", "--question", "What is the "+id+" name?", "--text", "--id", id, "--session", "s", "--wait", "0")
	}
	lines, keys := onTerminal(t, 100, 30, nil, "tui", "--accessible", "--dir", pl.dir)
	lines.out.wait(t, "/quit leaves")
	typed(t, keys, "1\r")
	lines.out.wait(t, "Type your answer.")
	typed(t, keys, "half a wo")
	pl.must(0, "withdraw", "s/first")
	lines.out.wait(t, "Press Enter to go on")
	typed(t, keys, "rd\r")
	lines.out.wait(t, "What is the second name?\r\nType your answer.")
	typed(t, keys, "ledger\r")
	lines.out.wait(t, "nothing is waiting")
	o, ok := pl.must(0, "get", "s/second")["outcome"].(map[string]any)
	if answers, is := o["answers"].([]any); !ok || !is || answers[0].(map[string]any)["text"] != "ledger" {
		t.Errorf("the other ask has %v", o)
	}
}

// A terminal that is closed sends what is held, and keeps what is not sent.
func TestATerminalThatIsClosedLosesNothing(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--question", "Which one?", "--option", "Lynx", "--option", "Puma", "--id", "first", "--session", "s", "--wait", "0")
	pl.must(3, "ask", "--question", "Which other one?", "--option", "Wolf", "--option", "Zebu", "--id", "second", "--session", "s", "--wait", "0")
	open := func() (*process, *os.File) {
		return onTerminal(t, 100, 30, []string{"ASKBUS_UNDO=10s"}, "tui", "--dir", pl.dir)
	}
	closed, keys := open()
	closed.out.wait(t, "Puma")
	typed(t, keys, "\rj")
	closed.out.wait(t, "Zebu")
	typed(t, keys, "n库")
	closed.out.wait(t, "库")
	typed(t, keys, "\rk2\r") // back to the first: keys do not answer an ask that has only just slid in
	closed.out.wait(t, "sending Puma")
	if err := closed.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-closed.done
	if o, ok := pl.must(0, "get", "s/first")["outcome"].(map[string]any); !ok || o["status"] != "answered" {
		t.Errorf("what was held: %v", o)
	}
	killed, keys := open()
	killed.out.wait(t, "This is your draft from before")
	typed(t, keys, "\r2")
	killed.out.wait(t, "(•)")
	for !strings.Contains(draftsIn(t, pl.dir), `"chosen":["`) {
		runtime.Gosched() // it is kept within a second
	}
	_ = killed.cmd.Process.Kill()
	<-killed.done
	again, _ := open()
	again.out.wait(t, "(•)")
}

// draftsIn returns the drafts that a directory has.
func draftsIn(t *testing.T, dir string) (all string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "drafts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err == nil { // else it is being replaced
			all += string(data)
		}
	}
	return all
}

func TestAnswerPromptsAtATerminal(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--question", "First?", "--text", "--id", "first", "--session", "s", "--wait", "0")
	pl.must(3, "ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--id", "second", "--session", "s", "--wait", "0")
	p, keys := onTerminal(t, 80, 24, nil, "answer", "--dir", pl.dir)
	p.out.wait(t, "Which one?")
	typed(t, keys, "2\n")
	p.out.wait(t, "Choose one")
	typed(t, keys, "2\n")
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "You chose SQLite at ") {
		t.Errorf("exit %d: %q", code, p.out)
	}
	p, _ = onTerminal(t, 80, 24, nil, "answer", "fir", "--dir", pl.dir)
	p.out.wait(t, "First?")
	pl.must(0, "answer", "s/first", "--text", "faster")
	if code := p.wait(); code != cli.ExitRefused || !strings.Contains(p.out.String(), "faster") {
		t.Errorf("exit %d: %q", code, p.out)
	}
	if _, stderr, code := pl.run("answer"); code != cli.ExitUsage || !strings.Contains(stderr, "name an ask") {
		t.Errorf("no terminal: exit %d, %s", code, stderr)
	}
}

func TestNamesMayBeShortened(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	for _, id := range []string{"deploy-42", "deploy-43", "build-7"} {
		pl.must(3, "ask", "--question", "Q?", "--id", id, "--session", "s", "--wait", "0")
	}
	pl.must(0, "withdraw", "build-7")
	for ref, id := range map[string]string{"deploy-42": "deploy-42", "42": "deploy-42", "s/deploy-43": "deploy-43", "s/43": "deploy-43", "build": "build-7"} {
		stdout, stderr, _ := pl.run("get", ref)
		if stdout == "" || decode(t, stdout)["ask_id"] != id {
			t.Errorf("%s: %s%s", ref, stdout, stderr)
		}
	}
	if stdout, _, _ := pl.run("get", "43", "--session", "s"); decode(t, stdout)["ask_id"] != "deploy-43" {
		t.Errorf("in a session: %s", stdout)
	}
	for _, ref := range []string{"deploy", "s/deploy"} {
		if _, stderr, code := pl.run("get", ref); code != cli.ExitUsage || !strings.Contains(stderr, "2 asks; name one of s/deploy-42, s/deploy-43") {
			t.Errorf("%s: exit %d, %s", ref, code, stderr)
		}
	}
	for _, ref := range []string{"nothing", "t/42"} {
		if _, stderr, code := pl.run("get", ref); code != cli.ExitFailure || !strings.Contains(stderr, "no ask") {
			t.Errorf("%s: exit %d, %s", ref, code, stderr)
		}
	}
}

func TestTheAskersTerminalRacesTheOtherSurfaces(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	here := func(id string, more ...string) (*process, *os.File) {
		args := []string{"ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--id", id, "--session", "s", "--answer-here", "--dir", pl.dir}
		return onTerminal(t, 80, 24, nil, append(args, more...)...)
	}
	p, keys := here("one")
	p.out.wait(t, "Choose one")
	typed(t, keys, "2\n")
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "You chose SQLite at ") {
		t.Errorf("exit %d: %q", code, p.out)
	}
	got := pl.must(0, "get", "s/one")["outcome"].(map[string]any)["by"].(map[string]any)
	if got["proof"] != ask.ProofAskerTerminal || got["responder"] != "cli" {
		t.Errorf("answered by %v", got)
	}

	p, keys = here("two")
	p.out.wait(t, "Choose one")
	typed(t, keys, "Postg") // a partial word is not an answer
	pl.must(0, "answer", "s/two", "--reply", "2")
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "You chose SQLite at ") {
		t.Errorf("exit %d: %q", code, p.out)
	}

	p, keys = here("three", "--audience", "os:somebody")
	p.out.wait(t, "does not prove who you are")
	typed(t, keys, "1\n")
	p.out.wait(t, "waiting for others")
	pl.must(0, "abort", "s/three")
	if code := p.wait(); code != cli.ExitCancelled {
		t.Errorf("exit %d: %q", code, p.out)
	}

	p, keys = here("four")
	p.out.wait(t, "Choose one")
	typed(t, keys, "\x03")
	if code := p.wait(); code != cli.ExitPending || !strings.Contains(p.out.String(), "askbus wait s/four") {
		t.Errorf("exit %d: %q", code, p.out)
	}
	if _, stderr, code := pl.run("ask", "--question", "Q?", "--answer-here"); code != cli.ExitUsage || !strings.Contains(stderr, "needs a terminal") {
		t.Errorf("no terminal: exit %d, %s", code, stderr)
	}
}
