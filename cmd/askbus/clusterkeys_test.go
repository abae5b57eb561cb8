package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
)

// Each node of a cluster follows its own directory, so a revocation says what is left to do: until it
// is copied, the other nodes let the credential in.
func TestARevocationInAClusterSaysThatItIsToBeCopied(t *testing.T) {
	t.Parallel()
	addrs, err := freeaddr.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	first, second := place{t, filepath.Join(home, "n1")}, place{t, filepath.Join(home, "n2")}
	nodes := "n1=" + addrs[0] + ",n2=" + addrs[1]
	start(t, "", "server", "--dir", first.dir, "--nats-addr", "127.0.0.1:0", "--cluster", nodes, "--node", "n1").err.wait(t, "NATS at")
	start(t, "", "server", "--dir", second.dir, "--nats-addr", "127.0.0.1:0", "--cluster", nodes, "--node", "n2", "--key-of", first.dir).err.wait(t, "NATS at")
	creds := filepath.Join(home, "s1.creds")
	text, said, code := first.run("auth", "agent", "--session", "s1", "--output", "text")
	if code != 0 || os.WriteFile(creds, []byte(text), 0o600) != nil {
		t.Fatalf("exit %d: %s", code, said)
	}
	_, said, code = first.run("auth", "revoke", "agent/default/s1")
	if auth := filepath.Join(first.dir, "auth"); code != 0 || !strings.Contains(strings.Join(strings.Fields(said), " "), "copy "+auth+" to the directory of each other node") {
		t.Errorf("exit %d: %s", code, said)
	}
	at := second.context().NATSURL
	nc, err := nats.Connect(at, nats.UserCredentials(creds))
	if err != nil {
		t.Fatalf("the other node knows it already, so the words are wrong: %v", err)
	}
	nc.Close()
	files, err := filepath.Glob(filepath.Join(first.dir, "auth", "*"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || os.WriteFile(filepath.Join(second.dir, "auth", filepath.Base(file)), data, 0o600) != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	natstest.Eventually(t, "the other node refuses it", func() bool {
		nc, err := nats.Connect(at, nats.UserCredentials(creds))
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	// A single server has it at once.
	alone, _ := up(t)
	alone.run("auth", "agent", "--session", "s1", "--output", "text")
	if _, said, code := alone.run("auth", "revoke", "agent/default/s1"); code != 0 || strings.Contains(said, "copy") {
		t.Errorf("alone: exit %d: %s", code, said)
	}
}
