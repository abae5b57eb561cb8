package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/charmbracelet/x/ansi"
)

// group sorts the list: urgent asks first, whatever their session; then sessions by their first
// ask in the queue, and each session's asks in the order of the queue.
func (m *model) group() {
	type part struct {
		urgent  bool
		session string
	}
	of := func(h *board.Head) part { return part{h.Priority == ask.PriorityUrgent, h.Key.Session} }
	rank := map[part]int{}
	m.rows = m.rows[:0]
	find := m.filter.String()
	for i := range m.heads {
		h := &m.heads[i]
		if _, ok := rank[of(h)]; !ok {
			rank[of(h)] = i // the queue has urgent asks first
		}
		if h.Matches(find) {
			m.rows = append(m.rows, i)
		}
	}
	slices.SortStableFunc(m.rows, func(x, y int) int {
		return rank[of(&m.heads[x])] - rank[of(&m.heads[y])]
	})
}

// at returns the row of the focused ask, or -1.
func (m *model) at() int {
	return slices.IndexFunc(m.rows, func(i int) bool { return m.heads[i].Key == m.focus })
}

// move moves the focus by a number of rows.
func (m *model) move(by int) tea.Cmd {
	return m.moveTo(m.at() + by)
}

// moveTo moves the focus to a row, as the person says.
func (m *model) moveTo(row int) tea.Cmd {
	before := m.focus
	cmd := m.slideTo(row)
	if m.focus != before {
		m.chosen = m.focus
	}
	return cmd
}

// slideTo shows the ask of a row.
func (m *model) slideTo(row int) tea.Cmd {
	if m.opts.Once != (ask.Key{}) { // the command is for that ask
		m.message = m.say("Only the ask that you named is shown.")
		return nil
	}
	if len(m.rows) == 0 {
		return nil
	}
	row = max(0, min(row, len(m.rows)-1))
	return m.focusOn(m.heads[m.rows[row]].Key)
}

// listLine is one line of the list: a session, or an ask.
type listLine struct {
	text string
	row  int // -1: not an ask
}

// listLines renders the list in the given width.
func (m *model) listLines(width int) []listLine {
	var lines []listLine
	sessions := map[string]bool{}
	for _, i := range m.rows {
		sessions[m.heads[i].Key.Session] = true
	}
	last := ""
	for row, i := range m.rows {
		h := &m.heads[i]
		if h.Key.Session != last && len(sessions) > 1 && len(sessions) < len(m.rows) { // else each ask would have a heading
			lines = append(lines, listLine{m.styles.dim.Render(ansi.Truncate(ask.CleanLine(h.Key.Session), width, "…")), -1})
		}
		last = h.Key.Session
		lines = append(lines, listLine{"", row}) // rendered when visible
	}
	if len(m.rows) > 0 && m.total > len(m.heads) {
		lines = append(lines, listLine{m.styles.dim.Render(m.say("… and more")), -1})
	}
	if len(m.ended) > 0 && !m.finding {
		lines = append(lines, listLine{"", -1}, listLine{m.styles.dim.Render(m.say("ended a short while ago")), -1})
		for i := range m.ended[:min(len(m.ended), 8)] {
			rec := &m.ended[i]
			view := card.New(rec, m.opts.Viewer, m.opts.Now())
			if view.End == nil {
				continue
			}
			text := endMark(view.End) + card.InlinePlain(card.Heading(&rec.Ask)) + "  " + card.InlinePlain(view.End.Sentence)
			lines = append(lines, listLine{m.styles.dim.Render(ansi.Truncate(text, width, "…")), -1})
		}
	}
	return lines
}

// headingLeast is what the headings need before a column beside them says who asks.
const headingLeast = 36

// rowEnd returns the end of an ask's row: its age or its deadline, and what people do with it.
func (m *model) rowEnd(row, width int) string {
	h, now := &m.heads[m.rows[row]], m.opts.Now()
	age := m.opts.Viewer.When(h.AskedAt, now, card.Since).Words
	if left := h.Deadline.Sub(now); !h.Deadline.IsZero() && left < 24*time.Hour {
		age = m.opts.Viewer.When(h.Deadline, now, card.Until).Words
		if h.Priority == ask.PriorityUrgent {
			age = m.opts.Viewer.When(h.Deadline, now, card.Left).Words
		}
	}
	if until, is := m.off[h.Key]; is {
		age = m.say("back %s", m.opts.Viewer.When(until, now, card.Until).Words)
	}
	if h.Approval != nil && width > listLeast {
		age = card.NewRow(new(h.Record()), m.opts.Viewer, now).Votes + " · " + age
	}
	if others := m.others(h.Key); len(others) > 0 && others[0].By.Principal != m.opts.By.Principal {
		name := ansi.Truncate(card.Name(others[0].By), 10, "…")
		does := m.say("%s looks", name)
		if others[0].Answering {
			does = m.say("%s answers", name)
		}
		age = does + " · " + age
	}
	if f := m.forms[h.Key]; f != nil && m.busy(f) {
		age = m.say("sending …")
	}
	return age
}

// columns are the widths of what stands beside the headings: who asks, if that differs and there is room, and the ends.
func (m *model) columns(seen []listLine, width int) (whoWidth, ends int) {
	differ := false
	for i := range seen {
		if seen[i].row < 0 {
			continue
		}
		ends = max(ends, ansi.StringWidth(m.rowEnd(seen[i].row, width)))
		by := ask.CleanLine(m.heads[m.rows[seen[i].row]].Agent)
		differ = differ || by != ask.CleanLine(m.heads[m.rows[0]].Agent)
		whoWidth = max(whoWidth, ansi.StringWidth(by))
	}
	if whoWidth = min(whoWidth, width/5); !differ || width-4-whoWidth-4-ends < headingLeast {
		whoWidth = 0
	}
	return whoWidth, ends
}

// listRow renders an ask in the list: a mark, the question, who asks if there is room, and its end, which is right-aligned in
// the given width.
func (m *model) listRow(row, width, whoWidth, ends int) string {
	h := &m.heads[m.rows[row]]
	mark := "◆"
	switch h.Priority {
	case ask.PriorityUrgent:
		mark = m.styles.urgent.Render("▲")
	case ask.PriorityHigh:
		mark = m.styles.title.Render("△")
	case ask.PriorityNormal, ask.PriorityLow:
	}
	if f := m.forms[h.Key]; f != nil && f.touched && f.end == nil || f == nil && m.opts.Drafts.has(draftOf(m.opts.By, h.Key, h.Life)) {
		mark = "✎"
	}
	age := m.rowEnd(row, width)
	if whoWidth > 0 {
		age = " " + padded(ask.CleanLine(h.Agent), whoWidth) + strings.Repeat(" ", 2+max(0, ends-ansi.StringWidth(age))) + age
	}
	room := max(4, width-4-ansi.StringWidth(age))
	heading := ansi.Truncate(card.InlinePlain(h.Heading), room, "…")
	pad := strings.Repeat(" ", max(1, width-3-ansi.StringWidth(heading)-ansi.StringWidth(age)))
	cursor := " "
	if h.Key == m.focus {
		cursor = "›"
		heading = m.styles.title.Render(heading)
	}
	line := cursor + mark + " " + heading + pad + m.styles.dim.Render(age)
	if h.Key == m.focus {
		line = m.styles.picked.Render(cursor+mark) + m.styles.picked.Render(" ") + m.styles.picked.Inherit(m.styles.title).Render(ansi.Strip(heading)) + m.styles.picked.Render(pad+age)
	}
	return line
}

// window returns the visible part of the list, which contains the focused ask.
func (m *model) window(lines []listLine, width, height int) []listLine {
	row := m.at()
	at := slices.IndexFunc(lines, func(l listLine) bool { return l.row >= 0 && l.row == row })
	if at >= 0 {
		m.top = min(m.top, max(0, at-1))
		m.top = max(m.top, at-height+1)
	}
	m.top = max(0, min(m.top, len(lines)-height))
	seen := lines[m.top:min(len(lines), m.top+height)]
	whoWidth, ends := m.columns(seen, width)
	for i := range seen {
		if seen[i].row >= 0 {
			seen[i].text = m.listRow(seen[i].row, width, whoWidth, ends)
		}
	}
	return seen
}
