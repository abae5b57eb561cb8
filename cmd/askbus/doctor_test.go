package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

func TestDoctorReportsProblemsAndSetsTheExitCode(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	stdout, stderr, code := pl.run("doctor", "--output", "json")
	var found finding.List
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != 0 || found.Broken() > 0 || len(found) < 15 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if out, _, code := pl.run("doctor", "--no-ask", "--output", "text"); code != 0 || !strings.Contains(out, "ok      brokers: 1 of ") || !strings.Contains(out, "missing test ask: not sent") {
		t.Errorf("exit %d: %s", code, out)
	}
	if said := p.err.String(); strings.Contains(said, "Violation") || strings.Contains(said, "level=ERROR") || strings.Contains(said, "refused an exchange") {
		t.Errorf("the server's log has what it tried: %s", said)
	}
	// It leaves nothing but the answer of its own ask.
	if list := pl.must(0, "status", "--all", "--format", "json"); list["waiting"] != 0.0 {
		t.Errorf("left behind: %v", list)
	}
	// What one credential is for is broken, and everything else is checked.
	if out, stderr, code := pl.runWith("", "doctor", "--no-ask", "--admin-creds", "/does/not/exist", "--output", "text"); code != cli.ExitFailure || !strings.Contains(out, "broken  ledger: cannot connect to read it") || strings.Contains(out, "missing ledger") || !strings.Contains(out, "ok      brokers: 1 of ") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	// What "askbus auth maintenance" prints is one, in both its forms.
	for _, form := range []string{"json", "text"} {
		admin := filepath.Join(t.TempDir(), "admin")
		if text, stderr, code := pl.run("auth", "maintenance", "--output", form); code != 0 || os.WriteFile(admin, []byte(text), 0o600) != nil {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		if out, stderr, code := pl.run("doctor", "--no-ask", "--admin-creds", admin, "--output", "text"); code != 0 || !strings.Contains(out, "ok      replicas: 1 ") {
			t.Errorf("%s: exit %d: %s%s", form, code, out, stderr)
		}
	}
	// The keys of the directory count also for another address of its bus.
	if out, stderr, code := pl.run("doctor", "--no-ask", "--nats-url", pl.context().NATSURL, "--output", "text"); code != 0 || !strings.Contains(out, "ok      replicas: 1 ") || !strings.Contains(out, "ok      rights of agent: ") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	// That of another role is no broken bus.
	auditor := filepath.Join(t.TempDir(), "auditor.json")
	if text, stderr, code := pl.run("auth", "auditor", "--output", "json"); code != 0 || os.WriteFile(auditor, []byte(text), 0o600) != nil {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if out, stderr, code := pl.run("doctor", "--creds", auditor, "--output", "text"); code != cli.ExitFailure || !strings.HasPrefix(out, "broken  credential: the credential is of auditor") || strings.Contains(out, "brokers") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	p.stop()
	if out, stderr, code := pl.run("doctor", "--output", "text"); code != cli.ExitFailure || !strings.HasPrefix(out, "broken  server: cannot connect to nats://") {
		t.Errorf("stopped: exit %d: %s%s", code, out, stderr)
	}
	if _, stderr, code := pl.runWith("", "doctor", "--admin-creds", "/does/not/exist"); code != cli.ExitFailure {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Without a bus and without a credential that can be read, doctor says so as one of its findings.
func TestDoctorWithoutACredential(t *testing.T) {
	t.Parallel()
	pl := place{t, t.TempDir()}
	for want, args := range map[string][]string{
		"no bus found in":                     nil,
		"there is no credential file \"/no\"": {"--creds", "/no"},
		"is a directory":                      {"--creds", pl.dir},
	} {
		stdout, stderr, code := pl.run(append([]string{"doctor", "--output", "json"}, args...)...)
		var found finding.List
		if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != cli.ExitFailure || len(found) == 0 || found[0].What != "credential" || !strings.Contains(found[0].Words, want) {
			t.Errorf("%s: exit %d, %v: %s%s", want, code, err, stdout, stderr)
		}
	}
}

func TestDoctorChecksSlackIfItsTokenIsSet(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	d := startWith(t, []string{"ASKBUS_SLACK_BOT_TOKEN=xoxb-1", "ASKBUS_SLACK_APP_TOKEN=xapp-1", "ASKBUS_SLACK_CHANNEL=C1", "ASKBUS_SLACK_URL=http://127.0.0.1:1/api/"}, "", "doctor", "--no-ask", "--dir", pl.dir, "--output", "text")
	if code := d.wait(); code != cli.ExitFailure || !strings.Contains(d.out.String(), "broken  slack token: ") {
		t.Errorf("exit %d: %s%s", code, d.out, d.err)
	}
}

// A policy that was changed into an invalid one is not in effect, and the next start fails: that is no
// matter of the log alone.
func TestDoctorReportsAFileThatBecameInvalid(t *testing.T) {
	t.Parallel()
	pl := place{t, t.TempDir()}
	rules := filepath.Join(t.TempDir(), "approvals.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("people: [{name: Mei, principals: [\"os:mei\"]}]")
	pl.up("--approvals", rules)
	write("people: [{name: Mei, principal: [\"os:mei\"]}]")
	natstest.Eventually(t, "doctor says so", func() bool {
		out, _, code := pl.run("doctor", "--no-ask", "--output", "text")
		return code == cli.ExitFailure && strings.Contains(out, "broken  files: "+rules+": people[0]: unknown field \"principal\" at broker ")
	})
	if page := pl.opsPage("up", "/readyz"); !strings.HasPrefix(page, "ok") || !strings.Contains(page, "note: "+rules+": people[0]: unknown field \"principal\"; its previous content counts") {
		t.Errorf("/readyz: %s", page)
	}
	write("people: [{name: Mei, principals: [\"os:mei\", \"slack:T1/U1\"]}]")
	natstest.Eventually(t, "doctor is content", func() bool {
		_, _, code := pl.run("doctor", "--no-ask", "--output", "text")
		return code == 0
	})
}
