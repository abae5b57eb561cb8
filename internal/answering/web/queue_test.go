package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/chromedp/chromedp"
)

// team adds asks of two sessions and agents to the bus, oldest first.
func team(b *bus) {
	for i, id := range []string{"a0", "b1", "a2", "b3"} {
		a := question(id, database())
		a.Title = "Storage of " + id
		a.Session = "session-" + id[:1]
		a.Agent.Name = map[string]string{"a": "builder", "b": "reviewer"}[id[:1]]
		a.Agent.Repository = "acme/" + a.Agent.Name[:2]
		b.ask(a, time.Duration(10-i)*time.Minute)
	}
}

func at(id string) ask.Key {
	return ask.Key{Tenant: "default", Session: "session-" + id[:1], ID: id}
}

// idsOf returns the ids in the list of a page.
func idsOf(body string) string {
	var all []string
	for _, part := range strings.Split(body, `<li id="wait-`)[1:] {
		key, _, _ := strings.Cut(part, `"`)
		all = append(all, key[strings.LastIndex(key, "/")+1:])
	}
	return strings.Join(all, " ")
}

func TestTheListIsFilteredByItsURL(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	theirs := question("theirs", database())
	theirs.Audience = []string{"os:tom"}
	b.ask(theirs, 0)
	u := serve(t, b).signedIn(t, mei)
	for path, want := range map[string]string{
		"/": "a0 b1 a2 b3", "/?show=all": "a0 b1 a2 b3 theirs", "/?show=team": "a0 b1 a2 b3", "/?show=snoozed": "", "/?session=session-a": "a0 a2",
		"/?agent=reviewer": "b1 b3", "/?priority=urgent": "", "/?q=REVIEWER+storage": "b1 b3", "/?group=session": "a0 a2 b1 b3", "/?group=agent": "a0 a2 b1 b3",
		"/?source=acme%2Fbu": "a0 a2", "/?q=acme%2Fre": "b1 b3", "/?source=none": "",
		"/?q=nothing": "", "/?tenant=other": "", "/?group=rubbish&priority=rubbish&from=-1": "a0 b1 a2 b3",
	} {
		res := u.get(path)
		if got := idsOf(res.body); got != want || res.status != 200 {
			t.Errorf("%s: %d %s", path, res.status, got)
		}
	}
	if page := u.get("/?agent=reviewer&group=session").body; !contains(page, `href="/ask/default/session-b/b3?agent=reviewer&amp;group=session"`) || !contains(page, `<h3 class="group"><bdi>session-b</bdi></h3>`) {
		t.Error("links leave the listing")
	}
	if page := u.get("/?q=nothing").body; !contains(page, "Nothing matches") {
		t.Error("it does not say that nothing matches")
	}
}

func TestFiveThousandArePages(t *testing.T) {
	t.Parallel()
	b := newBus()
	for i := range 5000 {
		a := question(fmt.Sprintf("n%04d", i), text("t", fmt.Sprintf("What about number %04d?", i)))
		a.Session = fmt.Sprint("s", i%40)
		b.ask(a, time.Duration(5000-i)*time.Second)
	}
	u := serve(t, b).signedIn(t, mei)
	page := u.get("/")
	if n := strings.Count(page.body, `<li id="wait-`); n != 200 || !contains(page.body, "1–200 of 5000") || len(page.body) > 200<<10 {
		t.Errorf("%d rows, %d bytes", n, len(page.body))
	}
	if last := u.get("/?from=4800"); idsOf(last.body)[:5] != "n4800" {
		t.Errorf("the last page begins with %s", idsOf(last.body)[:5])
	}
	if one := u.get("/?q=number+4711"); idsOf(one.body) != "n4711" {
		t.Errorf("the search finds %s", idsOf(one.body))
	}
}

func TestAnUrgentAskThatEndsSoonPassesEveryFilter(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	a := urgentAsk()
	a.Deadline = time.Now().Add(80 * time.Second)
	b.ask(a, 0)
	u := serve(t, b).signedIn(t, mei)
	for _, path := range []string{"/", "/?q=nothing", "/?agent=builder", "/?group=session", "/?show=team"} {
		if got, _, _ := strings.Cut(idsOf(u.get(path).body), " "); got != "deploy" {
			t.Errorf("%s: %q is on top", path, got)
		}
	}
	if page := u.get("/bulk?agent=builder").body; contains(page, "/deploy") {
		t.Error("it is offered to be declined with others")
	}
}

func TestTheNextAskAfterAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	u := serve(t, b).signedIn(t, mei)
	answer := func(id, query string) response {
		page := u.get(askPathOf(id) + query)
		return u.post(askPathOf(id)+"/answer"+query, page.form("select:db", "=pg"))
	}
	if res := answer("b1", ""); !strings.HasPrefix(res.path, "/ask/default/session-a/a2?") || !contains(res.body, "PostgreSQL") {
		t.Errorf("after the second: %s", res.path)
	}
	if res := answer("b3", ""); !strings.HasPrefix(res.path, "/?") || !contains(res.body, "That was the last one") || idsOf(res.body) != "a0 a2" {
		t.Errorf("after the last: %s", res.path)
	} else {
		again, _, _ := strings.Cut(res.path, "done=")
		since := mustURL(t, res.path).Query().Get("since")
		if page := u.get("/?since=" + since).body; !contains(page, "That was the last one") {
			t.Errorf("%s: a skipped ask is offered again", again)
		}
		b.ask(question("new", database()), -time.Second)
		if page := u.get("/?since=" + since).body; !contains(page, `data-key="default/s1/new" data-path`) {
			t.Error("a newer ask is not offered")
		}
	}
	if res := answer("a0", "?session=session-a"); res.path[:strings.IndexByte(res.path, '?')] != "/ask/default/session-a/a2" || !contains(res.path, "session=session-a") {
		t.Errorf("in a filter: %s", res.path)
	}
}

func askPathOf(id string) string { return "/ask/" + at(id).String() }

func TestSnoozeAndHandOver(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	u := serve(t, b).signedIn(t, mei)
	if res := u.post(askPathOf("a0")+"/snooze", url.Values{"for": {"1h"}}); !strings.HasPrefix(res.path, askPathOf("b1")) || idsOf(res.body) != "b1 a2 b3" {
		t.Errorf("snoozed: %s %s", res.path, idsOf(res.body))
	}
	page := u.get("/?show=snoozed")
	if idsOf(page.body) != "a0" || !contains(page.body, "back <time") || !contains(page.body, "Take it back now") {
		t.Errorf("the snoozed asks: %s", page.body)
	}
	u.do(http.MethodPost, askPathOf("a0")+"/snooze", url.Values{"for": {"tomorrow"}}, "Cookie", "askbus_zone=Pacific/Kiritimati")
	if off, err := b.Snoozed(t.Context(), board.Viewer{By: mei}); err != nil || off[at("a0")].In(time.FixedZone("", 14*60*60)).Hour() != 9 {
		t.Errorf("tomorrow, 9:00 of a person in Kiritimati is %s", off[at("a0")])
	}
	u.post(askPathOf("a0")+"/snooze", url.Values{"for": {"back"}})
	if got := idsOf(u.get("/").body); got != "a0 b1 a2 b3" {
		t.Errorf("taken back: %s", got)
	}
	if res := u.post(askPathOf("a0")+"/snooze", url.Values{"for": {"ever"}}); res.status != 422 || !contains(res.body, "Not snoozed") {
		t.Errorf("an invalid duration: %d", res.status)
	}
	if res := u.post(askPathOf("a0")+"/handover", url.Values{"to": {"Zoe"}, "word": {"a <note>"}}); res.status != 422 || !contains(res.body, "Not handed over: “Zoe” is nobody") || !contains(res.body, `value="Zoe"`) || !contains(res.body, `value="a &lt;note&gt;"`) {
		t.Errorf("to an unknown person: %d %s", res.status, res.body)
	}
	if res := u.post(askPathOf("a0")+"/handover", url.Values{"to": {"os:tom"}, "word": {"you know <b>"}}); idsOf(res.body) != "b1 a2 b3" {
		t.Errorf("handed over: %s", idsOf(res.body))
	}
	if page := u.get("/?show=team"); idsOf(page.body) != "a0 b1 a2 b3" || !contains(page.body, "<bdi>handed to os:tom</bdi>") {
		t.Errorf("the team's list: %s", page.body)
	}
	his := serve(t, b).signedIn(t, tom)
	if page := his.get(askPathOf("a0")).body; !contains(page, "Handed to you by Mei: “you know &lt;b&gt;”") {
		t.Error("Tom does not see who handed it over")
	}
	// What an old page offers undoes no later hand-over.
	if page := u.get("/?done=" + at("a0").String()).body; !contains(page, `name="from" value="os:tom"`) {
		t.Errorf("the offer does not name whom it takes the ask back from: %s", page)
	}
	his.post(askPathOf("a0")+"/handover", url.Values{"to": {"os:jo"}})
	if res := u.post(askPathOf("a0")+"/handover", url.Values{"from": {"os:tom"}}); res.status != 403 || !contains(res.body, "Not done: this ask has since been handed to somebody else.") {
		t.Errorf("taken back from Jo: %d", res.status)
	}
	if res := u.post(askPathOf("a0")+"/handover", url.Values{"from": {"os:jo"}}); idsOf(res.body) != "a0 b1 a2 b3" {
		t.Errorf("not taken back: %s", idsOf(res.body))
	}
}

func TestOtherViewersAreShown(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	in := serve(t, b)
	u, his := in.signedIn(t, mei), in.signedIn(t, tom)
	u.get("/") // a0
	if page := his.get("/").body; !contains(page, `data-key="default/session-b/b1" data-path`) || !contains(page, `<span class="there"><bdi>Mei is looking at this</bdi></span>`) {
		t.Errorf("Tom is offered the same ask: %s", page)
	}
	if res := u.post(askPathOf("a0")+"/attend", url.Values{"state": {"answering"}}); res.status != 204 {
		t.Error(res.status)
	}
	if page := his.get(askPathOf("a0")).body; !contains(page, `id="others" role="status"><bdi>Mei is answering</bdi>`) {
		t.Errorf("Tom does not see that Mei is answering: %s", page)
	}
	u.post(askPathOf("a0")+"/attend", url.Values{"state": {"gone"}})
	if page := his.get(askPathOf("a0")).body; contains(page, "Mei is") {
		t.Error("Mei has left")
	}
	if res := u.post(askPathOf("a0")+"/attend", url.Values{"state": {"dancing"}}); res.status != 400 {
		t.Error(res.status)
	}
}

func TestBrowserPutsOffAndHandsOverWithKeys(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{390, 1280} {
		b := newBus()
		team(b)
		tab := serve(t, b).open(t, mei, screen(width, 844, "light")).live()
		tab.wait(`document.querySelector('article').dataset.key.endsWith('/a0')`)
		tab.keys("h")
		tab.wait(`document.activeElement.value === '15m'`)
		if over := tab.js(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); over != "0" {
			t.Errorf("%d: %s px too wide", width, over)
		}
		tab.keys("2")
		tab.wait(`document.querySelector('article').dataset.key.endsWith('/b1') && !document.querySelector('#list li[data-key$="/a0"]')`)
		if off, err := b.Snoozed(t.Context(), board.Viewer{By: mei}); err != nil || time.Until(off[at("a0")]) < 59*time.Minute {
			t.Errorf("%v %v", off, err)
		}
		tab.sees("Snoozed, back in 1 h")
		tab.keys("z") // it says what it did, and that is taken back
		tab.wait(`document.querySelector('article').dataset.key.endsWith('/a0')`)
		tab.keys("h")
		tab.wait(`document.activeElement.value === '15m'`)
		tab.keys("2")
		tab.wait(`document.querySelector('article').dataset.key.endsWith('/b1')`)
		tab.keys("a")
		tab.wait(`document.activeElement.name === 'to'`)
		tab.keys("Nobody\tfor you\r")
		tab.sees("Not handed over: “Nobody” is nobody")
		tab.keys("a") // the form is as it was, and the name is typed over
		tab.wait(`document.activeElement.name === 'to' && document.activeElement.value === 'Nobody' && document.querySelector('[name=word]').value === 'for you'`)
		tab.keys("os:tom\r")
		tab.wait(`document.querySelector('article').dataset.key.endsWith('/a2')`)
		tab.sees("Handed to os:tom by you: “for you”")
		if err := b.HandOver(t.Context(), board.Viewer{By: tom}, at("a2"), mei.Principal, "you know the ledger"); err != nil {
			t.Fatal(err)
		}
		tab.sees("you know the ledger") // the note reaches the open card
		tab.keys("h\x1b")
		tab.wait(`!document.querySelector('.menu[open]')`)
	}
}

func TestBrowserFindsAndFilters(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{390, 1280} {
		b := newBus()
		team(b)
		tab := serve(t, b).open(t, mei, screen(width, 844, "light")).live()
		tab.keys("/")
		tab.wait(`document.activeElement.name === 'q'`)
		tab.keys("b3\r")
		tab.wait(`document.querySelectorAll('#list li').length === 1 && location.search === '?q=b3' && document.querySelector('article').dataset.key.endsWith('/b3')`)
		b.ask(question("later", database()), 0) // a live update respects the filter
		tab.wait(`document.querySelector('#count').innerText.startsWith('5')`)
		tab.wait(`document.querySelectorAll('#list li').length === 1`)
		tab.do(chromedp.NavigateBack())
		tab.wait(`document.querySelectorAll('#list li').length === 5`)
		tab.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.narrow').open = true; (() => { const s = document.querySelector('select[name=group]'); s.value = 'agent'; s.dispatchEvent(new Event('change', { bubbles: true })); })()`))
		tab.wait(`document.querySelectorAll('#list .group').length === 2 && location.search === '?group=agent'`)
		tab.click(`.views a[href="/?group=agent&show=snoozed"]`)
		tab.sees("Nothing is snoozed")
	}
}

// TestBrowserADeadlineStaysTogether checks that "urgent" and the time that is
// left are on one line, as are "waiting" and its time.
func TestBrowserADeadlineStaysTogether(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(urgentAsk(), time.Minute)
	b := serve(t, bus).open(t, mei).live()
	for _, width := range []int64{320, 390, 1280} {
		screen(width, 844, "light")(b)
		b.wait(`[...document.querySelectorAll('.asker .bit, .urgent')].length === 4 && [...document.querySelectorAll('.asker .bit, .urgent')].every((e) => e.getBoundingClientRect().height < 2 * parseFloat(getComputedStyle(e).fontSize))`)
	}
}

func TestBrowserASkippedAskDoesNotComeBack(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	tab := serve(t, b).open(t, mei).live()
	tab.keys("j") // skips a0
	tab.wait(`document.querySelector('article').dataset.key.endsWith('/b1')`)
	for _, next := range []string{"/a2", "/b3"} {
		tab.keys("1\r")
		tab.wait(fmt.Sprintf(`document.querySelector('article')?.dataset.key.endsWith(%q)`, next))
	}
	tab.keys("1\r")
	tab.sees("That was the last one")
	b.ask(question("new", database()), 0)
	tab.wait(`document.querySelector('article')?.dataset.key.endsWith('/new')`)
}

func TestBrowserShowsOtherViewers(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	in := serve(t, b)
	first := in.open(t, mei).live()
	second := in.open(t, tom).live()
	second.wait(`document.querySelector('article').dataset.key.endsWith('/b1') && document.querySelector('#list .there').innerText === 'Mei is looking at this'`)
	first.keys("oDuck")
	second.wait(`document.querySelector('#list .there').innerText === 'Mei is answering'`)
	second.keys("k")
	second.wait(`document.querySelector('article').dataset.key.endsWith('/a0') && document.querySelector('#others').innerText === 'Mei is answering'`)
	first.wait(`document.querySelector('#others').innerText === 'Tom is looking at this' && document.querySelector('.other input[type=text]').value === 'Duck'`)
	first.keys("\r")
	second.sees("Mei answered Duck at ")
}

func TestBrowserFindsEverythingWithOneKey(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	tab := serve(t, b).open(t, mei).live()
	tab.at("a0")
	open := func(words string) {
		tab.js(`document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })); 'ok'`)
		tab.wait(`document.querySelector('#palette').open && document.activeElement.closest('#palette') !== null`)
		tab.keys(words)
	}
	open("b3")
	tab.keys("\r")
	tab.at("b3")
	open("hand over")
	tab.keys("\r")
	tab.wait(`document.activeElement.name === 'to'`)
	tab.keys("\x1b")
	open("nothing like this")
	tab.wait(`document.querySelectorAll('#palette li').length === 0 && document.querySelector('#palette p').innerText === 'No ask and no command matches.'`)
	tab.js(`(() => { const f = document.querySelector('#palette input'); f.value = 'b3'; f.dispatchEvent(new Event('input', { bubbles: true })); return '' })()`)
	tab.wait(`document.querySelectorAll('#palette li').length > 0 && document.querySelector('#palette p').innerText === ''`)
	tab.keys("\x1b")
	tab.wait(`!document.querySelector('#palette').open`)
}

// More asks can wait than a page lists: those are found by the search of the inbox.
func TestBrowserOneKeyFindsWhatIsOnAnotherPage(t *testing.T) {
	t.Parallel()
	b := newBus()
	for i := range 201 {
		b.ask(question(fmt.Sprint("q", i), text("t", fmt.Sprintf("Number %03d?", i))), time.Duration(201-i)*time.Second)
	}
	tab := serve(t, b).open(t, mei).live()
	tab.js(`document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })); 'ok'`)
	tab.wait(`document.activeElement.closest('#palette') !== null`)
	tab.keys("number 200")
	tab.wait(`document.querySelector('#palette-list').innerText.trim() === 'Search waiting asks: number 200'`)
	tab.keys("\r")
	tab.wait(`document.querySelectorAll('#list > li').length === 1 && document.querySelector('#list .heading').innerText === 'Number 200?'`)
}

func TestAnEmptyInboxSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	b := newBus()
	for _, by := range []ask.By{mei, mei, tom} {
		k := b.ask(question("done-"+fmt.Sprint(len(b.held)), database()), 0)
		if _, err := b.end(k, ask.Outcome{Status: ask.StatusAnswered, By: &by, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if page := serve(t, b).signedIn(t, mei).get("/"); !contains(page.body, "All clear. You have answered 2 since ") {
		t.Error(page.body)
	}
}

// A page that holds an answer learns of its ask's end before the reply to the answer: then something else may wait, and
// nothing is sent in a few seconds.
func TestAHeldAnswerWhoseAskHasEndedHidesNothing(t *testing.T) {
	t.Parallel()
	b := newBus()
	held := b.ask(question("held", database()), 0)
	other := b.ask(question("other", database()), 0)
	in := serve(t, b)
	u := in.signedIn(t, mei)
	ended := func(k ask.Key) {
		t.Helper()
		if _, err := b.end(k, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &tom}); err != nil {
			t.Fatal(err)
		}
	}
	page := func(says, not string) {
		t.Helper()
		if res := u.do(http.MethodGet, "/?since=99999999999999", nil, "Askbus-Held", held.String()); !contains(res.body, says) || contains(res.body, not) {
			t.Errorf("it does not say %q, or says %q: %s", says, not, res.body)
		}
	}
	page("That was the last one", "is sent in a few seconds")
	ended(other)
	page("What you answered is sent in a few seconds", "That was the last one")
	ended(held)
	page("Nothing waits for you", "is sent in a few seconds")
	b.ask(question("next", database()), 0)
	page("That was the last one", "is sent in a few seconds")
}
