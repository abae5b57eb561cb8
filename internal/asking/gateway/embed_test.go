package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/chromedp/chromedp"
)

func TestEmbedIsFramedOnlyWhereConfigured(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{EmbedOrigins: []string{"https://chat.example.com", "https://b.example.com"}})
	page := d.do("", "GET", "/t/"+d.screen("s1")+"/embed?session=s1", "").want(t, 200, "chat.example.com")
	csp := page.header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "frame-ancestors https://chat.example.com https://b.example.com;") || !strings.Contains(csp, "default-src 'none'") || page.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers %v", page.header)
	}
	d.do("", "GET", "/t/"+d.screen("s1")+"/embed", "").want(t, 400, "session")
	d.do("", "GET", "/embed/embed.css", "").want(t, 200, "max-height: 200px")
	d.do("", "GET", "/embed/embed.html", "").want(t, 404)
	closed := open(t, gateway.Options{})
	if csp := closed.do("", "GET", "/t/"+closed.screen("s1")+"/embed?session=s1", "").header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("nobody is configured: %s", csp)
	}
}

func chromePath() string {
	for _, name := range []string{os.Getenv("ASKBUS_CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	return ""
}

// chat is another product's page: a chat input, and the panel above it.
const chat = `<!doctype html><title>chat</title><iframe id="panel" src="%s" width="600" height="260"></iframe><input placeholder="Message">
<script>window.told = []; addEventListener('message', (e) => told.push({ origin: e.origin, ...e.data }));</script>`

func TestEmbedInAFrame(t *testing.T) {
	t.Parallel()
	if chromePath() == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no browser; CI must have one")
		}
		t.Skip("no browser; set ASKBUS_CHROME")
	}
	var frame string
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, chat, frame)
	}))
	t.Cleanup(host.Close)
	// Same-site, so that the test can inspect the frame; the origins differ by their ports.
	d := open(t, gateway.Options{EmbedOrigins: []string{"https://elsewhere.example.com", host.URL}})
	frame = d.url + "/t/" + d.screen("s1") + "/embed?session=s1&by=Mei"
	agent := d.agent("s1")

	alloc, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(chromePath()), chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-web-security", true), chromedp.Flag("disable-site-isolation-trials", true))...)
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	ctx, end := context.WithTimeout(ctx, 2*waittest.Limit)
	defer end()
	js := func(script string) string {
		t.Helper()
		out, err := chromedp.Run(ctx, chromedp.Evaluate[string](script))
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return out
	}
	wait := func(script string) {
		t.Helper()
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(waittest.Limit))); err != nil {
			t.Fatalf("%s: %v; the panel says %s; told %s", script, err, js(`(document.getElementById('panel').contentDocument?.body.innerText ?? 'nothing')`), js(`JSON.stringify(told)`))
		}
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(host.URL)); err != nil {
		t.Fatal(err)
	}
	const inside = `document.getElementById('panel').contentDocument`
	wait(inside + `?.documentElement.dataset.live === 'on'`)

	d.do(agent, "POST", "/v1/asks", `{"id":"one","questions":[{"text":"Which database, <b>please</b>?","options":[`+
		strings.Repeat(`{"label":"PostgreSQL %","description":"already deployed"},`, 1)+`{"label":"SQLite","description":"one file"},{"label":"三"},{"label":"four"},{"label":"five"},{"label":"six"},{"label":"seven"}]}]}`).want(t, 201)
	wait(inside + `.querySelectorAll('button.option').length === 7`)
	if h := js(`String(` + inside + `.getElementById('panel').getBoundingClientRect().height <= 200 && ` + inside + `.getElementById('panel').scrollHeight > 200)`); h != "true" {
		t.Error("the panel is not at most 200 px high, with its own scroll")
	}
	if order := js(`String((() => { const o = ` + inside + `.querySelector('.option'), l = o.querySelector('.label').getBoundingClientRect(), d = o.querySelector('.description').getBoundingClientRect(); return d.top >= l.bottom - 1 && ` + inside + `.querySelector('h1').textContent.includes('<b>') })())`); order != "true" {
		t.Error("the description does not stand under its label, or the question is not text")
	}
	js(inside + `.querySelectorAll('button.option')[1].click(), ''`)
	wait(`told.some((m) => m.type === 'askbus:answered' && m.id === 'one' && m.result === 'SQLite' && m.origin === ` + fmt.Sprintf("%q", d.url) + `)`)
	d.do(agent, "GET", "/v1/asks/s1/one", "").want(t, 200, `"selected":["o2"]`, `"name":"Mei"`)

	d.do(agent, "POST", "/v1/asks", `{"id":"two","questions":[{"text":"Which?","multiple":true,"options":[{"label":"A"},{"label":"B"},{"label":"C"}]}]}`).want(t, 201)
	wait(inside + `.querySelectorAll('input[type=checkbox]').length === 3`)
	js(`(() => { const doc = ` + inside + `; const boxes = doc.querySelectorAll('input[type=checkbox]'); boxes[0].click(); boxes[2].click(); doc.querySelector('input[name=own]').value = 'D, too'; doc.querySelector('form').requestSubmit(); return '' })()`)
	wait(`told.some((m) => m.type === 'askbus:answered' && m.id === 'two' && JSON.stringify(m.result) === '["A","C","D, too"]')`)
	d.do(agent, "GET", "/v1/asks/s1/two", "").want(t, 200, `"selected":["o1","o3"]`, `"other":"D, too"`)

	d.do(agent, "POST", "/v1/asks", `{"id":"three","questions":[{"text":"How many?","kind":"number"}]}`).want(t, 201)
	wait(inside + `.querySelector('input[name=own]') && ` + inside + `.querySelector('h1').textContent.includes('How many?')`)
	js(`(() => { const doc = ` + inside + `; doc.querySelector('input[name=own]').value = 'lots'; doc.querySelector('form').requestSubmit(); return '' })()`)
	wait(inside + `.querySelector('.wrong')?.textContent.includes('not a number')`)
	d.do(agent, "DELETE", "/v1/asks/s1/three", "").want(t, 200)
	wait(`told.some((m) => m.type === 'askbus:closed' && m.id === 'three' && m.status === 'withdrawn')`)
	wait(inside + `.getElementById('panel').hidden`)

	d.do(agent, "POST", "/v1/asks", `{"id":"four","questions":[{"text":"Which layout?","options":[`+
		`{"label":"Boxes","description":"two of them","preview":{"format":"markdown","body":"┌──┐    ┌──┐\n│a │───▶│b │\n└──┘    └──┘"}},{"label":"Words","description":"One.\n\nTwo.  Three."}]}]}`).want(t, 201)
	wait(inside + `.querySelector('.drawn')?.textContent === '┌──┐    ┌──┐\n│a │───▶│b │\n└──┘    └──┘'`)
	if drawn := js(`String((() => { const all = ` + inside + `.querySelectorAll('.drawn'), s = getComputedStyle(all[0]); return all.length === 1 && s.whiteSpace === 'pre' && /mono/i.test(s.fontFamily) && ` + inside + `.querySelector('.description').textContent === 'two of them' })())`); drawn != "true" {
		t.Error("a drawn preview loses its spaces, or prose is taken for one")
	}

	d.do(agent, "DELETE", "/v1/asks/s1/four", "").want(t, 200)
	d.do(agent, "POST", "/v1/asks", `{"id":"five","priority":"urgent","agent":{"name":"builder","repository":"acme/payments","branch":"fix/ledger"},"title":"The ledger","questions":[`+
		`{"text":"May I run `+"`make migrate`"+` against **production**? See [the plan](https://ci.example.com/run/7) <b>now</b>.","allow_other":false,"options":[`+
		`{"label":"Yes (Recommended)","description":"as in [the plan](https://ci.example.com/run/7)","preview":{"format":"markdown","body":"Nothing **new** to run."}},{"label":"No"}]}]}`).want(t, 201)
	wait(inside + `.querySelector('h1')?.textContent === 'May I run make migrate against production? See the plan (ci.example.com) <b>now</b>.'`)
	for _, script := range []string{
		`d.querySelector('h1 code').textContent === 'make migrate' && d.querySelector('h1 strong').textContent === 'production'`,
		`d.querySelector('h1 a').href === 'https://ci.example.com/run/7' && d.querySelector('h1 a').rel.includes('noopener') && d.querySelector('h1 b') === null`,
		`d.querySelector('.asker').textContent === 'urgent · builder asks · acme/payments, branch fix/ledger'`,
		`d.querySelector('.title').textContent === 'The ledger'`,
		`d.querySelector('.option .label').textContent === 'Yes recommended' && d.querySelector('.option .prose').textContent === 'Nothing **new** to run.'`,
		`d.querySelector('.option .description').textContent === 'as in the plan (ci.example.com)' && d.querySelector('.option a') === null`,
		`d.querySelector('form.own') === null`, // the question is closed: own words would be refused
	} {
		if js(`String((() => { const d = `+inside+`; return `+script+` })())`) != "true" {
			t.Errorf("the panel does not follow the card: %s: %s", script, js(inside+`.body.innerHTML`))
		}
	}
	if dir := os.Getenv("ASKBUS_SHOTS"); dir != "" {
		image, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "embed.png"), image, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	js(inside + `.querySelector('button.option').click(), ''`)
	wait(`told.some((m) => m.type === 'askbus:answered' && m.id === 'five')`)
	d.do(agent, "GET", "/v1/asks/s1/five", "").want(t, 200, `"selected":["o1"]`)

	d.do(agent, "POST", "/v1/asks?dialect=acp-permission", `{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Tidy up","rawInput":{"command":"rm -rf /tmp/x"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`).want(t, 202)
	wait(inside + `.querySelector('.permits')?.textContent.includes('rm -rf /tmp/x')`) // what a person permits
}
