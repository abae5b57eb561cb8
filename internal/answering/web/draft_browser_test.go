package web_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/chromedp/chromedp"
)

func TestBrowserTypingGoesIntoTheField(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]ask.Question{
		"text": text("t", "What is it called?"), "number": {ID: "t", Kind: ask.KindNumber, Text: "How many?"}, "date": {ID: "t", Kind: ask.KindDate, Text: "When?"},
	} {
		bus := newBus()
		b := serve(t, bus).open(t, mei).live()
		bus.ask(question(name, q), 0)
		b.wait(`document.activeElement.classList.contains('typed')`)
		if name == "text" {
			b.keys("invoice-x")
			b.wait(`document.activeElement.value === 'invoice-x'`)
		}
	}
	bus := newBus()
	k := bus.ask(question("b", ask.Question{ID: "b", Kind: ask.KindBoolean, Text: "Shall I?"}), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.wait(`document.querySelector('input[value="true"]').checked`)
	b.keys("2yn")
	b.wait(`document.querySelector('input[value="false"]').checked && document.activeElement.matches('.note textarea')`)
	b.keys("\x1b\r")
	b.wait(`!!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || o.Answers[0].Boolean == nil || *o.Answers[0].Boolean {
		t.Errorf("outcome %+v", o)
	}
}

func TestBrowserADraftSurvivesAnAnswerElsewhere(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.do(chromedp.Navigate(b.in.URL + "/ask/default/s1/db"))
	b.live()
	b.keys("o")
	b.keys("DuckDB, perhaps")
	const top = `document.activeElement.getBoundingClientRect().top`
	was := b.js(`String(` + top + `)`)
	answeredOnSlack(b, "db")
	b.wait(`!!document.querySelector('[data-verdict]')`)
	if now := b.js(`String(` + top + `)`); now != was {
		t.Errorf("the field moved from %s to %s while the person types", was, now)
	}
	b.do(chromedp.Reload())
	b.sees("It was not sent")
	b.sees("DuckDB, perhaps")
	b.click(".leftover button")
	b.wait(`!document.querySelector('.leftover') && Object.keys(localStorage).length === 0`)
}

func TestBrowserEachTabHasItsOwnDraft(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("t", text("t", "What is it called?")), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("first")
	b.wait(`Object.keys(localStorage).length === 1 && sessionStorage.length === 0`) // a duplicate of this tab is another tab
	b.js(`localStorage.setItem(Object.keys(localStorage)[0].replace(/[^:]*$/, 'other'), JSON.stringify({ at: Date.now() + 1000, forms: JSON.stringify([[['text:t', 'second']], []]) })); ''`)
	b.do(chromedp.Reload())
	b.live()
	b.wait(`document.querySelector('.typed').value === 'first'`)
	// A tab in which nothing is typed says as well that its person is answering, in another one.
	b.js(`document.querySelector('.typed').select(); ''`)
	b.keys("\b")
	b.wait(`Object.keys(localStorage).length === 1`)
	_ = bus.Look(board.Viewer{By: mei}, k, false)
	b.js(`document.dispatchEvent(new Event('visibilitychange')); ''`)
	natstest.Eventually(t, "Mei is answering", func() bool {
		return slices.ContainsFunc(bus.Attending(k), func(a board.Attention) bool { return a.Answering })
	})
	b.keys("first")
	b.click(".send")
	b.wait(`!!document.querySelector('.done') && Object.keys(localStorage).length === 0`)
}

// When an ask ends elsewhere under what somebody types, nobody "is answering" any more, and there is nothing to
// hand over; the field stays where it is.
func TestBrowserAnEndedAskHasNobodyAtIt(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	bus.look(k, board.Attention{Principal: tom.Principal, Name: tom.Name, Answering: true})
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.sees("Tom is answering")
	b.keys("rx") // the ask is not in focus: these keys do nothing
	b.click("#list a")
	b.wait(`!!document.querySelector('article')`)
	b.keys("o")
	b.keys("DuckDB, perhaps")
	b.wait(`document.querySelector('.other input[type=text]').value === 'DuckDB, perhaps'`)
	answeredOnSlack(b, "db")
	b.wait(`!!document.querySelector('[data-verdict]')`)
	said := b.js(`document.querySelector('main').innerText`)
	for _, not := range []string{"is answering", "Hand over", "If nobody answers"} {
		if strings.Contains(said, not) {
			t.Errorf("the ended ask says %q:\n%s", not, said)
		}
	}
	b.wait(`!document.querySelector('.asker > p + p').checkVisibility({ visibilityProperty: true })`) // it waits no longer
	b.js(`document.activeElement.blur(); ''`)
	b.keys("a")
	if open := b.js(`String(!!document.querySelector('.menu[open]'))`); open != "false" {
		t.Error("an ended ask can be handed over")
	}
}

// A refused answer is no longer marked once the person changes it, and the field stays where it is.
func TestBrowserARefusedAnswerIsMarkedUntilItIsChanged(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("n", ask.Question{ID: "n", Kind: ask.KindNumber, Text: "How many?", Limits: ask.Limits{Max: new(9.0)}}), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.keys("12\r")
	b.wait(`document.querySelector('.fault-words')?.textContent.includes('at most 9') && document.activeElement.ariaInvalid === 'true' && document.getAnimations().length === 0`)
	const top = `document.activeElement.getBoundingClientRect().top`
	was := b.js(`String(` + top + `)`)
	b.keys("\b")
	b.wait(`!document.activeElement.ariaInvalid && !document.querySelector('.fault') && !document.querySelector('.fault-words').checkVisibility({ visibilityProperty: true }) && document.getAnimations().length === 0`)
	if now := b.js(`String(` + top + `)`); now != was {
		t.Errorf("the field moved from %s to %s while the person types", was, now)
	}
}

// Two people share a browser. The words of one do not stand in the other's form, and are back when their writer is.
func TestBrowserADraftIsItsWriters(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("t", text("t", "What is it called?")), 0)
	in := serve(t, bus)
	b := in.open(t, mei).live()
	holds := func(words string) {
		t.Helper()
		b.at("t")
		b.live().wait(`document.querySelector('.typed').value === '` + words + `'`)
	}
	b.at("t")
	b.keys("of Mei")
	b.wait(`Object.keys(localStorage).some((name) => name.startsWith('askbus:draft:'))`)
	b.do(chromedp.Navigate(in.link(t, tom)))
	b.do(chromedp.Navigate(in.URL + "/ask/default/s1/t"))
	b.sees("Tom")
	holds("")
	b.do(chromedp.Navigate(in.link(t, mei)))
	b.do(chromedp.Navigate(in.URL + "/ask/default/s1/t"))
	holds("of Mei")
}

// A page that was opened by one person does not go on in the name of another.
func TestBrowserAPageFollowsWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("t", database()), 0)
	in := serve(t, bus)
	b := in.open(t, mei).live()
	bus.ask(question("u", text("u", "And you?")), 0)
	b.sees("And you?")
	b.js(`fetch('` + strings.TrimPrefix(in.link(t, tom), in.URL) + `').then((answer) => { window.switched = answer.ok; }) && ''`)
	b.wait(`window.switched && document.querySelector('.me').textContent === 'Mei'`)
	b.click("#list li:last-child a")
	b.wait(`document.querySelector('.me').textContent === 'Tom'`)
}
