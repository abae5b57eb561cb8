package main

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// mei is a person in Telegram.
const mei = 103

func telegramFor(t *testing.T) *faketelegram.Server {
	t.Helper()
	f := faketelegram.Start()
	t.Cleanup(f.Close)
	f.AddUser(faketelegram.User{ID: mei, First: "Mei"}, -100500)
	f.AddUser(faketelegram.User{ID: 101, First: "Tom"}, -100500)
	return f
}

// connect runs "askbus connect telegram" until it is paired with Mei.
func (pl place) connect(f *faketelegram.Server, args ...string) *process {
	pl.t.Helper()
	p := startWith(pl.t, []string{"ASKBUS_TELEGRAM_URL=" + f.URL()}, faketelegram.Token+"\n", append([]string{"connect", "telegram", "--dir", pl.dir}, args...)...)
	said := p.err.wait(pl.t, "on your phone")
	code := regexp.MustCompile(`(?m)^    ([2-9A-Z]{4}-[2-9A-Z]{4})$`).FindStringSubmatch(said)
	if code == nil {
		pl.t.Fatalf("it shows no code: %s", said)
	}
	f.Write(101, 101, "hello", 0)
	f.Write(101, -100500, code[1], 0) // not in private
	f.Write(mei, mei, "/start "+strings.ToLower(code[1]), 0)
	p.err.wait(pl.t, "paired with Mei (telegram:103)")
	return p
}

func message(t *testing.T, f *faketelegram.Server, chat int64, words string) (found faketelegram.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	if !f.Await(ctx, func() bool {
		for _, m := range f.Messages() {
			if m.Chat == chat && strings.Contains(m.Text, words) && m.Open() {
				found = m
				return true
			}
		}
		return false
	}) {
		t.Fatalf("nothing in %d says %q: %+v", chat, words, f.Messages())
	}
	return found
}

// A person connects Telegram while "askbus up" runs, and answers from the phone: the test question, and then an agent's,
// as the user that they are on this machine.
func TestTelegramIsConnectedToARunningBus(t *testing.T) {
	t.Parallel()
	f := telegramFor(t)
	pl, bus := up(t)
	p := pl.connect(f)
	f.Click(t.Context(), mei, message(t, f, mei, "Does this question reach you?"), "It does")
	if code := p.wait(); code != 0 || !strings.Contains(p.err.String(), "Telegram is connected") {
		t.Fatalf("exit %d: %s", code, p.err)
	}
	bus.err.wait(t, "askbus: Telegram is connected")
	asker := start(t, "", "ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--dir", pl.dir)
	f.Click(t.Context(), mei, message(t, f, mei, "Which database?"), "SQLite")
	if code := asker.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, asker.err)
	}
	by := decode(t, asker.out.String())["by"].(map[string]any)
	if by["principal"] != cli.LocalUser(nil).Principal || by["proof"] != "telegram" {
		t.Errorf("answered by %v", by)
	}

	// Connected to a group, it tries out that place only, and Mei stays who she is.
	again := startWith(t, []string{"ASKBUS_TELEGRAM_URL=" + f.URL()}, faketelegram.Token+"\n", "connect", "telegram", "--chat", "-100500", "--dir", pl.dir)
	f.Click(t.Context(), mei, message(t, f, -100500, "Does this question reach you?"), "It does")
	if code := again.wait(); code != 0 || !strings.Contains(again.err.String(), "in Telegram, at -100500: answer it there") || !strings.Contains(again.err.String(), "Telegram is connected") {
		t.Fatalf("exit %d: %s", code, again.err)
	}
	tests := 0
	for _, m := range f.Messages() {
		if m.Chat == mei && strings.Contains(m.Text, "A test of") {
			tests++
		}
	}
	routes, err := os.ReadFile(filepath.Join(pl.dir, "chats", "telegram.yaml"))
	if err != nil || tests != 1 || !strings.Contains(string(routes), cli.LocalUser(nil).Principal+`: "103"`) || !strings.Contains(string(routes), "-100500") {
		t.Errorf("%d tests in private, %v: %s", tests, err, routes)
	}

	// A sign-in link for a phone goes to her in private, at her own tunnel, which leads to this inbox.
	here, err := url.Parse(pl.context().HTTPURL)
	if err != nil {
		t.Fatal(err)
	}
	tunnel := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(here) }})
	t.Cleanup(tunnel.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tunnel.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	phone := startWith(t, []string{"SSL_CERT_FILE=" + ca}, "", "login", "--phone", "--url", tunnel.URL, "--output", "text", "--dir", pl.dir)
	if code := phone.wait(); code != 0 || !strings.HasPrefix(phone.out.String(), tunnel.URL+"/login?t=") || !strings.Contains(phone.err.String(), "sent to you in private, in Telegram (103)") {
		t.Errorf("exit %d: %s%s", code, phone.out, phone.err)
	}
	sent := 0
	for _, m := range f.Messages() {
		if strings.Contains(m.Text, "/login?t=") {
			if sent++; m.Chat != mei || !strings.Contains(m.Text, strings.Fields(phone.out.String())[0]+"&ask=1") {
				t.Errorf("%d got %q", m.Chat, m.Text)
			}
		}
	}
	if sent != 1 {
		t.Errorf("%d links were sent", sent)
	}
	elsewhere := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	for _, wrong := range []string{elsewhere.URL, "http://inbox.example.com"} {
		phone := startWith(t, []string{"SSL_CERT_FILE=" + ca}, "", "login", "--phone", "--url", wrong, "--dir", pl.dir)
		if code := phone.wait(); code == 0 || strings.Contains(phone.out.String(), "/login?t=") {
			t.Errorf("%s: exit %d: %s%s", wrong, code, phone.out, phone.err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(pl.dir, "chats", "*"))
	if len(files) != 3 {
		t.Errorf("the files are %q", files)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
		body, err := os.ReadFile(name)
		if has := strings.Contains(string(body), "fake"); err != nil || has != strings.HasSuffix(name, "telegram.token") {
			t.Errorf("%s is %q, %v", name, body, err)
		}
	}
	if out, said, code := pl.run("doctor", "--no-ask", "--output", "text"); !strings.Contains(out, "telegram token: valid for @askbus_fake_bot") {
		t.Errorf("doctor: exit %d: %s%s", code, out, said)
	}
	f.Revoke()
	bus.err.wait(t, "askbus: Telegram does not work: updates do not arrive: the token is not known to Telegram")
	for _, one := range []*process{p, bus} {
		if said := one.out.String() + one.err.String() + strings.Join(one.cmd.Args, " "); strings.Contains(said, faketelegram.Token) {
			t.Errorf("the token leaked: %s", said)
		}
	}
}

// Paired again, the rules that people wrote stay, and so do the other settings.
func TestAnotherPairingKeepsTheRules(t *testing.T) {
	t.Parallel()
	f := telegramFor(t)
	pl := place{t, t.TempDir()}
	if p := pl.connect(f); p.wait() != 0 {
		t.Fatal(p.err)
	}
	yaml, env := filepath.Join(pl.dir, "chats", "telegram.yaml"), filepath.Join(pl.dir, "chats", "telegram.env")
	add := func(name, text string) {
		t.Helper()
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, append(data, text...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add(yaml, "routes: # ours\n  - match: { tenant: shop }\n    to: { channel: \"-100500\" }\n")
	add(env, "ASKBUS_TELEGRAM_DIGEST=Mon 09:00\n")
	before, err := os.ReadFile(yaml)
	if err != nil {
		t.Fatal(err)
	}
	if p := pl.connect(f); p.wait() != 0 || !strings.Contains(p.err.String(), "the rules and people of ") {
		t.Errorf("paired again: %s", p.err)
	}
	after, err := os.ReadFile(yaml)
	settings, failed := os.ReadFile(env)
	if err != nil || failed != nil || string(after) != string(before) || !strings.Contains(string(settings), "ASKBUS_TELEGRAM_DIGEST=Mon 09:00\n") {
		t.Errorf("paired again, %v, %v: %s\n%s", err, failed, after, settings)
	}
	add(yaml, "groups: [\n")
	broken := startWith(t, []string{"ASKBUS_TELEGRAM_URL=" + f.URL()}, faketelegram.Token+"\n", "connect", "telegram", "--dir", pl.dir)
	if code := broken.wait(); code == 0 || !strings.Contains(broken.err.String(), "fix the file or remove it") || strings.Contains(broken.err.String(), "on your phone") {
		t.Errorf("with a broken file: exit %d: %s", code, broken.err)
	}
}

// Two "askbus up" with one token name each other, and both serve on; so does one whose settings are broken, until they are
// mended.
func TestTwoBusesWithOneTokenNameEachOther(t *testing.T) {
	t.Parallel()
	f := telegramFor(t)
	one := place{t, filepath.Join(t.TempDir(), "one")}
	if p := one.connect(f); p.wait() != 0 || !strings.Contains(p.err.String(), "start \"askbus up") {
		t.Fatalf("%s", p.err)
	}
	first := one.up()
	first.err.wait(t, "askbus: Telegram is connected")
	two := place{t, filepath.Join(t.TempDir(), "two")}
	chats := filepath.Join(two.dir, "chats")
	if err := os.CopyFS(chats, os.DirFS(filepath.Join(one.dir, "chats"))); err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(filepath.Join(chats, "telegram.env"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(chats, "telegram.env"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(string(settings) + "ASKBUS_TELEGRAM_CHATS=1\n")
	second := two.up()
	second.err.wait(t, "askbus: Telegram cannot run: "+filepath.Join(chats, "telegram.env")+": settings: there is no ASKBUS_TELEGRAM_CHATS")
	write(string(settings))
	first.err.wait(t, "askbus: Telegram does not work: updates do not arrive: another process polls with this token, or a webhook is set; stop one of the two, or give each a bot of its own (Telegram says: Conflict: ")
	for _, pl := range []place{one, two} {
		if _, said, code := pl.run("ask", "--question", "Well?", "--wait", "0"); code != cli.ExitPending {
			t.Errorf("exit %d: %s", code, said)
		}
	}
}

// What cannot be connected is said, and nothing is written.
func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	f := telegramFor(t)
	pl := place{t, t.TempDir()}
	slack, err := fakeslack.Start(fakeslack.Options{BotToken: "xoxb-1", AppToken: "xapp-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slack.Close)
	for want, c := range map[string]struct {
		stdin string
		args  []string
	}{
		"nothing was entered":                {"\n", []string{"telegram"}},
		"must look like 123456:ABC-def":      {"secret\n", []string{"telegram"}},
		"the token is not known to Telegram": {"78:other\n", []string{"telegram"}},
		"nobody sent the code within 1ms":    {faketelegram.Token, []string{"telegram", "--within", "1ms"}},
		"invalid --within":                   {"", []string{"telegram", "--within", "1h"}},
		"unknown flag: --token":              {"", []string{"telegram", "--token", "x"}},
		"Slack does not accept this":         {"xoxb-2\nxapp-1\n", []string{"slack", "--channel", "C1"}},
		"nobody sent the code within 2ms":    {"xoxb-1\nxapp-1\n", []string{"slack", "--within", "2ms"}},
		"the app-level token must begin w":   {"xoxb-1\nx\n", []string{"slack"}},
	} {
		p := startWith(t, []string{"ASKBUS_TELEGRAM_URL=" + f.URL(), "ASKBUS_SLACK_URL=" + slack.URL()}, c.stdin, append([]string{"connect", "--dir", pl.dir}, c.args...)...)
		if code := p.wait(); code == 0 || !strings.Contains(p.err.String(), want) {
			t.Errorf("%q: exit %d: %s", c.args, code, p.err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(pl.dir, "chats", "*")); len(files) > 0 {
		t.Errorf("it wrote %q", files)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "chats"), nil, 0o600); err != nil { // root could write into any folder
		t.Fatal(err)
	}
	if p := startWith(t, nil, "", "connect", "telegram", "--dir", full); p.wait() == 0 || !strings.Contains(p.err.String(), "cannot keep what connects Telegram") || strings.Contains(p.err.String(), "token") {
		t.Errorf("where nothing can be written: %s", p.err)
	}
	p := startWith(t, []string{"ASKBUS_SLACK_URL=" + slack.URL()}, "xoxb-1\nxapp-1\n", "connect", "slack", "--channel", "C0ASKS", "--dir", pl.dir)
	if code := p.wait(); code != 0 || !strings.Contains(p.err.String(), "of workspace T0HOME") {
		t.Errorf("exit %d: %s", code, p.err)
	}
	if body, err := os.ReadFile(filepath.Join(pl.dir, "chats", "slack.env")); err != nil || !strings.Contains(string(body), "ASKBUS_SLACK_CHANNEL=C0ASKS") || strings.Contains(string(body), "xoxb") {
		t.Errorf("%v: %s", err, body)
	}
}
