package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// notified opens the inbox where notifications are allowed and wanted, and
// nobody looks at it.
func (in inbox) notified(t *testing.T) tab {
	t.Helper()
	b := in.open(t, mei).live()
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

// looks says whether somebody looks at the page: its window is minimized, or not.
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

// hears waits until a script says true, also in a page that is not drawn.
func (b tab) hears(script string) {
	b.t.Helper()
	for range 150 {
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

// notices are the tags of what the browser shows.
const notices = `navigator.serviceWorker.getRegistration('/').then((r) => r ? r.getNotifications() : []).then((all) => all.map((n) => n.tag).sort().join())`

// shows waits until the browser shows just these notices.
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
