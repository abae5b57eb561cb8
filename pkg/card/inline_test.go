package card_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/card"
	"github.com/google/go-cmp/cmp"
)

func TestInlineMarkdown(t *testing.T) {
	t.Parallel()
	type s = card.Span
	for text, want := range map[string][]s{
		"plain":                                {{Text: "plain"}},
		"run `go test ./...` now":              {{Text: "run "}, {Text: "go test ./...", Code: true}, {Text: " now"}},
		"` `":                                  {{Text: "` `"}}, // else nothing is left of a label, which platforms refuse
		"``a ` b``":                            {{Text: "a ` b", Code: true}},
		"a **bold** word":                      {{Text: "a "}, {Text: "bold", Bold: true}, {Text: " word"}},
		"**bold `code`**":                      {{Text: "bold ", Bold: true}, {Text: "code", Code: true, Bold: true}},
		"2 ** 3 ** 4":                          {{Text: "2 ** 3 ** 4"}},
		"an *emphasis* stays":                  {{Text: "an *emphasis* stays"}},
		"snake_case_and a[0]":                  {{Text: "snake_case_and a[0]"}},
		"not `closed":                          {{Text: "not `closed"}},
		"not `closed\non` this line":           {{Text: "not `closed\non` this line"}},
		"[the run](https://ci.example.com/7)":  {{Text: "the run", Link: "https://ci.example.com/7", Host: "ci.example.com"}},
		"[https://a.example](https://b.test/)": {{Text: "https://a.example", Link: "https://b.test/", Host: "b.test"}},
		"[x](javascript:alert(1))":             {{Text: "[x](javascript:alert(1))"}},
		"[x](/logout)":                         {{Text: "[x](/logout)"}},
		"[](https://a.example/)!":              {{Text: "a.example", Link: "https://a.example/"}, {Text: "!"}},
		"see https://a.example/x, please":      {{Text: "see "}, {Text: "https://a.example/x", Link: "https://a.example/x"}, {Text: ", please"}},
		"xhttps://a.example":                   {{Text: "xhttps://a.example"}},
		"<b>html</b>":                          {{Text: "<b>html</b>"}},
		"`<script>`":                           {{Text: "<script>", Code: true}},
		"":                                     nil,
	} {
		if diff := cmp.Diff(want, card.Inline(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := card.InlinePlain("Use `a`, **b** or [c](https://d.example/e)?"); got != "Use a, b or c (d.example)?" {
		t.Errorf("plain %q", got)
	}
}

func FuzzInline(f *testing.F) {
	for _, seed := range []string{"a `b` **c** [d](https://e.example) https://f.example", "****`", "**a `b** c`", "[[](", "hhh", "```a``b```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		for _, sp := range card.Inline(text) {
			if sp.Text == "" {
				t.Fatalf("an empty span in %q", text)
			}
			b.WriteString(sp.Text)
		}
		if len(b.String()) > len(text) {
			t.Fatalf("%q has become longer: %q", text, b.String())
		}
	})
}

// TestInlineIsLinear reads texts that make careless readers of Markdown slow.
func TestInlineIsLinear(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"`", "``a", "**a", "[", "[](", "[a](https://", "h", "https://", "*`["} {
		text := strings.Repeat(part, 10_000/len(part))
		if got := card.Inline(text); len(got) == 0 {
			t.Errorf("%q is gone", part)
		}
	}
}
