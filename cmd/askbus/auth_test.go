package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

func TestCredentialsAreIssuedListedAndRevoked(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	file := filepath.Join(t.TempDir(), "s1.creds")
	creds, said, code := pl.run("auth", "agent", "--session", "S1", "--note", "the builder", "--output", "text")
	if code != 0 || !strings.HasPrefix(creds, "-----BEGIN NATS USER JWT-----") || !strings.Contains(said, "_INBOX.a.default.S1") || strings.Contains(said, "SEED") {
		t.Fatalf("exit %d: %s\n%s", code, creds, said)
	}
	if err := os.WriteFile(file, []byte(creds), 0o600); err != nil {
		t.Fatal(err)
	}
	// A plain .creds file is enough: it has the session and the inbox prefix.
	pl.must(cli.ExitPending, "ask", "--question", "Mine?", "--id", "a1", "--creds", file, "--wait", "0")
	pl.must(cli.ExitPending, "get", "S1/a1")
	every := filepath.Join(t.TempDir(), "all.creds")
	creds, _, _ = pl.run("auth", "agent", "--all-sessions", "--output", "text")
	if err := os.WriteFile(every, []byte(creds), 0o600); err != nil {
		t.Fatal(err)
	}
	pl.must(cli.ExitPending, "ask", "--question", "Any?", "--id", "a2", "--session", "s2", "--creds", every, "--wait", "0")
	items := pl.must(0, "auth", "list")["items"].([]any)
	if len(items) != 2 || items[0].(map[string]any)["note"] != "the builder" || items[0].(map[string]any)["name"] != "agent/default/S1" {
		t.Fatalf("listed %v", items)
	}
	pl.must(0, "auth", "revoke", "agent/default/S1")
	if _, stderr, code := pl.run("get", "a1", "--creds", file); code == 0 {
		// The server checks ten times a second; the revocation takes effect within a second.
		for range 50 {
			if _, stderr, code = pl.run("get", "a1", "--creds", file); code != 0 {
				break
			}
		}
		if code == 0 || !strings.Contains(stderr, "revoked") {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
	if items := pl.must(0, "auth", "list")["items"].([]any); len(items) != 1 {
		t.Errorf("listed %v", items)
	}
	if items := pl.must(0, "auth", "list", "--all")["items"].([]any); len(items) != 2 {
		t.Errorf("listed %v", items)
	}
	pl.run("auth", "agent", "--tenant", "acme", "--session", "s1")
	pl.run("auth", "responder", "--type", "web", "--tenant", "acme")
	pl.must(0, "auth", "revoke", "--tenant", "acme")
	if items := pl.must(0, "auth", "list")["items"].([]any); len(items) != 1 || items[0].(map[string]any)["name"] != "agent/default" {
		t.Errorf("of another tenant, listed %v", items)
	}
	pl.must(cli.ExitPending, "get", "S1/a1") // the operator's own credential is still valid
	for name, args := range map[string][]string{
		"a wildcard as session":  {"auth", "agent", "--session", ">"},
		"a wildcard as tenant":   {"auth", "agent", "--tenant", "*", "--session", "s"},
		"a dot":                  {"auth", "responder", "--type", "web.x"},
		"maintenance for a week": {"auth", "maintenance", "--expires", "168h"},
		"for ever":               {"auth", "gateway", "--expires", "87600h"},
		"the ledger":             {"auth", "ledger"},
		"an administrator":       {"auth", "admin"},
		"an unlisted role":       {"auth", "revoke", "agent/default/nobody"},
		"an unlisted tenant":     {"auth", "revoke", "--tenant", "nobody"},
		"both":                   {"auth", "revoke", "--tenant", "acme", "agent/default/S1"},
		"neither":                {"auth", "revoke"},
	} {
		if _, stderr, code := pl.run(args...); code != cli.ExitUsage {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
	}
	if out, _, code := pl.run("auth", "config"); code != 0 || !strings.Contains(out, "resolver_preload") || strings.Contains(out, "SEED") || strings.Contains(out, "\nSO") {
		t.Errorf("exit %d: %s", code, out)
	}
}
