package web_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/chromedp/chromedp"
)

// holding sets how long answers are held.
func holding(d time.Duration) func(*web.Options) {
	return func(o *web.Options) { o.Undo = d }
}

// untilEnded waits until an ask has ended.
func (b *bus) untilEnded(t *testing.T, k ask.Key) *ask.Outcome {
	t.Helper()
	changed, stop := b.Changes(board.Filter{})
	defer stop()
	end := time.After(waittest.Limit)
	for {
		if o := b.outcome(k); o != nil {
			return o
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("%s did not end", k)
		}
	}
}

// at waits until the ask with an id is in focus.
func (b tab) at(id string) {
	b.t.Helper()
	b.wait(`document.querySelector('article')?.dataset.key.endsWith('/` + id + `')`)
}

func TestBrowserAnAnswerIsHeldAndTakenBack(t *testing.T) {
	t.Parallel()
	bus := newBus()
	first := bus.ask(question("first", database()), time.Minute)
	second := bus.ask(question("second", database()), 0)
	b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
	b.keys("2\r")
	b.at("second") // the next ask is there at once
	b.wait(`document.querySelector('#wait-default\\/s1\\/first').innerText.includes('sending …') && document.querySelector('#done').innerText.includes('Sending “SQLite + Litestream” …')`)
	b.keys("1\r") // with two of it
	b.sees("Nothing else waits for you")
	b.wait(`document.querySelectorAll('#list .sending').length === 2 && !document.querySelector('#list').innerText.includes('nswered')`)
	b.keys("z")
	b.at("second")
	b.wait(`document.querySelector('input[value="=pg"]').checked && document.querySelectorAll('#list .sending').length === 1`)
	b.click("[data-undo-back]")
	b.at("first")
	b.wait(`document.querySelector('input[value="=lite"]').checked && !document.querySelector('.sending')`)
	if bus.outcome(first) != nil || bus.outcome(second) != nil {
		t.Fatal("an answer that was taken back was sent")
	}
	b.keys("3\r")
	b.at("second")
	b.do(chromedp.Navigate(b.in.URL + "/history")) // the page closes: what it holds is sent
	if o := bus.untilEnded(t, first); o.Answers[0].Selected[0] != "kv" || bus.outcome(second) != nil {
		t.Errorf("outcomes: %+v %+v", o, bus.outcome(second))
	}
}

func TestBrowserAHeldAnswerIsSent(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus, holding(100*time.Millisecond)).open(t, mei).live()
	b.keys("2\r")
	b.wait(`document.querySelector('#done').innerText.includes('You chose SQLite + Litestream') && document.querySelector('#done').innerText.includes('just now')`)
	b.wait(`Object.keys(localStorage).length === 0`)
	if o := bus.outcome(k); o == nil || o.Answers[0].Selected[0] != "lite" {
		t.Errorf("outcome: %+v", o)
	}
	k = bus.ask(question("no", database()), 0)
	b.at("no")
	b.keys("x")
	b.keys("not mine")
	b.click(".decline button")
	b.wait(`document.querySelector('#done').innerText.includes('You declined: not mine')`)
	if o := bus.outcome(k); o == nil || o.Reason != "not mine" {
		t.Errorf("outcome: %+v", o)
	}
}

// A Firefox that is quit sends nothing from pagehide on: what is held goes before.
func TestBrowserAHeldAnswerGoesBeforeTheBrowserIsQuit(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k, l := bus.ask(question("db", database()), 0), bus.ask(question("no", database()), 0)
	in := serve(t, bus, holding(web.MaxUndo))
	b := in.open(t, mei).live()
	b.keys("2\r")
	b.wait(`!!document.querySelector('#done .held')`)
	b.js(`dispatchEvent(new Event('beforeunload')); ''`)
	if o := bus.untilEnded(t, k); o.Answers[0].Selected[0] != "lite" {
		t.Errorf("outcome: %+v", o)
	}
	b.do(chromedp.Navigate(in.URL + "/bulk"))
	b.click("[name=key]")
	b.click("[data-bulk] .row button")
	b.wait(`!!document.querySelector('.result.held')`)
	b.js(`dispatchEvent(new Event('beforeunload')); ''`)
	if o := bus.untilEnded(t, l); o.Status != ask.StatusCancelled {
		t.Errorf("outcome: %+v", o)
	}
}

// On a slow network the server is still checking the answer when its page is closed.
func TestBrowserAnAnswerIsSentWhenItsPageIsLeftWhileTheServerChecksIt(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
	b.js(`const real = fetch; window.fetch = (url, options) => {
		if (!String(options?.body).includes('held=check')) return real(url, options);
		window.checking = true;
		return new Promise(() => {});
	}; ''`)
	b.keys("2\r")
	b.wait(`window.checking`)
	b.do(chromedp.Navigate("about:blank"))
	if o := bus.untilEnded(t, k); o.Answers[0].Selected[0] != "lite" {
		t.Errorf("outcome: %+v", o)
	}
}

func TestBrowserWhatCannotWaitIsSentAtOnce(t *testing.T) {
	t.Parallel()
	urgent, late := question("urgent", database()), question("late", database())
	urgent.Priority = ask.PriorityUrgent
	late.Deadline = time.Now().Add(25 * time.Second)
	for _, a := range []ask.Ask{urgent, late} {
		t.Run(a.ID, func(t *testing.T) {
			t.Parallel()
			bus := newBus()
			k := bus.ask(a, 0)
			b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
			b.keys("2\r")
			b.wait(`document.querySelector('#done').innerText.includes('You chose SQLite')`)
			if bus.outcome(k) == nil {
				t.Error("it is not answered")
			}
		})
	}
}

func TestBrowserWhoIsSlowerThanSomebodyElseIsTold(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
	b.keys("o")
	b.keys("DuckDB\r")
	b.sees("Sending “DuckDB” …")
	if _, err := bus.end(k, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: through(tom)}); err != nil {
		t.Fatal(err)
	}
	b.wait(`document.querySelector('#done').textContent.includes('Which database should the ledger use? · “DuckDB” was not sent: Tom chose PostgreSQL at ')`)
	b.click("#done a")
	b.sees("What you had typed. It was not sent.")
}

// A vote without its reason is refused at its card: when it is sent, another one is on the screen.
func TestBrowserAHeldVoteNeedsItsReasonBefore(t *testing.T) {
	t.Parallel()
	bus := newBus()
	votes := question("db", database())
	votes.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, Reason: ask.ReasonRequired, ReasonPattern: "^OPS-[0-9]+$"}}, ApproveOptions: []string{"pg"}}
	bus.ask(votes, 0)
	b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
	b.keys("1\r")
	b.wait(`document.querySelector('.fault-words')?.innerText.includes('This vote needs a reason') && !document.querySelector('.sending, .held')`)
	b.wait(`document.activeElement.matches('.note textarea[aria-invalid]') && !document.querySelector('.options [aria-invalid]')`)
	b.keys("OPS")
	b.wait(`!document.querySelector('[aria-invalid], .question.fault')`)
	b.keys("\x1b2\r")
	b.sees("Sending “SQLite + Litestream” …") // a denial needs none
}

// An answer that is held while its person signs out elsewhere, and one that is taken back without a connection, are
// named.
func TestBrowserAHeldAnswerIsNotLostSilently(t *testing.T) {
	t.Parallel()
	const away = `globalThis.real = fetch; globalThis.fetch = () => Promise.reject(new TypeError('away')); ''`
	for name, one := range map[string]struct {
		do   func(b tab)
		told string
	}{
		"signed out": {func(b tab) {
			b.in.bus.people.mu.Lock()
			clear(b.in.bus.people.held)
			b.in.bus.people.mu.Unlock()
		}, "“SQLite + Litestream” was not sent: you are signed out."},
		"taken back": {func(b tab) { b.js(away); b.keys("z") }, "“SQLite + Litestream” is taken back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := newBus()
			k := bus.ask(question("db", database()), 0)
			b := serve(t, bus, holding(time.Second)).open(t, mei).live()
			b.keys("2\r")
			b.sees("Sending “SQLite + Litestream” …")
			one.do(b)
			b.wait(`document.querySelector('#done').textContent === 'Which database should the ledger use? · ` + one.told + `'`)
			if o := bus.outcome(k); o != nil {
				t.Errorf("it was sent: %+v", o)
			}
		})
	}
}

func TestBrowserAHeldFormThatIsInvalidIsRefusedBefore(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(four(), 0)
	b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
	b.keys("1")
	b.keys("12")
	b.click(`#q4 input[value="true"]`)
	b.click(".send")
	b.wait(`!!document.querySelector('.review')`)
	b.click(".send")
	b.wait(`document.querySelectorAll('.fault-words').length === 1 && !document.querySelector('.sending, .held')`)
}

func TestBrowserOneKeySendsThroughTheHold(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus, holding(web.MaxUndo)).open(t, mei).live()
	b.js(`localStorage.setItem('askbus:onekey', 'on') ?? ''`)
	b.keys("2")
	b.sees("Sending “SQLite + Litestream” …")
	b.keys("z")
	b.at("db")
	if o := bus.outcome(k); o != nil {
		t.Fatalf("it was sent: %+v", o)
	}
}

func TestBrowserSeveralDeclinesAreHeld(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	in := serve(t, bus, holding(web.MaxUndo))
	b := in.open(t, mei).live()
	b.do(chromedp.Navigate(in.URL + "/bulk"))
	b.click("[name=key]")
	b.click("[data-bulk] .row button")
	b.wait(`document.querySelector('.held').innerText.includes('Declining 1 ask …') && document.querySelector('.several').innerText.includes('sending …')`)
	b.keys("z")
	b.wait(`!document.querySelector('.held, .sending')`)
	if o := bus.outcome(k); o != nil {
		t.Fatalf("it was sent: %+v", o)
	}
	b.click("[data-bulk] .row button")
	b.wait(`!!document.querySelector('.held')`)
	b.do(chromedp.Navigate(in.URL + "/history"))
	bus.untilEnded(t, k)
	in = serve(t, bus, holding(100*time.Millisecond))
	bus.ask(question("again", database()), 0)
	b = in.open(t, mei).live()
	b.do(chromedp.Navigate(in.URL + "/bulk"))
	b.click("[name=key]")
	b.click("[data-bulk] .row button")
	b.sees("1 ask is declined.")
}

// drop is a question with a destructive option.
func drop() ask.Question {
	return ask.Question{ID: "drop", Text: "What happens to the old table?", NoOther: true, Options: []ask.Option{{ID: "keep", Label: "Keep it"}, {ID: "drop", Label: "Drop it", Destructive: true}}}
}

func TestBrowserADestructiveOptionNeedsAnotherKey(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("drop", drop()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("2\r")
	b.sees("“Drop it” is destructive.")
	b.keys("\r\r") // Enter does not confirm
	b.keys("1")    // nor does anything else choose it
	b.wait(`!document.querySelector('.confirm')`)
	b.keys("2\r")
	b.sees("“Drop it” is destructive.")
	if o := bus.outcome(k); o != nil {
		t.Fatalf("sent without the second key: %+v", o)
	}
	b.keys("!")
	b.wait(`document.querySelector('#done').innerText.includes('Drop it')`)
	if o := bus.outcome(k); o == nil || o.Answers[0].Selected[0] != "drop" {
		t.Errorf("outcome: %+v", o)
	}
}

func TestADestructiveOptionIsNotPickedInANotification(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("drop", drop()), 0)
	p := serve(t, bus).signedIn(t, mei)
	if res := p.get("/ask/" + k.String() + "/notice"); contains(res.body, "choices") {
		t.Errorf("the notification offers it: %s", res.body)
	}
	if res := p.post("/ask/"+k.String()+"/pick", url.Values{"me": {mei.Principal}, "option": {"drop"}, "life": {bus.life(k)}}); res.status != http.StatusConflict || bus.outcome(k) != nil {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := p.post("/ask/"+k.String()+"/answer", url.Values{"select:drop": {"=drop"}, "confirm": {"something else"}}); res.status != http.StatusUnprocessableEntity || bus.outcome(k) != nil {
		t.Errorf("%d", res.status)
	}
}

func TestBrowserACardThatComesWhileSomebodyTypesTakesNoKeys(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).open(t, mei).live()
	// Somebody types; the card comes between two keys, however slow the machine is.
	b.js(`const press = key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
document.addEventListener('askbus:card', () => dispatchEvent(new KeyboardEvent('keydown', { key: 'x' })), { once: true, capture: true });
document.addEventListener('askbus:card', () => { press('1'); press('Enter'); window.came = 'yes'; }, { once: true }); 'ok'`)
	k := bus.ask(question("db", database()), 0)
	b.wait(`window.came === 'yes'`)
	b.wait(`!('quiet' in document.documentElement.dataset)`)
	if got := b.js(`String(document.querySelectorAll('#card input:checked').length)`); got != "0" || bus.outcome(k) != nil {
		t.Errorf("%s options are chosen: %+v", got, bus.outcome(k))
	}
	b.keys("1\r")
	b.wait(`!!document.querySelector('.done')`)
}
