package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/charmbracelet/x/ansi"
)

// Minimum screen width for showing the list next to the card; the list's least width then, and the card's width from which
// the list takes the rest, up to two fifths of the screen.
const (
	wideFrom   = 100
	listLeast  = 36
	cardEnough = 108
)

func (m *model) wide() bool { return m.width >= wideFrom && !m.single() }

// listWidth returns the width of the list.
func (m *model) listWidth() int {
	if !m.wide() {
		return m.width
	}
	return max(listLeast, min(m.width*2/5, m.width-3-cardEnough))
}

// View renders the screen.
func (m *model) View() tea.View {
	lines, caret := m.screen()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen, v.ReportFocus, v.MouseMode = true, true, tea.MouseModeCellMotion
	v.WindowTitle = "askbus"
	if m.total > 0 {
		v.WindowTitle = fmt.Sprintf("(%d) askbus", m.total)
	}
	if caret != nil && caret.y < m.height {
		v.Cursor = tea.NewCursor(caret.x, caret.y)
	}
	return v
}

// screen returns the lines of the screen and the caret's position.
func (m *model) screen() (lines []string, caret *point) {
	if m.overlay.kind != overlayNone {
		return m.overlayView(), nil
	}
	height := max(1, m.height-3) // between head and foot
	lines = append(lines, m.head(), m.styles.dim.Render(strings.Repeat("─", m.width)))
	switch {
	case m.wide():
		list := m.listWidth()
		left := m.listPane(list, height)
		right, at := m.cardPane(m.width-list-3, height)
		for i := range height {
			lines = append(lines, padded(left[i], list)+m.styles.dim.Render(" │ ")+right[i])
		}
		if at != nil {
			caret = &point{at.x + list + 3, at.y + 2}
		}
	case m.inCard:
		right, at := m.cardPane(m.width, height)
		lines = append(lines, right...)
		if at != nil {
			caret = &point{at.x, at.y + 2}
		}
	default:
		lines = append(lines, m.listPane(m.width, height)...)
	}
	if !m.inCard {
		caret = nil
	}
	return append(lines, m.styles.bar.Render(fitting(m.hints(), m.width))), caret
}

// say returns a message in the viewer's language.
func (m *model) say(text string, args ...any) string { return m.opts.Viewer.Say(text, args...) }

// head returns the head line: how many asks wait, and whether the bus is reachable.
func (m *model) head() string {
	urgent := 0
	for i := range m.heads {
		if m.heads[i].Priority == ask.PriorityUrgent {
			urgent++
		}
	}
	mark := "◆"
	if urgent > 0 {
		mark = m.styles.urgent.Render("▲")
	}
	sign := mark
	if m.total > 0 || m.status.Synced { // before that nobody knows how many
		mark += " " + m.say("%d waiting", m.total)
	}
	parts := []string{mark}
	if urgent > 0 {
		parts = append(parts, m.styles.urgent.Render(m.say("%d urgent", urgent)))
	}
	if !m.mine {
		parts = append(parts, m.say("all, also what only others may decide"))
	}
	if m.snoozed {
		parts = append(parts, m.say("what you snoozed"))
	}
	switch {
	case m.finding:
		parts = append(parts, "/"+m.filter.String()+"▏")
	case !m.filter.empty():
		parts = append(parts, "/"+m.filter.String())
	}
	switch {
	case m.status.Offline && m.opts.SignedOut != nil && m.opts.SignedOut():
		parts = append(parts, m.styles.fault.Render(m.say("signed out: sign in again with askbus login")))
	case m.status.Offline && m.opts.Refused != nil && m.opts.Refused():
		parts = append(parts, m.styles.fault.Render(m.say("refused: the credential expired or was revoked")))
	case m.status.Offline:
		parts = append(parts, m.styles.fault.Render(m.say("offline: what you type is kept")))
	case !m.status.Synced:
		parts = append(parts, m.styles.dim.Render(m.say("reading …")))
	}
	line := " " + strings.Join(parts, " · ")
	message := m.message
	if n := len(m.held); message == "" && n > 0 && m.held[n-1].key() != m.focus {
		message = m.heldWords(&m.held[n-1])
	}
	if message != "" {
		if !m.status.Offline && ansi.StringWidth(line)+3+ansi.StringWidth(message) > m.width {
			line = " " + sign // what was just done matters more than how many wait
		}
		line += m.styles.accent.Render("   " + message)
	}
	return ansi.Truncate(line, m.width, "…")
}

func (m *model) listPane(width, height int) []string {
	lines := m.listLines(width)
	out := make([]string, 0, height)
	if len(m.rows) == 0 && (m.status.Synced || !m.filter.empty()) {
		words := m.say("Nothing waits for you.")
		if !m.filter.empty() {
			words = m.say("Nothing matches the filter.")
		}
		out = append(out, "", m.styles.title.Render(" "+words))
		if m.filter.empty() {
			for _, l := range []string{"", " " + m.say("Try from another terminal:"), ``, ` askbus ask --question "` + m.say("Which?") + `" \`, `   --option A --option B`, ""} {
				out = append(out, m.styles.dim.Render(l))
			}
		}
	}
	for _, l := range m.window(lines, width, max(1, height-len(out))) {
		out = append(out, l.text)
	}
	for len(out) < height {
		out = append(out, "")
	}
	return out[:height]
}

// cardPane renders the focused card, scrolled so that the edited field is visible.
func (m *model) cardPane(width, height int) ([]string, *point) {
	out := make([]string, height)
	f := m.form()
	if f == nil {
		if m.focus != (ask.Key{}) {
			out[0] = m.styles.dim.Render(m.say("reading …"))
		}
		return out, nil
	}
	s := m.cardSheet(f, width)
	top := m.scrolled(f, s, height)
	copy(out, s.lines[top:min(len(s.lines), top+height)])
	if top > 0 {
		out[0] = m.styles.dim.Render("↑ " + m.say("more"))
	}
	if top+height < len(s.lines) {
		out[height-1] = m.styles.dim.Render("↓ " + m.say("more"))
	}
	if s.caret == nil || s.caret.y < top || s.caret.y >= top+height {
		return out, nil
	}
	return out, &point{s.caret.x, s.caret.y - top}
}

// cardEnd scrolls to the end of a card, where its message is.
const cardEnd = 1 << 20

// scrolled returns the first visible line of a card.
func (m *model) scrolled(f *form, s *sheet, height int) int {
	f.scroll = max(0, min(f.scroll, len(s.lines)-height))
	top := f.scroll
	if s.near >= 0 {
		top = max(min(top, max(0, s.near-1)), s.near-height+2)
	}
	return max(0, min(top, len(s.lines)-height))
}

// hitAt returns what is at a position of the screen.
func (m *model) hitAt(x, y int) hit {
	height := max(1, m.height-3)
	y -= 2
	if y < 0 || y >= height {
		return hit{}
	}
	inList, list := !m.inCard, m.listWidth()
	if m.wide() {
		inList = x < list
		x -= list + 3
	}
	if inList {
		if len(m.rows) == 0 {
			return hit{}
		}
		lines := m.window(m.listLines(list), list, height)
		if y < len(lines) && lines[y].row >= 0 {
			return hit{hitRow, lines[y].row}
		}
		return hit{}
	}
	f := m.form()
	if f == nil || x < 0 {
		return hit{}
	}
	width := m.width
	if m.wide() {
		width = m.width - list - 3
	}
	s := m.cardSheet(f, width)
	if at := m.scrolled(f, s, height) + y; at < len(s.hits) {
		return s.hits[at]
	}
	return hit{}
}
