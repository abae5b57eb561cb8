package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// The start with a damaged store names the command that repairs it. The repair reports what is
// lost, keeps the damaged file and restores the rest.
func TestADamagedStoreIsCheckedAndRepaired(t *testing.T) {
	t.Parallel()
	pl, p := up(t, "--partitions", "1")
	for _, id := range []string{"a1", "a2", "a3"} {
		pl.must(cli.ExitPending, "ask", "--question", "Shall we?", "--id", id, "--session", "s1", "--wait", "0")
	}
	if _, stderr, code := pl.run("ledger", "check"); code != cli.ExitFailure || !strings.Contains(stderr, "in use") {
		t.Errorf("while it runs: exit %d: %s", code, stderr)
	}
	if code := p.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if stdout, _, code := pl.run("ledger", "check", "--output", "text"); code != 0 || !strings.Contains(stdout, "is whole") {
		t.Fatalf("exit %d: %s", code, stdout)
	}
	blocks, err := filepath.Glob(filepath.Join(pl.dir, "nats", "jetstream", "A*", "streams", "ASKS_00", "msgs", "*.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%v, %v", blocks, err)
	}
	data, err := os.ReadFile(blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(blocks[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := pl.run("server", "--nats-addr", "127.0.0.1:0")
	for _, says := range []string{blocks[0], "askbus ledger check", "askbus ledger repair --accept-loss", "high-water"} {
		if code != cli.ExitFailure || !strings.Contains(stderr, says) {
			t.Errorf("exit %d, without %q: %s", code, says, stderr)
		}
	}
	stdout, _, code := pl.run("ledger", "check", "--output", "text")
	if code != cli.ExitFailure || !strings.Contains(stdout, blocks[0]) || !strings.Contains(stdout, "1 asks lost") || !strings.Contains(stdout, "default/s1/a2") {
		t.Errorf("check: exit %d: %s", code, stdout)
	}
	if _, stderr, code := pl.run("ledger", "repair"); code != cli.ExitUsage || !strings.Contains(stderr, "--accept-loss") {
		t.Errorf("without consent: exit %d: %s", code, stderr)
	}
	if _, stderr, code := pl.run("ledger", "repair", "--from-peers"); code != cli.ExitFailure || !strings.Contains(stderr, "no peers") {
		t.Errorf("from peers: exit %d: %s", code, stderr)
	}
	r := pl.must(0, "ledger", "repair", "--accept-loss", "--output", "json")
	aside, ok := r["moved_to"].(string)
	if kept, err := os.ReadFile(filepath.Join(aside, "ASKS_00", filepath.Base(blocks[0]))); !ok || err != nil || !slices.Equal(kept, data) {
		t.Errorf("the damaged file is not kept in %s: %v", aside, err)
	}
	pl.up()
	for id, code := range map[string]int{"a1": cli.ExitPending, "a2": cli.ExitFailure, "a3": cli.ExitPending} {
		if stdout, stderr, got := pl.run("get", "s1/"+id); got != code {
			t.Errorf("%s: exit %d, want %d: %s%s", id, got, code, stdout, stderr)
		}
	}
	natstest.Eventually(t, "the repair is in the audit", func() bool {
		all := pl.audited("--action", "ledger.repaired")
		return len(all) == 1 && strings.Contains(all[0].Object.Note, "ASKS_00") && strings.Contains(all[0].Object.Note, filepath.Base(aside))
	})
}

// A store without its key does not start with a new one.
func TestALostKeyIsReplacedOnlyOnPurpose(t *testing.T) {
	t.Parallel()
	pl, p := up(t, "--partitions", "1")
	pl.must(cli.ExitPending, "ask", "--question", "Shall we?", "--id", "a1", "--session", "s1", "--wait", "0")
	p.stop()
	path := filepath.Join(pl.dir, "auth")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"server", "--nats-addr", "127.0.0.1:0"}, {"auth", "operator"}} {
		if _, stderr, code := pl.run(command...); code != cli.ExitFailure || !strings.Contains(stderr, path) || !strings.Contains(stderr, "askbus ledger new-key") {
			t.Errorf("%v: exit %d: %s", command, code, stderr)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("a key was made: %v", err)
	}
	if _, stderr, code := pl.run("ledger", "new-key"); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	pl.up()
	if _, _, code := pl.run("get", "s1/a1"); code != cli.ExitPending {
		t.Errorf("exit %d", code)
	}
}
