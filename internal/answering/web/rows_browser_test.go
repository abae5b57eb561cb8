package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/chromedp/chromedp"
)

func pending(b *bus, n int) {
	for i := range n {
		b.ask(question(fmt.Sprintf("p%04d", i), database()), time.Duration(n-i)*time.Minute)
	}
}

func TestBrowserOneEventDrawsOneRow(t *testing.T) {
	t.Parallel()
	bus := newBus()
	pending(bus, 100)
	in := serve(t, bus)
	b := in.open(t, mei, screen(1280, 900, "light")).live()
	b.js(`(() => { window.drawn = []; new MutationObserver((all) => { for (const m of all) for (const n of m.addedNodes) if (n.nodeType === 1) drawn.push(n.closest('[data-key]')?.dataset.key.split('/')[2]) })
		.observe(document.querySelector('#list'), { childList: true, subtree: true }); performance.clearResourceTimings(); return '' })()`)
	bus.ask(urgentAsk(), 0)
	b.wait(`document.querySelector('#list li').dataset.key.endsWith('/deploy') && document.title === '(101) askbus' && document.querySelector('#count').textContent === '101 waiting'`)
	b.wait(`document.querySelector('#news').textContent.startsWith('New ask: ')`)
	if _, err := bus.end(ask.Key{Tenant: "default", Session: "s1", ID: "p0050"}, ask.Outcome{Status: ask.StatusAnswered, By: &tom}); err != nil {
		t.Fatal(err)
	}
	b.wait(`document.querySelectorAll('#list li').length === 100 && document.querySelector('#ended').innerText.includes('Tom')`)
	_ = bus.Look(viewerOf(tom), ask.Key{Tenant: "default", Session: "s1", ID: "p0070"}, true)
	b.wait(`document.getElementById('wait-default/s1/p0070').textContent.includes('Tom is answering')`)
	// Rows outside the visible part of the list are neither laid out nor
	// painted.
	b.wait(`(() => { const rows = [...document.querySelectorAll('#list .heading')]; const seen = (el) => el.checkVisibility({ contentVisibilityAuto: true }); return seen(rows[0]) && !seen(rows.at(-1)) })()`)
	if got := b.js(`[...new Set(drawn)].join()`); got != "deploy,p0070" {
		t.Errorf("drawn: %s", got)
	}
	if got := b.js(`performance.getEntriesByType('resource').filter((e) => e.initiatorType === 'fetch').map((e) => e.name).join()`); got != "" {
		t.Errorf("fetched: %s", got)
	}
}

// TestBrowserNothingMovesWhileTyping checks that draft, caret, focus and
// scroll positions stay while many asks arrive and end.
func TestBrowserNothingMovesWhileTyping(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("mine", text("t", "What is it called?")), 24*time.Hour)
	pending(bus, 150)
	in := serve(t, bus)
	b := in.open(t, mei, screen(1280, 700, "light")).live()
	b.wait(`document.activeElement.classList.contains('typed')`)
	b.keys("half typed")
	b.js(`(() => { document.activeElement.setSelectionRange(4, 4); window.seen = document.getElementById('wait-default/s1/p0060'); seen.scrollIntoView({ block: 'start' }); return '' })()`)
	b.wait(`(window.top0 = Math.round(seen.getBoundingClientRect().top)) > -5000 && document.querySelector('#waiting').scrollTop > 1000`)
	for i := range 40 {
		a := question(fmt.Sprint("new", i), database())
		if i%4 == 0 {
			a.Priority = ask.PriorityUrgent // above the visible rows
		}
		bus.ask(a, 0)
		if i%2 == 0 {
			if _, err := bus.end(ask.Key{Tenant: "default", Session: "s1", ID: fmt.Sprintf("p%04d", i)}, ask.Outcome{Status: ask.StatusAnswered, By: &tom}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.wait(`document.querySelector('#count').textContent === '171 waiting' && document.querySelectorAll('#list li').length === 171`)
	b.wait(`document.activeElement.value === 'half typed' && document.activeElement.selectionStart === 4 && document.activeElement.selectionEnd === 4`)
	if moved := b.js(`String(Math.abs(Math.round(seen.getBoundingClientRect().top) - top0))`); len(moved) > 1 || moved > "2" {
		t.Errorf("the visible rows moved by %s px", moved)
	}
	b.keys("-") // at the caret
	b.wait(`document.activeElement.value === 'half- typed'`)
	// The focus in the list stays on its row, and moves to the neighbour of a
	// row that ends.
	b.js(`seen.querySelector('a').focus() ?? ''`)
	_ = bus.Look(viewerOf(tom), ask.Key{Tenant: "default", Session: "s1", ID: "p0060"}, true)
	b.wait(`seen.innerText.includes('Tom is answering') && document.activeElement.closest('li') === seen`)
	if _, err := bus.end(ask.Key{Tenant: "default", Session: "s1", ID: "p0060"}, ask.Outcome{Status: ask.StatusAnswered, By: &tom}); err != nil {
		t.Fatal(err)
	}
	b.wait(`document.activeElement.closest('li')?.dataset.key.endsWith('/p0061')`)
}

func TestBrowserAListingHasItsOwnStream(t *testing.T) {
	t.Parallel()
	bus := newBus()
	team(bus)
	in := serve(t, bus)
	b := in.open(t, mei, screen(1280, 900, "light")).live()
	b.js(`document.querySelector('.narrow').open = true; (() => { const s = document.querySelector('select[name=agent]'); s.value = 'reviewer'; s.dispatchEvent(new Event('change', { bubbles: true })); return '' })()`)
	b.wait(`document.querySelectorAll('#list li').length === 2 && document.querySelector('#list').dataset.query === '?agent=reviewer'`)
	for _, agent := range []string{"builder", "reviewer"} {
		a := question("new-"+agent, database())
		a.Agent.Name = agent
		bus.ask(a, 0)
	}
	b.wait(`document.querySelectorAll('#list li').length === 3 && !!document.getElementById('wait-default/s1/new-reviewer')`)
	b.wait(`document.title === '(6) askbus'`)
}

// TestBrowserAnAnswerIsOneRoundTrip checks that the response to an answer
// contains the next ask, and that others are notified only after it is drawn.
func TestBrowserAnAnswerIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("a", database()), time.Minute)
	bus.ask(question("b", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.js(`(() => { window.sent = []; addEventListener('keydown', () => { sent = [] }, { capture: true }); const real = window.fetch; window.fetch = (...all) => { if (document.querySelector('article').dataset.key.endsWith('/a') && !String(all[0]).endsWith('/attend')) sent.push((all[1]?.method ?? 'GET') + ' ' + new URL(all[0], location).pathname); return real(...all).then((r) => { if (r.redirected) sent.push('redirect'); return r }) }; return '' })()`)
	b.keys("\r")
	b.wait(`document.querySelector('article').dataset.key.endsWith('/b') && !!document.querySelector('.done') && location.pathname.endsWith('/b') && location.search === ''`)
	if got := b.js(`sent.join()`); got != "POST /ask/default/s1/a/answer" {
		t.Errorf("on the way to the next ask: %s", got)
	}
	if o := bus.outcome(k); o == nil || o.Answers[0].Selected[0] != "pg" {
		t.Errorf("outcome: %+v", o)
	}
}

func viewerOf(by ask.By) board.Viewer { return board.Viewer{By: by} }

// swipe moves a finger across an element, by a share of its width to the left.
func (b tab) swipe(selector string, share float64) {
	b.t.Helper()
	b.js(fmt.Sprintf(`(() => { const el = document.querySelector(%q), at = el.getBoundingClientRect(), y = at.top + 12;
		const send = (type, x) => el.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerType: 'touch', isPrimary: true, clientX: x, clientY: y }));
		send('pointerdown', at.right - 10); for (const part of [.2, .6, 1]) send('pointermove', at.right - 10 - at.width * %[2]f * part); send('pointerup', at.right - 10 - at.width * %[2]f); return '' })()`, selector, share))
}

func TestBrowserASwipeSnoozesAndIsTakenBack(t *testing.T) {
	t.Parallel()
	bus := newBus()
	pending(bus, 3)
	b := serve(t, bus).open(t, mei, screen(390, 844, "light")).live()
	b.wait(`document.querySelectorAll('#list li').length === 3`)
	here := b.js(`document.querySelector('article').dataset.key`)
	b.swipe("#list li:nth-child(2) .heading", 0.2)
	b.wait(`!document.querySelector('.swipe') && document.querySelectorAll('#list li').length === 3`)
	gone := b.js(`document.querySelector('#list li:nth-child(2)').dataset.key`)
	b.swipe("#list li:nth-child(2) > a", 0.7)
	b.wait(`document.querySelectorAll('#list li').length === 2 && !document.getElementById('wait-` + gone + `')`)
	b.wait(`document.querySelector('article').dataset.key === '` + here + `' && document.querySelector('.moved').innerText.includes('Snoozed')`)
	b.click("[data-move-back]")
	b.wait(`document.querySelectorAll('#list li').length === 3 && document.querySelector('article').dataset.key === '` + gone + `'`)
	b.swipe("article .asker", 0.7) // the card, too
	b.wait(`document.querySelectorAll('#list li').length === 2 && document.querySelector('article').dataset.key !== '` + gone + `' && !!document.querySelector('.moved')`)
}

func TestBrowserTheBarOfAPhoneIsOneRow(t *testing.T) {
	t.Parallel()
	bus := newBus()
	pending(bus, 2)
	b := serve(t, bus).open(t, mei, screen(390, 844, "light")).live()
	b.wait(`document.querySelector('.act').getBoundingClientRect().height < 72 && document.querySelector('.option:last-child').getBoundingClientRect().bottom < innerHeight`)
	b.click(".more summary")
	b.click(".act > .note summary")
	b.wait(`document.querySelector('.more').open && document.querySelector('.act > .note').open`)
	b.wait(`document.documentElement.scrollWidth <= innerWidth`)
}

// TestBrowserTwentyRowsFitOnALaptop counts the rows that are whole and in sight beside a card.
func TestBrowserTwentyRowsFitOnALaptop(t *testing.T) {
	t.Parallel()
	bus := newBus()
	for i := range 40 {
		a := question(fmt.Sprintf("p%04d", i), database())
		a.Title, a.Agent.Name = strings.Repeat("A long question that does not fit its row ", 3), fmt.Sprint("agent-", i%4)
		if i < 10 { // they are above the others
			a.Deadline = time.Now().Add(time.Hour + time.Duration(i)*time.Minute)
		}
		bus.ask(a, time.Duration(40-i)*time.Minute)
	}
	b := serve(t, bus).open(t, mei, screen(1280, 900, "light")).live()
	b.wait(`document.querySelectorAll('#list .ends').length === 10 && new Set([...document.querySelectorAll('#list .hue')].map((el) => getComputedStyle(el).backgroundColor)).size > 1`)
	const whole = `[...document.querySelectorAll('#list > li')].filter((e) => { const r = e.getBoundingClientRect(), on = document.elementFromPoint(r.left + 40, r.top + 2), under = document.elementFromPoint(r.left + 40, r.bottom - 2); return r.height === 36 && e.contains(on) && e.contains(under) }).length`
	for _, s := range []struct{ height, rows int64 }{{900, 22}, {800, 20}} {
		screen(1280, s.height, "light")(b)
		b.wait(fmt.Sprintf(`innerHeight === %d && document.querySelectorAll('#list > li').length === 40`, s.height))
		if rows := b.js(`String(` + whole + `)`); rows != fmt.Sprint(s.rows) {
			t.Errorf("%s rows fit on 1280×%d, want %d", rows, s.height, s.rows)
		}
	}
	b.shot("twenty-rows")
	// The search stays in sight, and so does the row in focus: it is not below the search.
	b.js(`document.querySelectorAll('#list a')[30].click(); ''`)
	b.wait(`document.querySelector('article').dataset.key.endsWith('/p0030')`)
	b.js(`document.querySelector('#waiting').scrollTop = document.querySelectorAll('#list > li')[30].offsetTop - 38; ''`)
	b.keys("k")
	b.wait(`document.querySelector('article').dataset.key.endsWith('/p0029')`)
	b.wait(`(() => { const row = document.querySelector('#list a[aria-current]').getBoundingClientRect(), tools = document.querySelector('#tools').getBoundingClientRect();
		return row.top >= tools.bottom - 1 && row.bottom <= innerHeight && document.elementFromPoint(tools.left + 10, tools.top + 10)?.closest('#tools') && tools.height <= 40 })()`)
}

func TestBrowserTheNextAskIsOnTheScreen(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{390, 760, 900} {
		bus := newBus()
		for i := range 12 {
			bus.ask(question(string(rune('a'+i)), database()), time.Duration(20-i)*time.Minute)
		}
		b := serve(t, bus).open(t, mei, screen(width, 800, "light")).live()
		for _, move := range []func(){
			func() { b.keys("j") },
			func() { b.js(`document.querySelectorAll('#list a')[9].click(); ''`) },
		} {
			was := b.js(`document.querySelector('article').dataset.key`)
			move()
			b.wait(`document.querySelector('article').dataset.key !== '` + was + `'`)
			b.wait(`(() => { const r = document.querySelector('article .text').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })()`)
		}
	}
}

// A page that is opened at an ask far down in the list shows its row.
func TestBrowserTheRowOfTheAskInFocusIsInSight(t *testing.T) {
	t.Parallel()
	bus := newBus()
	for i := range 30 {
		bus.ask(question(string(rune('A'+i)), database()), time.Duration(40-i)*time.Minute)
	}
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.do(chromedp.Navigate(b.in.URL + "/ask/default/s1/" + string(rune('A'+25))))
	b.live()
	b.wait(`(() => { const r = document.querySelector('#list a[aria-current]').getBoundingClientRect(); return r.top >= 0 && r.bottom < innerHeight + 1 })()`) // scroll positions are whole pixels
	if at := b.js(`String(scrollY)`); at != "0" {
		t.Errorf("the page has scrolled by %s px", at)
	}
}
