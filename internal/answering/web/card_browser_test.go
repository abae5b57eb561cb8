package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/chromedp/chromedp"
)

// rich returns an ask with every part that a card can show.
func rich() ask.Ask {
	q := database()
	q.Text = "May I run `make migrate` against **production**? See [the plan](https://ci.example.com/run/7)."
	for i := range q.Options {
		q.Options[i].Preview = &ask.Preview{Body: strings.Repeat(fmt.Sprintf("- line of the old schema, option %d, which is long enough to leave a narrow screen\n+ another\n", i), 40)}
	}
	a := question("rich", q)
	a.Agent = ask.Agent{Name: "builder", Repository: "acme/payments", Branch: "fix/ledger", Link: "https://git.example.com/acme/payments"}
	a.Session, a.Context = "3f2a91bc-5b6d-4c8e-9f00-112233445566", "Moving the **ledger** to its own schema."
	return a
}

// shot saves a screenshot in the directory that ASKBUS_SHOTS names.
func (b tab) shot(name string) {
	if dir := os.Getenv("ASKBUS_SHOTS"); dir != "" {
		image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			_ = os.WriteFile(filepath.Join(dir, name+".png"), image, 0o600)
		}
	}
}

func TestBrowserTheCardOnEachScreen(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(rich(), time.Minute)
	bus.ask(question("next", text("t", "And then?")), 0)
	in := serve(t, bus)
	for _, s := range []struct {
		width, height int64
		scheme        string
	}{{320, 640, "dark"}, {390, 844, "light"}, {1280, 800, "light"}, {1280, 800, "dark"}} {
		t.Run(fmt.Sprintf("%d-%s", s.width, s.scheme), func(t *testing.T) {
			t.Parallel()
			b := in.open(t, mei, screen(s.width, s.height, s.scheme)).live()
			name := fmt.Sprintf("card-%d-%s", s.width, s.scheme)
			b.shot(name)
			// The page does not scroll sideways, its header is one row, and the
			// bar is on the screen.
			b.wait(`document.querySelector('#count').innerText === '2 waiting' && document.querySelector('.top').getBoundingClientRect().height <= 64`)
			b.wait(`document.documentElement.scrollWidth <= innerWidth`)
			b.wait(`(() => { const r = document.querySelector('.send').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })()`)
			b.wait(`(() => { const tops = ['.note', '.own', '.decline'].map((s) => Math.round(document.querySelector('.act > ' + s).getBoundingClientRect().top)); return new Set(tops).size === 1 })()`)
			b.wait(`document.querySelector('h1.text code').textContent === 'make migrate' && document.querySelector('h1.text strong').textContent === 'production' && document.querySelector('h1.text').innerText.includes('the plan (ci.example.com)')`)
			if s.width < 640 { // what the agent is doing is folded below the options
				b.wait(`!document.querySelector('.context').open && document.querySelector('.context').getBoundingClientRect().top > document.querySelector('.option:last-child').getBoundingClientRect().bottom`)
				b.js(`document.querySelector('.context').open = true; 'ok'`)
			}
			b.wait(`document.querySelector('.context').open && document.querySelector('.asker').innerText.includes('acme/payments') && /waiting \d+ (s|min)$/m.test(document.querySelector('.asker').innerText) && document.querySelector('.asker').innerText.includes('session 3f2a91bc ')===false && document.querySelector('.asker').innerText.includes('3f2a91bc')`)
			b.keys("p")
			b.wait(`document.querySelector('#reader').open && document.querySelector('#reader').getBoundingClientRect().height >= innerHeight - 1`)
			b.keys("v")
			b.wait(`document.querySelectorAll('#reader .pane').length === 2`)
			b.keys("w")
			b.wait(`[...document.querySelectorAll('#reader .pane > div')].every((d) => d.scrollWidth <= d.clientWidth + 1)`)
			b.shot(name + "-reader")
			clean(t, b)
			b.keys("p")
			b.wait(`!document.querySelector('#reader').open`)
			if s.width < 992 {
				b.click(`[data-step="1"]`)
				b.wait(`document.querySelector('article').dataset.key.endsWith('/next')`)
			}
			clean(t, b)
		})
	}
}

// What a person permits is never folded, never below the options, and never beside the screen, also where an agent asks in its
// own words.
func TestBrowserAPermissionShowsWhatItPermits(t *testing.T) {
	t.Parallel()
	q := text("permission", "May the agent run this command?")
	q.Kind, q.Options, q.NoOther = ask.KindChoice, []ask.Option{{ID: "allow", Label: "Yes"}, {ID: "refuse", Label: "No"}}, true
	a := question("permission", q)
	a.Context = "```sh\nls " + strings.Repeat("x", 700) + " ; rm -rf /\n" + strings.Repeat("echo one more line\n", 5) + "```"
	marked, destroys := a, question("destroys", q)
	marked.Metadata = map[string]any{ask.MetadataPermission: "digest"}
	destroys.Context, destroys.Priority = a.Context, ask.PriorityUrgent
	destroys.Questions[0].Options = []ask.Option{{ID: "go", Label: "Go", Destructive: true}, {ID: "no", Label: "No"}}
	for _, c := range []struct {
		a     ask.Ask
		width int64
	}{{marked, 320}, {marked, 390}, {marked, 1280}, {a, 390}, {destroys, 390}, {destroys, 1280}} {
		bus := newBus()
		bus.ask(c.a, 0)
		b := serve(t, bus).open(t, mei, screen(c.width, 800, "light")).live()
		b.shot(fmt.Sprint(c.a.ID, "-", c.width))
		b.wait(`(() => { const d = document.querySelector('.context'), p = d.querySelector('pre'); return d.open && p.textContent.includes('rm -rf /') && p.scrollWidth <= p.clientWidth + 1 && d.getBoundingClientRect().bottom <= document.querySelector('.option').getBoundingClientRect().top })()`)
	}
}

// Only the mark of what cannot be undone warns; a recommendation beside it looks like every other.
func TestBrowserARecommendationDoesNotWarn(t *testing.T) {
	t.Parallel()
	q := database()
	q.Options[0].Recommended, q.Options[1].Recommended, q.Options[1].Destructive = false, true, true
	bus := newBus()
	bus.ask(question("drop", q), 0)
	b := serve(t, bus).open(t, mei).live()
	b.wait(`[...document.querySelectorAll('.mark')].map((m) => m.innerText + ' ' + getComputedStyle(m).fontWeight).join() === 'recommended 400,destructive 600'`)
	b.wait(`new Set([...document.querySelectorAll('.mark')].map((m) => getComputedStyle(m).color)).size === 2`)
	// A mark may begin a line; the dot before it may not.
	b.wait(`[...document.querySelectorAll('.mark')].every((m) => getComputedStyle(m, '::before').content === 'none' && getComputedStyle(m.previousElementSibling, '::after').content === '"\u00a0·"')`)
}

// On a phone the bar's buttons stay where they are when the other ways to answer appear below them.
func TestBrowserTheBarStaysWhenItOpens(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("db", database()), time.Minute)
	bus.ask(question("next", text("t", "And then?")), 0)
	b := serve(t, bus).open(t, mei, screen(390, 844, "light")).live()
	const places = `(() => { const dots = document.createRange(); dots.selectNodeContents(document.querySelector('.more summary'));
		return [...[...document.querySelectorAll('.act .thumb, .act .send, .more summary')], dots].map((e) => e.getBoundingClientRect()).map((r) => Math.round(r.left) + '-' + Math.round(r.right)).join() })()`
	before := b.js(places)
	b.click(".more summary")
	b.wait(`document.querySelector('.more').open && document.querySelector('.act > .note').checkVisibility()`)
	if after := b.js(places); after != before {
		t.Errorf("the buttons move from %s to %s", before, after)
	}
}

// Who stands at an option, with a screen reader or the Tab key, keeps a place when somebody else answers: a browser would
// send them to the top of the page.
func TestBrowserTheFocusStaysInTheMainPart(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.js(`document.querySelector('.option input').focus(); ''`)
	answeredOnSlack(b, "db")
	b.wait(`!!document.querySelector('[data-verdict]')`)
	b.wait(`document.activeElement.id === 'focus'`)
}

func TestBrowserALongQuestionUnfolds(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("long", text("t", strings.Repeat("Which of these many words is the one that matters? ", 40))), 0)
	b := serve(t, bus).open(t, mei).live()
	b.wait(`document.querySelector('h1.text').innerText.length < 300 && !document.querySelector('.whole').open`)
	b.click(".whole summary")
	b.wait(`document.querySelector('.whole p').innerText.length > 1500`)
}

func TestBrowserTheTabCounts(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus, func(o *web.Options) { o.Heartbeat = time.Second }).open(t, mei).live()
	b.wait(`!document.querySelector('link[rel=icon]').href.startsWith('data:')`)
	bus.ask(question("db", database()), 0)
	b.wait(`decodeURIComponent(document.querySelector('link[rel=icon]').href).includes('>1</text>')`)

	// More windows than a browser has connections to a server all show what comes, also when some of them are closed.
	b.js(`window.others = Array.from({ length: 6 }, () => window.open('/', '_blank', 'popup')); ''`)
	b.wait(`others.every((page) => page.document.documentElement.dataset.live === 'on' && !page.document.hidden)`)
	k := bus.ask(question("second", database()), 0).String()
	b.wait(`[window, ...others].every((page) => page.document.getElementById('wait-` + k + `'))`)
	b.js(`others.splice(0, 4).forEach((page) => page.close()); ''`)
	k = bus.ask(question("third", database()), 0).String()
	b.wait(`[window, ...others].every((page) => page.document.getElementById('wait-` + k + `'))`)
}

func TestBrowserTheWorkerAndTheManifestAreThere(t *testing.T) {
	t.Parallel()
	bus := newBus()
	in := serve(t, bus, func(o *web.Options) { o.Push = &pushes{} })
	b := in.open(t, mei).live()
	b.wait(`document.documentElement.dataset.push === 'a-key'`)
	for path, kind := range map[string]string{"/sw.js": "text/javascript; charset=utf-8", "/manifest.webmanifest": "application/manifest+json", "/static/-/icon-192.png": "image/png"} {
		if res := in.stranger(t).get(path); res.status != http.StatusOK || res.header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %s", path, res.status, res.header.Get("Content-Type"))
		}
	}
}

// pushes records the subscriptions.
type pushes struct {
	mu   sync.Mutex
	said []string
}

func (p *pushes) PublicKey() string { return "a-key" }

func (p *pushes) Subscribe(_ context.Context, by ask.By, _ ask.Access, _, session string, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if string(body) == "bad" {
		return ask.InvalidError("push subscription", []ask.Fault{{Message: "is none"}})
	}
	p.said = append(p.said, "subscribe "+by.Principal+" "+string(body))
	return nil
}

func (p *pushes) Test(_ context.Context, by ask.By, endpoint string, message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, "test "+by.Principal+" "+endpoint+" "+string(message))
	return nil
}

func (p *pushes) Unsubscribe(_ context.Context, by ask.By, endpoint string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, "unsubscribe "+by.Principal+" "+endpoint)
	return nil
}

func (p *pushes) SignedOut(context.Context, string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, "signed out")
	return nil
}

func TestSubscriptionsAreThoseOfWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	p := &pushes{}
	in := serve(t, newBus(), func(o *web.Options) { o.Push = p })
	if res := in.stranger(t).post("/push/subscribe", url.Values{}); res.status != http.StatusUnauthorized {
		t.Errorf("a stranger subscribes: %d", res.status)
	}
	u := in.signedIn(t, mei)
	if res := u.post("/push/subscribe", url.Values{"x": {"1"}}); res.status != http.StatusNoContent {
		t.Errorf("subscribe: %d %s", res.status, res.body)
	}
	u.post("/push/unsubscribe", url.Values{"endpoint": {"https://x"}})
	u.post("/logout", nil)
	if got := strings.Join(p.said, "; "); got != "subscribe os:mei x=1; unsubscribe os:mei https://x; signed out" {
		t.Error(got)
	}
	if res := serve(t, newBus()).signedIn(t, mei).post("/push/subscribe", nil); res.status != http.StatusNotFound {
		t.Errorf("an inbox without push: %d", res.status)
	}
}

func TestANotificationAnswersOnce(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	u := serve(t, bus).signedIn(t, mei)
	path := "/ask/" + k.String()
	if res := u.get(path + "/notice"); res.status != http.StatusOK || !contains(res.body, `"life":"l1"`) || !contains(res.body, `"choices":[{"id":"pg","label":"PostgreSQL"}`) {
		t.Errorf("notice: %d %s", res.status, res.body)
	}
	pick := func(life, option, id string) int {
		return u.post(path+"/pick", url.Values{"me": {mei.Principal}, "life": {life}, "option": {option}, "answer_id": {id}}).status
	}
	for _, c := range []struct {
		life, option, id string
		want             int
	}{
		{"l0", "pg", "a", http.StatusConflict},
		{"l1", "nosuch", "a", http.StatusUnprocessableEntity},
		{"l1", "lite", "a", http.StatusNoContent},
		{"l1", "lite", "a", http.StatusNoContent},
		{"l1", "pg", "b", http.StatusConflict},
	} {
		if got := pick(c.life, c.option, c.id); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if o := bus.outcome(k); o == nil || o.Answers[0].Selected[0] != "lite" {
		t.Errorf("outcome: %+v", o)
	}
	if res := u.post(path+"/pick", url.Values{"me": {mei.Principal}, "life": {"l1"}, "option": {"pg"}, "answer_id": {"b"}}); !strings.HasPrefix(res.body, "Answered already: You chose SQLite") {
		t.Errorf("a late touch is told %q", res.body)
	}
}

// TestANotificationOfSomebodyElse checks that a touch of a notification answers in the name of whom it was for, or not at all.
func TestANotificationOfSomebodyElse(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	in := serve(t, bus)
	var n card.Notice
	if err := json.Unmarshal([]byte(in.signedIn(t, mei).get("/ask/"+k.String()+"/notice").body), &n); err != nil || n.Me != mei.Principal {
		t.Fatalf("the notice is for %q: %v", n.Me, err)
	}
	for _, me := range []string{n.Me, ""} {
		touch := url.Values{"me": {me}, "life": {n.Life}, "option": {"pg"}, "answer_id": {"a"}}
		if res := in.signedIn(t, tom).post(n.Path+"/pick", touch); res.status != http.StatusConflict || bus.outcome(k) != nil || !contains(res.body, "somebody else has signed in") {
			t.Errorf("a touch of the notification for %q: %d %s", me, res.status, res.body)
		}
	}
}

func TestNothingDelicateIsDecidedOnALockScreen(t *testing.T) {
	t.Parallel()
	bus := newBus()
	u := serve(t, bus).signedIn(t, mei)
	permission, votes, own := question("permission", database()), question("votes", database()), question("own", database())
	permission.Metadata = map[string]any{ask.MetadataPermission: map[string]any{"tool": "Bash"}}
	votes.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}, ApproveOptions: []string{"pg"}}
	own.Questions[0].Options[0].Label = "Approve the migration"
	for _, a := range []ask.Ask{permission, votes, own} {
		k := bus.ask(a, 0)
		if res := u.get("/ask/" + k.String() + "/notice"); res.status != http.StatusOK || contains(res.body, "choices") {
			t.Errorf("%s: the notification offers options: %s", k.ID, res.body)
		}
		if res := u.post("/ask/"+k.String()+"/pick", url.Values{"me": {mei.Principal}, "life": {bus.life(k)}, "option": {"pg"}, "answer_id": {"a"}}); res.status != http.StatusConflict || bus.outcome(k) != nil || !contains(res.body, "in the inbox only") {
			t.Errorf("%s: %d %s", k.ID, res.status, res.body)
		}
	}
}

// clean runs axe on the current page.
func clean(t *testing.T, b tab) {
	t.Helper()
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Evaluate[chromedp.Void](string(axe)))
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run({resultTypes: ['violations']}).then((r) =>
		r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 200) + ' ' + n.failureSummary).join('\n')).join('\n'))`,
		chromedp.EvalAwaitPromise))
	if err != nil || found != "" {
		t.Errorf("axe: %s, %v", found, err)
	}
}
