package web

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/pkg/ask"
)

// bombs returns texts that took seconds to minutes to render without limits.
func bombs() map[string]string {
	rows := "|" + strings.Repeat("a|", 5000) + "\n|" + strings.Repeat("-|", 5000) + "\n" + strings.Repeat("|\n", 15_000)
	return map[string]string{
		"emphasis":       strings.Repeat("*a_ ", 16_000),
		"quotes":         strings.Repeat(">", 65_000),
		"quotes, spaced": strings.Repeat("> ", 32_000),
		"quotes line by line": func() string {
			var b strings.Builder
			for i := range 350 {
				b.WriteString(strings.Repeat(">", i) + "\n")
			}
			return b.String()
		}(),
		"lists":              strings.Repeat("- ", 32_000) + "a",
		"ordered lists":      strings.Repeat("1. ", 21_000),
		"brackets":           strings.Repeat("[", 65_000),
		"bracket pairs":      strings.Repeat("[a](", 16_000),
		"images":             strings.Repeat("![", 32_000),
		"strikes":            strings.Repeat("~~a ~", 12_000),
		"a table":            rows,
		"a long reference":   "[a]: https://e.example/" + strings.Repeat("x", 30_000) + "\n\n" + strings.Repeat("[a] ", 8_000),
		"a bomb in a quote":  "> ```\n" + strings.Repeat("*a_ ", 16_000),
		"a bomb behind HTML": "<pre>\n```\n</pre>\n```\n\n" + strings.Repeat("*a_ ", 16_000),
	}
}

// codeBombs returns valid Markdown with code on which lexers took minutes.
func codeBombs() map[string]string {
	fence := func(language, code string) string { return "```" + language + "\n" + code + "\n```\n" }
	return map[string]string{
		"perl":        fence("perl", strings.Repeat("s{{{", 15_000)),
		"less perl":   fence("perl", strings.Repeat("s{{{", 3_000)),
		"much code":   fence("go", strings.Repeat("func f() {}\n", 5_000)),
		"many blocks": strings.Repeat(fence("perl", strings.Repeat("s{{{", 200)), 60),
	}
}

func TestWhatCostsTooMuchIsShownAsItIs(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := m.render(t.Context(), text); !errors.Is(err, errHeavy) {
				t.Fatalf("it is rendered: %v", err)
			}
			if got := string(m.html(t.Context(), text)); !strings.HasPrefix(got, "<pre>") || !strings.Contains(got, template.HTMLEscapeString(ask.Clip(text, 100)[:50])) {
				t.Errorf("it is shown as %q", ask.Clip(got, 200))
			}
		})
	}
	for name, text := range codeBombs() {
		t.Run("code: "+name, func(t *testing.T) {
			t.Parallel()
			got, err := m.render(t.Context(), text)
			if err != nil || strings.Contains(string(got), `class="chroma"`) || !strings.Contains(string(got), `<pre tabindex="0"><code`) {
				t.Errorf("%v: %q", err, ask.Clip(string(got), 200))
			}
		})
	}
}

func TestOrdinaryMarkdownIsRendered(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	for name, text := range map[string]string{
		"a long text":      strings.Repeat("A **bold** word, `code` and [a link](https://example.com).\n\n", 150),
		"a big table":      "|a|b|c|\n|-|-|-|\n" + strings.Repeat("|1|2|3|\n", 2000),
		"a deep list":      "- a\n  - b\n    - c\n      - d\n        - e\n",
		"quotes in quotes": ">>>>> deep",
		"plenty of code":   "```go\n" + strings.Repeat("func f() { _ = []int{1, 2} }\n", 400) + "```\n",
		"prose":            strings.Repeat("Nothing but words, line after line; it's 64 KiB of them.\n", 1100),
	} {
		if got, err := m.render(t.Context(), text); err != nil || strings.HasPrefix(string(got), "<pre>A") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := string(m.html(t.Context(), "```go\nfunc f() {}\n```")); !strings.Contains(got, `class="chroma"`) {
		t.Errorf("code without colours: %s", got)
	}
}

func TestRenderingEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := string(m.html(ctx, "**bold**")); !strings.HasPrefix(got, "<pre>") {
		t.Errorf("rendered for nobody: %s", got)
	}
	if _, err := m.render(ctx, strings.Repeat("*a* ", 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("the rendering continued: %v", err)
	}
	if got := string(m.html(t.Context(), "**bold**")); !strings.Contains(got, "<strong>") {
		t.Errorf("an aborted rendering is cached: %s", got)
	}
}

func TestATextIsRenderedOnce(t *testing.T) {
	t.Parallel()
	c := newRendered(4)
	var renders atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			got, err := c.get(t.Context(), "text", func(context.Context) (template.HTML, error) {
				renders.Add(1)
				return "html", nil
			})
			if got != "html" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if renders.Load() != 1 {
		t.Errorf("rendered %d times", renders.Load())
	}
}

// TestRenderedTextsAreBounded is not parallel: it counts goroutines.
func TestRenderedTextsAreBounded(t *testing.T) {
	c, before := newRendered(4), runtime.NumGoroutine()
	big := template.HTML(strings.Repeat("x", 64<<10))
	for i := range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%5 == 0 {
			cancel() // some callers leave before it is done
		}
		_, _ = c.get(ctx, fmt.Sprint(i), func(ctx context.Context) (template.HTML, error) { return big, ctx.Err() })
		cancel()
	}
	if c.bytes > maxCached || len(c.held) != c.order.Len() || len(c.held) > maxCached/len(big) || len(c.slots) != 0 {
		t.Errorf("%d texts with %d bytes are kept, %d are being rendered", len(c.held), c.bytes, len(c.slots))
	}
	if now := runtime.NumGoroutine(); now > before+50 {
		t.Errorf("%d goroutines, %d before", now, before)
	}
}
