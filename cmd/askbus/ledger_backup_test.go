package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// A backup is made while the bus runs, checked, and restored elsewhere with other partitions, where
// pending asks can be answered.
func TestALedgerIsSavedWhileRunningAndRestoredElsewhere(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	pl.must(cli.ExitPending, "ask", "--question", "Go?", "--option", "yes", "--id", "open", "--session", "s1", "--wait", "0")
	shot := filepath.Join(t.TempDir(), "build.log")
	if err := os.WriteFile(shot, []byte(strings.Repeat("a line of the build\n", 20_000)), 0o600); err != nil { // more than one part
		t.Fatal(err)
	}
	pl.must(cli.ExitPending, "ask", "--question", "Went?", "--option", "yes", "--id", "ended", "--session", "s1", "--attach", shot, "--wait", "0")
	was := pl.must(0, "answer", "ended", "--reply", "yes", "--output", "json")
	file := filepath.Join(t.TempDir(), "bus.backup")
	if s := pl.must(0, "ledger", "backup", file, "--output", "json"); s["pending"] != 1.0 || s["ended"] != 1.0 || s["partitions"] != 4.0 {
		t.Errorf("backup: %v", s)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, stderr, code := pl.run("ledger", "backup", file); code != cli.ExitUsage || !strings.Contains(stderr, "already exists") {
		t.Errorf("over another one: exit %d: %s", code, stderr)
	}
	if _, stderr, code := pl.run("ledger", "restore", file); code != cli.ExitFailure || !strings.Contains(stderr, "in use") {
		t.Errorf("while it runs: exit %d: %s", code, stderr)
	}
	if code := p.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if _, stderr, code := pl.run("ledger", "restore", file); code != cli.ExitFailure || !strings.Contains(stderr, "not empty") {
		t.Errorf("into a non-empty ledger: exit %d: %s", code, stderr)
	}
	if s := pl.must(0, "ledger", "restore", "--check", file, "--output", "json"); s["pending"] != 1.0 {
		t.Errorf("check: %v", s)
	}
	stopped := filepath.Join(t.TempDir(), "stopped.backup")
	if s := pl.must(0, "ledger", "backup", stopped, "--output", "json"); s["pending"] != 1.0 || s["ended"] != 1.0 {
		t.Errorf("backup of a stopped one: %v", s)
	}
	fresh := place{t, filepath.Join(t.TempDir(), "fresh")}
	if s := fresh.must(0, "ledger", "restore", file, "--partitions", "9", "--output", "json"); s["pending"] != 1.0 || s["ended"] != 1.0 || s["partitions"] != 9.0 {
		t.Errorf("restore: %v", s)
	}
	fresh.up()
	is := fresh.must(0, "get", "s1/ended", "--output", "json")
	if o, ok := is["outcome"].(map[string]any); ok {
		is = o
	}
	if is["answer_id"] != was["answer_id"] || is["at"] != was["at"] {
		t.Errorf("outcome %v, was %v", is, was)
	}
	if o := fresh.must(0, "answer", "open", "--reply", "yes", "--output", "json"); o["status"] != "answered" {
		t.Errorf("%v", o)
	}
	data, err := os.ReadFile(shot)
	if err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := fresh.run("file", "s1/"+ask.FileID(data)); code != 0 || out != string(data) {
		t.Errorf("the file of an ask: exit %d, %d bytes: %s", code, len(out), stderr)
	}
}

// A cluster's backup says three copies, which a single server refuses. "restore --dir" fills one.
func TestABackupOfAClusterIsRestoredIntoADirectory(t *testing.T) {
	t.Parallel()
	addrs, err := freeaddr.Pick(3)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"n1", "n2", "n3"}
	var nodes []string
	for i, n := range names {
		nodes = append(nodes, n+"="+addrs[i])
	}
	home := t.TempDir()
	first := place{t, filepath.Join(home, "n1")}
	for i, n := range names {
		args := []string{"server", "--dir", filepath.Join(home, n), "--nats-addr", "127.0.0.1:0", "--cluster", strings.Join(nodes, ","), "--node", n}
		if i > 0 {
			args = append(args, "--key-of", first.dir)
		}
		start(t, "", args...).err.wait(t, "NATS at")
	}
	broker := start(t, "", "broker", "--dir", first.dir, "--replicas", "3")
	broker.err.wait(t, "broker is ready")
	first.must(cli.ExitPending, "ask", "--question", "Go?", "--option", "yes", "--id", "open", "--session", "s1", "--wait", "0")
	file := filepath.Join(home, "bus.backup")
	first.must(0, "ledger", "backup", file)
	fresh := place{t, filepath.Join(home, "fresh")}
	if _, stderr, code := fresh.run("ledger", "restore", file, "--replicas", "3"); code != cli.ExitFailure || !strings.Contains(stderr, "3 copies need a cluster, and this is a single server: use --replicas 1") {
		t.Errorf("three copies in a directory: exit %d: %s", code, stderr)
	}
	if s := fresh.must(0, "ledger", "restore", file); s["pending"] != 1.0 {
		t.Errorf("restore: %v", s)
	}
	fresh.up()
	fresh.must(0, "answer", "open", "--reply", "yes")
}

// Backups and restores are in the audit: of the directory's own store and of a server elsewhere, with
// credentials in JSON. A backup goes through a pipe.
func TestBackupsAndRestoresAreInTheAudit(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(cli.ExitPending, "ask", "--question", "Go?", "--option", "yes", "--id", "open", "--session", "s1", "--wait", "0")
	saved := func(n int) {
		t.Helper()
		natstest.Eventually(t, "the audit has the backup", func() bool {
			got := pl.audited("--action", "ledger.saved")
			return len(got) == n && got[n-1].Object.Note == "a backup of 1 pending asks and 0 ended ones"
		})
	}
	out, said, code := pl.run("ledger", "backup", "-")
	if code != 0 || !strings.Contains(said, "1 pending asks, 0 ended ones") {
		t.Fatalf("to standard output: exit %d, %s", code, said)
	}
	saved(1)
	if got, said, code := pl.runWith(out, "ledger", "restore", "--check", "-", "--output", "text"); code != 0 || !strings.Contains(got, "1 pending asks") {
		t.Errorf("from standard input: exit %d, %s %s", code, got, said)
	}
	if _, _, code := pl.runWith(out[:len(out)/2], "ledger", "restore", "--check", "-"); code == 0 {
		t.Error("half of a backup was accepted")
	}
	dir := t.TempDir()
	write := func(name string, args ...string) string {
		t.Helper()
		text, said, code := pl.run(append(args, "--output", "json")...)
		name = filepath.Join(dir, name)
		if code != 0 || os.WriteFile(name, []byte(text), 0o600) != nil {
			t.Fatalf("%s: exit %d, %s", args, code, said)
		}
		return name
	}
	admin, operator := write("admin.json", "auth", "maintenance"), write("operator.json", "auth", "operator")
	elsewhere := place{t, filepath.Join(dir, "elsewhere")} // without the bus's directory
	file := filepath.Join(dir, "bus.backup")
	elsewhere.must(0, "ledger", "backup", file, "--admin-url", pl.context().NATSURL, "--admin-creds", admin, "--creds", operator)
	saved(2)
	if _, said, code := elsewhere.run("ledger", "backup", file+"2", "--admin-url", pl.context().NATSURL, "--admin-creds", admin); code != 0 || !strings.Contains(said, "the audit has no record of this") {
		t.Errorf("without an operator's credential: exit %d, %s", code, said)
	}
	// So is what a command changed before it failed: here the server has less than 20 GiB.
	if _, said, code := elsewhere.run("ledger", "set", "--margin", "48h", "--audit-bytes", "20GiB", "--admin-url", pl.context().NATSURL, "--admin-creds", admin, "--creds", operator); code != cli.ExitFailure || !strings.Contains(said, "what was changed before stays") {
		t.Errorf("settings that cannot all change: exit %d, %s", code, said)
	}
	natstest.Eventually(t, "the audit has the change", func() bool {
		got := pl.audited("--action", "ledger.changed")
		return len(got) == 1 && strings.HasPrefix(got[0].Object.Note, "margin 48h0m0s (was 24h0m0s), audit-bytes 20GiB; not to the end: ledger: update stream AUDIT")
	})

	fresh := place{t, filepath.Join(dir, "fresh")}
	start(t, "", "server", "--dir", fresh.dir, "--nats-addr", "127.0.0.1:0").err.wait(t, "NATS at")
	text, said, code := fresh.run("auth", "broker", "--output", "json")
	broker := filepath.Join(dir, "broker.json")
	if code != 0 || os.WriteFile(broker, []byte(text), 0o600) != nil {
		t.Fatalf("auth broker: exit %d, %s", code, said)
	}
	if _, said, code := elsewhere.run("ledger", "restore", file, "--nats-url", fresh.context().NATSURL, "--creds", broker); code != 0 || strings.Contains(said, "no record") {
		t.Fatalf("restore: exit %d, %s", code, said)
	}
	if _, said, code := elsewhere.run("list", "--nats-url", fresh.context().NATSURL, "--creds", broker); code != 1 || !strings.Contains(said, "for brokers only") {
		t.Errorf("a list with a broker's credentials: exit %d, %s", code, said)
	}
	start(t, "", "broker", "--dir", fresh.dir).err.wait(t, "broker is ready")
	if got := fresh.audited("--action", "ledger.changed"); len(got) != 1 || !strings.HasPrefix(got[0].Object.Note, "restored from a backup of 20") || got[0].Actor.Role != "operator" {
		t.Errorf("the restored audit has %+v", got)
	}
}
