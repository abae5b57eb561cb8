package tui

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/card"
	"github.com/charmbracelet/x/ansi"
)

type overlayKind int

const (
	overlayNone overlayKind = iota
	overlayHelp
	overlayReader
	overlayCompare
	overlaySnooze
	overlayHandOver
	overlayFiles
)

// overlay covers the whole screen for a while.
type overlay struct {
	kind        overlayKind
	filter      editor // help: filter; hand-over: recipient
	word        editor // hand-over: message
	second      bool   // word has the focus
	fault       string // hand-over: why it was refused
	top, left   int
	wrap        bool
	first, also int // options of the shown previews
}

// readable returns the option that the reader opens at: the one under the cursor, else the
// recommended or first one with a preview.
func (m *model) readable(f *form, q *card.Question) *card.Option {
	if o := m.shownPreview(f, q); o != nil {
		return o
	}
	for i := range q.Options {
		if q.Options[i].Shown {
			return &q.Options[i]
		}
	}
	return nil
}

// read shows the preview under the cursor in full.
func (m *model) read(f *form) {
	q := &m.card(f).Questions[f.step]
	o := m.readable(f, q)
	if o == nil {
		return
	}
	m.overlay = overlay{kind: overlayReader, first: slices.IndexFunc(q.Options, func(x card.Option) bool { return x.ID == o.ID }), wrap: broken(o.Preview)}
}

// compare shows two previews side by side.
func (m *model) compare(f *form) {
	q := &m.card(f).Questions[f.step]
	o := m.readable(f, q)
	if o == nil {
		return
	}
	first := slices.IndexFunc(q.Options, func(x card.Option) bool { return x.ID == o.ID })
	m.overlay = overlay{kind: overlayCompare, first: first, also: otherPreview(q, first, first, 1)}
}

// otherPreview returns the next option with a preview, wrapping around.
func otherPreview(q *card.Question, from, not, by int) int {
	n := len(q.Options)
	for i := 1; i <= n; i++ {
		at := ((from+by*i)%n + n) % n
		if at != not && q.Options[at].Preview != nil {
			return at
		}
	}
	return not
}

// overlayKey handles a key press in an overlay.
func (m *model) overlayKey(name, text string) {
	o := &m.overlay
	act := m.keys.byKey[name]
	if o.kind == overlayHelp {
		switch {
		case name == "esc", name == "enter", act == actHelp && o.filter.empty():
			m.overlay = overlay{}
		case name == "down":
			o.top++
		case name == "up":
			o.top = max(0, o.top-1)
		default:
			o.filter.key(name, text)
			o.top = 0
		}
		return
	}
	f := m.form()
	if f == nil {
		m.overlay = overlay{}
		return
	}
	view := m.card(f)
	q := &view.Questions[f.step]
	page := max(1, m.height-4)
	switch {
	case name == "esc", act == actQuit, act == actPreview && o.kind == overlayReader, act == actCompare && o.kind == overlayCompare:
		m.overlay = overlay{}
	case name == "down", name == "j":
		o.top++
	case name == "up", name == "k":
		o.top--
	case name == "pgdown", name == "space", name == "ctrl+f":
		o.top += page
	case name == "pgup", name == "b", name == "ctrl+b":
		o.top -= page
	case name == "g", name == "home":
		o.top = 0
	case name == "G", name == "end":
		o.top = 1 << 20
	case name == "w":
		o.wrap, o.left = !o.wrap, 0
	case name == "l":
		o.left += 8
	case name == "h":
		o.left = max(0, o.left-8)
	case name == "right" && o.kind == overlayCompare:
		o.also = otherPreview(q, o.also, o.first, 1)
	case name == "left" && o.kind == overlayCompare:
		o.also = otherPreview(q, o.also, o.first, -1)
	case name == "right":
		o.first, o.top = otherPreview(q, o.first, o.first, 1), 0
	case name == "left":
		o.first, o.top = otherPreview(q, o.first, o.first, -1), 0
	case len(name) == 1 && name >= "1" && name <= "9" && int(name[0]-'1') < len(q.Options) && f.end == nil && view.May.Answer:
		i := int(name[0] - '1')
		f.choose(q, i)
		if q.Options[i].Preview != nil {
			o.first = i
		}
	}
	o.top = max(0, o.top)
}

// overlayView renders the overlay.
func (m *model) overlayView() []string {
	o := &m.overlay
	switch o.kind {
	case overlayHelp:
		return m.helpView()
	case overlaySnooze, overlayHandOver:
		return m.teamView()
	case overlayFiles:
		return m.filesView()
	case overlayNone, overlayReader, overlayCompare:
	}
	f := m.form()
	if f == nil {
		return nil
	}
	q := &m.card(f).Questions[f.step]
	height := max(1, m.height-3)
	if o.kind == overlayReader {
		op := &q.Options[o.first]
		lines := m.part(op, m.width, height)
		head := m.previewHead(op) + m.styles.dim.Render("  "+m.say("from line %d", o.top+1))
		return m.framed(head, lines, height, m.say("j k scroll · w wrap · h l sideways · ← → other previews · esc back"))
	}
	half := (m.width - 3) / 2
	one, two := &q.Options[o.first], &q.Options[o.also]
	left, right := m.part(one, half, height), m.part(two, half, height)
	lines := make([]string, height)
	for i := range lines {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		lines[i] = padded(l, half) + m.styles.dim.Render(" │ ") + r
	}
	head := padded(m.previewHead(one), half) + m.styles.dim.Render(" │ ") + m.previewHead(two)
	return m.framed(head, lines, height, m.say("← → the other one · j k scroll · w wrap · 1–9 choose · esc back"))
}

// part returns the visible lines of a preview.
func (m *model) part(op *card.Option, width, height int) []string {
	o := &m.overlay
	lines := m.preview(op.Preview, width, o.wrap)
	o.top = max(0, min(o.top, len(lines)-height))
	lines = lines[o.top:min(len(lines), o.top+height)]
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = ansi.Truncate(ansi.Cut(l, o.left, o.left+width+1), width, "…")
	}
	return out
}

func (m *model) framed(head string, lines []string, height int, foot string) []string {
	out := []string{ansi.Truncate(head, m.width, "…"), m.styles.dim.Render(strings.Repeat("─", m.width))}
	out = append(out, lines...)
	for len(out) < height+2 {
		out = append(out, "")
	}
	return append(out[:height+2], m.styles.bar.Render(ansi.Truncate(foot, m.width, "…")))
}

// helpView renders the keys that match the filter.
func (m *model) helpView() []string {
	find := strings.ToLower(strings.TrimSpace(m.overlay.filter.String()))
	var lines []string
	add := func(keys, words string) {
		if find == "" || strings.Contains(strings.ToLower(keys+" "+words), find) {
			lines = append(lines, wrapped(padded("  "+keys, 20), strings.Repeat(" ", 20), words, m.width)...)
		}
	}
	add("1–9 0", m.say("choose an option, 0 is the tenth"))
	for _, b := range m.keys.bindings {
		add(strings.Join(b.keys, " "), b.words)
	}
	add("alt+enter ctrl+j", m.say("a new line in a text"))
	height := max(1, m.height-3)
	m.overlay.top = max(0, min(m.overlay.top, len(lines)-height))
	lines = lines[m.overlay.top:min(len(lines), m.overlay.top+height)]
	head := m.styles.title.Render(m.say("Keys")) + m.styles.dim.Render("  "+m.say("type to filter: ")) + m.overlay.filter.String()
	return m.framed(head, lines, height, m.say("↑ ↓ scroll · esc back"))
}
