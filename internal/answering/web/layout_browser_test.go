package web_test

import (
	"fmt"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// drawings returns a question as a coding agent sends it: with previews that
// claim to be Markdown.
func drawings() ask.Question {
	q := database()
	q.Options[0].Preview = &ask.Preview{Format: ask.PreviewMarkdown, Body: "┌────────┐     ┌──────────┐\n│ ledger │────▶│ Postgres │\n└────────┘     └──────────┘\n     p99   4 ms"}
	q.Options[1].Preview = &ask.Preview{Format: ask.PreviewMarkdown, Body: "One file, copied as it grows:\n\n+--------+    +------+    +----+\n| ledger |--->| file |--->| S3 |\n+--------+    +------+    +----+\n\nThat is **all**."}
	q.Options[2].Preview = &ask.Preview{Format: ask.PreviewMarkdown, Body: "Nothing new to run.\n\n- one bucket\n- limited queries"}
	return q
}

// TestBrowserLayoutKeepsEverySpace checks that columns in agent text stay
// aligned, on a phone and on a desktop.
func TestBrowserLayoutKeepsEverySpace(t *testing.T) {
	t.Parallel()
	const drawn = `[...document.querySelectorAll('.shown .preview pre')].find((p) => p.offsetParent)`
	for _, width := range []int64{390, 1280} {
		bus := newBus()
		bus.ask(question("p", drawings()), 0)
		b := serve(t, bus).open(t, mei, screen(width, 900, "light")).live()
		b.keys("1")
		b.wait(`(() => { const p = ` + drawn + `; return p && p.textContent.trimEnd() === '┌────────┐     ┌──────────┐\n│ ledger │────▶│ Postgres │\n└────────┘     └──────────┘\n     p99   4 ms'
			&& /mono/.test(getComputedStyle(p).fontFamily) && getComputedStyle(p).whiteSpace.startsWith('pre') })()`)
		if wide := b.js(`String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); wide != "0" {
			t.Errorf("%d: the page is %s px too wide", width, wide)
		}
		b.keys("2")
		b.wait(`(() => { const p = [...document.querySelectorAll('.preview pre')].find((p) => p.offsetParent); return p?.textContent.includes('| ledger |--->| file |--->| S3 |') && p.parentElement.textContent.includes('That is all.') })()`)
		b.keys("3")
		b.wait(`[...document.querySelectorAll('.preview li')].some((p) => p.offsetParent)`)
	}
}

// TestBrowserLayoutKeepsClearOfNotchAndHomeBar checks a phone whose screen is
// covered at its edges, upright and on its side.
func TestBrowserLayoutKeepsClearOfNotchAndHomeBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ width, height, top, side, bottom int64 }{{390, 844, 47, 0, 34}, {844, 390, 0, 47, 21}} {
		bus := newBus()
		bus.ask(question("q", database()), 0)
		b := serve(t, bus).open(t, mei, screen(c.width, c.height, "light")).live()
		insets := emulation.SafeAreaInsets{Top: &c.top, Left: &c.side, Right: &c.side, Bottom: &c.bottom}
		if _, err := chromedp.Call(b.ctx, emulation.SetSafeAreaInsetsOverride, emulation.SetSafeAreaInsetsOverrideParams{Insets: &insets}); err != nil {
			t.Fatal(err)
		}
		if c.width < 992 {
			b.keys("enter")
		}
		b.keys("1")
		b.wait(fmt.Sprintf(`(() => {
			const clear = (e, r = e.getBoundingClientRect()) => r.left >= %[2]d && r.right <= innerWidth - %[2]d && r.bottom <= innerHeight - %[3]d && r.top >= %[1]d;
			const answer = [...document.querySelectorAll('.act button')].find((e) => e.offsetParent && e.textContent.trim() === 'Answer');
			return answer && clear(answer) && [...document.querySelectorAll('.top a')].filter((e) => e.offsetParent && e.getBoundingClientRect().height > 4).every((e) => e.getBoundingClientRect().left >= %[2]d);
		})()`, c.top, c.side, c.bottom))
	}
}
