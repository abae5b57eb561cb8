package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

// TestATenantIsRemovedAtTheCommandLine takes ten seconds of waiting: that is how long
// brokers let each other hear of it.
func TestATenantIsRemovedAtTheCommandLine(t *testing.T) {
	t.Parallel()
	pl, bus := up(t)
	for _, tenant := range []string{"acme", "acme2"} {
		pl.must(cli.ExitPending, "ask", "--wait", "0", "--id", "a1", "--session", "s1", "--tenant", tenant, "--question", "Go?", "--option", "Yes", "--option", "No")
	}
	for _, args := range [][]string{{"tenant", "remove"}, {"tenant", "remove", "a.b"}, {"tenant", "remove", "~"}, {"tenant", "remove", "acme", "acme2"}, {"tenant", "readmit", ""}} {
		if _, said, code := pl.run(args...); code != 2 {
			t.Errorf("%v exits %d: %s", args, code, said)
		}
	}
	if _, said, code := pl.run("tenant", "remove", "acme", "--grace", "2h"); code != 6 || !strings.Contains(said, "/grace") {
		t.Errorf("a long grace: %d %s", code, said)
	}
	if _, said, code := pl.run("tenant", "readmit", "acme"); code == 0 || !strings.Contains(said, "not removed") {
		t.Errorf("readmit: %d %s", code, said)
	}
	if had := pl.must(0, "tenant", "remove", "acme")["had"].(map[string]any); had["pending"] != 1.0 {
		t.Errorf("a dry run: %v", had)
	}
	if out, said, code := pl.run("tenant", "remove", "acme", "--output", "text"); code != 0 || !strings.Contains(out, "1  pending asks") || !strings.Contains(out, "Nothing was changed") {
		t.Errorf("a dry run in words: %d %s %s", code, out, said)
	}
	killedWhileItDeletes(t, pl, bus)
	pl.up()
	if out := pl.must(0, "tenant", "remove", "acme", "--yes"); out["state"] != "removed" || out["withdrawn"] != 1.0 {
		t.Errorf("%v", out)
	}
	if out, said, code := pl.run("tenant", "remove", "acme", "--yes", "--output", "text"); code != 0 || !strings.Contains(out, "already removed, since ") || !strings.Contains(out, "1  pending asks") {
		t.Errorf("once more: %d %s %s", code, out, said)
	}
	if out, said, code := pl.run("tenant", "list"); code != 0 || !strings.Contains(out, `"tenant":"acme"`) || strings.Contains(out, "acme2") {
		t.Errorf("list: %d %s %s", code, out, said)
	}
	if _, said, code := pl.run("ask", "--wait", "0", "--session", "s1", "--tenant", "acme", "--question", "Go?", "--option", "Yes", "--option", "No"); code == 0 || !strings.Contains(said, "removed the tenant acme") {
		t.Errorf("an ask: %d %s", code, said)
	}
	if out := pl.must(cli.ExitPending, "get", "s1/a1", "--tenant", "acme2"); out["state"] != "pending" {
		t.Errorf("the other tenant: %v", out)
	}
	if _, said, code := pl.run("tenant", "readmit", "acme"); code != 0 {
		t.Errorf("readmit: %d %s", code, said)
	}
}

// killedWhileItDeletes begins the removal of acme, and kills the bus with SIGKILL when it
// has deleted the first of the tenant's API tokens.
func killedWhileItDeletes(t *testing.T, pl place, bus *process) {
	t.Helper()
	operator, _ := pl.plain("operator")
	tokens := state.Open(operator, state.Operator(), state.Tokens)
	for i := range 300 { // so many that it is killed before the last
		if _, err := tokens.Put(t.Context(), state.Key{Name: fmt.Sprintf("t%d", i)}, map[string]string{"tenant": "acme"}, 0); err != nil {
			t.Fatal(err)
		}
	}
	deleted := make(chan *nats.Msg, 1000)
	if _, err := operator.ChanSubscribe(subject.OutState(state.Tokens, "", true), deleted); err != nil {
		t.Fatal(err)
	}
	if err := operator.Flush(); err != nil {
		t.Fatal(err)
	}
	remove := start(t, "", "tenant", "remove", "acme", "--yes", "--grace", "0s", "--dir", pl.dir)
	select {
	case <-deleted:
	case <-time.After(waittest.Limit):
		t.Fatalf("nothing is deleted: %s", remove.err)
	}
	bus.kill()
	remove.kill()
	if n := len(deleted); n > 250 {
		t.Fatalf("it was killed after %d of 300: not in the middle", n)
	}
}
