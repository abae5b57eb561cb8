package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// A revocation reaches the other node of a cluster by itself; a rotation makes a secret, and says what is left to do.
func TestARevocationReachesTheOtherNode(t *testing.T) {
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
	if code != 0 || strings.Contains(said, "copy") {
		t.Errorf("exit %d: %s", code, said)
	}
	at := second.context().NATSURL
	natstest.Eventually(t, "the other node refuses it", func() bool {
		nc, err := nats.Connect(at, nats.UserCredentials(creds))
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	_, said, code = first.run("auth", "rotate", "agent")
	if auth := filepath.Join(first.dir, "auth"); code != 0 || !strings.Contains(strings.Join(strings.Fields(said), " "), "copy "+auth+" to the directory of each other node") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// A broker without the keys hears from the servers what is revoked: a vote does not count once its credential is revoked.
func TestABrokerElsewhereHearsOfRevocations(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	keys := place{t, filepath.Join(home, "keys")}
	start(t, "", "server", "--dir", keys.dir, "--nats-addr", "127.0.0.1:0").err.wait(t, "NATS at")
	file := filepath.Join(home, "broker.json")
	text, said, code := keys.run("auth", "broker", "--output", "json")
	if code != 0 || os.WriteFile(file, []byte(text), 0o600) != nil {
		t.Fatalf("auth broker: exit %d, %s", code, said)
	}
	log := start(t, "", "broker", "--dir", filepath.Join(home, "elsewhere"), "--nats-url", keys.context().NATSURL, "--creds", file).err
	log.wait(t, "broker is ready")
	asking, _ := keys.plain("agent", "--session", "s1")
	c, err := client.New(asking, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	_, err = c.Session("default", "s1").Ask(t.Context(), ask.Ask{
		ID: "d1", Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"os:mei", "os:tom", "os:ana"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	vote := func(name string) error {
		nc, _ := keys.plain("responder", "--type", "tui", "--asserts", "os=os:"+name)
		r, err := responder.New(nc, "tui", responder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Answer(t.Context(), ask.Key{Tenant: "default", Session: "s1", ID: "d1"}, ask.Reply{
			AnswerID: name, By: ask.By{Principal: "os:" + name, Name: name, Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "go", Boolean: &yes}},
		})
		return err
	}
	if err := vote("mei"); !errors.Is(err, ask.ErrVoted) {
		t.Fatalf("mei's vote: %v", err)
	}
	if _, said, code := keys.run("auth", "revoke", "responder/tui"); code != 0 {
		t.Fatal(said)
	}
	log.wait(t, "revoked what another server has revoked")
	if err := vote("tom"); !errors.Is(err, ask.ErrVoted) {
		t.Errorf("tom's is the second vote, and the first does not count any more: %v", err)
	}
	if err := vote("ana"); err != nil {
		t.Errorf("ana's is the second that counts: %v", err)
	}
}

// What an issuer's own directory revokes, such as the credential of a terminal that is signed out, ends at the servers.
func TestTheIssuersRevocationsReachTheServers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	keys, own := place{t, filepath.Join(home, "keys")}, place{t, filepath.Join(home, "issuer")}
	start(t, "", "server", "--dir", keys.dir, "--nats-addr", "127.0.0.1:0").err.wait(t, "NATS at")
	start(t, "", "issuer", "--dir", own.dir, "--key-of", keys.dir, "--nats-url", keys.context().NATSURL).err.wait(t, "issuer on")
	nc, _ := keys.plain("agent", "--session", "s1")
	refused := make(chan error, 1)
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case refused <- err:
		default:
		}
	})
	list, err := rights.Issued(keys.dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if _, said, code := own.run("auth", "revoke", list[0].Key); code != 0 {
		t.Fatal(said)
	}
	if err := <-refused; !errors.Is(err, nats.ErrAuthRevoked) && !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("the connection ended for another reason: %v", err)
	}
}

// On a machine with a copy of the keys an operator's commands work with the address of the bus, and a revocation says
// that no server hears of it.
func TestCommandsWorkWithACopyOfTheKeys(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	keys, copied := place{t, filepath.Join(home, "keys")}, place{t, filepath.Join(home, "copy")}
	start(t, "", "server", "--dir", keys.dir, "--nats-addr", "127.0.0.1:0").err.wait(t, "NATS at")
	start(t, "", "broker", "--dir", keys.dir).err.wait(t, "broker on")
	if err := os.CopyFS(filepath.Join(copied.dir, "auth"), os.DirFS(filepath.Join(keys.dir, "auth"))); err != nil {
		t.Fatal(err)
	}
	at := keys.context().NATSURL
	copied.must(3, "ask", "--nats-url", at, "--id", "a1", "--session", "s1", "--question", "Which?", "--text", "--wait", "0")
	copied.must(0, "abort", "--nats-url", at, "s1/a1") // as the operator
	const alone = "revoked in that copy of the keys only"
	for at, warned := range map[place]bool{copied: true, keys: false} {
		at.must(0, "auth", "agent", "--session", "s1", "--nats-url", "nats://127.0.0.1:4222")
		if _, said, code := at.run("auth", "revoke", "agent/default/s1"); code != 0 || strings.Contains(said, alone) != warned {
			t.Errorf("%s: exit %d: %s", at.dir, code, said)
		}
	}
}
