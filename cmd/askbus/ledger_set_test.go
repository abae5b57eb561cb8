package main

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// The ledger stores the settings on which brokers agree. A broker with other settings does not
// start, and says how to change them.
func TestABrokerWithOtherSettingsDoesNotStart(t *testing.T) {
	t.Parallel()
	pl, p := up(t, "--partitions", "2", "--retention", "48h")
	pl.must(cli.ExitPending, "ask", "--question", "Shall we?", "--id", "a1", "--session", "s1", "--wait", "0")
	if _, stderr, code := pl.run("broker", "--retention", "1h"); code != cli.ExitFailure || !strings.Contains(stderr, "retention is 1h0m0s here and 48h0m0s in the ledger") {
		t.Errorf("a second broker: exit %d: %s", code, stderr)
	}
	if _, stderr, code := pl.run("ledger", "set", "--retention", "72h"); code != cli.ExitFailure || !strings.Contains(stderr, "in use") {
		t.Errorf("while it runs: exit %d: %s", code, stderr)
	}
	if code := p.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, args := range [][]string{
		{"up", "--partitions", "0"},
		{"up", "--retention", "0s"},
		{"ledger", "set", "--replicas", "0"},
		{"ledger", "set", "--admin-url", "nats://x"},
		{"ledger", "set", "--retention", "96h", "--audit-full", "never"},
		{"ledger", "set", "--retention", "96h", "--audit-retention", "1ms"},
		{"ledger", "set", "--retention", "96h", "--max-store", "1MiB"},
	} {
		if _, stderr, code := pl.run(args...); code != cli.ExitUsage {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
	if set := pl.must(0, "ledger", "set", "--retention", "72h", "--output", "json"); set["retention"] != "72h0m0s" || set["partitions"] != 2.0 || set["protocol"] != float64(wire.Protocol()) {
		t.Errorf("set: %v", set)
	}
	// More than the default of --max-store: the server that holds it may have any.
	if set := pl.must(0, "ledger", "set", "--max-store", "100GiB", "--audit-bytes", "20GiB", "--output", "json"); set["file_bytes"] != float64(4<<30) || set["state_bytes"] != float64(64<<20) || set["audit_bytes"] != float64(20<<30) {
		t.Errorf("set for a larger store: %v", set)
	}
	pl.up("--retention", "72h")
	if _, stderr, code := pl.run("get", "s1/a1"); code != cli.ExitPending {
		t.Errorf("exit %d: %s", code, stderr)
	}
	natstest.Eventually(t, "the change is in the audit", func() bool {
		all := pl.audited("--action", "ledger.changed")
		return len(all) == 2 && all[0].Object.Note == "retention 72h0m0s (was 48h0m0s)" && all[1].Object.Note == "max-store 100GiB, audit-bytes 20GiB"
	})
}
