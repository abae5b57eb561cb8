package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// plain connects as a client that has a credential and no askbus code.
func (pl place) plain(args ...string) (*nats.Conn, rights.Credential) {
	pl.t.Helper()
	out, stderr, code := pl.run(append([]string{"auth", "--output", "json"}, args...)...)
	if code != 0 {
		pl.t.Fatalf("auth: %s", stderr)
	}
	var c rights.Credential
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		pl.t.Fatal(err)
	}
	nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds)), nats.CustomInboxPrefix(c.InboxPrefix), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		pl.t.Fatal(err)
	}
	pl.t.Cleanup(nc.Close)
	return nc, c
}

// pending waits for a pending ask in a session.
func (pl place) pending(session string) {
	pl.t.Helper()
	for range 1000 {
		if len(pl.must(0, "list", "--session", session)["items"].([]any)) > 0 {
			return
		}
	}
	pl.t.Fatal("nothing is pending in session " + session)
}

func request(subject, event string, headers ...string) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = []byte(event)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		m.Header[name] = []string{value}
	}
	return m
}

func TestAPlainClientAsksWithOneRequestInBothModes(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	nc, _ := pl.plain("agent", "--session", "s1")
	data := `{"id":"%s","questions":[{"text":"Deploy?","options":[{"id":"yes","label":"Yes"},{"id":"no","label":"No"}]}]}`
	for id, m := range map[string]*nats.Msg{
		"structured": request("askv1.default.s1.ask.structured",
			`{"specversion":"1.0","id":"1","source":"/me","type":"dev.askbus.ask.requested.v1","data":`+fmt.Sprintf(data, "structured")+`}`, "Askbus-Wait: 60s"),
		"binary": request("askv1.default.s1.ask.binary", fmt.Sprintf(data, "binary"), "Askbus-Wait: 60s",
			"ce-specversion: 1.0", "CE-Id: 1", "ce-source: /me%20too", "ce-type: dev.askbus.ask.requested.v1", "Content-Type: application/json"),
	} {
		got := make(chan *nats.Msg, 1)
		go func() {
			reply, err := nc.RequestMsg(m, 60*time.Second)
			if err != nil {
				t.Error(err)
			}
			got <- reply
		}()
		pl.pending("s1")
		pl.must(0, "answer", "s1/"+id, "--select", "yes")
		reply := <-got
		if reply == nil {
			t.FailNow()
		}
		body := reply.Data
		if id == "structured" {
			e := decode(t, string(body))
			if e["type"] != "dev.askbus.ask.resolved.v1" || reply.Header.Get("Content-Type") != "application/cloudevents+json" || e["subject"] != id {
				t.Errorf("reply %v %s", reply.Header, body)
			}
			body, _ = json.Marshal(e["data"])
		} else if reply.Header.Get("ce-type") != "dev.askbus.ask.resolved.v1" || reply.Header.Get("ce-subject") != id {
			t.Errorf("reply %v", reply.Header)
		}
		if o := decode(t, string(body)); o["status"] != "answered" || fmt.Sprint(o["answers"]) != "[map[question_id:q1 selected:[yes]]]" {
			t.Errorf("outcome %s", body)
		}
	}
	// A request with the library's default inbox prefix gets no reply and stores nothing.
	c := pl.context()
	var cred rights.Credential
	out, _, _ := pl.run("auth", "agent", "--session", "s1", "--output", "json")
	if err := json.Unmarshal([]byte(out), &cred); err != nil {
		t.Fatal(err)
	}
	naive, err := nats.Connect(c.NATSURL, nats.UserCredentialBytes([]byte(cred.Creds)))
	if err != nil {
		t.Fatal(err)
	}
	defer naive.Close()
	if _, err := naive.Request("askv1.default.s1.ask.naive", []byte(`{"specversion":"1.0","id":"1","source":"/me","type":"dev.askbus.ask.requested.v1","data":`+fmt.Sprintf(data, "naive")+`}`), 300*time.Millisecond); err == nil {
		t.Error("a default inbox was answered")
	}
	pl.must(1, "get", "s1/naive")
}

func TestTheServiceIsFoundByDiscovery(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	nc, _ := pl.plain("operator")
	reply, err := nc.Request("$SRV.PING.askbus", nil, 10*time.Second)
	if err != nil || decode(t, string(reply.Data))["name"] != "askbus" {
		t.Fatalf("ping: %v", err)
	}
	reply, err = nc.Request("$SRV.STATS.askbus", nil, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ledger_bytes"`, `"ledger_budget":10737418240`} {
		if !bytes.Contains(reply.Data, []byte(want)) {
			t.Errorf("no %s in %s", want, reply.Data)
		}
	}
}

func TestTheBrokerIsKilledBetweenWriteAndReply(t *testing.T) {
	t.Parallel()
	pl := place{t, filepath.Join(t.TempDir(), "state")}
	start(t, "", "server", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0").err.wait(t, "NATS at")
	stored := make(chan string, 100)
	watcher, _ := pl.plain("responder", "--type", "web")
	if _, err := watcher.Subscribe("outv1.*.*.*.q", func(m *nats.Msg) { stored <- m.Subject }); err != nil {
		t.Fatal(err)
	}
	if err := watcher.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		broker := start(t, "", "broker", "--dir", pl.dir)
		broker.err.wait(t, "ops at")
		asker := start(t, "", "ask", "--question", "Once?", "--id", fmt.Sprintf("k%d", i), "--session", "s", "--wait", "0", "--dir", pl.dir)
		<-stored
		broker.kill() // the ask is stored; its reply may have been sent or not
		again := start(t, "", "broker", "--dir", pl.dir)
		again.err.wait(t, "ops at")
		if code := asker.wait(); code != cli.ExitPending {
			t.Fatalf("exit %d: %s", code, asker.err)
		}
		again.kill()
	}
	start(t, "", "broker", "--dir", pl.dir).err.wait(t, "ops at")
	if items := pl.must(0, "list", "--state", "all")["items"].([]any); len(items) != 8 {
		t.Fatalf("%d asks", len(items))
	}
}

func TestExamples(t *testing.T) { //nolint:tparallel // its one subtest needs what it started
	t.Parallel()
	pl, _ := up(t)
	files, err := filepath.Glob(example("*.json"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		pl.must(3, "ask", "--file", f, "--wait", "0", "--session", "examples")
	}
	t.Run("agent", func(t *testing.T) {
		cred := filepath.Join(t.TempDir(), "demo.json")
		out, _, _ := pl.run("auth", "agent", "--session", "demo", "--output", "json")
		if err := os.WriteFile(cred, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		bin := filepath.Join(t.TempDir(), "agent")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../../examples/agent").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		agent := exec.CommandContext(t.Context(), bin, cred)
		var said bytes.Buffer
		agent.Stdout, agent.Stderr = &said, &said
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		pl.pending("demo")
		pl.must(0, "answer", "demo/storage", "--select", "pg")
		if err := agent.Wait(); err != nil || !strings.Contains(said.String(), "the answer is PostgreSQL") {
			t.Fatalf("%v: %s", err, said.String())
		}
	})
}
