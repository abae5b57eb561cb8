package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func example(name string) string { return filepath.Join("..", "..", "examples", name) }

// shot saves a screenshot to ASKBUS_SHOTS, if set.
func shot(b *browsertest.Tab, name string) {
	if dir := os.Getenv("ASKBUS_SHOTS"); dir != "" {
		b.Shot(filepath.Join(dir, name+".png"))
	}
}

// login opens the inbox as the local user.
func (pl place) login() *browsertest.Tab {
	pl.t.Helper()
	return pl.loginAt("")
}

// loginAt is login at another inbox of the directory than the one in context.json.
func (pl place) loginAt(base string) *browsertest.Tab {
	pl.t.Helper()
	link := pl.must(0, "login", "--output", "json")["url"].(string)
	if base != "" {
		_, path, _ := strings.Cut(link, "/login")
		link = base + "/login" + path
	}
	b := browsertest.Open(pl.t)
	b.Do(chromedp.Navigate(link))
	b.Wait(`document.readyState === "complete" && !location.pathname.startsWith("/login")`)
	return b
}

func TestAskIsAnsweredInTheBrowserWithClicks(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	b := pl.login()
	shot(b, "e2e-empty")
	asker := start(t, "", "ask", "--file", example("database.json"), "--id", "db1", "--dir", pl.dir)
	b.Wait(`document.body.innerText.includes("Which database should the ledger service use?")`) // without a reload
	shot(b, "e2e-appeared")
	click(b, `[...document.querySelectorAll("label")].find(l => l.innerText.includes("SQLite + Litestream"))`)
	shot(b, "e2e-chosen")
	click(b, `[...document.querySelectorAll("button")].find(x => x.innerText.trim().startsWith("Answer"))`)
	if code := asker.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, asker.err)
	}
	o := decode(t, asker.out.String())
	answer := o["answers"].([]any)[0].(map[string]any)
	by := o["by"].(map[string]any)
	if o["status"] != "answered" || fmt.Sprint(answer["selected"]) != "[lite]" || by["responder"] != "web" || !strings.HasPrefix(by["principal"].(string), "os:") || by["proof"] != "os" {
		t.Fatalf("outcome %v", o)
	}
	b.Wait(`document.body.innerText.includes("just now")`)
	shot(b, "e2e-answered")
}

func click(b *browsertest.Tab, element string) {
	b.Wait(`(() => { const e = ` + element + `; if (!e) return false; e.click(); return true })()`)
}

func TestAskIsAnsweredInTheBrowserWithKeys(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	b := pl.login()
	asker := start(t, "", "ask", "--question", "Where shall it live?", "--option", "PostgreSQL|already deployed", "--option", "SQLite|one file", "--dir", pl.dir)
	b.Wait(`document.querySelector("#card article")?.innerText.includes("Where shall it live?")`) // the row comes first
	b.Do(chromedp.KeyEvent("2"))
	b.Wait(`[...document.querySelectorAll("input:checked")].some(i => i.closest("label")?.innerText.includes("SQLite"))`)
	b.Do(chromedp.KeyEvent(kb.Enter))
	if code := asker.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, asker.err)
	}
	if answer := decode(t, asker.out.String())["answers"].([]any)[0].(map[string]any); fmt.Sprint(answer["selected"]) != "[o2]" {
		t.Fatalf("answer %v", answer)
	}
}

func TestTheSecondBrowserSeesTheFirstAnswer(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	first, second := pl.login(), pl.login()
	asker := start(t, "", "ask", "--file", example("database.json"), "--dir", pl.dir)
	for _, b := range []*browsertest.Tab{first, second} {
		b.Wait(`document.body.innerText.includes("Which database should the ledger service use?")`)
	}
	click(second, `[...document.querySelectorAll("label")].find(l => l.innerText.includes("JetStream KV"))`)
	click(first, `[...document.querySelectorAll("label")].find(l => l.innerText.includes("PostgreSQL"))`)
	click(first, `[...document.querySelectorAll("button")].find(x => x.innerText.trim().startsWith("Answer"))`)
	if code := asker.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, asker.err)
	}
	second.Wait(`/You chose PostgreSQL/.test(document.body.innerText)`)
	shot(second, "e2e-second")
}

func TestNothingIsLostWhenUpIsKilled(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	before := pl.context()
	for i := range 5 {
		pl.must(3, "ask", "--file", example("database.json"), "--id", fmt.Sprintf("k%d", i), "--session", "s", "--wait", "0")
	}
	waiter := start(t, "", "wait", "s/k0", "--dir", pl.dir)
	waiter.err.wait(t, "waiting for")
	p.kill()
	p = pl.up()
	if after := pl.context(); after.NATSURL != before.NATSURL || after.HTTPURL != before.HTTPURL {
		t.Fatalf("the addresses moved: %v, then %v", before, after)
	}
	if items := pl.must(0, "list", "--session", "s")["items"].([]any); len(items) != 5 {
		t.Fatalf("%d asks are pending after the kill", len(items))
	}
	for i := range 5 {
		pl.must(0, "answer", fmt.Sprintf("s/k%d", i), "--select", "db=pg")
	}
	if code := waiter.wait(); code != 0 || decode(t, waiter.out.String())["status"] != "answered" {
		t.Fatalf("the waiting client: exit %d %s %s", code, waiter.out, waiter.err)
	}
	p.kill()
	pl.up()
	if o := pl.must(0, "wait", "k3"); o["status"] != "answered" {
		t.Fatalf("a fresh wait: %v", o)
	}
}

func TestADeadlinePassesWhileEverythingIsDown(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	pl.must(3, "ask", "--file", example("replicas.json"), "--id", "d1", "--timeout", "1s", "--wait", "0", "--session", "s")
	pl.must(3, "ask", "--question", "And this?", "--text", "--id", "d2", "--timeout", "1s", "--wait", "0", "--session", "s")
	p.kill()
	deadline := start(t, "", "version") // any moment after the deadline will do
	deadline.wait()
	pl.up()
	o := pl.must(5, "wait", "s/d1")
	if o["status"] != "expired" || o["source"] != "default" || o["by"] != nil {
		t.Fatalf("outcome %v", o)
	}
	if o := pl.must(5, "wait", "s/d2"); o["source"] != nil || len(o["answers"].([]any)) != 0 {
		t.Fatalf("outcome %v", o)
	}
}

func TestTwoBrokersAndTwoWebsAreKilledInTurn(t *testing.T) {
	t.Parallel()
	pl := place{t, filepath.Join(t.TempDir(), "state")}
	server := start(t, "", "server", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0")
	server.err.wait(t, "NATS at")
	role := func(name string, args ...string) *process {
		p := start(t, "", append([]string{name, "--dir", pl.dir}, args...)...)
		p.err.wait(t, "ops at")
		return p
	}
	brokers := []*process{role("broker"), role("broker")}
	webs := []*process{role("web", "--http-addr", "127.0.0.1:0")}
	b := pl.login()
	webs = append(webs, role("web", "--http-addr", "127.0.0.1:0"))
	other := pl.loginAt(regexp.MustCompile(`inbox at (http://[0-9.:]+)`).FindStringSubmatch(webs[1].err.String())[1])
	ask := func(id string) *process {
		p := start(t, "", "ask", "--question", "Which "+id+"?", "--option", "A", "--option", "B", "--id", id, "--session", "s", "--dir", pl.dir)
		p.err.wait(t, "waiting for")
		return p
	}
	answer := func(tab *browsertest.Tab, id string, asker *process) {
		t.Helper()
		tab.Wait(`document.body.innerText.includes("Which ` + id + `?")`)
		pl.must(0, "answer", "s/"+id, "--select", "o1")
		if code := asker.wait(); code != 0 {
			t.Fatalf("%s: exit %d %s", id, code, asker.err)
		}
	}
	first := ask("one")
	brokers[0].kill()
	answer(b, "one", first)
	brokers[0] = role("broker")
	second := ask("two")
	brokers[1].kill()
	webs[0].kill()
	answer(other, "two", second)
	third := ask("three")
	server.kill()
	server = start(t, "", "server", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0")
	server.err.wait(t, "NATS at")
	answer(other, "three", third)
	webs[1].kill()
	for _, id := range []string{"one", "two", "three"} {
		if o := pl.must(0, "get", "s/"+id); o["state"] != "resolved" {
			t.Fatalf("%s: %v", id, o)
		}
	}
}

func TestStoppingDrains(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	pl.must(3, "ask", "--question", "Still there?", "--id", "a", "--wait", "0")
	if code := p.stop(); code != 0 {
		t.Fatalf("exit %d: %s", code, p.err)
	}
	pl.up()
	pl.must(3, "get", "a")
}
