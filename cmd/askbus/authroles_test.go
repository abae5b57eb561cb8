package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/server/rights"
)

func TestEachRoleOfADeploymentGetsItsFolder(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	ctx := pl.must(0, "auth", "agent", "--session", "s1")
	url, _ := ctx["url"].(string)
	to := filepath.Join(t.TempDir(), "creds")
	roles := func(args ...string) (string, int) {
		_, stderr, code := pl.run(append([]string{"auth", "roles", "--to", to, "--nats-url", url}, args...)...)
		return stderr, code
	}
	if stderr, code := roles("--responder-types", "chat,push,two=slack@acme", "--issuer"); code != 0 {
		t.Fatal(stderr)
	}
	for file, name := range map[string]string{
		"web/creds.json": "responder/web", "chat/creds.json": "responder/chat", "gateway/creds.json": "gateway", "issuer/creds.json": "issuer", "push/creds.json": "responder/push", "two/creds.json": "responder/slack/acme",
		"test/agent.json": "agent/default/deployment-test", "test/responder.json": "responder/test/default/deployment-test",
	} {
		var c rights.Credential
		data, err := os.ReadFile(filepath.Join(to, file))
		if err != nil || json.Unmarshal(data, &c) != nil || c.Name != name || c.URL != url {
			t.Errorf("%s has the credential of %q at %q: %v", file, c.Name, c.URL, err)
		}
		if info, err := os.Stat(filepath.Join(to, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	key, err := os.ReadFile(filepath.Join(to, "web/cookie-key"))
	if err != nil || len(key) < 32 {
		t.Errorf("the cookie key has %d characters: %v", len(key), err)
	}
	if same, err := os.ReadFile(filepath.Join(to, "push/cookie-key")); err != nil || string(same) != string(key) {
		t.Errorf("push has another cookie key: %v", err)
	}
	if stderr, code := roles("--responder-types", "issuer"); code != 2 {
		t.Errorf("a type named issuer: exit %d, %s", code, stderr)
	}

	// What another region needs for a leaf node, in one folder.
	trust := t.TempDir()
	if err := os.WriteFile(filepath.Join(trust, "ca.crt"), []byte("a CA"), 0o600); err != nil {
		t.Fatal(err)
	}
	if stderr, code := roles("--leaf-of", "tls://east.example:7422,tls://east2.example:7422", "--leaf-tls", trust); code != 0 {
		t.Fatal(stderr)
	}
	for file, want := range map[string]string{"leaf.conf": `urls: ["tls://east.example:7422", "tls://east2.example:7422"]`, "leaf.creds": "NATS USER JWT", "ca.crt": "a CA"} {
		if data, err := os.ReadFile(filepath.Join(to, "leaf", file)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("leaf/%s: %v\n%s", file, err, data)
		}
	}
	if data, err := os.ReadFile(filepath.Join(to, "leaf", "leaf.conf")); err != nil || !strings.Contains(string(data), `credentials: "leaf.creds", tls: {ca_file: "ca.crt"}`) {
		t.Errorf("leaf.conf: %v\n%s", err, data)
	}
	if err := os.WriteFile(filepath.Join(trust, "tls.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--leaf-of", "tls://a:1", "--leaf-tls", trust}, {"--leaf-tls", trust}, {"--only", "leaf"}, {"--responder-types", "leaf"}} {
		if stderr, code := roles(args...); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}

	// The two credentials of the self-test ask and answer.
	creds := func(file string) []string {
		return []string{"--creds", filepath.Join(to, "test", file), "--nats-url", url}
	}
	pl.must(3, append([]string{"ask", "--question", "Works?", "--option", "Yes", "--id", "a1", "--session", operator.CheckSession, "--wait", "0"}, creds("agent.json")...)...)
	if o := pl.must(0, append([]string{"answer", operator.CheckSession + "/a1", "--select", "q1=o1"}, creds("responder.json")...)...); o["status"] != "answered" {
		t.Errorf("answered with %v", o)
	}

	alone := filepath.Join(t.TempDir(), "alone")
	to = alone
	if stderr, code := roles("--only", "broker"); code != 0 {
		t.Fatal(stderr)
	}
	entries, err := os.ReadDir(alone)
	if err != nil || len(entries) != 1 || entries[0].Name() != "creds.json" {
		t.Errorf("one role's folder has %v, %v", entries, err)
	}
	for _, args := range [][]string{{"--responder-types", "web"}, {"--responder-types", "a.b"}, {"--responder-types", "slack@a,slack@b"}, {"--kubernetes", "x"}} {
		if stderr, code := roles(args...); code != cli.ExitUsage || !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(stderr, strings.TrimLeft(a, "-")) }) {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
}
