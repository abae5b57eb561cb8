package web_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/chromedp/chromedp"
)

// wide returns a choice whose preview has a line wider than any screen.
func wide() ask.Question {
	q := database()
	for i := range q.Options {
		q.Options[i].Preview = &ask.Preview{Format: ask.PreviewText, Body: strings.Repeat("a very wide line of code that goes on; ", 30) + "\nshort"}
	}
	return q
}

func TestBrowserAWidePreviewStaysInsideThePage(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{390, 760, 1000, 1280} {
		bus := newBus()
		bus.ask(question("p", wide()), 0)
		b := serve(t, bus).open(t, mei, screen(width, 900, "light")).live()
		b.keys("1")
		b.wait(`[...document.querySelectorAll('.preview')].some((p) => p.offsetParent)`)
		if over := b.js(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); over != "0" {
			t.Errorf("%d: the page is %s px too wide", width, over)
		}
		b.click(".compare summary")
		if over := b.js(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); over != "0" {
			t.Errorf("%d: compared, the page is %s px too wide", width, over)
		}
	}
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

func TestBrowserSignedOutWhileTyping(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("t", text("t", "What is it called?")), 0)
	in := serve(t, bus, func(o *web.Options) { o.Flags = "--dir /srv/askbus" })
	b := in.open(t, mei).live()
	b.keys("my words")
	bus.people.mu.Lock()
	for id := range bus.people.held {
		delete(bus.people.held, id)
	}
	bus.people.mu.Unlock()
	b.click(".send")
	b.sees("You are signed out")
	b.sees("askbus login --dir /srv/askbus")
	b.wait(`document.querySelector('#lost').hidden`) // it does not say that it connects as well
	b.wait(`document.querySelector('.typed').value === 'my words' && document.querySelector('article').dataset.key.endsWith('/t')`)
	// In another tab of the same browser.
	b.do(chromedp.Evaluate[chromedp.Void](`fetch(` + quoted(in.link(t, mei)) + `)`))
	b.wait(`document.querySelector('#signedout').hidden && document.querySelector('.typed').value === 'my words'`)
	b.live()
	b.click(".send")
	b.wait(`!!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || o.Answers[0].Text != "my words" {
		t.Errorf("outcome %+v", o)
	}
}

func quoted(s string) string { return "'" + strings.TrimSpace(s) + "'" }

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

func TestBrowserNotSentGoesWhenTheInboxIsBack(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.js(`globalThis.real = fetch; globalThis.fetch = () => Promise.reject(new TypeError('away')); ''`)
	b.click(".send")
	b.sees("Not sent yet: the inbox cannot be reached")
	b.js(`globalThis.fetch = globalThis.real; ''`)
	b.in.CloseClientConnections() // the stream reconnects
	b.wait(`!document.querySelector('.problem') && !!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || !slices.Equal(o.Answers[0].Selected, []string{"pg"}) {
		t.Errorf("outcome: %+v", o)
	}
}

// What somebody changes after it could not be sent waits for them.
func TestBrowserAChangedAnswerIsNotSentByItself(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.js(`globalThis.real = fetch; globalThis.fetch = () => Promise.reject(new TypeError('away')); ''`)
	b.click(".send")
	b.sees("Not sent yet: the inbox cannot be reached")
	b.keys("2")
	b.js(`globalThis.fetch = globalThis.real; document.documentElement.dataset.live = 'off'; ''`)
	b.in.CloseClientConnections()
	b.live()
	b.wait(`document.querySelector('article').dataset.state === 'pending' && document.querySelector('input[value="=lite"]').checked`)
	if o := bus.outcome(k); o != nil {
		t.Errorf("outcome: %+v", o)
	}
}

// A connection that is open and carries nothing, as after a laptop slept, is
// replaced, and what was sent into it goes again.
func TestBrowserNoticesADeadConnection(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	wires := &wires{}
	in := serveOn(t, bus, bus, wires.listener, func(o *web.Options) { o.Heartbeat = time.Second })
	b := in.open(t, mei).live()
	b.keys("1")
	wires.die()
	b.click(".send")
	b.sees("Reconnecting to the inbox")
	wires.live()
	b.live()
	b.wait(`!!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || !slices.Equal(o.Answers[0].Selected, []string{"pg"}) {
		t.Errorf("outcome: %+v", o)
	}
}

// wires has connections that can stay open and carry nothing any more.
type wires struct {
	mu   sync.Mutex
	dead bool
	open []*line
}

type line struct {
	net.Conn
	*wires
	gone chan struct{} // closed once the line carries nothing
	end  sync.Once
}

func (n *wires) listener(ln net.Listener) net.Listener { return networked{ln, n} }

// die makes the open connections, and all new ones, carry nothing.
func (n *wires) die() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
	for _, l := range n.open {
		l.end.Do(func() { close(l.gone) })
	}
}

// live lets new connections live; the old ones stay dead.
func (n *wires) live() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = false
}

type networked struct {
	net.Listener
	*wires
}

func (n networked) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // as the listener says it
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &line{Conn: c, wires: n.wires, gone: make(chan struct{})}
	if n.open = append(n.open, l); n.dead {
		close(l.gone)
		l.end.Do(func() {})
	}
	return l, nil
}

func (l *line) Write(p []byte) (int, error) {
	select {
	case <-l.gone:
		return len(p), nil // as the kernel, which accepts what never arrives
	default:
		return l.Conn.Write(p) //nolint:wrapcheck // as the connection says it
	}
}

func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := l.Conn.Read(p)
		select {
		case <-l.gone:
			if err == nil {
				continue // never arrived
			}
		default:
		}
		return n, err //nolint:wrapcheck // as the connection says it
	}
}

func TestBrowserEachTabHasItsOwnDraft(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("t", text("t", "What is it called?")), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("first")
	b.wait(`Object.keys(localStorage).length === 1`)
	b.js(`localStorage.setItem(Object.keys(localStorage)[0].replace(/[^:]*$/, 'other'), JSON.stringify({ at: Date.now() + 1000, forms: JSON.stringify([[['text:t', 'second']], []]) })); ''`)
	b.do(chromedp.Reload())
	b.live()
	b.wait(`document.querySelector('.typed').value === 'first'`)
	b.click(".send")
	b.wait(`!!document.querySelector('.done') && Object.keys(localStorage).length === 0`)
}

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

func TestBrowserTheSignInPage(t *testing.T) {
	t.Parallel()
	in := serve(t, newBus(), func(o *web.Options) { o.Flags = "--dir /srv/askbus" })
	b := in.open(t, mei, screen(1280, 800, "light")).live()
	b.sees("askbus ask --dir /srv/askbus --question")
	b.click("[data-logout] button")
	b.sees("askbus login --dir /srv/askbus")
	b.wait(`document.querySelector('[data-copy]').offsetParent !== null`)
	b.wait(`(() => { const r = document.querySelector('.gate section').getBoundingClientRect(); return Math.abs(r.left - (document.documentElement.clientWidth - r.right)) < 2 })()`)
}

// slowHistory counts the reads and delays them.
type slowHistory struct {
	*bus
	reads atomic.Int32
}

func (s *slowHistory) List(ctx context.Context, q responder.Query) (responder.Page, error) {
	s.reads.Add(1)
	select {
	case <-ctx.Done():
	case <-time.After(300 * time.Millisecond): // as long as for a long session
	}
	return s.bus.List(ctx, q)
}

func TestEarlierAnswersAreReadOnce(t *testing.T) {
	t.Parallel()
	b := &slowHistory{bus: newBus()}
	b.ask(question("db", database()), 0)
	u := serveAsks(t, b.bus, b).signedIn(t, mei)
	for range 10 {
		u.get("/ask/default/s1/db")
	}
	if n := b.reads.Load(); n != 1 {
		t.Errorf("the history was read %d times for ten pages", n)
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
	if said := b.js(`document.querySelector('main').innerText`); strings.Contains(said, "is answering") || strings.Contains(said, "Hand over") {
		t.Errorf("the ended ask says:\n%s", said)
	}
	b.js(`document.activeElement.blur(); ''`)
	b.keys("a")
	if open := b.js(`String(!!document.querySelector('.menu[open]'))`); open != "false" {
		t.Error("an ended ask can be handed over")
	}
}

// Previews to compare are on the screen when they open, and the reader wraps a diff at its own width.
func TestBrowserPreviewsAreReadInFull(t *testing.T) {
	t.Parallel()
	bus := newBus()
	q := wide()
	for i := range q.Options {
		q.Options[i].Preview = &ask.Preview{Format: ask.PreviewMarkdown, Body: "```diff\n" + strings.Repeat("+ a line of a patch that is a little longer than what one reads at a glance, but no longer than a wide screen\n", 40) + "```"}
	}
	bus.ask(question("p", q), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.js(`document.querySelector('.compare').open = true; ''`)
	b.wait(`(() => { const r = document.querySelector('.compare .pane .scroll').getBoundingClientRect(); return r.top >= 0 && r.top + 200 <= document.querySelector('.act').getBoundingClientRect().top })()`)
	b.keys("p")
	b.wait(`document.querySelector('#reader').open`)
	b.keys("w")
	b.wait(`'wrap' in document.querySelector('#reader').dataset`)
	b.wait(`(() => { const [pre, pane] = ['#reader pre', '#reader .pane > div'].map((s) => document.querySelector(s).clientWidth); return pane > 1000 && pre > pane - 60 })()`)
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
