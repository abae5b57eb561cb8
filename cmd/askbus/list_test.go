package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/person"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/clipperhouse/displaywidth"
)

func TestListShowsTheMostUrgentPendingAndTheNewestEndedAsks(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	for i := range 6 {
		priority := "normal"
		if i == 5 {
			priority = "urgent"
		}
		pl.must(3, "ask", "--question", "Q?", "--id", fmt.Sprint("a", i), "--session", "s", "--priority", priority, "--wait", "0")
	}
	for _, id := range []string{"a4", "a0", "a2"} {
		pl.must(0, "withdraw", "s/"+id)
	}
	for args, want := range map[string]string{
		"":                             "a5 a1 a3",
		"--limit 2":                    "a5 a1",
		"--limit 1":                    "a5",
		"--oldest":                     "a1 a3 a5",
		"--oldest --limit 2":           "a1 a3",
		"--state resolved":             "a2 a0 a4",
		"--state resolved --limit 2":   "a2 a0",
		"--state resolved --limit 1":   "a2",
		"--state all":                  "a5 a1 a3 a2 a0 a4",
		"--state all --oldest":         "a1 a3 a5 a2 a0 a4",
		"--state all --limit 4":        "a5 a1 a3 a2",
		"--state all --session nobody": "",
	} {
		stdout, stderr, code := pl.run(append([]string{"list"}, strings.Fields(args)...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d, %s", args, code, stderr)
		}
		var ids []string
		for _, item := range decode(t, stdout)["items"].([]any) {
			ids = append(ids, fmt.Sprint(item.(map[string]any)["ask"].(map[string]any)["id"]))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("list %s: %q, want %q", args, got, want)
		}
		if more := strings.Contains(stderr, "there are more"); more != strings.Contains(args, "--limit") {
			t.Errorf("list %s says %q", args, stderr)
		}
	}
}

func TestAListFitsItsTerminal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	items := []ask.Record{
		{State: ask.StatePending, AskedAt: now.Add(-90 * time.Second), Ask: ask.Ask{Session: "build-42", ID: "deploy", Agent: ask.Agent{Name: "claude-code"}, Title: strings.Repeat("Which database shall we take? ", 8), Priority: ask.PriorityUrgent}},
		{State: ask.StatePending, AskedAt: now.Add(-time.Hour), Ask: ask.Ask{Session: "s", ID: "data", Agent: ask.Agent{Name: strings.Repeat("代理", 30)}, Title: strings.Repeat("用哪个数据库？", 20)}},
		{State: ask.StateResolved, AskedAt: now.Add(-time.Hour), Ask: ask.Ask{Session: "s", ID: "b", Title: "Short?"}, Outcome: &ask.Outcome{Status: ask.StatusAnswered, Waited: time.Minute}},
	}
	for _, width := range []int{40, 60, 80, 120, 200} {
		text := cli.Table(items, width, now)
		for line := range strings.Lines(text) {
			if got := displaywidth.String(strings.TrimRight(line, "\n")); got > width {
				t.Errorf("width %d: %d cells in %q", width, got, line)
			}
		}
		if q, name := strings.Index(text, "▲ Which"), strings.Index(text, "build-42/deploy"); q > name {
			t.Errorf("width %d: the name is before its question:\n%s", width, text)
		}
		for _, want := range []string{"build-42/deploy", "▲ Which", "用哪个", "answered"} {
			if !strings.Contains(text, want) {
				t.Errorf("width %d: no %q in\n%s", width, want, text)
			}
		}
	}
	long := []ask.Record{{State: ask.StatePending, AskedAt: now, Ask: ask.Ask{Session: strings.Repeat("s", 60), ID: "x", Title: "Deploy?"}}}
	if text := cli.Table(long, 80, now); !strings.Contains(text, "Deploy?\n  sss") || !strings.Contains(text, "/x\n") {
		t.Errorf("a long name:\n%s", text)
	}
}

// Logs the time of "askbus list" with 500 asks, after connecting. It fails on no figure, because
// machines may be busy.
func TestListOf500(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	a := &cli.App{Stdout: os.Stdout, Stderr: os.Stderr}
	if _, err := program().Root(a); err != nil {
		t.Fatal(err)
	}
	a.Dir, a.Output = pl.dir, "json"
	b, err := a.DialOperator()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	asks := b.Asks.Session(a.Tenant, "many")
	for range 500 {
		if _, err := asks.Ask(t.Context(), ask.Ask{Questions: []ask.Question{{Text: "Which database?", Options: []ask.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		began := time.Now()
		items, _, err := person.Listed(t.Context(), a, b, person.ListFlags{State: "pending", Limit: 1000})
		read := time.Since(began)
		text := cli.Table(items, 120, time.Now())
		if err != nil || len(items) != 500 || strings.Count(text, "\n") != 501 {
			t.Fatalf("%d asks: %v", len(items), err)
		}
		t.Logf("500 asks: read in %s, with the table %s", read.Round(100*time.Microsecond), time.Since(began).Round(100*time.Microsecond))
	}
}

func TestTheInboxBesideUpLeavesItsAddressAlone(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	before := pl.context().HTTPURL
	second := start(t, "", "web", "--dir", pl.dir, "--http-addr", "127.0.0.1:0")
	second.err.wait(t, "inbox at")
	if now := pl.context().HTTPURL; now != before {
		t.Errorf("http_url was %s and is %s", before, now)
	}
	if code := second.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.stop()
	srv := start(t, "", "server", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0")
	srv.err.wait(t, "NATS at")
	alone := start(t, "", "web", "--dir", pl.dir, "--http-addr", "127.0.0.1:0")
	said := alone.err.wait(t, "ops at")
	if now := pl.context().HTTPURL; !strings.Contains(said, now) {
		t.Errorf("http_url is %s; alone, it said %s", now, said)
	}
}

func TestAnUnknownOptionNumberIsRefused(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--id", "db", "--session", "s", "--wait", "0")
	if _, stderr, code := pl.run("answer", "db", "--reply", "7"); code != cli.ExitRefused || !strings.Contains(stderr, `type a number from 1 to 2, or "other: 7"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
	o := pl.must(0, "answer", "db", "--other", "7")
	if fmt.Sprint(o["answers"]) != "[map[other:7 question_id:q1]]" {
		t.Errorf("answers %v", o["answers"])
	}
}

func TestHintsCanBeRunAsPrinted(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	_, stderr, code := pl.run("get", "nothing")
	if code != cli.ExitFailure || !strings.Contains(stderr, `see "askbus list --dir `+pl.dir+`"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
	_, stderr, _ = place{t, t.TempDir() + "/a b"}.run("list")
	if !strings.Contains(stderr, `start one with "askbus up --dir '/`) || !strings.Contains(stderr, `/a b'"`) {
		t.Errorf("it said %s", stderr)
	}
}
