package web

import "testing"

// BenchmarkMarkdown renders what an agent may write about its question.
func BenchmarkMarkdown(b *testing.B) {
	const text = "## What I found\n\nThe *ledger* needs a store. I have read both drivers; see [the notes](https://example.com/notes).\n\n" +
		"| driver | fits |\n|---|---|\n| pgx | yes |\n| sqlite | yes |\n\n```go\nfunc main() {\n\tfmt.Println(\"ledger\")\n}\n```\n\n- [x] read\n- [ ] decided\n"
	m := newMarkdown()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if m.html(text) == "" {
			b.Fatal("nothing was rendered")
		}
	}
}
