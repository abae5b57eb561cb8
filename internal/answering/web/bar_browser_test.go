package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func TestBrowserSaysWhatIsNewAndWhatEnterDoes(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("db", database()), time.Minute)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.keys("\r")
	b.sees("Nothing is chosen yet")
	bus.ask(question("next", text("t", "And the next one?")), 0)
	b.wait(`document.querySelector('#news').textContent === 'New ask: And the next one?'`)
	b.wait(`getComputedStyle(document.querySelector('#count')).visibility === 'visible' && document.querySelector('#count').innerText === '2 waiting'`)
	answeredOnSlack(b, "db")
	b.wait(`!!document.querySelector('[data-verdict]')`)
	b.js(`document.activeElement.blur(); ''`)
	b.keys("\r")
	b.wait(`document.querySelector('article').dataset.key.endsWith('/next')`)
}

func TestBrowserOtherHasABorder(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"light", "dark"} {
		bus := newBus()
		bus.ask(question("db", database()), 0)
		b := serve(t, bus).open(t, mei, screen(1280, 800, scheme)).live()
		b.wait(`(() => {
			const part = (c) => { const v = c / 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 };
			const light = (s) => { const [r, g, b] = s.match(/\d+/g).map(Number); return .2126 * part(r) + .7152 * part(g) + .0722 * part(b) };
			const s = getComputedStyle(document.querySelector('.other > input'));
			const [x, y] = [light(s.borderTopColor), light(s.backgroundColor)].sort((p, q) => q - p);
			return (x + .05) / (y + .05) >= 3;
		})()`)
	}
}

// A field of the bar opens at its full width where it stands, without moving the question, and
// closes the others that have no words.
func TestBrowserTheBarsFieldsDoNotHideTheQuestion(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("p", wide()), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	for _, f := range []struct{ key, field string }{{"n", ".note"}, {"r", ".own"}, {"x", ".decline"}} {
		b.keys(f.key)
		b.wait(`document.activeElement.matches('.act > ` + f.field + ` textarea')`)
		b.wait(`document.querySelectorAll('.act > details[open]').length === 1`)
		b.keys("why")
		if moved := b.js(`String(scrollY)`); moved != "0" {
			t.Errorf("%s: the page has scrolled by %s px", f.field, moved)
		}
		// Decline has its button beside its field.
		if wide := b.js(`(() => { const field = document.activeElement.getBoundingClientRect(), beside = document.activeElement.closest('.decline')?.querySelector(':scope > button')?.getBoundingClientRect();
			return String((beside && beside.top < field.bottom ? beside.right : field.right) - field.left >= 600) })()`); wide != "true" {
			t.Errorf("%s is %s px wide", f.field, b.js(`String(document.activeElement.getBoundingClientRect().width)`))
		}
		if seen := b.js(`String(document.activeElement.getBoundingClientRect().bottom <= innerHeight)`); seen != "true" {
			t.Errorf("%s is below the screen", f.field)
		}
		b.js(`document.activeElement.value = ''; document.activeElement.dispatchEvent(new Event('input', { bubbles: true })); ''`)
		if f.field == ".own" {
			b.keys("\x1b")
			b.wait(`!document.querySelector('.act > details[open]')`)
		} else {
			b.js(`document.activeElement.blur(); ''`)
		}
	}
	for _, keys := range []string{"n", "words", "\x1b", "x"} {
		b.keys(keys)
	}
	b.wait(`document.activeElement.matches('.decline textarea') && document.querySelector('.note').open`)
	// Two keys before the browser has told of the first field.
	b.js(`document.querySelectorAll('.act textarea').forEach((el) => { el.value = ''; el.closest('details').open = false; }); ''`)
	b.js(`for (const key of 'nx') document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })); ''`)
	b.wait(`document.activeElement.matches('.decline textarea') && document.querySelector('.decline').open && !document.querySelector('.note').open`)
}

// The whole list of keys is on a small desk's screen, with the button that closes it.
func TestBrowserTheListOfKeysFits(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("p", database()), 0)
	for _, height := range []int64{800, 600} {
		b := serve(t, bus).open(t, mei, screen(1280, height, "light")).live()
		b.keys("?")
		b.wait(`document.querySelector('#help').open`)
		if fits := b.js(`String(document.querySelector('#help form button').getBoundingClientRect().bottom <= document.querySelector('#help').getBoundingClientRect().bottom)`); fits != "true" {
			t.Errorf("%d: the button is cut off", height)
		}
		if whole := b.js(`(() => { const d = document.querySelector('#help'); return String(d.scrollHeight <= d.clientHeight) })()`); height == 800 && whole != "true" {
			t.Error("the list scrolls at 800")
		}
	}
}

// In a text of several lines Enter begins a new line, so the bar names the key that sends from there.
func TestBrowserTheBarNamesTheKeyThatSends(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("t", text("t", "What is it called?")), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	key := func(want string) { b.wait(`document.querySelector('.send-hint kbd').textContent === '` + want + `'`) }
	b.keys("two")
	key("Ctrl+Enter")
	b.keys("\r")
	b.keys("lines")
	b.wait(`document.querySelector('.typed').value === 'two\nlines'`)
	b.keys("\x1b")
	key("Enter")
	b.js(`document.querySelector('.typed').focus(); ''`)
	key("Ctrl+Enter")
	b.do(chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.wait(`!!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || o.Answers[0].Text != "two\nlines" {
		t.Errorf("outcome %+v", o)
	}
}

// On the smallest phone the bar has one row of buttons, and one of steps however many questions there are: the question
// stays in sight.
func TestBrowserTheBarIsLowOnASmallPhone(t *testing.T) {
	t.Parallel()
	bus := newBus()
	var many []ask.Question
	for i := range 16 {
		many = append(many, text(fmt.Sprint("q", i), fmt.Sprint("سؤال ", i)))
		many[i].Header = fmt.Sprint("Step ", i)
	}
	bus.ask(question("many", many...), 0)
	b := serve(t, bus).open(t, mei, screen(320, 568, "light")).live()
	b.wait(`new Set([...document.querySelectorAll('.act > :is(button, .more)')].filter((el) => el.offsetParent).map((el) => el.getBoundingClientRect().top)).size === 1`)
	if height := b.js(`String(document.querySelector('.act').offsetHeight <= 140)`); height != "true" {
		t.Errorf("the bar is %s px high", b.js(`String(document.querySelector('.act').offsetHeight)`))
	}
	b.js(`document.querySelectorAll('.question')[12].focus(); ''`)
	b.wait(`(() => { const step = document.querySelector('.steps [aria-current]').getBoundingClientRect(); return step.left >= 0 && step.right <= innerWidth && step.width > 0 })()`)
	b.wait(`getComputedStyle(document.querySelector('.question .number')).direction === 'ltr' && getComputedStyle(document.querySelector('.question')).direction === 'rtl'`)
}

// On a screen of 1280 × 756 px that is zoomed to 400 % nothing is in front of the question, and the keys still bring the
// bar's fields.
func TestBrowserPrintedOrZoomedTo400PercentTheQuestionIsThere(t *testing.T) {
	t.Parallel()
	bus := newBus()
	many := wide()
	for i := range 40 {
		many.Options = append(many.Options, ask.Option{ID: fmt.Sprint("o", i), Label: fmt.Sprint("Option ", i)})
	}
	bus.ask(question("two", many, text("t", "And why?")), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.js(`document.querySelector('.compare').open = true; ''`)
	b.wait(`getComputedStyle(document.querySelector('.act')).position === 'sticky'`)
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	b.wait(`getComputedStyle(document.querySelector('.act')).position === 'static'`)
	if cut := b.js(`[...document.querySelectorAll('article *')].filter((el) => el.matches(':not(input, textarea, select, .unseen)') && getComputedStyle(el).overflow !== 'visible' && (el.scrollHeight > el.clientHeight + 1 || el.scrollWidth > el.clientWidth + 1)).map((el) => el.className).join()`); cut != "" {
		t.Errorf("cut off on paper: %s", cut)
	}
	if wide := b.js(`String(Math.max(...[...document.querySelectorAll('article pre')].map((el) => el.scrollWidth - el.clientWidth)))`); wide != "0" {
		t.Errorf("a line leaves its box on paper by %s px", wide)
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}); err != nil {
		t.Fatal(err)
	}
	screen(320, 189, "light")(b)
	if over := b.js(`[...document.querySelectorAll('main *')].filter((el) => ['sticky', 'fixed'].includes(getComputedStyle(el).position) && el.offsetHeight > 0).map((el) => el.className).join()`); over != "" {
		t.Errorf("stays on the screen: %s", over)
	}
	if cut := b.js(`(() => { const many = document.querySelector('.options.many'); return String(many.scrollHeight > many.clientHeight) })()`); cut != "false" {
		t.Error("the list of options has a scroll bar of its own")
	}
	if wide := b.js(`String(document.documentElement.scrollWidth)`); wide != "320" {
		t.Errorf("the page is %s px wide", wide)
	}
	b.keys("r")
	b.wait(`(() => { const field = document.activeElement.getBoundingClientRect(); return document.activeElement.name === 'response' && field.top >= 0 && field.bottom <= innerHeight })()`)
}

// In an ask of the other direction the dot before a mark is between the mark and its label, also if that is Latin, and code is
// read from left to right.
func TestBrowserLatinLabelsAndCodeFromRightToLeft(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(rtl(), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.wait(`(() => {
		const at = (el) => el.getBoundingClientRect(), label = [...document.querySelectorAll('.option .label')].find((l) => /^[A-Z]/.test(l.textContent) && l.nextElementSibling?.matches('.mark'));
		return label && Math.abs(at(label).right - at(label.firstElementChild).right) < 1 && at(label).left < at(label.firstElementChild).left - 2;
	})()`)
	b.wait(`(() => {
		const code = document.querySelector('legend code').firstChild, range = document.createRange();
		const left = (i) => { range.setStart(code, i); range.setEnd(code, i + 1); return range.getBoundingClientRect().left; };
		return code.data === '--force' && left(0) < left(2);
	})()`)
}
