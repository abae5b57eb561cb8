package web_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
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

// On a phone all options are in sight, and a preview opens below its option when that is tapped.
func TestBrowserAPhoneShowsAllOptionsFirst(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("p", wide()), 0)
	b := serve(t, bus).open(t, mei, screen(390, 844, "light")).live()
	b.wait(`document.querySelector('[data-read]').innerText.trim() === 'Read the previews in full'`)
	const shown = `[...document.querySelectorAll('.preview')].map((p) => p.checkVisibility()).join()`
	if got := b.js(shown); got != "false,false,false" {
		t.Errorf("previews that are shown while nothing is chosen: %s", got)
	}
	b.wait(`[...document.querySelectorAll('.option')].every((o) => o.getBoundingClientRect().bottom < document.querySelector('.act').getBoundingClientRect().top)`)
	b.click(".option:nth-child(2) > label")
	b.wait(shown + ` === 'false,true,false'`)
	b.wait(`document.querySelector('.option:nth-child(2) > .preview').getBoundingClientRect().top > document.querySelector('.option:nth-child(2) > label').getBoundingClientRect().bottom`)
}
