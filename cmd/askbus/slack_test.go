package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// End to end: a Slack process next to "askbus up", a click, and the agent gets its answer. Secrets
// come from files and appear in no argument and no log.
func TestSlackEndToEnd(t *testing.T) {
	t.Parallel()
	f, err := fakeslack.Start(fakeslack.Options{BotToken: "xoxb-canary-1", AppToken: "xapp-canary-2"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.AddUser(fakeslack.User{ID: "U0MEI", Name: "Mei"})
	f.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{"U0MEI", fakeslack.BotUser}})
	pl, _ := up(t)
	env := []string{
		"ASKBUS_SLACK_URL=" + f.URL(), "ASKBUS_SLACK_BOT_TOKEN_FILE=" + write(t, "bot", "xoxb-canary-1\n"), "ASKBUS_SLACK_APP_TOKEN_FILE=" + write(t, "app", "xapp-canary-2\n"),
	}
	surface := startWith(t, env, "", "slack", "--dir", pl.dir, "--channel", "C0ASKS", "--ops-addr", "127.0.0.1:0")
	surface.err.wait(t, "askbus: connected to Slack")
	natstest.Eventually(t, "two connections", func() bool { _, live := f.Connections(); return live == 2 })
	asker := start(t, "", "ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--dir", pl.dir)
	natstest.Eventually(t, "the card", func() bool { return len(f.Messages("C0ASKS")) == 1 })
	if d := f.Click("U0MEI", f.Messages("C0ASKS")[0].Place, "SQLite"); !d.Acked {
		t.Fatalf("%+v", d)
	}
	if code := asker.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, asker.err)
	}
	o := decode(t, asker.out.String())
	by := o["by"].(map[string]any)
	if o["status"] != "answered" || by["principal"] != "slack:T0HOME/U0MEI" || by["name"] != "Mei" || by["responder"] != "slack" || by["proof"] != "slack-socket" {
		t.Errorf("the outcome is %v", o)
	}
	natstest.Eventually(t, "the card is edited", func() bool {
		m := f.Messages("C0ASKS")[0]
		return !m.Live() && strings.Contains(m.Shown(), "Mei chose SQLite")
	})
	doctor := startWith(t, env, "", "slack", "doctor", "--dir", pl.dir, "--channel", "C0ASKS")
	if code := doctor.wait(); code != 0 || !strings.Contains(doctor.out.String(), "workspace T0HOME") {
		t.Errorf("doctor: exit %d: %s%s", code, doctor.out, doctor.err)
	}
	if code := surface.stop(); code != 0 {
		t.Errorf("slack: exit %d: %s", code, surface.err)
	}
	natstest.Eventually(t, "close frames", func() bool { all, _ := f.Connections(); return all == 0 })
	for _, p := range []*process{surface, doctor} {
		if said := p.out.String() + p.err.String() + strings.Join(p.cmd.Args, " "); strings.Contains(said, "canary") {
			t.Errorf("a secret leaked: %s", said)
		}
	}
}

func TestSlackRouteExplainsDestinations(t *testing.T) {
	t.Parallel()
	routes := write(t, "routes.yaml", "default: {channel: C0ASKS}\nroutes: [{name: dba, match: {tenant: acme, audience: [\"group:dba\"]}, to: {channel: C0DBA}}]\ngroups: {dba: S0DBA}\n")
	asked := write(t, "ask.json", `{"tenant":"acme","session":"s1","audience":["group:dba"],"questions":[{"text":"Which?"}]}`)
	p := start(t, "", "slack", "route", routes, "--explain", asked, "--output", "text")
	if code := p.wait(); code != 0 || p.out.String() != "channel C0DBA, by route dba\nnotifies S0DBA\n" {
		t.Errorf("exit %d: %s%s", code, p.out, p.err)
	}
	p = start(t, "", "slack", "route", write(t, "wrong.yaml", "default: {chanel: C1}"))
	if code := p.wait(); code != cli.ExitUsage || !strings.Contains(p.err.String(), "/default") {
		t.Errorf("exit %d: %s", code, p.err)
	}
	for args, want := range map[string]string{"--channel C1": "ASKBUS_SLACK_BOT_TOKEN", "--channel C1 --replicas 9": "at most 3"} {
		env := []string{"ASKBUS_SLACK_APP_TOKEN=xapp-1"}
		p = startWith(t, env, "", append([]string{"slack", "--dir", t.TempDir()}, strings.Fields(args)...)...)
		if code := p.wait(); code == 0 || !strings.Contains(p.err.String(), want) {
			t.Errorf("%s: exit %d: %s", args, code, p.err)
		}
	}
}
