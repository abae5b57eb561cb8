package chat_test

import (
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/google/go-cmp/cmp"
)

// What an agent writes is prose and code, in order, also where a fence is at an end, or never ends.
func TestProseAndCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		kind card.PreviewKind
		most int
		want []chat.Part
		cut  bool
	}{
		"a fence between prose":      {"**One** of [two](https://docs.example/a):\n```sql\nSELECT 1;\n\n  SELECT **2**;\n```\n\nTwo.", card.Prose, 100, []chat.Part{{"One of two (docs.example):", false}, {"SELECT 1;\n\n  SELECT **2**;", true}, {"Two.", false}}, false},
		"headings":                   {"# One\n\nText #1\n## Two\n```\n# three\n```", card.Prose, 100, []chat.Part{{"One\n\nText #1\nTwo", false}, {"# three", true}}, false},
		"a fence alone":              {"```\nmake test\n```", card.Prose, 100, []chat.Part{{"make test", true}}, false},
		"a fence that never ends":    {"Run\n```\nmake", card.Prose, 100, []chat.Part{{"Run", false}, {"make", true}}, false},
		"a fence in a longer fence":  {"````sh\necho `x`\n```a\n```; # **two**\n````", card.Prose, 100, []chat.Part{{"echo `x`\n```a\n```; # **two**", true}}, false},
		"prose that is cut":          {"abcdef", card.Prose, 4, []chat.Part{{"abc…", false}}, true},
		"a layout keeps every space": {"+--+\n|  |\n+--+", card.Layout, 100, []chat.Part{{"+--+\n|  |\n+--+", true}}, false},
	} {
		parts, cut := chat.Parts(&card.Preview{Body: c.body, Kind: c.kind}, c.most, func(s string, most int) string {
			if len(s) > most {
				return s[:most-1] + "…"
			}
			return ask.Clip(s, most)
		})
		if diff := cmp.Diff(c.want, parts); diff != "" || cut != c.cut {
			t.Errorf("%s: cut %v\n%s", name, cut, diff)
		}
	}
}
