package web_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/testkit/browsertest"
)

// slow keeps the response to a request whose address or body has a text, until letGo.
func (b tab) slow(text string) {
	b.t.Helper()
	b.js(`(() => {
		const real = fetch;
		window.fetch = async (url, options) => {
			const answer = await real(url, options);
			if (!(url + ' ' + (options?.body ?? '')).includes('` + text + `')) return answer;
			window.fetch = real;
			await new Promise((end) => { window.letGo = end; });
			const body = await answer.text();
			answer.text = () => { window.read = true; return Promise.resolve(body); };
			return answer;
		};
		return '';
	})()`)
}

// goes clicks on the row of an ask, and waits until its page could have come.
func (b tab) goes(id string) {
	b.t.Helper()
	b.click(`#wait-default\/s1\/` + id + ` a`)
	b.hears(`fetch('/ask/default/s1/` + id + `').then((answer) => answer.text()).then(() => true)`)
}

// letGo lets the page read that response.
func (b tab) letGo() {
	b.t.Helper()
	b.wait(`!!window.letGo`)
	b.js(`window.letGo(); ''`)
	b.wait(`window.read`)
}

// On a slow network the page of an ask that somebody has left arrives after that of the next one, and would take its keys.
func TestBrowserTheLastVisitCounts(t *testing.T) {
	t.Parallel()
	bus := newBus()
	for i, id := range []string{"first", "second", "third"} {
		bus.ask(question(id, database()), time.Duration(3-i)*time.Minute)
	}
	b := serve(t, bus).open(t, mei).live()
	b.at("first")
	b.slow("/second")
	b.click(`#wait-default\/s1\/second a`)
	b.wait(`!!window.letGo`)
	b.click(`#wait-default\/s1\/third a`)
	b.at("third")
	b.letGo()
	b.at("third")
	b.wait(`location.pathname.endsWith('/third') && document.querySelector('#list a[aria-current]').href.includes('/third')`)
}

// The page that follows an answer does not take the place of the ask that somebody has gone to meanwhile.
func TestBrowserAVisitWaitsForWhatIsBeingSent(t *testing.T) {
	t.Parallel()
	bus := newBus()
	for i, id := range []string{"first", "second", "third"} {
		bus.ask(question(id, database()), time.Duration(3-i)*time.Minute)
	}
	b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
	b.at("first")
	b.slow("held=check")
	b.keys("2\r")
	b.wait(`!!window.letGo`)
	b.goes("third")
	b.letGo()
	b.wait(`document.querySelector('#done').innerText.includes('Sending “SQLite + Litestream” …')`)
	b.at("third")
	b.keys("1")
	b.wait(`document.querySelector('article').dataset.key.endsWith('/third') && document.querySelector('input[value="=pg"]').checked`)
}

// A laptop sets its clock when it wakes.
func TestBrowserAClockThatIsSetChangesNoDeadline(t *testing.T) {
	t.Parallel()
	bus := newBus()
	for i, id := range []string{"first", "second"} {
		a := question(id, database())
		a.Deadline = time.Now().Add(10*time.Hour + 10*time.Minute)
		bus.ask(a, time.Duration(3-i)*time.Minute)
	}
	b := serve(t, bus).open(t, mei).live()
	b.at("first")
	b.sees("ends in 10 h")
	b.js(`(() => { const now = Date.now; Date.now = () => now() + 4 * 3600e3; return ''; })()`)
	b.keys("j")
	b.at("second")
	b.sees("ends in 10 h")
}

// Two windows that nobody looks at hear of the same ask.
func TestBrowserTwoWindowsPlayOneSound(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).openIn(t, browsertest.OpenWindow(t), mei).live()
	b.js(`localStorage.setItem('askbus:sound', 'on'); window.other = window.open('/'); ''`)
	b.hears(`window.other.document.documentElement.dataset.live === 'on'`)
	b.js(`for (const page of [window, window.other]) {
		page.beeps = 0;
		page.document.hasFocus = () => false;
		page.OscillatorNode.prototype.start = () => { page.beeps++; };
	} ''`)
	k := bus.ask(question("db", database()), 0).String()
	b.hears(`[window, window.other].every((page) => page.document.getElementById('wait-` + k + `'))`)
	b.hears(`Promise.all([window, window.other].map((page) => page.navigator.locks.query())).then(() => window.beeps + window.other.beeps > 0)`)
	if got := b.js(`String(window.beeps + window.other.beeps)`); got != "1" {
		t.Errorf("%s sounds", got)
	}
}
