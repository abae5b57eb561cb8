package interop_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/google/go-cmp/cmp"
)

// Discord's own libraries accept the fake of our own tests: their client obeys its limits, and their verifier its
// signatures.
func TestDiscordLibraries(t *testing.T) {
	t.Parallel()
	const channel, user = "300000000000000001", "200000000000000101"
	s := fakediscord.Start(fakediscord.Options{})
	t.Cleanup(s.Close)
	s.AddChannel(channel)
	s.AddUser(fakediscord.User{ID: user, Name: "mei"})
	cmd := exec.CommandContext(t.Context(), "node", "discord/client.mjs")
	cmd.Env = append(os.Environ(), "DISCORD_API="+s.URL(), "DISCORD_TOKEN="+fakediscord.Token, "DISCORD_KEY="+s.PublicKey(), "CHANNEL="+channel, "USER="+user)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var one map[string]any
		if json.Unmarshal(lines.Bytes(), &one) != nil {
			continue
		}
		name, _ := one["name"].(string)
		if delete(one, "name"); name == "endpoint" {
			address, _ := one["address"].(string)
			pressAndSend(t, s, user, address)
			_ = in.Close() // it ends
			continue
		}
		got[name] = one
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	invalid := map[string]any{"ok": false, "api": true, "code": 50035.0, "status": 400.0}
	want := map[string]map[string]any{
		"application":               {"ok": true, "id": fakediscord.App, "key": true},
		"gateway":                   {"ok": true, "left": 1000.0},
		"commands":                  {"ok": true, "names": []any{"link"}},
		"a command in capitals":     invalid,
		"nonce":                     {"ok": true, "author": true},
		"content beside components": invalid,
		"4,001 characters":          invalid,
		"no components":             invalid,
		"custom id of 101":          invalid,
		"unknown channel":           {"ok": false, "api": true, "code": 10003.0, "status": 404.0},
		"unknown message":           {"ok": false, "api": true, "code": 10008.0, "status": 404.0},
		"edit":                      {"ok": true, "text": "two"},
		"history":                   {"ok": true, "id": true},
		"direct":                    {"ok": true},
		"limits":                    {"ok": true, "waited": true, "limit": 5.0},
		"form":                      {"ok": true, "user": user, "field": "Mei", "one": "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := s.Calls("429"); n > 0 {
		t.Errorf("%d calls of the library were refused", n)
	}
}

// pressAndSend lets a person press a button whose form the library's endpoint opens, and send it.
func pressAndSend(t *testing.T, s *fakediscord.Server, user, address string) {
	t.Helper()
	if err := s.SetEndpoint(address); err != nil {
		t.Fatal(err)
	}
	if told, err := s.Command(t.Context(), user, "", "link"); err != nil || told.Words() != "link" {
		t.Errorf("the command is told %q, %v", told.Words(), err)
	}
	opened, err := s.Click(t.Context(), user, s.Messages()[0], "Go")
	if err != nil {
		t.Fatal(err)
	}
	told, err := s.Submit(t.Context(), opened, map[string][]string{"name": {"Mei"}, "one": {"B"}})
	if err != nil || told.Words() != "thanks" {
		t.Errorf("told %q, %v", told.Words(), err)
	}
}

// discord.js, the most used library, holds the fake's gateway: it identifies, hears people, answers them, and resumes after
// a cut with what it missed.
func TestDiscordGateway(t *testing.T) {
	t.Parallel()
	const channel, user = "300000000000000001", "200000000000000101"
	s := fakediscord.Start(fakediscord.Options{AckWithin: waittest.Limit})
	t.Cleanup(s.Close)
	s.AddChannel(channel)
	s.AddUser(fakediscord.User{ID: user, Name: "mei"})
	cmd := exec.CommandContext(t.Context(), "node", "discord/gateway.mjs")
	cmd.Env = append(os.Environ(), "DISCORD_API="+s.URL(), "DISCORD_TOKEN="+fakediscord.Token, "CHANNEL="+channel)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	expect := func(want map[string]any) {
		t.Helper()
		got := map[string]any{}
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil {
			t.Fatalf("it says %q, %v", lines.Text(), lines.Err())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	press := func() {
		t.Helper()
		if told, err := s.Click(t.Context(), user, s.Messages()[0], "Go"); err != nil || told.Words() != "x by mei" {
			t.Errorf("the press is told %q, %v", told.Words(), err)
		}
	}
	expect(map[string]any{"name": "ready", "bot": "askbus", "application": fakediscord.App, "command": "link"})
	press()
	told, err := s.Command(t.Context(), user, "", "link")
	if err == nil {
		told, err = s.Replied(t.Context(), told.ID, waittest.Limit, func(in *fakediscord.Interaction) bool { return in.Told != nil })
	}
	if err != nil || told.Words() != "/link of mei" {
		t.Errorf("the command is told %q, %v", told.Words(), err)
	}
	s.Write(user, "hello")
	expect(map[string]any{"name": "message", "content": "hello", "author": user, "direct": true})
	s.Cut()
	press() // while nobody holds the gateway, or after
	expect(map[string]any{"name": "resumed"})
	press()
	if _, n := s.Sessions(); n != 1 {
		t.Errorf("it identified %d times", n)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
