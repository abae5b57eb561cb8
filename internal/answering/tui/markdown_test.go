package tui_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/charmbracelet/x/ansi"
)

const plan = `# The plan

Move **the ledger** to ` + "`pg`" + `, as [the runbook](https://runbook.example/pg) says, which is longer than one line of the preview is.

## Steps

1. stop the writers, all of them, and wait until the last one has ended its work
2. copy
   - nightly
10. start

> mind the disk

` + "```sql\nSELECT  a,   b\n  FROM  t;\n```" + `

┌────┬────┐
│ a  │  b │
└────┴────┘

---
done`

func planned(body string) ask.Ask {
	return ask.Ask{Questions: []ask.Question{{ID: "p", Text: "Which plan?", Options: []ask.Option{
		{ID: "one", Label: "One", Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: body}},
		{ID: "two", Label: "Two", Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: "none"}},
	}}}}
}

func TestMarkdownPreviewsAreDrawn(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 20}} {
		s, _ := start(t, size[0], size[1], nil, planned(plan))
		s.keys("enter p")
		s.has("The plan", "Move the ledger to pg, as the runbook", "(runbook.example)", "1. stop the writers")
		s.hasNot("# The plan", "**", "```")
		s.keys("G")
		s.has("   • nightly", "10. start", "┃ mind the disk", "│ SELECT  a,   b", "│   FROM  t;", "│ │ a  │  b │", "────────", "done")
		for line := range strings.Lines(s.text()) {
			if got := ansi.StringWidth(strings.TrimSuffix(line, "\n")); got > size[0] {
				t.Errorf("%d cells of %d: %q", got, size[0], line)
			}
		}
		s.keys("w g")
		s.has("# The plan", "**the ledger**") // the source
	}
}

// What is beside the language of a fence is a line of it: nothing is lost.
func TestWordsBesideAFenceAreShown(t *testing.T) {
	t.Parallel()
	s, _ := start(t, 80, 24, nil, planned("Runs\n\n```rm -rf /```\n\nand ls"))
	s.keys("enter p").has("│ rm -rf /```", "and ls")
}

// What somebody permits is shown to its end, in a terminal of any width: a command that is longer than a line of the card, and
// a change.
func TestNothingOfACommandOrAChangeIsCutOff(t *testing.T) {
	t.Parallel()
	command := "curl -fsSL https://get.example/install.sh | tee /tmp/install.log " + strings.Repeat("--flag=value ", 20) + "&& rm -rf /var/lib/ledger"
	change := "@@ -1,1 +1,1 @@\n-" + strings.Repeat("old ", 60) + "\n+" + strings.Repeat("new ", 60) + "the end"
	yes := []ask.Option{{ID: "y", Label: "Allow"}, {ID: "n", Label: "Deny"}}
	for name, a := range map[string]ask.Ask{
		"a command in a fence":        {Context: "```sh\n" + command + "\n```", Questions: []ask.Question{{ID: "q", Text: "Allow?", Options: yes}}},
		"one that looks like a table": {Context: strings.ReplaceAll(command, " --", "   --"), Questions: []ask.Question{{ID: "q", Text: "Allow?", Options: yes}}},
		"a change beside an option":   {Questions: []ask.Question{{ID: "q", Text: "Allow?", Options: []ask.Option{{ID: "y", Label: "Allow", Preview: &ask.Preview{Body: change}}, {ID: "n", Label: "Deny"}}}}},
		"a change in Markdown":        {Questions: []ask.Question{{ID: "q", Text: "Allow?", Options: []ask.Option{{ID: "y", Label: "Allow", Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: "```diff\n" + change + "\n```"}}, {ID: "n", Label: "Deny"}}}}},
	} {
		for _, width := range []int{40, 80, 120, 200} {
			s, _ := start(t, width, 60, nil, a)
			s.keys("enter")
			if a.Context != "" && !strings.Contains(s.text(), "curl") {
				s.keys("c")
			}
			shown := strings.NewReplacer("\n", "", " ", "", "│", "", "↪", "", "┃", "").Replace(strings.Join(cardOf(plain(s.text()), width), ""))
			want := command
			if a.Context == "" {
				want = change[strings.Index(change, "+new"):]
			}
			if !strings.Contains(shown, strings.ReplaceAll(want, " ", "")) {
				t.Errorf("%s, %d columns: it is cut off:\n%s", name, width, s.text())
			}
		}
	}
}

// cardOf returns the lines of the card, without the list that a wide screen has on its left.
func cardOf(text string, width int) []string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if _, right, wide := strings.Cut(l, " │ "); wide && width >= 100 {
			lines[i] = right
		}
	}
	return lines
}

func TestListsHangBehindTheirMarks(t *testing.T) {
	t.Parallel()
	s, _ := start(t, 60, 20, nil, planned("- one two three four five six seven eight nine ten eleven twelve thirteen\n\n日本語の見出しはここで折り返されることになりますので幅を数える必要があります\n\n## שלום עולם"))
	s.keys("enter p")
	s.has("• one two", "\n  twelve thirteen", "## שלום עולם"[3:])
	for line := range strings.Lines(s.text()) {
		if got := ansi.StringWidth(strings.TrimSuffix(line, "\n")); got > 60 {
			t.Errorf("%d cells: %q", got, line)
		}
	}
}

// Each line ends its own styles, because another pane follows on the same line.
func TestStylesEndWithTheirLine(t *testing.T) {
	t.Parallel()
	s, _ := start(t, 120, 40, nil, planned("**"+strings.Repeat("bold ", 60)+"**\n\n`"+strings.Repeat("code ", 60)+"`"))
	s.keys("enter")
	for line := range strings.Lines(s.text()) {
		if at := strings.LastIndex(line, "\x1b["); at >= 0 && !strings.HasPrefix(line[at:], "\x1b[m") && !strings.HasPrefix(line[at:], "\x1b[0m") {
			t.Errorf("a style goes on behind %q", line)
		}
	}
}

// A chip before a question shortens its first line, but no word is lost.
func TestALongQuestionBehindItsChipIsWhole(t *testing.T) {
	t.Parallel()
	words := "Which of the **two** databases that the platform team has in use should keep the ledger of `billing`, given that it must be there at night, too?"
	cjk := "应该使用哪个数据库来保存账本？这是一个很长的问题，用来检查换行是否正确，以及宽度是否按两个单元格计算，直到最后一个字。"
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 20}} {
		for text, want := range map[string]string{words: strings.NewReplacer("**", "", "`", "").Replace(words), cjk: cjk} {
			s, _ := start(t, size[0], size[1], nil, ask.Ask{Questions: []ask.Question{{ID: "q", Header: "数据库 Storage", Text: text, Kind: ask.KindText}}})
			s.keys("enter")
			shown := plain(s.text())
			if size[0] >= 100 {
				lines := strings.Split(shown, "\n")
				for i, l := range lines {
					_, lines[i], _ = strings.Cut(l, "│")
				}
				shown = strings.Join(lines, "\n")
			}
			flat := func(s string) string { return strings.Join(strings.Fields(s), "") }
			if !strings.Contains(flat(shown), flat(want)) {
				t.Errorf("%v: the question is not whole:\n%s", size, shown)
			}
		}
	}
}

// Marks follow a question and an option, or are below if there is no room.
func TestMarksAreNotCutOff(t *testing.T) {
	t.Parallel()
	for width := 60; width < 84; width++ {
		s, _ := start(t, width, 24, nil, ask.Ask{Questions: []ask.Question{
			{ID: "a", Text: "Which language should the service of billing be written in?", Options: []ask.Option{{ID: "go", Label: "Go, which the team knows and runs in the other services", Recommended: true}, {ID: "rust", Label: "Rust"}}},
			{ID: "b", Text: "Why?", Kind: ask.KindText, Optional: true},
		}})
		s.keys("enter")
		s.has("recommended")
		for line := range strings.Lines(s.text()) {
			if got := ansi.StringWidth(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("%d cells of %d: %q", got, width, line)
			}
		}
	}
}

// A link always shows its host, because its text may be another address.
func TestALinkSaysWhereItLeads(t *testing.T) {
	t.Parallel()
	const link = "[https://github.com/acme](https://evil.example/x)"
	a := planned("see " + link)
	a.Title, a.Questions[0].Text, a.Questions[0].Options[0].Label, a.Questions[0].Options[0].Description = "T "+link, "Q "+link+"?", "L "+link, "D "+link
	s, _ := start(t, 120, 40, nil, a)
	s.keys("enter")
	s.has("Q https://github.com/acme (evil.example)?", "L https://github.com/acme", "D https://github.com/acme", "see https://github.com/acme (evil.example)")
	if n := strings.Count(s.text(), "(evil.example)"); n != 5 { // of the question, the label, the description, the preview and its caption
		t.Errorf("%d of five links say where they lead:\n%s", n, s.text())
	}
}
