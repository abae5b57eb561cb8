package web_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// tab is one person's browser.
type tab struct {
	*browsertest.Tab
	t   *testing.T
	ctx context.Context //nolint:containedctx // the tab's context
	in  inbox
}

// open opens a new browser at the inbox.
func (in inbox) open(t *testing.T, by ask.By, setup ...func(tab)) tab {
	t.Helper()
	return in.openIn(t, browsertest.Open(t), by, setup...)
}

// openIn opens the inbox in a new tab.
func (in inbox) openIn(t *testing.T, page *browsertest.Tab, by ask.By, setup ...func(tab)) tab {
	t.Helper()
	b := tab{page, t, page.Context(), in}
	for _, s := range setup {
		s(b)
	}
	b.do(chromedp.Navigate(in.link(t, by)))
	return b
}

func (b tab) do(steps ...chromedp.Action[chromedp.Void]) { b.t.Helper(); b.Do(steps...) }

func (b tab) wait(script string) { b.t.Helper(); b.Wait(script) }

// sees waits until the page shows a text.
func (b tab) sees(text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

// live waits until the page's event stream is open.
func (b tab) live() tab {
	b.t.Helper()
	b.wait(`document.documentElement.dataset.live === 'on'`)
	return b
}

func (b tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

func (b tab) keys(keys string) {
	b.t.Helper()
	b.wait(`!('quiet' in document.documentElement.dataset)`) // a card that has just come takes no keys
	b.do(chromedp.KeyEvent(keys))
}

func (b tab) js(script string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return text
}

// screen sets the size and colour scheme of the screen.
func screen(width, height int64, scheme string) func(tab) {
	return func(b tab) {
		b.t.Helper()
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}); err != nil {
			b.t.Fatal(err)
		}
		if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500,
		}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// forced sets the forced colours of a high-contrast theme.
func forced(width, height int64) func(tab) {
	return func(b tab) {
		b.t.Helper()
		screen(width, height, "dark")(b)
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}, {Name: "prefers-color-scheme", Value: "dark"}},
		}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func noScripts(b tab) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
}
