package main

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

// TestCommandsTakeTheLeastRole damages the operator's credential in the directory: commands that
// need no operator must still work.
func TestCommandsTakeTheLeastRole(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	if err := cli.UpdateContext(pl.dir, func(c *cli.Context) { c.Operator.Creds = "spoilt" }); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a1", "a2", "a3"} {
		pl.must(3, "ask", "--question", "Deploy?", "--kind", "boolean", "--id", id, "--session", "s1", "--wait", "0")
	}
	if _, stderr, code := pl.run("list"); code != 0 {
		t.Errorf("list: exit %d, %s", code, stderr)
	}
	pl.must(3, "get", "s1/a1")
	pl.must(0, "answer", "s1/a1", "--reply", "yes")
	pl.must(0, "wait", "s1/a1")
	pl.must(0, "withdraw", "a2")
	if _, stderr, code := pl.run("status"); code != 0 {
		t.Errorf("status: exit %d, %s", code, stderr)
	}
	if out := pl.must(0, "audit", "--action", "ask.answered"); out["ask"] != "a1" {
		t.Errorf("audit, without the operator's credential: %v", out)
	}
	for _, args := range [][]string{{"abort", "s1/a3"}, {"token", "list"}, {"people", "list"}, {"tenant", "remove", "acme"}, {"tenant", "list"}, {"tenant", "readmit", "acme"}} {
		if _, stderr, code := pl.run(args...); code == 0 || !strings.Contains(stderr, "credential") {
			t.Errorf("%s, without the operator's credential: exit %d, %s", args, code, stderr)
		}
	}
	if err := cli.UpdateContext(pl.dir, func(c *cli.Context) { c.Operator = nil }); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := pl.run("list"); code == 0 {
		t.Errorf("a directory without a server is used: %s", stderr)
	}
}
