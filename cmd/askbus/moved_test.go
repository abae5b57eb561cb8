package main

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/freeaddr"
)

// A command that waits finds the bus again that was started at another address, also if a foreign server has the old one.
func TestAWaitingCommandFollowsTheBus(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	old := pl.context().NATSURL
	waits := start(t, "", "ask", "--dir", pl.dir, "--id", "here", "--question", "Go on?", "--option", "Yes", "--option", "No")
	waits.err.wait(t, "here")
	p.kill()
	waits.err.wait(t, "the bus is away")
	start(t, "", "up", "--dir", t.TempDir()+"/other", "--nats-addr", strings.TrimPrefix(old, "nats://"), "--http-addr", "127.0.0.1:0", "--no-open").out.wait(t, "askbus is up.")
	at, err := freeaddr.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	start(t, "", "up", "--dir", pl.dir, "--nats-addr", at[0], "--http-addr", "127.0.0.1:0", "--no-open").out.wait(t, "askbus is up.")
	if now := pl.context().NATSURL; now == old {
		t.Fatalf("the bus is at %s again", now)
	}
	pl.must(0, "answer", "here", "--reply", "yes")
	if code := waits.wait(); code != 0 || !strings.Contains(waits.out.String(), `"answered"`) {
		t.Errorf("exit %d: %s%s", code, waits.out, waits.err)
	}
}
