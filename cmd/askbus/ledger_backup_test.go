package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/freeaddr"
)

// A backup is made while the bus runs, checked, and restored elsewhere with other partitions, where
// pending asks can be answered.
func TestALedgerIsSavedWhileRunningAndRestoredElsewhere(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	pl.must(cli.ExitPending, "ask", "--question", "Go?", "--option", "yes", "--id", "open", "--session", "s1", "--wait", "0")
	pl.must(cli.ExitPending, "ask", "--question", "Went?", "--option", "yes", "--id", "ended", "--session", "s1", "--wait", "0")
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
