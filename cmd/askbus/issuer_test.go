package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/go-jose/go-jose/v4"
	"github.com/nats-io/nats.go"
)

// podToken writes an issuer's keys, a rules file for it, and a pod's token.
func podToken(t *testing.T, dir string) (rules, token string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	write("jwks.json", set)
	maker, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := json.Marshal(map[string]any{
		"iss": "https://cluster.local", "aud": "askbus", "sub": "system:serviceaccount:default:migrate-db", "exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "default", "serviceaccount": map[string]any{"name": "migrate-db"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := maker.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	rules = write("issuer.yaml", []byte(`
issuers: [{ name: cluster, issuer: "https://cluster.local", audience: askbus, jwks_file: jwks.json }]
rules:
  - { issuer: cluster, match: { sub: "system:serviceaccount:default:*" }, tenant: "{kubernetes.io/namespace}", sessions: ["{kubernetes.io/serviceaccount/name}"] }
`))
	return rules, write("token", []byte(raw+"\n"))
}

func TestARemoteAgentGetsItsCredentialByExchange(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	rules, token := podToken(t, elsewhere)
	pl, bus := up(t, "--rules", rules)
	env := []string{"ASKBUS_EXCHANGE_URL=" + pl.context().HTTPURL, "ASKBUS_EXCHANGE_TOKEN_FILE=" + token, "ASKBUS_DIR=" + elsewhere}
	asker := startWith(t, env, "", "ask", "--session", "migrate-db", "--id", "x1", "--question", "Go?", "--option", "Yes", "--option", "No")
	asker.err.wait(t, "waiting for")
	pl.must(0, "answer", "migrate-db/x1", "--select", "Yes")
	if code := asker.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, asker.err)
	}
	if o := decode(t, asker.out.String()); o["status"] != "answered" {
		t.Errorf("outcome %v", o)
	}
	other := startWith(t, env, "", "ask", "--session", "another", "--question", "Go?", "--option", "Yes", "--option", "No")
	if code := other.wait(); code == 0 || !strings.Contains(other.err.String(), "not session another") {
		t.Errorf("another session: exit %d: %s", code, other.err)
	}

	// A revoked credential stops at once, and nothing else does.
	cred, err := cli.SwapToken(t.Context(), http.DefaultClient, pl.context().HTTPURL, token, "")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	nc, err := nats.Connect(cred.URL, nats.UserCredentialBytes([]byte(cred.Creds)), nats.CustomInboxPrefix(cred.InboxPrefix), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(gone) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if out, _, code := pl.run("auth", "list"); code != 0 || !strings.Contains(out, "system:serviceaccount:default:migrate-db") {
		t.Errorf("the list does not say for whom: %s", out)
	}
	if _, stderr, code := pl.run("auth", "revoke", "agent/default/migrate-db"); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	select {
	case <-gone:
	case <-time.After(waittest.Limit):
		t.Fatal("the connection of a revoked credential is still open")
	}
	if again, err := nats.Connect(cred.URL, nats.UserCredentialBytes([]byte(cred.Creds)), nats.NoReconnect()); err == nil {
		again.Close()
		t.Error("a revoked credential connects")
	}
	secret, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	said := bus.err.String()
	if !strings.Contains(said, "issued a credential") {
		t.Error("nothing is logged about the credential")
	}
	for _, s := range []string{strings.TrimSpace(string(secret)), "SUA"} {
		if strings.Contains(said, s) {
			t.Errorf("the log has a secret: %.20s", s)
		}
	}
}

func TestAnAPITokenIsSwappedIfItsScopeAllows(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	issue := func(endpoints string) string {
		made := pl.must(0, "token", "issue", "--session", "s1", "--endpoints", endpoints, "--output", "json")
		if made["expires"] == nil {
			t.Errorf("a token without an end: %v", made)
		}
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(made["token"].(string)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	swapped := issue("nats,http")
	c, err := cli.SwapToken(t.Context(), http.DefaultClient, pl.context().HTTPURL, swapped, "")
	if err != nil || c.Name != "agent/default/s1" || time.Until(c.Expires) > time.Hour {
		t.Errorf("%s until %s, %v", c.Name, c.Expires, err)
	}
	if _, err := cli.SwapToken(t.Context(), http.DefaultClient, pl.context().HTTPURL, issue("mcp"), ""); err == nil || !strings.Contains(err.Error(), "is valid for mcp, not for nats") {
		t.Errorf("with another scope: %v", err)
	}
	// With the token ends what it was exchanged for.
	gone := make(chan struct{})
	nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds)), nats.CustomInboxPrefix(c.InboxPrefix), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(gone) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	secret, err := os.ReadFile(swapped)
	if err != nil {
		t.Fatal(err)
	}
	pl.must(0, "token", "revoke", string(secret))
	<-gone
	for _, wrong := range [][]string{{"--expires", "0"}, {"--expires", "9000h"}, {"--endpoints", "window"}} {
		if _, _, code := pl.run(append([]string{"token", "issue"}, wrong...)...); code != 2 {
			t.Errorf("%v: exit %d", wrong, code)
		}
	}
}

func TestTheIssuerRunsAsItsOwnProcess(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	rules, token := podToken(t, elsewhere)
	dir := filepath.Join(t.TempDir(), "state")
	args := func(rest ...string) []string { return append(rest, "--dir", dir, "--ops-addr", "127.0.0.1:0") }
	start(t, "", args("server", "--nats-addr", "127.0.0.1:0")...).err.wait(t, "NATS at")
	start(t, "", args("broker")...).err.wait(t, "broker on")
	gate := start(t, "", args("gateway", "--http-addr", "127.0.0.1:0")...)
	said := gate.err.wait(t, "gateway at ")
	_, at, _ := strings.Cut(said, "gateway at ")
	at, _, _ = strings.Cut(at, ",")
	if _, err := cli.SwapToken(t.Context(), http.DefaultClient, at, token, ""); err == nil || !strings.Contains(err.Error(), "no issuer answers") {
		t.Errorf("without an issuer: %v", err)
	}
	start(t, "", args("issuer", "--rules", rules)...).err.wait(t, "issuer on")
	for end := time.Now().Add(waittest.Limit); ; { // it subscribes after printing this
		c, err := cli.SwapToken(t.Context(), http.DefaultClient, at, token, "migrate-db")
		if err == nil {
			if c.Name != "agent/default/migrate-db" {
				t.Errorf("a credential of %s", c.Name)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
