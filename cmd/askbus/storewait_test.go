package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

// A pod that was deleted by force may run for some time beside its successor, on the same volume.
func TestASuccessorWaitsForTheStore(t *testing.T) {
	t.Parallel()
	pl, first := up(t)
	pl.must(cli.ExitPending, "ask", "--question", "Go?", "--option", "Yes", "--id", "a1", "--session", "s1", "--wait", "0")
	successor := func(wait string, args ...string) *process {
		return startWith(t, []string{"ASKBUS_STORE_WAIT=" + wait}, "", append(args, "--dir", pl.dir, "--nats-addr", "127.0.0.1:0")...)
	}
	up := []string{"up", "--http-addr", "127.0.0.1:0", "--no-open"}
	const waits = "another askbus process uses the store"

	// Both give up: one because its time is over, one because it is stopped.
	short := successor("300ms", "server")
	if code := short.wait(); code != cli.ExitFailure || !strings.Contains(short.err.String(), waits) || !strings.Contains(short.err.String(), "in use by another askbus process; stop it, or choose another directory with --dir (waited 300ms)") {
		t.Errorf("exit %d: %s", code, short.err)
	}
	stopped := successor("1h", up...)
	stopped.err.wait(t, waits)
	if code := stopped.stop(); code != cli.ExitFailure || !strings.Contains(stopped.err.String(), "stopped while another askbus process used the store in "+pl.dir) {
		t.Errorf("exit %d: %s", code, stopped.err)
	}

	second := successor("1h", up...)
	second.err.wait(t, waits)
	if err := first.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("the first process has ended: %v\n%s", err, first.err)
	}
	first.kill()
	second.out.wait(t, "askbus is up.")
	pl.must(cli.ExitAnswered, "answer", "s1/a1", "--reply", "Yes")
	if code := second.stop(); code != cli.ExitAnswered {
		t.Errorf("exit %d: %s", code, second.err)
	}
}

// While a role waits for its server it says so, and for which; otherwise its pod would be silent and
// not ready for minutes.
func TestARoleSaysThatItWaitsForItsServer(t *testing.T) {
	t.Parallel()
	pl, server := up(t)
	creds := filepath.Join(t.TempDir(), "creds.json")
	out, stderr, code := pl.run("auth", "responder", "--type", "web", "--output", "json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if err := os.WriteFile(creds, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	at := pl.context().NATSURL
	server.stop()
	role := func(wait string) *process {
		return startWith(t, []string{"ASKBUS_NATS_WAIT=" + wait, "ASKBUS_CREDS=" + creds, "ASKBUS_WEB_COOKIE_KEY=" + strings.Repeat("k", 32)}, "",
			"web", "--http-addr", "127.0.0.1:0", "--dir", filepath.Join(t.TempDir(), "state"))
	}
	p := role("1h")
	p.err.wait(t, `nothing answers at the NATS server: trying again" url=`+at)
	if code := p.stop(); code != cli.ExitFailure || !strings.Contains(p.err.String(), "stopped while nothing answered at "+at) {
		t.Errorf("exit %d: %s", code, p.err)
	}
	p = role("0")
	if code := p.wait(); code != cli.ExitFailure || !strings.Contains(p.err.String(), "nothing answers at "+at+"; check that the server runs") || strings.Contains(p.err.String(), "askbus server --dir") {
		t.Errorf("exit %d: %s", code, p.err)
	}
}
