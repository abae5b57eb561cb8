package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

// The rules are tested in pkg/ask and at the broker. Here are those of each reader: the file, its JSON,
// the broker's validation.
func TestBadAsksAreRefusedWithTheFieldNamed(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	for name, c := range map[string][2]string{
		"no JSON at all":      {`{"questions":`, "is not JSON"},
		"an unknown field":    {`{"questions":[{"text":"a?","colour":"red"}]}`, "/questions/0/colour"},
		"tenant in the body":  {`{"tenant":"x","questions":[{"text":"a?"}]}`, "/tenant"},
		"an unknown kind":     {`{"questions":[{"kind":"colour","text":"a?"}]}`, "/questions/0/kind"},
		"a timeout too long":  {`{"timeout":"721h","questions":[{"text":"a?"}]}`, "/timeout"},
		"a default too large": {`{"questions":[{"kind":"number","text":"a?","limits":{"max":2},"default":3}]}`, "/questions/0/default"},
		"an ask of 300 KiB":   {`{"questions":[{"text":"a?","placeholder":"` + strings.Repeat("x", 300<<10) + `"}]}`, "262144"},
	} {
		stdout, stderr, code := pl.runWith(c[0], "ask", "--file", "-", "--wait", "0")
		if code != cli.ExitRefused || stdout != "" || !strings.Contains(stderr, c[1]) {
			t.Errorf("%s: exit %d, stdout %q, stderr %.300q; want exit 6 and %q", name, code, stdout, stderr, c[1])
		}
	}
	if items := pl.must(0, "list", "--state", "all")["items"].([]any); len(items) != 0 {
		t.Fatalf("%d asks were stored", len(items))
	}
}

func TestWrongUsageSaysWhatToDo(t *testing.T) { //nolint:tparallel // subtests in turn: parallel ones begin after every other test, and its server would run until then
	t.Parallel()
	pl, _ := up(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing to ask":           {[]string{"ask"}, "--question"},
		"file and question":        {[]string{"ask", "--file", "x", "--question", "y"}, "not both"},
		"an unknown flag":          {[]string{"ask", "--qestion", "y"}, "--qestion"},
		"an unknown command":       {[]string{"aks"}, "aks"},
		"a file that is not there": {[]string{"ask", "--file", "nowhere.json"}, "nowhere.json"},
		"a wait that is none":      {[]string{"ask", "--question", "a?", "--wait", "soon"}, "--wait"},
		"a file that is none":      {[]string{"ask", "--file", "."}, "is a directory"},
		"a question as argument":   {[]string{"ask", "Which?"}, "askbus: unexpected argument \"Which?\": give the question with --question; see \"askbus ask --help\"\n"},
		"a timeout of nothing":     {[]string{"ask", "--question", "a?", "--timeout", "0s"}, "invalid --timeout 0s: use 1s to 720h"},
		"a tenant with dots":       {[]string{"list", "--tenant", "a.b"}, "invalid --tenant \"a.b\""},
		"no id":                    {[]string{"get"}, "askbus: missing argument: askbus get (ID | SESSION/ID); see \"askbus get --help\"\n"},
		"two ids":                  {[]string{"get", "a", "b"}, "askbus: unexpected argument \"b\": askbus get (ID | SESSION/ID); see \"askbus get --help\"\n"},
		"an argument for none":     {[]string{"list", "x"}, "askbus: unexpected argument \"x\"; see \"askbus list --help\"\n"},
		"an id with dots":          {[]string{"get", "a.b"}, "SESSION/ID"},
		"the inbox's address":      {[]string{"list", "--nats-url", "http://127.0.0.1:8420"}, "invalid --nats-url \"http://127.0.0.1:8420\": that is an address of HTTP"},
		"an output that is none":   {[]string{"list", "--output", "yaml"}, "text or json"},
		"withdraw everything":      {[]string{"withdraw", "--all"}, "--session"},
		"a role that is none":      {[]string{"auth", "king"}, "king"},
		"a responder without type": {[]string{"auth", "responder"}, "type"},
		"a size that is none":      {[]string{"server", "--max-store", "much"}, "--max-store"},
		"a size that is too small": {[]string{"up", "--http-addr", "127.0.0.1:0", "--max-store", "1MiB"}, "use at least 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, stderr, code := (place{t, pl.dir}).run(c.args...); code != cli.ExitUsage || !strings.Contains(stderr, c.says) {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}
}

func TestStartErrorsSayWhatToDo(t *testing.T) { //nolint:tparallel // subtests in turn: parallel ones begin after every other test, and its server would run until then
	t.Parallel()
	pl, _ := up(t)
	c := pl.context()
	taken := strings.TrimPrefix(c.NATSURL, "nats://")
	web := strings.TrimPrefix(c.HTTPURL, "http://")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "version"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.creds")
	if _, stderr, code := (place{t, filepath.Dir(foreign)}).run("auth", "init"); code != 0 {
		t.Fatal(stderr)
	}
	creds, stderr, code := (place{t, filepath.Dir(foreign)}).run("auth", "operator", "--output", "text")
	if err := os.WriteFile(foreign, []byte(creds), 0o600); code != 0 || err != nil {
		t.Fatal(stderr, err)
	}
	fresh := func() string { return filepath.Join(t.TempDir(), "d") }
	for name, args := range map[string][]string{
		"is taken by another process":           {"up", "--dir", fresh(), "--nats-addr", taken, "--http-addr", "127.0.0.1:0"},
		"web address " + web + " is taken":      {"up", "--dir", fresh(), "--nats-addr", "127.0.0.1:0", "--http-addr", web},
		"askbus already runs in " + pl.dir:      {"up", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", web},
		"in use by another askbus process":      {"up", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"},
		"cannot create the store's directory":   {"up", "--dir", filepath.Join(file, "d"), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"},
		"use the newer askbus that wrote it":    {"up", "--dir", newer, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"},
		"no bus found in":                       {"list", "--dir", fresh()},
		"running?":                              {"list", "--dir", pl.dir, "--nats-url", "nats://127.0.0.1:1"},
		"the server refused the credential":     {"list", "--dir", pl.dir, "--creds", foreign},
		"no web inbox known":                    {"login", "--dir", fresh()},
		"no web inbox answers at http://":       {"login", "http://127.0.0.1:1", "--dir", fresh()},
		"no server found in":                    {"broker", "--dir", fresh()},
		"there is no store in":                  {"ledger", "set", "--dir", fresh()},
		"no store in":                           {"ledger", "backup", "x", "--dir", fresh()},
		"no credential for nats://":             {"list", "--nats-url", "nats://127.0.0.1:1", "--dir", fresh()},
		"tenant \"default\"; see \"askbus list": {"get", "nope", "--dir", pl.dir},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "", args...)
			code := p.wait()
			if code != cli.ExitFailure || !strings.Contains(p.err.String(), name) {
				t.Errorf("exit %d: %s", code, p.err)
			}
			// A process that does not start has moved to no other port, and one sentence says why.
			if said := p.err.String(); strings.Contains(said, "previous") || strings.Contains(said, "unknown ask") {
				t.Errorf("it says %s", said)
			}
			if args[0] == "ledger" {
				if _, err := os.Stat(args[len(args)-1]); !os.IsNotExist(err) {
					t.Errorf("%s made a store: %v", args[1], err)
				}
			}
		})
	}
}

func TestATakenPortMoves(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	old := pl.context()
	p.stop()
	ln, err := net.Listen("tcp", strings.TrimPrefix(old.HTTPURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p = pl.up()
	now := pl.context()
	if now.HTTPURL == old.HTTPURL || now.NATSURL != old.NATSURL || !strings.Contains(p.err.String(), "previous web port is taken") {
		t.Fatalf("%v, then %v; it said %s", old, now, p.err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)

	four := pl.must(3, "ask", "--file", example("four-questions.json"), "--id", "four", "--session", "s", "--wait", "0")
	if four["state"] != "pending" || four["ask_id"] != "four" || four["deadline"] == nil {
		t.Errorf("status %v", four)
	}
	_, stderr, code := pl.run("answer", "four", "--select", "lang=go", "--boolean", "public=true")
	if code != cli.ExitRefused || !strings.Contains(stderr, `"features" needs an answer`) {
		t.Errorf("a half answer: exit %d %s", code, stderr)
	}
	o := pl.must(0, "answer", "s/four", "--select", "lang=Go", "--select", "features=invoices,tax", "--boolean", "public=false", "--date", "start=2026-12-01", "--note", "lang=as agreed")
	if o["status"] != "answered" || fmt.Sprint(o["answers"]) != "[map[notes:as agreed question_id:lang selected:[go]] map[question_id:features selected:[invoices tax]] map[boolean:false question_id:public] map[date:2026-12-01 question_id:start]]" {
		t.Errorf("outcome %v", o["answers"])
	}
	if _, stderr, code := pl.run("answer", "four", "--decline"); code != cli.ExitRefused || !strings.Contains(stderr, "Answered already: You answered at ") {
		t.Errorf("a late answer: exit %d %s", code, stderr)
	}

	pl.must(3, "ask", "--file", example("four-questions.json"), "--id", "stop", "--session", "s", "--wait", "0")
	if o := pl.must(0, "answer", "stop", "--reply", "lang=none"); o["status"] != "cancelled" || fmt.Sprint(o["cancelled_by"]) != "map[option_id:stop question_id:lang]" {
		t.Errorf("outcome %v", o)
	}
	pl.must(4, "wait", "stop")

	pl.must(3, "ask", "--question", "Really?", "--id", "no", "--session", "s", "--wait", "0")
	if o := pl.must(0, "answer", "no", "--decline", "not today"); o["status"] != "cancelled" || o["reason"] != "not today" {
		t.Errorf("outcome %v", o)
	}
	pl.must(3, "ask", "--question", "Really?", "--id", "no2", "--session", "s", "--wait", "0")
	if o := pl.must(0, "answer", "--decline", "never", "s/no2"); o["reason"] != "never" {
		t.Errorf("outcome %v", o)
	}

	pl.must(3, "ask", "--file", example("replicas.json"), "--id", "n", "--session", "s", "--wait", "0")
	if _, stderr, code := pl.run("answer", "n", "--number", "12"); code != cli.ExitRefused || !strings.Contains(stderr, "at most 9") {
		t.Errorf("beyond the limit: exit %d %s", code, stderr)
	}
	for _, number := range []string{"0x4", "NaN", "Inf", "1_0", "1e999"} {
		if _, stderr, code := pl.run("answer", "n", "--number", number); code != cli.ExitRefused || !strings.Contains(stderr, `invalid number "`+number+`"`) {
			t.Errorf("exit code %d, %s", code, stderr)
		}
	}
	if o := pl.must(0, "answer", "n", "--number", "n=5"); fmt.Sprint(o["answers"]) != "[map[number:5 question_id:n]]" {
		t.Errorf("outcome %v", o)
	}

	pl.must(3, "ask", "--question", "Name?", "--text", "--id", "twin", "--session", "a", "--wait", "0")
	pl.must(3, "ask", "--question", "Name?", "--text", "--id", "twin", "--session", "b", "--wait", "0")
	if _, stderr, code := pl.run("get", "twin"); code != cli.ExitUsage || !strings.Contains(stderr, "a/twin") || !strings.Contains(stderr, "b/twin") {
		t.Errorf("an ambiguous id: exit %d %s", code, stderr)
	}
	pl.must(0, "withdraw", "--all", "--session", "a")
	pl.must(4, "get", "a/twin")
	pl.must(0, "abort", "b/twin", "--reason", "night")
	if got := pl.must(4, "get", "b/twin"); got["outcome"].(map[string]any)["status"] != "aborted" {
		t.Errorf("status %v", got)
	}
	if _, stderr, code := pl.run("get", "nothing"); code != cli.ExitFailure || !strings.Contains(stderr, "askbus list") {
		t.Errorf("an unknown id: exit %d %s", code, stderr)
	}
	if _, stderr, code := pl.run("ask", "--question", "Other?", "--id", "four", "--session", "s"); code != cli.ExitRefused || !strings.Contains(stderr, "in use") {
		t.Errorf("a reused id: exit %d %s", code, stderr)
	}
	if _, stderr, code := pl.run("ask", "--question", "Anybody?", "--require-responder"); code != cli.ExitRefused || !strings.Contains(stderr, "no person is present") {
		t.Errorf("nobody there: exit %d %s", code, stderr)
	}
	if got := pl.must(0, "list"); len(got["items"].([]any)) != 0 {
		t.Errorf("still pending: %v", got)
	}
	if text, _, _ := pl.run("list", "--state", "all", "--output", "text"); !strings.Contains(text, "s/four") || !strings.Contains(text, "claude-code") {
		t.Errorf("list: %s", text)
	}
}

func TestCtrlCLeavesTheAskPendingOrWithdrawsIt(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	p := start(t, "", "ask", "--question", "Wait?", "--id", "w", "--session", "s", "--dir", pl.dir)
	p.err.wait(t, "waiting for")
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != cli.ExitPending || !strings.Contains(p.err.String(), "askbus wait s/w") || decode(t, p.out.String())["state"] != "pending" {
		t.Fatalf("exit %d: %s%s", code, p.out, p.err)
	}
	p = start(t, "", "ask", "--question", "Wait?", "--id", "w", "--session", "s", "--withdraw-on-interrupt", "--dir", pl.dir)
	p.err.wait(t, "waiting for")
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != cli.ExitCancelled || decode(t, p.out.String())["status"] != "withdrawn" {
		t.Fatalf("exit %d: %s%s", code, p.out, p.err)
	}
}

func TestAnAgentsCredentialSeesItsSessionOnly(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	mine := filepath.Join(t.TempDir(), "mine.json")
	out, _, _ := pl.run("auth", "agent", "--session", "mine", "--output", "json")
	if err := os.WriteFile(mine, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	pl.must(3, "ask", "--question", "Secret?", "--id", "x", "--session", "theirs", "--wait", "0")
	pl.must(3, "ask", "--question", "Mine?", "--id", "y", "--creds", mine, "--wait", "0")
	if items := pl.must(0, "list", "--creds", mine)["items"].([]any); len(items) != 1 {
		t.Errorf("the agent sees %v", items)
	}
	if _, stderr, code := pl.run("answer", "y", "--text", "no", "--creds", mine); code != cli.ExitRefused || !strings.Contains(stderr, "may not answer") {
		t.Errorf("an agent that answers: exit %d %s", code, stderr)
	}
	if _, stderr, code := pl.run("get", "theirs/x", "--creds", mine); code != cli.ExitRefused || !strings.Contains(stderr, "Permissions Violation") {
		t.Errorf("another session: exit %d %s", code, stderr)
	}
}

// What an agent writes drives no terminal and hides nothing, as text or JSON.
func TestTerminalOutputHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	const evil = "pay\u202e lap\u2066\u200b\u009b2J\x1b[2J\U000E0041"
	pl.must(3, "ask", "--question", evil, "--option", "Yes"+evil, "--option", "No", "--id", "evil", "--session", "s", "--wait", "0")
	commands := [][]string{{"get", "s/evil"}, {"list"}, {"answer", "s/evil", "--other", "q1=" + evil}, {"get", "s/evil"}, {"wait", "s/evil"}}
	for _, c := range commands {
		for _, form := range []string{"text", "json"} {
			p := start(t, "", append(c, "--dir", pl.dir, "--output", form)...)
			p.wait()
			said := p.out.String() + p.err.String()
			if strings.ContainsAny(said, "\u202e\u2066\u200b\u009b\x1b\U000E0041") {
				t.Errorf("%q as %s: %+q", c, form, said)
			}
			if form == "json" && p.out.String() != "" && c[0] != "answer" && !strings.Contains(said, `\u202e`) {
				t.Errorf("%q: the JSON lost something: %+q", c, said)
			}
		}
	}
}
