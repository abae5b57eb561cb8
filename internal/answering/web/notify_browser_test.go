package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
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
	push(message)
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
