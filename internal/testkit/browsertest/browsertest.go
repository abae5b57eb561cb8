// Package browsertest gives a test a real Chromium: one browser per test binary
// and a browser context for each tab. A tab must end with nothing on its console
// but what the browser itself reports of an honest refusal.
//
// Open prefers Chromium's headless shell, which is the same engine without the
// browser around it and takes half of the processor time. OpenWindow opens a tab
// of the whole browser, which has windows and notifications.
package browsertest

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

	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/chromedp/chromedp"
)

// browser is a running browser.
type browser struct {
	ctx  context.Context //nolint:containedctx // the browser's own
	stop func()
}

var running struct {
	sync.Mutex
	browsers map[string]browser // by path
}

// Main runs the tests of a package and closes the browsers afterwards.
func Main(m *testing.M) int {
	code := m.Run()
	running.Lock()
	defer running.Unlock()
	for _, b := range running.browsers {
		b.stop()
	}
	return code
}

var (
	whole = []string{"chromium", "chromium-browser", "google-chrome"}
	shell = []string{"chromium-headless-shell"}
)

// path returns the path of the first of these browsers that is installed, or an
// empty string. ASKBUS_CHROME names another one.
func path(names ...string) string {
	for _, name := range append([]string{os.Getenv("ASKBUS_CHROME")}, names...) {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	return ""
}

func start(t testing.TB, path string) context.Context {
	t.Helper()
	running.Lock()
	defer running.Unlock()
	if b, ok := running.browsers[path]; ok {
		return b.ctx
	}
	dir, err := os.MkdirTemp("", "askbus-chrome") //nolint:usetesting // it outlives the test
	if err != nil {
		t.Fatal(err)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append( //nolint:usetesting // it outlives the test
		slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.UserDataDir(dir))...)
	ctx, cancel := chromedp.NewContext(alloc)
	b := browser{ctx, func() { cancel(); stop(); _ = os.RemoveAll(dir) }}
	if err := chromedp.Do(ctx); err != nil {
		b.stop()
		t.Fatalf("start the browser: %v", err)
	}
	if running.browsers == nil {
		running.browsers = map[string]browser{}
	}
	running.browsers[path] = b
	return ctx
}

// Tab is one person's browser: cookies and storage are its own.
type Tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // as long as the test
}

var honest = regexp.MustCompile(`Failed to load resource: the server responded with a status of (4\d\d|503)|net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|BLOCKED_BY_CLIENT)`)

// Open opens a tab. Without a browser the test is skipped, in CI it fails.
func Open(t testing.TB) *Tab {
	t.Helper()
	return open(t, path(slices.Concat(shell, whole)...))
}

// OpenWindow is Open in a browser with windows and notifications.
func OpenWindow(t testing.TB) *Tab {
	t.Helper()
	return open(t, path(whole...))
}

func open(t testing.TB, path string) *Tab {
	t.Helper()
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no browser; CI must have one")
		}
		t.Skip("no browser; set ASKBUS_CHROME")
	}
	ctx, cancel := chromedp.NewContext(start(t, path), chromedp.WithNewBrowserContext())
	ctx, stop := context.WithTimeout(ctx, 2*waittest.Limit)
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
			if !honest.MatchString(line) {
				t.Errorf("console: %s", line)
			}
		}
	})
	return &Tab{t, ctx}
}

// Context is the tab's, for chromedp's own functions.
func (b *Tab) Context() context.Context { return b.ctx }

// Do carries out steps.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Wait waits until a script says true, also over the change to another page,
// which ends the script that looks.
func (b *Tab) Wait(script string) {
	b.t.Helper()
	var err error
	for range 5 {
		_, err = chromedp.Run(b.ctx, chromedp.Poll[bool](script, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(waittest.Limit)))
		if err == nil {
			return
		}
		if errors.Is(err, chromedp.ErrPollingTimeout) {
			break
		}
	}
	b.t.Fatalf("waiting for %s: %v; the page says:\n%s", script, err, b.Text())
}

// Text is what the page says.
func (b *Tab) Text() string {
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	return text
}

// Shot takes a picture of the whole page.
func (b *Tab) Shot(path string) {
	b.t.Helper()
	image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(path, image, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
