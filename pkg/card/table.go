package card

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// tableRule is the line below the head of a Markdown table.
//
//nolint:gochecknoglobals // compiled once, never changed
var tableRule = compiled(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$|^ {0,3}\|[ \t]*:?-+:?[ \t]*\|[ \t]*$`)

// Bounds of a table that is drawn.
const (
	maxTableRows    = 200
	maxTableColumns = 30
)

// Tables draws the tables of a Markdown text with columns that align, each in a fence, for surfaces with monospaced
// text. All else stays as it is.
func Tables(markdown string) string {
	if !strings.Contains(markdown, "|") {
		return markdown
	}
	var out []string
	lines, fence := strings.Split(markdown, "\n"), ""
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		switch mark := fenceMark().FindStringSubmatch(l); {
		case fence != "":
			if mark != nil && strings.HasPrefix(mark[1], fence) && strings.Trim(l, " `~") == "" {
				fence = ""
			}
		case mark != nil:
			fence = mark[1]
		case i+1 < len(lines) && strings.Contains(l, "|") && tableRule().MatchString(lines[i+1]) && len(cells(l)) == len(cells(lines[i+1])) && len(cells(l)) <= maxTableColumns:
			end := i + 2 // a row with more cells than the head is none: nothing is lost
			for end < len(lines) && end-i < maxTableRows && strings.Contains(lines[end], "|") && len(cells(lines[end])) <= len(cells(l)) {
				end++
			}
			drawn := table(lines[i:end])
			mark := fenceFor(drawn)
			out = append(out, mark, drawn, mark)
			i = end - 1
			continue
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

// Ragged reports whether a row of the table in a paragraph has more cells than its head: renderers of Markdown leave them out.
func Ragged(paragraph []string) bool {
	rule := slices.IndexFunc(paragraph, func(l string) bool {
		return strings.Contains(l, "|") && strings.Contains(l, "-") && strings.Trim(l, "|-: \t\n") == ""
	})
	return rule > 0 && slices.ContainsFunc(paragraph[rule+1:], func(l string) bool { return len(cells(l)) > len(cells(paragraph[rule])) })
}

// table draws the lines of a table: its head, the rule, and its rows.
func table(lines []string) string {
	head, rule := cells(lines[0]), cells(lines[1])
	rows := [][]string{head}
	for _, l := range lines[2:] {
		rows = append(rows, cells(l))
	}
	widths := make([]int, len(head))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = InlinePlain(cell)
			widths[i] = max(widths[i], displaywidth.String(row[i]))
		}
	}
	var out []string
	for n, row := range rows {
		parts := make([]string, len(head))
		for i := range parts {
			cell := ""
			if i < len(row) {
				cell = row[i]
			}
			gap := widths[i] - displaywidth.String(cell)
			left := 0
			switch right, start := strings.HasSuffix(rule[i], ":"), strings.HasPrefix(rule[i], ":"); {
			case right && start:
				left = gap / 2
			case right:
				left = gap
			}
			parts[i] = strings.Repeat(" ", left) + cell + strings.Repeat(" ", gap-left)
		}
		out = append(out, strings.TrimRight(strings.Join(parts, " │ "), " "))
		if n == 0 {
			for i := range parts {
				parts[i] = strings.Repeat("─", widths[i])
			}
			out = append(out, strings.Join(parts, "─┼─"))
		}
	}
	return strings.Join(out, "\n")
}

// cells splits a line of a table at its bars, except those that are escaped.
func cells(l string) []string {
	l = strings.TrimSpace(l)
	l = strings.TrimPrefix(l, "|")
	if strings.HasSuffix(l, "|") && !strings.HasSuffix(l, `\|`) {
		l = l[:len(l)-1]
	}
	const escaped = "\ue001"
	all := strings.Split(strings.ReplaceAll(l, `\|`, escaped), "|")
	for i := range all {
		all[i] = strings.TrimSpace(strings.ReplaceAll(all[i], escaped, "|"))
	}
	return all
}
