package web_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"
)

// notified opens the inbox with notifications allowed and turned on, in a
// window that nobody looks at.
func (in inbox) notified(t *testing.T) tab {
	t.Helper()
	b := in.openIn(t, browsertest.OpenWindow(t), mei).live()
	if _, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted, Origin: in.URL,
		BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	}); err != nil {
		t.Fatal(err)
	}
	b.js(`localStorage.setItem('askbus:notify', 'on') ?? ''`)
	b.do(chromedp.Reload())
	b.live()
	b.looks(false)
	return b
}

// looks restores or minimizes the page's window.
func (b tab) looks(is bool) {
	b.t.Helper()
	state := browser.WindowStateMinimized
	if is {
		state = browser.WindowStateNormal
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: is}); err != nil {
		b.t.Fatal(err)
	}
	window, err := chromedp.Call(b.ctx, browser.GetWindowForTarget, browser.GetWindowForTargetParams{})
	if err == nil {
		_, err = chromedp.Call(b.ctx, browser.SetWindowBounds, browser.SetWindowBoundsParams{WindowID: window.WindowID, Bounds: &browser.Bounds{WindowState: state}})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.hears(fmt.Sprintf(`document.hidden === %t && document.hasFocus() === %t`, !is, is))
}

// hears waits until a script returns true, in a page that may be hidden.
func (b tab) hears(script string) {
	b.t.Helper()
	for end := time.Now().Add(waittest.Limit); time.Now().Before(end); { // a hidden page is slow on a busy machine
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`new Promise((end) => { setTimeout(async () => end(await (`+script+`)), 100) })`, chromedp.EvalAwaitPromise))
		if err != nil {
			b.t.Fatalf("%s: %v", script, err)
		}
		if is {
			return
		}
	}
	b.t.Fatalf("waiting for %s: the page says %s", script, b.Text())
}

// notices returns the tags of the notifications that the browser shows.
const notices = `navigator.serviceWorker.getRegistration('/').then((r) => r ? r.getNotifications() : []).then((all) => all.map((n) => n.tag).sort().join())`

// shows waits until the browser shows exactly these notifications.
func (b tab) shows(tags string) {
	b.t.Helper()
	b.hears(notices + `.then((tags) => tags === '` + tags + `')`)
}

func TestBrowserANoticeIsShownAndClosedWhenAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).notified(t)
	bus.ask(question("db", database()), 0)
	b.shows("default/s1/db")
	b.hears(`navigator.serviceWorker.getRegistration('/').then((r) => r.getNotifications()).then(([n]) => n.title === 'Which database should the ledger use?' && n.body.includes('PostgreSQL') && n.actions.length <= 2)`)
	bus.ask(question("other", text("t", "And then?")), 0)
	b.shows("default/s1/db,default/s1/other")
	answeredOnSlack(b, "db")
	b.shows("default/s1/other") // the one that was answered elsewhere is closed, the other one stays
}

func TestBrowserNoNoticeWhileThePageIsLookedAt(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).notified(t)
	b.looks(true)
	bus.ask(question("seen", database()), 0)
	b.wait(`!!document.getElementById('wait-default/s1/seen')`)
	b.looks(false)
	bus.ask(question("unseen", database()), 0)
	b.shows("default/s1/unseen")
}

// pushes returns a function that delivers messages to the page's service
// worker, as a push service does. Chromium can only subscribe at its own push
// service on the internet; internal/answering/push tests what is sent there, and
// everything after it is real here.
func (b tab) pushes() func(message string) {
	b.t.Helper()
	b.hears(`navigator.serviceWorker.getRegistration('/').then((r) => !!r?.active)`)
	ctx, stop := context.WithTimeout(b.ctx, time.Minute)
	defer stop()
	told := chromedp.Events(ctx, serviceworker.WorkerRegistrationUpdated)
	if _, err := chromedp.Call(b.ctx, serviceworker.Enable, cdp.Empty{}); err != nil {
		b.t.Fatal(err)
	}
	for e, err := range told {
		if err != nil {
			b.t.Fatal(err)
		}
		for _, r := range e.Registrations {
			if strings.HasPrefix(r.ScopeURL, b.in.URL) && !r.IsDeleted {
				return func(message string) {
					b.t.Helper()
					if _, err := chromedp.Call(b.ctx, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{
						Origin: b.in.URL, RegistrationID: r.RegistrationID, Data: message,
					}); err != nil {
						b.t.Fatal(err)
					}
				}
			}
		}
	}
	b.t.Fatal("there is no service worker")
	return nil
}

func TestBrowserAPushMessageRings(t *testing.T) {
	t.Parallel()
	bus := newBus()
	in := serve(t, bus)
	b := in.notified(t)
	b.do(chromedp.Navigate(in.URL + "/?q=nothing")) // a page that does not list the new ask
	b.hears(`document.documentElement.dataset.live === 'on'`)
	k := bus.ask(question("db", database()), 0)
	u := in.signedIn(t, mei)
	message := u.get("/ask/" + k.String() + "/notice").body // as internal/answering/push sends it
	push := b.pushes()
	push(message)
	b.shows(k.String())
	b.hears(`navigator.serviceWorker.getRegistration('/').then((r) => r.getNotifications()).then(([n]) => n.title === 'Which database should the ledger use?' && n.data.path === '/ask/` + k.String() + `')`)
	if _, err := bus.end(k, ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &tom}); err != nil {
		t.Fatal(err)
	}
	b.shows("") // the page closes it
	push(u.get("/ask/" + k.String() + "/notice").body)
	bus.ask(question("db", database()), 0) // it lives again, or the page would close its notification
	push(u.get("/ask/" + k.String() + "/notice").body)
	b.shows(k.String()) // the end of an ask without a notification does not ring; a second life does
	push("no JSON")
	b.shows(k.String())
}

// TestBrowserNoAskIsMissedWhileTheTabIsHidden checks that no ask is missed while
// a hidden tab replaces its stream.
func TestBrowserNoAskIsMissedWhileTheTabIsHidden(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).notified(t)
	tags := ""
	for i := range 6 {
		b.looks(true)
		b.hears(`navigator.serviceWorker.getRegistration('/').then((r) => r?.getNotifications() ?? []).then((all) => { all.forEach((n) => n.close()); return true; })`)
		done := make(chan struct{})
		id := fmt.Sprint("n", i)
		go func() { // at any moment of the replacement
			defer close(done)
			b.hears(`document.hidden`)
			bus.ask(question(id, database()), 0)
		}()
		b.looks(false)
		<-done
		tags = "default/s1/" + id
		b.hears(notices + `.then((tags) => tags.includes('` + tags + `'))`)
	}
}

// TestBrowserAMinimizedWindowIsNotLookedAt runs the service worker's code in a page, because a window that was minimized loses
// the focus within a moment.
func TestBrowserAMinimizedWindowIsNotLookedAt(t *testing.T) {
	t.Parallel()
	bus := newBus()
	in := serve(t, bus)
	b := in.notified(t)
	k := bus.ask(question("db", database()), 0)
	b.shows(k.String())
	b.hears(`navigator.serviceWorker.getRegistration('/').then((r) => r.getNotifications()).then((all) => { all.forEach((n) => n.close()); return true; })`)
	b.shows("")
	u := in.signedIn(t, mei)
	code, n := u.get("/sw.js").body, u.get("/ask/"+k.String()+"/notice").body
	show := func(visibility, sender string) {
		b.hears(`navigator.serviceWorker.ready.then((registration) => (function (self) {` + code + `; return show(` + n + `, '` + sender + `'); })({ registration, Notification, addEventListener() {}, clients: { matchAll: async () => [{ id: 'page', focused: true, visibilityState: '` + visibility + `' }] } })).then(() => true)`)
	}
	show("visible", "other")
	b.shows("")
	show("hidden", "other")
	b.shows(k.String())
	b.hears(`navigator.serviceWorker.getRegistration('/').then((r) => r.getNotifications()).then((all) => { all.forEach((n) => n.close()); return true; })`)
	b.shows("")
	show("visible", "page") // it has just checked itself
	b.shows(k.String())
}

func TestBrowserAWorkerThatFailsToRegisterIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).notified(t)
	b.onLoad(`navigator.serviceWorker.register = async () => { delete navigator.serviceWorker.register; throw new Error('busy'); }`)
	b.do(chromedp.Reload())
	b.hears(`document.documentElement.dataset.live === 'on' && !Object.hasOwn(navigator.serviceWorker, 'register')`)
	k := bus.ask(question("db", database()), 0)
	b.shows(k.String())
}

func TestBrowserASoundIsPlayedIfWantedAndNobodyLooks(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).openIn(t, browsertest.OpenWindow(t), mei).live()
	b.js(`(() => {
		window.beeps = 0;
		const start = OscillatorNode.prototype.start;
		OscillatorNode.prototype.start = function (...args) { window.beeps++; return start.apply(this, args); };
		return '';
	})()`)
	comes := func(id string, beeps int) {
		t.Helper()
		bus.ask(question(id, database()), 0)
		b.hears(fmt.Sprintf(`!!document.getElementById('wait-default/s1/%s') && window.beeps === %d`, id, beeps))
	}
	b.looks(false)
	comes("silent", 0)
	b.hears(`(localStorage.setItem('askbus:sound', 'on'), true)`)
	comes("heard", 1)
	b.looks(true)
	comes("seen", 1)
}

// TestBrowserATouchThatDoesNotCountSaysSo runs the service worker's code in a page, because no test can touch a notification.
func TestBrowserATouchThatDoesNotCountSaysSo(t *testing.T) {
	t.Parallel()
	bus := newBus()
	in := serve(t, bus)
	b := in.notified(t)
	k := bus.ask(question("db", database()), 0)
	b.shows(k.String())
	u := in.signedIn(t, mei)
	n := u.get("/ask/" + k.String() + "/notice").body
	answeredOnSlack(b, "db")
	b.shows("") // the page closes it; on a phone whose page is closed it would still be there
	worker := `navigator.serviceWorker.ready.then((registration) => (function (self) {` + u.get("/sw.js").body + `; return pick(` + n + `, 'pg'); })({ registration, addEventListener() {}, clients: { matchAll: async () => [] } })).then(() => true)`
	b.hears(worker)
	b.hears(`navigator.serviceWorker.getRegistration('/').then((r) => r.getNotifications()).then(([n]) => n?.body.startsWith('Too late: ') && n.body.includes('Ana') && n.actions.length === 0)`)
	if o := bus.outcome(k); o.By.Name != "Ana" {
		t.Errorf("outcome: %+v", o)
	}
}

// What a notification says is not left on the screen for whoever comes to the machine next.
func TestBrowserSigningOutClosesTheNotifications(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).notified(t)
	k := bus.ask(question("db", database()), 0)
	b.shows(k.String())
	b.js(`document.querySelector('[data-logout]').requestSubmit(); ''`)
	b.wait(`document.title.includes('Sign in')`)
	b.shows("")
}

// onLoad runs a script in each page before its own.
func (b tab) onLoad(script string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		b.t.Fatal(err)
	}
}

// Signing out ends a subscription. Whoever signs in again in a browser that
// notifies has one again, as the settings say.
func TestBrowserSigningInAgainSubscribesAgain(t *testing.T) {
	t.Parallel()
	p := &pushes{}
	in := serve(t, newBus(), func(o *web.Options) { o.Push = keyed{p} })
	b := in.notified(t)
	b.looks(true)
	b.onLoad(`(() => { const sub = { endpoint: 'https://push.example/1', options: { applicationServerKey: Uint8Array.from([1, 0, 1]).buffer }, toJSON: () => ({ endpoint: 'https://push.example/1' }) };
		PushManager.prototype.getSubscription = async () => sub;
		const send = window.fetch;
		window.fetch = async (at, o) => { const answer = await send(at, o); if (at === '/push/subscribe') window.subscribed = answer.ok; return answer; }; })()`)
	b.do(chromedp.Reload())
	b.live().wait(`window.subscribed === true`)
	b.click("[data-logout] button")
	b.sees("askbus login")
	b.do(chromedp.Navigate(in.link(t, mei)))
	b.live().wait(`window.subscribed === true`)
	p.mu.Lock()
	defer p.mu.Unlock()
	sub := `subscribe os:mei {"endpoint":"https://push.example/1"}`
	if want := []string{sub, "signed out", sub}; !slices.Equal(p.said, want) {
		t.Errorf("the inbox was told %q, not %q", p.said, want)
	}
}

// keyed has a key that a browser can decode.
type keyed struct{ *pushes }

func (keyed) PublicKey() string { return "AQAB" }

func TestBrowserATestNotificationSaysWhetherItArrived(t *testing.T) {
	t.Parallel()
	p := &pushes{}
	in := serve(t, newBus(), func(o *web.Options) { o.Push = keyed{p} })
	b := in.notified(t)
	b.looks(true)
	push := b.pushes()
	// A browser with a subscription, which Chromium gets only on the internet.
	b.js(`(() => { const sub = { endpoint: 'https://push.example/1', options: {}, toJSON: () => ({ endpoint: 'https://push.example/1' }), unsubscribe: async () => true };
		PushManager.prototype.getSubscription = async () => null; PushManager.prototype.subscribe = async function () { PushManager.prototype.getSubscription = async () => sub; return sub; }; return '' })()`)
	b.click("[data-settings]")
	b.click("[data-ring]")
	b.wait(`document.querySelector('#ring-words').textContent.startsWith('Sent. ')`)
	p.mu.Lock()
	said := p.said[len(p.said)-1]
	p.mu.Unlock()
	message, ok := strings.CutPrefix(said, "test os:mei https://push.example/1 ")
	if !ok {
		t.Fatalf("the inbox sent %s", said)
	}
	push(message)
	b.wait(`document.querySelector('#ring-words').textContent.startsWith('It arrived after ')`)
	b.shows("askbus-test") // also while somebody looks
}

func TestBrowserATestWithoutPushSaysSo(t *testing.T) {
	t.Parallel()
	b := serve(t, newBus()).notified(t)
	b.looks(true)
	b.click("[data-settings]")
	b.click("[data-ring]")
	b.wait(`document.querySelector('#ring-words').textContent.startsWith('Shown by this page.')`)
}
