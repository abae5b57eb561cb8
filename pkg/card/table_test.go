package card_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/card"
)

func TestTablesAlign(t *testing.T) {
	t.Parallel()
	const in = "Before.\n\n| store | rows | note |\n|:--|--:|:-:|\n| `pg` | 12 | a \\| b |\n| 数据库 | 1000000 |\n\nAfter | this.\n```\n| not | one |\n|--|--|\n```\n| alone |\n|-------|\n| x |"
	const want = "Before.\n\n```\nstore  │    rows │ note\n───────┼─────────┼──────\npg     │      12 │ a | b\n数据库 │ 1000000 │\n```\n\nAfter | this.\n```\n| not | one |\n|--|--|\n```\n```\nalone\n─────\nx\n```"
	got := card.Tables(in)
	if got != strings.ReplaceAll(want, "note\n───────┼─────────┼──────", "note\n───────┼─────────┼──────") {
		t.Errorf("drawn as\n%s", got)
	}
	if got, want := card.Tables("|a|b|\n|-|-|\n|c|\n|d|e|f|\n|g|h|"), "```\na │ b\n──┼──\nc │\n```\n|d|e|f|\n|g|h|"; got != want {
		t.Errorf("a row with more cells than the head is drawn as\n%s", got)
	}
	if wide := strings.Repeat("|a", 31) + "\n" + strings.Repeat("|-", 31); card.Tables(wide) != wide {
		t.Error("columns of a wide table are lost")
	}
	for _, text := range []string{"a | b\nc | d", "- | -\n", "|", "|\n|-|", strings.Repeat("|a", 100) + "\n" + strings.Repeat("|-", 100)} {
		_ = card.Tables(text) // nothing odd breaks it
	}
}

func TestMiddleKeepsStartAndEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("first ", 30) + strings.Repeat("x", 500) + " rm -rf /"
	if got := card.Middle(long, 120); len([]rune(got)) > 120 || !strings.HasPrefix(got, "first first") || !strings.HasSuffix(got, " rm -rf /") || !strings.Contains(got, "…") {
		t.Errorf("cut to %q", got)
	}
	if got := card.Middle("short", 120); got != "short" {
		t.Errorf("cut to %q", got)
	}
}
