package web_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// chrome is one Chromium for all tests; each tab has cookies and storage of its own.
var chrome = sync.OnceValues(func() (context.Context, context.CancelFunc) {
	dir, err := os.MkdirTemp("", "askbus-chrome")
	if err != nil {
		panic(err)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(
		slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(chromePath()), chromedp.UserDataDir(dir))...)
	ctx, cancel := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil {
		panic(fmt.Sprintf("start the browser: %v", err))
	}
	return ctx, func() { cancel(); stop(); _ = os.RemoveAll(dir) }
})

var started sync.Once

var honest = regexp.MustCompile(`Failed to load resource: the server responded with a status of (4\d\d|503)`)

func chromePath() string {
	for _, name := range []string{os.Getenv("ASKBUS_CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	return ""
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromePath() != "" {
		used := true
		started.Do(func() { used = false })
		if used {
			_, stop := chrome()
			stop()
		}
	}
	os.Exit(code)
}

// tab is one person's browser.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps the tab in its context
	in  inbox
}

// open gives a fresh browser at the inbox; at the end of the test it must have
// written nothing to its console, beside what the test expects.
func (in inbox) open(t *testing.T, by ask.By, setup ...func(tab)) tab {
	t.Helper()
	if chromePath() == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no browser; CI must have one")
		}
		t.Skip("no browser; set ASKBUS_CHROME")
	}
	started.Do(func() {})
	parent, _ := chrome()
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	ctx, stop := context.WithTimeout(ctx, 60*time.Second)
	b := tab{t, ctx, in}
	var mu sync.Mutex
	var said []string
	quiet := make(chan struct{})
	messages := chromedp.Console(ctx)
	go func() {
		defer close(quiet)
		for m, err := range messages {
			if err != nil {
				return
			}
			mu.Lock()
			said = append(said, fmt.Sprint(m.Type, " ", m.Text))
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		stop()
		cancel()
		<-quiet
		for _, line := range said {
			// Chromium itself reports the honest status of a refused answer.
			if !honest.MatchString(line) {
				t.Errorf("console: %s", line)
			}
		}
	})
	for _, s := range setup {
		s(b)
	}
	b.do(chromedp.Navigate(in.link(t, by)))
	return b
}

func (b tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// wait waits until a script says true, also over the change to another page,
// which ends the script that looks.
func (b tab) wait(script string) {
	b.t.Helper()
	var err error
	for range 5 {
		_, err = chromedp.Run(b.ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(20*time.Second)))
		if err == nil {
			return
		}
		if errors.Is(err, chromedp.ErrPollingTimeout) {
			break
		}
	}
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	b.t.Fatalf("waiting for %s: %v; the page says:\n%s", script, err, text)
}

// sees waits until the page shows a text.
func (b tab) sees(text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

// live waits until the page listens.
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

// screen sets the size and scheme of the screen.
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

func noScripts(b tab) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
}
