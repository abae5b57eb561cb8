//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// tmux is a real tmux server whose one window runs askbus.
type tmux struct {
	t      *testing.T
	socket string
}

// inTmux starts askbus in a window of the given size.
func inTmux(t *testing.T, width, height int, args ...string) tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no tmux; hack/deps installs it")
		}
		t.Skip("no tmux")
	}
	// Keep the path short: the length of a socket's path is limited.
	dir, err := os.MkdirTemp("", "tmux") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	m := tmux{t, filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_, _ = m.try("kill-server")
		_ = os.RemoveAll(dir)
	})
	bin, _ := programOf(t, args)
	m.do(append([]string{"new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "--", bin}, args...)...)
	return m
}

func (m tmux) try(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", m.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), asMain+"=1", "TMUX=", "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m tmux) do(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("tmux %s: %v: %s", args[0], err, out)
	}
	return out
}

// keys presses keys, by tmux's names.
func (m tmux) keys(names ...string) {
	m.t.Helper()
	m.do(append([]string{"send-keys"}, names...)...)
}

func (m tmux) shown() string {
	m.t.Helper()
	return m.do("capture-pane", "-p")
}

// wait waits until the window shows all texts, and returns its content.
func (m tmux) wait(texts ...string) (shown string) {
	m.t.Helper()
	defer func() {
		if m.t.Failed() {
			m.t.Logf("tmux shows:\n%s", shown)
		}
	}()
	natstest.Eventually(m.t, "tmux shows "+strings.Join(texts, ", "), func() bool {
		shown = m.shown()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	})
	return shown
}

// TestTheInboxInTmux runs the main flows in a real terminal: the list, a filter, a choice that
// survives two resizes, a draft that another person's answer ends, and a decline with a reason.
func TestTheInboxInTmux(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	m := inTmux(t, 80, 24, "tui", "--dir", pl.dir)
	m.wait("Nothing waits for you.")
	asks := func(args ...string) {
		pl.must(3, append([]string{"ask", "--session", "s", "--wait", "0"}, args...)...)
	}
	outcome := func(code int, id string) map[string]any {
		return pl.must(code, "get", "s/"+id)["outcome"].(map[string]any)
	}

	asks("--id", "db", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite")
	m.wait("1 waiting", "Which database?")
	m.keys("Enter")
	m.wait("( ) PostgreSQL")
	m.keys("2")
	m.wait("(•) SQLite")
	m.do("resize-window", "-x", "120", "-y", "40")
	m.do("resize-window", "-x", "60", "-y", "20")
	m.wait("(•) SQLite") // the choice survives
	m.keys("Enter")
	m.wait("0 waiting", "✓ You chose SQLite")
	if o := outcome(0, "db"); o["by"].(map[string]any)["responder"] != "cli" {
		t.Errorf("outcome %v", o)
	}
	m.do("resize-window", "-x", "80", "-y", "24")

	asks("--id", "four", "--file", example("four-questions.json"))
	asks("--id", "name", "--question", "What should I call it?", "--text")
	m.keys("Escape")
	m.wait("enter open", "2 waiting", "What should I call it?")
	m.keys("/")
	m.keys("-l", "name it")
	m.keys("Enter")
	m.keys("Enter")
	m.wait("session s", "What should I call it?", "enter send") // the card has the keys, not the list beside it
	m.keys("-l", "ledger")
	m.wait("ledger")
	pl.must(0, "answer", "s/name", "--text", "journal")
	m.wait("✓ You answered journal")

	asks("--id", "no", "--question", "Delete it?", "--kind", "boolean")
	m.keys("Escape") // what is typed for an ask that has ended opens nothing
	m.wait("What you had begun was not sent", "ledger", "esc list")
	m.keys("Escape")
	m.wait("enter open") // the next key must not become one with Escape
	m.keys("/")
	for range len("name it") {
		m.keys("BSpace")
	}
	m.keys("-l", "delete")
	m.keys("Enter")
	m.wait("Delete it?")
	m.keys("Enter")
	m.wait("session s", "Delete it?")
	m.keys("x")
	m.keys("-l", "not today")
	m.wait("not today")
	m.keys("Enter")
	m.wait("1 waiting")
	if o := outcome(cli.ExitCancelled, "no"); o["status"] != "cancelled" || o["reason"] != "not today" {
		t.Errorf("outcome %v", o)
	}
}
