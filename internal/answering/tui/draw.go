package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// hit is what a click on a line does.
type hit struct {
	kind hitKind
	n    int
}

type hitKind int

const (
	hitNothing hitKind = iota
	hitOption          // n-th option
	hitStep            // n-th question
	hitRow             // row of the list
)

// sheet collects rendered lines.
type sheet struct {
	width int
	lines []string
	hits  []hit
	near  int // the line that must be visible; -1: none
	caret *point
}

type point struct{ x, y int }

func newSheet(width int) *sheet { return &sheet{width: max(10, width), near: -1} }

// add adds a text, wrapped at words, styled line by line and indented.
func (s *sheet) add(h hit, style func(...string) string, first, indent, text string) {
	for i, l := range wrapBehind(first, indent, text, s.width) {
		lead := indent
		if i == 0 {
			lead = first
		}
		s.put(h, lead+style(l))
	}
}

// wrapBehind wraps a text at words, with different leads for the first line and the others. Each
// line ends its own styles.
func wrapBehind(first, indent, text string, width int) []string {
	wrap := func(text, lead string) []string {
		return strings.Split(lipgloss.Wrap(text, max(8, width-ansi.StringWidth(lead)), ""), "\n")
	}
	if ansi.StringWidth(first) <= ansi.StringWidth(indent) {
		return wrap(text, indent)
	}
	para, more, several := strings.Cut(text, "\n")
	lines := wrap(para, first)
	if len(lines) > 1 { // the other lines have more room
		rest := ansi.Cut(para, ansi.StringWidth(lines[0]), ansi.StringWidth(para))
		for strings.HasPrefix(ansi.Strip(rest), " ") {
			rest = ansi.Cut(rest, 1, ansi.StringWidth(rest))
		}
		lines = append(lines[:1:1], wrap(rest, indent)...)
	}
	if several {
		lines = append(lines, wrap(more, indent)...)
	}
	return lines
}

const noBreak = "\u00a0"

// together keeps the parts of a card's head, such as "waiting 27 min", from being broken, and no line begins with the dot
// between two of them. A long part is broken at its words.
func together(head string) string {
	parts := strings.Split(head, " · ")
	for i, part := range parts {
		if ansi.StringWidth(part) <= 24 {
			parts[i] = strings.ReplaceAll(part, " ", noBreak)
		}
	}
	return strings.Join(parts, noBreak+"· ")
}

// put adds a line as is.
func (s *sheet) put(h hit, line string) {
	s.lines = append(s.lines, ansi.Truncate(line, s.width, "…"))
	s.hits = append(s.hits, h)
}

// more appends to the last line, or adds a line if it does not fit.
func (s *sheet) more(style func(...string) string, indent, text string) {
	last := len(s.lines) - 1
	if ansi.StringWidth(s.lines[last])+ansi.StringWidth(text) <= s.width {
		s.lines[last] += style(text)
		return
	}
	s.add(s.hits[last], style, indent, indent, strings.TrimLeft(text, " "))
}

func (s *sheet) blank() {
	if n := len(s.lines); n > 0 && s.lines[n-1] != "" {
		s.put(hit{}, "")
	}
}

// edit renders a text field after a lead, with the caret if it is active.
func (s *sheet) edit(h hit, lead string, e *editor, active bool) {
	indent := strings.Repeat(" ", ansi.StringWidth(lead))
	room := max(4, s.width-len(indent)-1)
	line, width := "", 0
	first := true
	flush := func() {
		at := indent
		if first {
			at = lead
		}
		s.put(h, at+line)
		line, width, first = "", 0, false
	}
	for i := 0; ; i++ {
		if active && i == e.caret {
			s.caret = &point{len(indent) + width, len(s.lines)}
			s.near = len(s.lines)
		}
		if i == len(e.text) {
			break
		}
		r := string(e.text[i])
		cells := ansi.StringWidth(r)
		if r == "\n" || width+cells > room {
			flush()
			if active && i == e.caret {
				s.caret = &point{len(indent), len(s.lines)}
				s.near = len(s.lines)
			}
		}
		if r != "\n" {
			line, width = line+r, width+cells
		} else if active && i == e.caret { // the caret is before the break
			s.caret = &point{ansi.StringWidth(s.lines[len(s.lines)-1]), len(s.lines) - 1}
			s.near = len(s.lines) - 1
		}
	}
	flush()
}

// beside puts another sheet to the right of the lines starting at from, after a rule.
func (s *sheet) beside(from int, right []string, at, width int) {
	for len(s.lines)-from < len(right) {
		s.put(hit{}, "")
	}
	for i, r := range right {
		left := ansi.Truncate(s.lines[from+i], at-3, "…")
		s.lines[from+i] = left + strings.Repeat(" ", max(0, at-2-ansi.StringWidth(left))) + "│ " + ansi.Truncate(r, width, "…")
	}
}

// body returns the lines of a preview.
func body(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\t", "    "), "\n")
}

// padded pads or truncates a line to exactly the given width.
func padded(line string, width int) string {
	line = ansi.Truncate(line, width, "…")
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}
