package card_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/card"
)

func TestLayoutKeepsEverySpace(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"boxes of ASCII":     "+--------+    +----+\n| ledger |--->| S3 |\n+--------+    +----+",
		"box drawing":        "┌─┐\n│a│\n└─┘",
		"a tree":             "src/\n├ a.go\n└ b.go",
		"indented":           "src/\n  a.go\n  b.go",
		"code with tabs":     "func f() {\n\treturn 1\n}",
		"columns":            "name   size\na.go   12",
		"columns with a tab": "name\tsize",
		"one indented line":  "    rm -rf build",
		"empty lines inside": "+---+\n| a |\n+---+\n\n    |\n\n+---+\n| b |\n+---+",
		"a row of drawing":   "+-----+\n|login|\n+-----+",
		"blocks":             "▁▂▃▅▇",
	} {
		p := card.Markdown(body + "\n")
		if p.Kind != card.Layout || p.Body != body {
			t.Errorf("%s: %s %q", name, p.Kind, p.Body)
		}
	}
}

func TestProseStaysProse(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a sentence":       "One sentence. **Two** three.",
		"two spaces after": "One sentence.  Another one.\nA line  \nbreak.",
		"a list":           "- one\n  - nested\n  goes on\n\n  a paragraph of the list\n1.  two\n\nAfter it.",
		"a task list":      "- [ ] one\n-   [x] two",
		"a fence":          "```go\nfunc f() {\n\n\treturn   1\n}\n```",
		"a table":          "| name | size   |\n|------|--------|\n| a.go | 12     |",
		"a rule":           "Above\n\n---\n\nBelow\n=====",
		"a heading":        "## Plan\n\nFirst *this*.",
		"a quote":          "> as they said\n> twice",
		"emoji":            "Ship it 🚀 or wait ⏳ → later",
		"Chinese":          "账本服务应该使用哪个数据库？",
	} {
		if p := card.Markdown(body); p.Kind != card.Prose || p.Body != body {
			t.Errorf("%s: %s %q", name, p.Kind, p.Body)
		}
	}
}

func TestLayoutBetweenProseIsFenced(t *testing.T) {
	t.Parallel()
	p := card.Markdown("Here is how it looks:\n\n  a   b\n\n  1   2\n\nAnd ```` in\n\n┌─┐ ````\n\nThe end.")
	want := "Here is how it looks:\n\n```\n  a   b\n\n  1   2\n```\n\nAnd ```` in\n\n`````\n┌─┐ ````\n`````\n\nThe end."
	if p.Kind != card.Prose || p.Body != want {
		t.Errorf("%s\n%s", p.Kind, p.Body)
	}
}

// FuzzMarkdown checks that no word is lost.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"a\n\n  b   c\n\n```\nd", "~~~\n```\n~~~", "- a\n\n    b", "|a|\n|-|"} {
		f.Add(s)
	}
	words := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "")), " ") }
	f.Fuzz(func(t *testing.T, s string) {
		whole := card.Markdown(s)
		again := card.Markdown(whole.Body)
		if whole.Kind == card.Prose && words(again.Body) != words(whole.Body) {
			t.Errorf("%q becomes %q", whole.Body, again.Body)
		}
		if plain := strings.Map(func(r rune) rune {
			if r < 0x80 && r >= ' ' && r != '`' && r != ' ' {
				return r
			}
			return -1
		}, s); plain != strings.Map(func(r rune) rune {
			if r < 0x80 && r >= ' ' && r != '`' && r != ' ' {
				return r
			}
			return -1
		}, whole.Body) && !strings.ContainsFunc(s, func(r rune) bool { return r == 0x7f || r == '\x1b' }) {
			t.Errorf("%q becomes %q", s, whole.Body)
		}
	})
}
