package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/protocol/wire"
)

// baseline returns the binary of the previous release: the one that ASKBUS_TEST_BASELINE names,
// else this source with another version.
func baseline(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("ASKBUS_TEST_BASELINE"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "askbus")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w -X github.com/askbus/askbus/internal/cli.version=v0.0.0-baseline", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestAnotherProtocolNumberIsRefused starts brokers, surfaces (live ones and those that post), gateways and commands of one protocol
// number at a bus of another, in both directions. The other build is this source, linked with another
// number.
func TestAnotherProtocolNumberIsRefused(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "askbus")
	number := strconv.Itoa(wire.Protocol() + 1)
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w -X github.com/askbus/askbus/internal/protocol/wire.protocol="+number, "-o", other, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	workspace, err := fakeslack.Start(fakeslack.Options{BotToken: "xoxb-fake", AppToken: "xapp-fake"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(workspace.Close)
	workspace.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{fakeslack.BotUser}})
	chats := []string{
		"ASKBUS_SLACK_URL=" + workspace.URL(), "ASKBUS_SLACK_BOT_TOKEN=xoxb-fake", "ASKBUS_SLACK_APP_TOKEN=xapp-fake",
		"ASKBUS_TELEGRAM_URL=" + telegramFor(t).URL(), "ASKBUS_TELEGRAM_TOKEN=" + faketelegram.Token,
	}
	hooks := write(t, "hooks.yaml", "callbacks: [ { name: builder, url: \"https://agents.example.com/askbus\", secret_file: "+write(t, "secret", "whsec_"+strings.Repeat("c2VjcmV0", 4))+" } ]\n")
	own := strconv.Itoa(wire.Protocol())
	for _, v := range []struct{ name, bus, busNumber, beside, besideNumber string }{{"a later build beside it", os.Args[0], own, other, number}, {"an earlier build beside it", other, number, os.Args[0], own}} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			bus := startBinary(t, v.bus, "up", "--dir", dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open")
			bus.out.wait(t, "askbus is up.")
			refused := func(want string, args ...string) {
				t.Helper()
				p := startReading(t, v.beside, chats, strings.NewReader(""), append(args, "--dir", dir)...)
				if code := p.wait(); code == 0 || !strings.Contains(p.err.String(), want) {
					t.Errorf("%v: exit %d, want %q: %s%s", args, code, want, p.out, p.err)
				}
			}
			refused(`askbus.protocol="`+v.busNumber+`", and this version uses `+v.besideNumber, "broker")
			differs := "speaks protocol " + v.besideNumber + " of askbus, and the broker speaks " + v.busNumber
			refused(differs, "gateway", "--http-addr", "127.0.0.1:0")
			refused(differs, "web", "--http-addr", "127.0.0.1:0")
			refused(differs, "ask", "--question", "Go?", "--option", "yes", "--id", "a1", "--session", "s1", "--wait", "0")
			if p := startBinary(t, v.bus, "get", "s1/a1", "--dir", dir); p.wait() == cli.ExitPending {
				t.Errorf("the refused ask was stored: %s", p.out)
			}
			refused(differs, "list")
			refused(differs, "push", "--ops-addr", "127.0.0.1:0")
			refused(differs, "webhook", "--webhooks", hooks, "--ops-addr", "127.0.0.1:0")
			refused(differs, "slack", "--channel", "C0ASKS", "--ops-addr", "127.0.0.1:0")
			refused(differs, "telegram", "--chat", "-100500", "--ops-addr", "127.0.0.1:0")
			if code := bus.stop(); code != 0 {
				t.Fatalf("exit %d: %s", code, bus.err)
			}
		})
	}
}

// TestOldAndNewWorkTogether runs the bus of one version with the commands and a second broker of
// the other, in both directions, and then the same directory with the other version: upgrade and
// rollback.
func TestOldAndNewWorkTogether(t *testing.T) {
	t.Parallel()
	old := baseline(t)
	now := os.Args[0]
	for _, v := range []struct{ name, bus, client string }{{"the old bus", old, now}, {"the new bus", now, old}} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			pl := place{t, filepath.Join(t.TempDir(), "state")}
			run := func(bin string, want int, args ...string) {
				t.Helper()
				p := startBinary(t, bin, append(args, "--dir", pl.dir)...)
				if code := p.wait(); code != want {
					t.Fatalf("%v: exit %d, want %d: %s%s", args, code, want, p.out, p.err)
				}
			}
			upWith := func(bin string) *process {
				t.Helper()
				p := startBinary(t, bin, "up", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open")
				p.out.wait(t, "askbus is up.")
				return p
			}
			bus := upWith(v.bus)
			second := startBinary(t, v.client, "broker", "--dir", pl.dir)
			second.err.wait(t, "broker on ")
			for _, asker := range []string{v.bus, v.client} {
				id := map[string]string{v.bus: "a1", v.client: "a2"}[asker]
				run(asker, cli.ExitPending, "ask", "--question", "Go?", "--option", "yes", "--id", id, "--session", "s1", "--wait", "0")
			}
			run(v.client, 0, "answer", "s1/a1", "--reply", "yes")
			run(v.bus, 0, "answer", "s1/a2", "--reply", "yes")
			run(v.client, cli.ExitPending, "ask", "--question", "Later?", "--option", "yes", "--id", "a3", "--session", "s1", "--wait", "0")
			waits := startBinary(t, v.client, "ask", "--question", "Held?", "--option", "yes", "--id", "a4", "--session", "s1", "--dir", pl.dir)
			waits.err.wait(t, "waiting for s1/a4")
			run(v.bus, 0, "answer", "s1/a4", "--reply", "yes")
			if code := waits.wait(); code != 0 {
				t.Fatalf("a wait on the other version's bus: exit %d: %s%s", code, waits.out, waits.err)
			}
			second.stop()
			if code := bus.stop(); code != 0 {
				t.Fatalf("exit %d", code)
			}
			bus = upWith(v.client) // upgraded, or rolled back
			run(v.bus, 0, "answer", "s1/a3", "--reply", "yes")
			run(v.bus, 0, "get", "s1/a1")
			bus.stop()
		})
	}
}
