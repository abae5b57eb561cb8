package tui

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/askbus/askbus/pkg/card"
	"github.com/charmbracelet/x/ansi"
)

// The supported Markdown of prose previews. All other text is literal, and so are fences, into which package card has put
// layouts.
var (
	mdHeading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	mdItem    = regexp.MustCompile(`^([ \t]*)([-*+]|[0-9]{1,9}[.)])[ \t]+(.*)$`)
	mdQuote   = regexp.MustCompile(`^ {0,3}>[ ]?(.*)$`)
	mdRule    = regexp.MustCompile(`^ {0,3}([-*_])([ \t]*([-*_])){2,}[ \t]*$`)
)

// markdown renders Markdown: prose and code, with an empty line between the two.
func (m *model) markdown(text string, width int) (out []string) {
	for i, piece := range card.Pieces(card.Tables(text)) {
		if i > 0 {
			out = append(out, "")
		}
		if lines := body(piece.Text); piece.Code {
			out = append(out, m.literal(lines, "│ ", "│↪", width)...)
		} else {
			out = append(out, m.prose(lines, width)...)
		}
	}
	return out
}

// prose renders styled headings, hanging lists and paragraphs.
func (m *model) prose(lines []string, width int) (out []string) {
	hang := 0 // indent of the current list item
	for _, l := range lines {
		switch heading, item, quote := mdHeading.FindStringSubmatch(l), mdItem.FindStringSubmatch(l), mdQuote.FindStringSubmatch(l); {
		case strings.TrimSpace(l) == "":
			out = append(out, "")
		case heading != nil:
			hang = 0
			style := m.styles.title
			if len(heading[1]) == 1 {
				style = m.styles.accent
			}
			out = append(out, wrapped("", "", style.Render(card.InlinePlain(heading[2])), width)...)
		case mdRule.MatchString(l):
			hang = 0
			out = append(out, m.styles.dim.Render(strings.Repeat("─", min(width, 40))))
		case item != nil:
			lead := item[1] + "• "
			if len(item[2]) > 1 {
				lead = item[1] + item[2] + " "
			}
			hang = ansi.StringWidth(lead)
			out = append(out, wrapped(lead, strings.Repeat(" ", hang), m.inline(item[3]), width)...)
		case quote != nil:
			hang = 0
			bar := m.styles.dim.Render("┃ ")
			out = append(out, wrapped(bar, bar, m.inline(quote[1]), width)...)
		default:
			in := len(l) - len(strings.TrimLeft(l, " "))
			if in == 0 { // a paragraph keeps its line breaks
				hang = 0
			}
			lead := strings.Repeat(" ", max(in, hang))
			out = append(out, wrapped(lead, lead, m.inline(l[in:]), width)...)
		}
	}
	return out
}

// literal renders lines as they are. The rest of one that is too long goes on below, marked: it may be the end of a command
// that somebody permits.
func (m *model) literal(lines []string, lead, further string, width int) []string {
	var out []string
	lead, further = m.styles.dim.Render(lead), m.styles.dim.Render(further)
	room := max(8, width-max(ansi.StringWidth(lead), ansi.StringWidth(further)))
	style := m.coloring(lines)
	for _, l := range lines {
		for i, part := range strings.Split(ansi.Hardwrap(l, room, true), "\n") {
			at := lead
			if i > 0 {
				at = further
			}
			out = append(out, at+style(l, part))
		}
	}
	return out
}

// inline renders code, bold and links of a line.
func (m *model) inline(text string) string { return m.inlineIn(lipgloss.NewStyle(), text) }

// inlineIn is inline on top of a style.
func (m *model) inlineIn(style lipgloss.Style, text string) string {
	var b strings.Builder
	for _, sp := range card.Inline(text) {
		switch {
		case sp.Code:
			b.WriteString(m.styles.chip.Render(sp.Text))
		case sp.Bold:
			b.WriteString(style.Bold(true).Render(sp.Text))
		default:
			b.WriteString(style.Render(sp.Text))
		}
		if sp.Host != "" {
			b.WriteString(m.styles.dim.Render(" (" + sp.Host + ")"))
		}
	}
	return b.String()
}

// wrapped wraps a line after its lead.
func wrapped(lead, indent, text string, width int) []string {
	lines := wrapBehind(lead, indent, text, width)
	for i := range lines {
		if i == 0 {
			lines[i] = lead + lines[i]
		} else {
			lines[i] = indent + lines[i]
		}
	}
	return lines
}

// preview renders a preview: Markdown formatted, a layout as is or, if nothing may be cut off, with its long lines broken.
func (m *model) preview(p *card.Preview, width int, whole bool) []string {
	switch {
	case p.Kind == card.Prose && whole:
		return m.markdown(p.Body, width)
	case whole:
		return m.literal(body(p.Body), "", "↪", width)
	}
	lines := body(p.Body)
	style := m.coloring(lines)
	for i, l := range lines {
		lines[i] = style(l, l)
	}
	return lines
}
