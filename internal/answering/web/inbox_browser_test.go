package web_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/chromedp"
)

func TestBrowserAnAskAppearsAndIsAnsweredWithClicks(t *testing.T) {
	t.Parallel()
	bus := newBus()
	b := serve(t, bus).open(t, mei).live()
	b.sees("Nothing waits for you")
	k := bus.ask(question("db", database()), 0)
	b.sees("Which database should the ledger use?")
	if title := b.js(`document.title`); title != "(1) askbus" {
		t.Errorf("title %q", title)
	}
	b.click(`input[value="=lite"]`)
	b.click(".send")
	b.wait(`document.querySelector('#done').innerText.includes('You chose SQLite + Litestream') && document.querySelector('#done').innerText.includes('just now')`)
	if o := bus.outcome(k); o == nil || o.Answers[0].Selected[0] != "lite" {
		t.Errorf("outcome: %+v", o)
	}
	b.wait(`document.title === 'askbus' && location.pathname === '/' && location.search === ''`)
}

func TestBrowserAnswersWithKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, keys string
		ask        ask.Ask
		want       ask.Answer
	}{
		{"a digit and Enter", "2\r", question("a", database()), ask.Answer{QuestionID: "db", Selected: []string{"lite"}}},
		{"zero is the tenth", "0\r", question("a", thirty()), ask.Answer{QuestionID: "region", Selected: []string{"r9"}}},
		{"Other, typed", "oDuckDB or so\r", question("a", database()), ask.Answer{QuestionID: "db", Other: "DuckDB or so"}},
		{"several", "124\r", question("a", several()), ask.Answer{QuestionID: "checks", Selected: []string{"unit", "race", "lint"}}},
		{"finding an option", "/c3\r\r", question("a", thirty()), ask.Answer{QuestionID: "region", Selected: []string{"r14"}}},
		{"yes", "1\r", question("a", ask.Question{ID: "b", Kind: ask.KindBoolean, Text: "May I?"}), ask.Answer{QuestionID: "b", Boolean: new(true)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bus := newBus()
			k := bus.ask(c.ask, 0)
			b := serve(t, bus).open(t, mei).live()
			b.keys(c.keys)
			b.wait(`!!document.querySelector('.done')`)
			if o := bus.outcome(k); o == nil || !reflect.DeepEqual(o.Answers[0], c.want) {
				t.Errorf("outcome: %+v", o)
			}
		})
	}
}

func TestBrowserFourQuestionsWithKeys(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(four(), 0)
	b := serve(t, bus).open(t, mei).live()
	b.wait(`document.querySelector('.send').innerText === 'Review' && document.querySelector('.send-hint').hidden`) // Enter does not send yet
	b.keys("2")                                                                                                     // the database; the focus moves to the number
	b.keys("3")
	b.keys("\x1b")
	b.click(`#q4 input[value="false"]`)
	b.keys("\r")
	b.wait(`document.querySelectorAll('.review dd').length === 4 && document.querySelector('.review').innerText.includes('SQLite + Litestream') && !document.querySelector('.send-hint').hidden`)
	b.keys("\r")
	b.wait(`!!document.querySelector('.done')`)
	o := bus.outcome(k)
	if o == nil || o.Answers[0].Selected[0] != "lite" || *o.Answers[1].Number != 3 || !o.Answers[2].Skipped || *o.Answers[3].Boolean {
		t.Errorf("outcome: %+v", o)
	}
}

// Six keys for four questions; who presses Enter after each choice finds no fault, and neither does who sends too early.
func TestBrowserFourChoicesTakeSixKeys(t *testing.T) {
	t.Parallel()
	a := question("four")
	for _, id := range []string{"a", "b", "c", "d"} {
		a.Questions = append(a.Questions, ask.Question{ID: id, Text: "Question " + id + "?", Options: []ask.Option{{ID: "x", Label: "X"}, {ID: "y", Label: "Y"}}})
	}
	for keys, want := range map[string]string{"1212\r\r": "y", "1\r2\r1\r2\r\r": "y"} {
		bus := newBus()
		k := bus.ask(a, 0)
		b := serve(t, bus).open(t, mei).live()
		b.keys(keys)
		b.wait(`!!document.querySelector('.done')`)
		if o := bus.outcome(k); o == nil || o.Answers[3].Selected[0] != want {
			t.Errorf("%q: %+v", keys, o)
		}
	}
	bus := newBus()
	bus.ask(a, 0)
	b := serve(t, bus).open(t, mei).live()
	// chromedp's Enter also submits the form when its keydown is prevented; these have no default action.
	b.js(`for (const key of ['1', '2', '1', '2', 'Enter']) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })); 'ok'`)
	b.wait(`!!document.querySelector('.review')`)

	bus = newBus()
	bus.ask(a, 0)
	b = serve(t, bus).open(t, mei).live()
	b.keys("1\r")
	b.click(".send")
	b.wait(`!!document.activeElement.closest('#q3') && !document.querySelector('.fault, .problem')`)
	b.click(`#q3 input[value="=x"]`)
	b.keys("\r") // on a ticked box
	b.wait(`!!document.activeElement.closest('#q4') && !document.querySelector('.fault, .problem')`)
}

func TestBrowserShowsWhoAnsweredFirst(t *testing.T) {
	t.Parallel()
	bus := newBus()
	in := serve(t, bus)
	bus.ask(question("db", database()), 0)
	first, second := in.open(t, mei).live(), in.open(t, tom).live()
	second.sees("Nothing is left for you to read") // and it can still be opened
	second.click("#list a")
	second.wait(`!!document.querySelector('article')`)
	second.keys("o")
	second.keys("half typed")
	first.keys("1\r")
	first.wait(`!!document.querySelector('.done')`)
	second.sees("Mei chose PostgreSQL at ")
	second.sees("PostgreSQL")
	second.wait(`document.querySelector('.other input[type=text]').value === 'half typed' && document.querySelector('.send').disabled`)
	second.keys("\r") // too late, and harmless
	second.click("[data-next]")
	second.sees("Nothing waits for you")
}

func TestBrowserDraftsSurvive(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("db", database()), time.Minute)
	b := serve(t, bus).open(t, mei).live()
	b.keys("o")
	b.keys("half ty")
	bus.ask(question("next", text("t", "And the next one?")), 0)
	b.wait(`document.querySelectorAll('#list li').length === 2`)
	if focus := b.js(`document.activeElement.name + '|' + document.activeElement.value`); focus != "other:db|half ty" {
		t.Errorf("after a live update: %s", focus)
	}
	b.keys("ped")
	b.do(chromedp.Reload())
	b.live()
	b.wait(`document.querySelector('.other input[type=text]').value === 'half typed' && document.querySelector('[data-other]').checked`)
	b.keys("j") // to the next ask and back
	b.wait(`document.querySelector('article').dataset.key.endsWith('/next')`)
	b.do(chromedp.NavigateBack())
	b.wait(`document.querySelector('.other input[type=text]')?.value === 'half typed'`)
	b.click(".send")
	b.wait(`!!document.querySelector('.done') && Object.keys(localStorage).length === 0`)
}

// TestBrowserADraftSurvivesOnesOwnAnswerElsewhere: words that were not sent are kept whoever answered; those that were
// sent are not.
func TestBrowserADraftSurvivesOnesOwnAnswerElsewhere(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	bus.ask(question("next", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.do(chromedp.Navigate(b.in.URL + "/ask/default/s1/db"))
	b.live()
	b.keys("o")
	b.keys("DuckDB, perhaps")
	if _, err := bus.Answer(t.Context(), k, ask.Reply{AnswerID: "shell", By: mei, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
		t.Fatal(err)
	}
	b.wait(`!!document.querySelector('.verdict.mine')`)
	b.click("[data-next]")
	b.at("next")
	b.do(chromedp.NavigateBack())
	b.sees("It was not sent")
	b.do(chromedp.Reload())
	b.sees("DuckDB, perhaps")
	b.click(".leftover button")
	b.wait(`Object.keys(localStorage).length === 0`)

	// An answer that was sent while the page closed.
	bus = newBus()
	k = bus.ask(question("held", database()), 0)
	b = serve(t, bus, holding(web.MaxUndo)).openIn(t, b.Tab, mei).live()
	b.do(chromedp.Navigate(b.in.URL + "/ask/default/s1/held"))
	b.live()
	b.keys("o")
	b.keys("MariaDB\r")
	b.sees("Nothing else waits for you")
	b.do(chromedp.Navigate(b.in.URL + "/history"))
	bus.untilEnded(t, k) // the draft is there until the page that has gone, or the next one, knows
	b.do(chromedp.Navigate(b.in.URL + "/ask/default/s1/held"))
	b.wait(`!!document.querySelector('.verdict.mine') && !document.querySelector('.leftover') && Object.keys(localStorage).length === 0`)
}

func TestBrowserKeepsWhatWasRefused(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(four(), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.keys("12\r")
	b.wait(`!!document.activeElement.closest('#q4')`) // Enter goes to the next question; only the button sends
	b.click(".send")
	b.wait(`document.querySelectorAll('.fault-words').length === 2`)
	b.wait(`document.activeElement.name === 'number:n' && document.activeElement.value === '12' && document.querySelector('#q1 input').checked`)
	b.keys("3")
	b.click(`#q4 input[value="true"]`)
	b.click(".send")
	b.wait(`!!document.querySelector('.review')`)
	b.click(".send")
	b.wait(`!!document.querySelector('.done')`)
}

func TestBrowserKeysDoNotFireWhileTyping(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("a", database()), time.Minute)
	bus.ask(question("b", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("n")
	b.keys("jkox12?")
	b.wait(`document.querySelector('.note textarea').value === 'jkox12?' && !document.querySelector('#card input:checked') && document.querySelector('article').dataset.key.endsWith('/a')`)
}

// The key of a note brings the field of a vote's reason, also on a question of Yes or No.
func TestBrowserAKeyReachesTheReason(t *testing.T) {
	t.Parallel()
	a := question("go", ask.Question{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"})
	a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket"}}}
	bus := newBus()
	bus.ask(a, 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.keys("n")
	b.keys("why y or n, x")
	b.wait(`document.activeElement.matches('.note textarea') && document.activeElement.value === 'why y or n, x' && document.querySelector('input[value="true"]').checked`)
}

func TestBrowserAHeldEnterSendsOnce(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("a", database()), time.Minute)
	k := bus.ask(question("b", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("j")
	b.wait(`document.querySelector('article').dataset.key.endsWith('/b')`)
	b.keys("2") // a draft, which is restored later
	b.keys("k")
	b.wait(`document.querySelector('article').dataset.key.endsWith('/a')`)
	b.keys("1\r")
	b.wait(`document.querySelector('article').dataset.key.endsWith('/b') && document.querySelector('input[value="=lite"]').checked`)
	b.keys("\r\r")
	b.keys("n") // the page has handled all earlier keys
	b.wait(`document.activeElement.name === 'note:db'`)
	if o := bus.outcome(k); o != nil {
		t.Errorf("an Enter for the previous ask sent a draft: %+v", o)
	}
}

func TestBrowserDeclines(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("x")
	b.keys("not mine to say")
	b.click(".decline button")
	b.wait(`document.querySelector('#done').innerText.includes('You declined: not mine to say')`)
	if o := bus.outcome(k); o == nil || o.Status != ask.StatusCancelled || o.Reason != "not mine to say" {
		t.Errorf("outcome: %+v", o)
	}
}

func TestBrowserSaysThatTheInboxIsGone(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("db", database()), 0)
	in := serve(t, bus)
	b := in.open(t, mei).live()
	b.keys("o")
	b.keys("kept")
	in.stop()
	b.sees("Reconnecting to the inbox")
	b.wait(`document.querySelector('.other input[type=text]').value === 'kept'`)
}

func TestBrowserKeysCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("?")
	b.wait(`document.querySelector('#help').open`)
	b.click("[data-keys]")
	b.click("#help button")
	b.keys("1o")
	b.click(`input[value="=lite"]`)
	b.wait(`[...new FormData(document.querySelector('form.answer')).getAll('select:db')].join() === '=lite' && document.activeElement.type === 'radio'`)
}

func TestBrowserComparesTwoPreviews(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("p", previews()), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 900, "light")).live()
	b.wait(`document.querySelector('.shown .preview').offsetParent !== null`) // the recommended one
	b.keys("2")
	b.wait(`document.querySelector('.shown .preview').offsetParent === null && [...document.querySelectorAll('.preview')].filter((p) => p.offsetParent).length === 1`)
	b.click(".compare summary")
	b.do(chromedp.SetValue(chromedp.CSS(".pane:not([hidden]) select"), "2"))
	b.js(`document.querySelector('.pane:not([hidden]) select').dispatchEvent(new Event('change')); ''`)
	b.wait(`[...document.querySelectorAll('.pane')].filter((p) => p.offsetParent).map((p) => p.dataset.pane).join() === 'JetStream KV,SQLite + Litestream'`)
}

// Beside the options a preview says whose it is, and no other one's is shown for an option without
// a preview.
func TestBrowserAPreviewSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	q := previews()
	q.Options[0].Preview, q.Options[0].Recommended, q.Options[1].Recommended = nil, false, true
	bus := newBus()
	bus.ask(question("p", q), 0)
	b := serve(t, bus).open(t, mei, screen(1280, 900, "light")).live()
	for _, c := range []struct{ keys, shown string }{{"", "SQLite + Litestream"}, {"1", ""}, {"2", "SQLite + Litestream"}, {"3", "JetStream KV"}, {"o", ""}} {
		if c.keys != "" {
			b.keys(c.keys)
		}
		b.wait(fmt.Sprintf(`[...document.querySelectorAll('.preview')].filter((p) => p.offsetParent).map((p) => p.querySelector('.whose').innerText).join() === %q`, c.shown))
	}
	b.keys("words\x1bp") // Other has none to read: the reader names the one that it opens
	b.wait(`document.querySelector('#reader').open && document.querySelector('#reader-title').innerText === 'SQLite + Litestream' && !document.querySelector('#reader .whose')`)
}

func TestBrowserWithoutScripts(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei, noScripts)
	b.do(chromedp.SendKeys(chromedp.CSS(".other input[type=text]"), "DuckDB"), chromedp.Click(chromedp.CSS(".send")), chromedp.WaitVisible(chromedp.CSS(".done")))
	if o := bus.outcome(k); o == nil || o.Answers[0].Other != "DuckDB" {
		t.Errorf("outcome: %+v", o)
	}
}

// TestBrowserEveryState opens all states of the inbox, from the smallest phone
// to a desktop, in light, dark and forced colours, in English and in Chinese.
// It checks that nothing scrolls sideways and that axe finds no violation. To
// save time, the states alternate between smallest phone and tablet, and
// between the two colour schemes in Chinese.
func TestBrowserEveryState(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range states() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, newBus()).open(t, mei, screen(390, 844, "light"))
			s.reach(b)
			fits := func(width int64) {
				screen(width, 844, "light")(b)
				if wide := b.js(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); wide != "0" {
					t.Errorf("%s px too wide at %d, in %s", wide, width, b.js(`document.documentElement.lang`))
				}
			}
			for _, width := range []int64{320, 768, 1280, 390} {
				fits(width)
			}
			look := func(size func(tab)) {
				size(b)
				found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run({resultTypes: ['violations']}).then((r) =>
					r.passes.length < 5 ? 'axe has looked at nothing' : r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 200) + ' ' + n.failureSummary).join('\n')).join('\n'))`,
					chromedp.EvalAwaitPromise))
				if err != nil {
					t.Fatal(err)
				}
				if found = strings.TrimSpace(found); found != "" {
					t.Errorf("axe: %s", found)
				}
			}
			b.do(chromedp.Evaluate[chromedp.Void](string(axe)))
			screen(1280, 900, "dark")(b)
			turn := []func(tab){screen(320, 640, "dark"), forced(768, 1024)}[i%2]
			for _, size := range []func(tab){screen(390, 844, "light"), screen(1280, 900, "light"), screen(1280, 900, "dark"), turn} {
				look(size)
			}
			// The same page in Chinese, as after a reload.
			b.do(chromedp.Evaluate[chromedp.Void](`fetch('/language', { method: 'POST', redirect: 'manual', body: new URLSearchParams({ language: 'zh-Hans', to: '/' }) }).then(() => undefined)`, chromedp.EvalAwaitPromise))
			b.do(chromedp.Reload())
			b.wait(`document.documentElement.lang === 'zh-Hans' && /\p{Script=Han}/u.test(document.body.innerText)`)
			for _, width := range []int64{320, 768, 1280, 390} {
				fits(width)
			}
			b.do(chromedp.Evaluate[chromedp.Void](string(axe)))
			look([]func(tab){screen(390, 844, "light"), screen(1280, 900, "dark")}[i%2])
		})
	}
}

// The keys that go through the list are not typed into a field on the way; Enter goes to it.
func TestBrowserTheKeysOfTheListAreNotTyped(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("a", database()), 2*time.Minute)
	bus.ask(question("b", text("t", "What name?")), time.Minute)
	bus.ask(question("c", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	for _, step := range [][2]string{{"j", "b"}, {"j", "c"}, {"k", "b"}} {
		b.keys(step[0])
		b.wait(`document.querySelector('article').dataset.key.endsWith('/` + step[1] + `')`)
	}
	b.keys("\r")
	b.wait(`document.activeElement.matches('.typed')`)
	b.keys("jk")
	b.wait(`document.querySelector('.typed').value === 'jk'`)
}
