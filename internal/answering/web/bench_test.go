package web

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkMarkdown renders a typical question body.
func BenchmarkMarkdown(b *testing.B) {
	const text = "## What I found\n\nThe *ledger* needs a store. I have read both drivers; see [the notes](https://example.com/notes).\n\n" +
		"| driver | fits |\n|---|---|\n| pgx | yes |\n| sqlite | yes |\n\n```go\nfunc main() {\n\tfmt.Println(\"ledger\")\n}\n```\n\n- [x] read\n- [ ] decided\n"
	m := newMarkdown()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if m.html(b.Context(), text) == "" {
			b.Fatal("nothing was rendered")
		}
	}
}

// BenchmarkMarkdownBombs compares expensive input with prose of the same size
// in the same run. "x-prose" is the ratio of their times.
func BenchmarkMarkdownBombs(b *testing.B) {
	texts := bombs()
	for name, text := range codeBombs() {
		texts["code: "+name] = text
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			prose := strings.Repeat("Nothing but words, line after line.\n\n", len(text)/37+1)[:len(text)]
			var heavy, light time.Duration
			for b.Loop() {
				m, began := newMarkdown(), time.Now() // no cache
				m.html(b.Context(), text)
				heavy += time.Since(began)
				m, began = newMarkdown(), time.Now()
				m.html(b.Context(), prose)
				light += time.Since(began)
			}
			b.ReportMetric(float64(heavy)/float64(light), "x-prose")
		})
	}
}
