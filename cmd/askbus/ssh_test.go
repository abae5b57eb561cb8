//go:build linux

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Runs the inbox over SSH with the OpenSSH client: a known key answers; an unknown key and a
// command are refused.
func TestTheInboxOverSSH(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no OpenSSH here")
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"mei", "stranger"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, "mei.pub"))
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "keys") // read at each login, so it may be written later
	pl, p := up(t, "--ssh-addr", "127.0.0.1:0", "--ssh-keys", keys)
	p.err.wait(t, "nobody can sign in over SSH yet")
	said := p.err.wait(t, "inbox over SSH at")
	_, said, _ = strings.Cut(said, "over SSH at ")
	said, _, _ = strings.Cut(said, "\n")
	host, port, err := net.SplitHostPort(said)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, append([]byte(`groups="ops" `), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	ssh := func(key string, more ...string) *exec.Cmd {
		args := []string{"-F", "none", "-p", port, "-i", filepath.Join(dir, key), "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + filepath.Join(dir, "known"), "-o", "BatchMode=yes", host}
		cmd := exec.Command("ssh", append(args, more...)...)
		cmd.Env = append(os.Environ(), "TERM=xterm-256color")
		return cmd
	}
	pl.must(3, "ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--id", "db", "--session", "s", "--audience", "group:ops", "--wait", "0")
	screen, typedIn := onTerminalOf(t, 100, 30, ssh("mei"))
	screen.out.wait(t, "SQLite")
	typed(t, typedIn, "2\r")
	screen.out.wait(t, "You chose SQLite at ")
	screen.out.wait(t, " UTC") // they may be in another time zone than the server
	typed(t, typedIn, "q")
	if code := screen.wait(); code != 0 {
		t.Errorf("exit %d: %q", code, screen.out)
	}
	if !strings.Contains(screen.out.String(), "\x1b[1m") || !strings.Contains(screen.out.String(), "38;5;") {
		t.Errorf("no bold or no colors: %q", screen.out)
	}
	o, ok := pl.must(0, "get", "s/db")["outcome"].(map[string]any)
	if !ok {
		t.Fatal("no outcome")
	}
	if by, ok := o["by"].(map[string]any); !ok || by["principal"] != "ssh:mei" || by["proof"] != "ssh-key" || by["responder"] != "ssh" {
		t.Errorf("answered by %v", o["by"])
	}
	// A connection that breaks off loses nothing that was typed.
	pl.must(3, "ask", "--question", "Which region?", "--option", "eu-west", "--option", "eu-north", "--id", "region", "--session", "s", "--audience", "group:ops", "--wait", "0")
	broken, typedIn := onTerminalOf(t, 100, 30, ssh("mei"))
	broken.out.wait(t, "eu-north")
	typed(t, typedIn, "\rn库")
	broken.out.wait(t, "库")
	_ = broken.cmd.Process.Kill()
	<-broken.done
	again, typedIn := onTerminalOf(t, 100, 30, ssh("mei"))
	again.out.wait(t, "This is your draft from before")
	again.out.wait(t, "库")
	typed(t, typedIn, "2\r")
	again.out.wait(t, "You chose eu-north at ")
	typed(t, typedIn, "q")
	again.wait()
	for name, cmd := range map[string]*exec.Cmd{"an unknown key": ssh("stranger"), "a subsystem": ssh("mei", "-s", "sftp")} {
		if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "uid=") {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
	if out, err := ssh("mei", "list").CombinedOutput(); err == nil || !strings.Contains(string(out), "askbus: there are no commands here") {
		t.Errorf("a command: %v, %s", err, out)
	}
	open, _ := onTerminalOf(t, 100, 30, ssh("mei"))
	open.out.wait(t, "\x1b[1m")
	if code := p.stop(); code != 0 {
		t.Errorf("up: exit %d", code)
	}
	open.out.wait(t, "askbus is stopping; please connect again in a moment.")
	if code := open.wait(); code != 1 {
		t.Errorf("the terminal's exit is %d: %q", code, open.out)
	}
}
