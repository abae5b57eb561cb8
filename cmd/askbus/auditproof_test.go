package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/askbus/askbus/internal/bus/auditlog"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// An auditor proves months later, without the bus, what was asked and decided: of an ask that a person
// answered, and of one that the server's timer ended.
func TestTheAuditIsProven(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	public, said, code := pl.run("audit", "key", "bus.example.com/audit", at("key"))
	if code != 0 || os.WriteFile(at("pub"), []byte(public), 0o600) != nil {
		t.Fatalf("key: exit %d, %s", code, said)
	}
	if info, err := os.Stat(at("key")); err != nil || info.Mode() != 0o600 {
		t.Errorf("the signing key: %v, %v", info.Mode(), err)
	}
	if _, said, code := pl.run("audit", "key", "bus.example.com/audit", at("key")); code != 2 {
		t.Errorf("a key was replaced: exit %d, %s", code, said)
	}
	pl.must(3, "ask", "--question", "Deploy for Ms Secret?", "--option", "yes", "--id", "a1", "--session", "s1", "--wait", "0")
	pl.must(0, "answer", "s1/a1", "--reply", "yes")
	pl.run("ask", "--question", "In time?", "--option", "yes", "--id", "a2", "--session", "s1", "--timeout", "1s")
	natstest.Eventually(t, "the audit has both", func() bool {
		return len(pl.audited("--action", "ask.answered")) == 1 && len(pl.audited("--action", "ask.expired")) == 1
	})

	var got atomic.Value
	witness := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got.Store(string(data))
	}))
	defer witness.Close()
	if _, said, code := pl.run("audit", "log", at("log"), "--key", at("key"), "--once"); code != 2 || !strings.Contains(said, "--begin") {
		t.Errorf("a log was begun unasked: exit %d, %s", code, said)
	}
	if _, said, code := pl.run("audit", "log", at("log"), "--key", at("key"), "--begin", "--once", "--publish", witness.URL, "--publish", at("published")); code != 0 {
		t.Fatalf("log: exit %d, %s", code, said)
	}
	signed, err := os.ReadFile(at("published"))
	if err != nil || got.Load() != string(signed) || !strings.HasPrefix(string(signed), "bus.example.com/audit\n") {
		t.Errorf("published %q and %q, %v", got.Load(), signed, err)
	}

	var r auditlog.Report
	verify := func(args ...string) int {
		out, said, code := pl.run(append([]string{"audit", "verify", at("log"), "--key", at("pub"), "--output", "json", "--checkpoint", at("published"), "--kept", "1h"}, args...)...)
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("verify: exit %d, %s %s", code, out, said)
		}
		return code
	}
	if code := verify(); code != 0 || r.Same == 0 || r.Size != r.Same+1 {
		t.Errorf("verify: exit %d, %+v", code, r)
	}
	if out, _, code := pl.run("audit", "verify", at("log"), "--key", strings.TrimSpace(public), "--output", "text"); code != 0 || !strings.Contains(out, "records are as they were") {
		t.Errorf("for people: exit %d, %s", code, out)
	}
	for _, id := range []string{"a1", "a2"} {
		out, said, code := pl.run("audit", "evidence", at("log"), "s1/"+id, "--key", at("pub"), "--hide", "/ask/questions", "--output", "json")
		if code != 0 || os.WriteFile(at(id), []byte(out), 0o600) != nil {
			t.Fatalf("evidence of %s: exit %d, %s", id, code, said)
		}
		e, err := auditlog.ParseEvidence([]byte(out))
		if err != nil || len(e.Records) < 1 || strings.Contains(out, "Ms Secret") {
			t.Errorf("%s: %v, %s", id, err, out)
		}
		if strings.Contains(out, "sha256:") { // without a salt, it would confirm whoever guesses the question
			t.Errorf("%s has a digest of what is left out: %s", id, out)
		}
		for _, p := range e.Records {
			if len(p.Fields) < 5 {
				t.Errorf("%s: few values in %+v", id, p)
			}
		}
		// Elsewhere: no directory of a bus.
		if out, said, code := pl.run("audit", "verify", "--evidence", at(id), "--key", at("pub"), "--dir", t.TempDir(), "--output", "text"); code != 0 || !strings.Contains(out, "bus.example.com/audit") {
			t.Errorf("%s: exit %d, %s %s", id, code, out, said)
		}
		if err := os.WriteFile(at(id), []byte(strings.ReplaceAll(out, `"s1"`, `"s2"`)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, said, code := pl.run("audit", "verify", "--evidence", at(id), "--key", at("pub")); code != 1 {
			t.Errorf("%s with another session: exit %d, %s", id, code, said)
		}
	}
	if out, said, code := pl.run("audit", "evidence", at("log"), "s1/a1", "--key", at("pub"), "--hide", "/questions", "--output", "json"); code != cli.ExitUsage || out != "" || !strings.Contains(said, "nothing would be left out") {
		t.Errorf("a path without a value: exit %d, %s %s", code, out, said)
	}
	if code := verify("--checkpoint", at("published")); code != 0 || r.Newer == 0 { // the reads of the audit are records as well
		t.Errorf("verify again: exit %d, %+v", code, r)
	}
	creds, said, code := pl.run("auth", "auditor", "--tenant", "default", "--output", "json")
	if code != 0 || os.WriteFile(at("creds"), []byte(creds), 0o600) != nil {
		t.Fatalf("auditor: exit %d, %s", code, said)
	}
	if _, said, code := pl.run("audit", "verify", at("log"), "--key", at("pub"), "--creds", at("creds")); code != 2 || !strings.Contains(said, "every tenant") {
		t.Errorf("an auditor of one tenant: exit %d, %s", code, said)
	}
}
