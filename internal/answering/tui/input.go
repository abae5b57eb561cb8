package tui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// key handles a key press.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	name, text := msg.String(), msg.Text
	if name == "ctrl+c" {
		return tea.Quit
	}
	m.typed = m.opts.Now()
	if m.typed.Before(m.quiet) {
		m.quiet = m.typed.Add(settle) // what was typed in one go is dropped whole
		return nil
	}
	moving := m.moving
	m.message, m.moving = "", nil
	switch m.overlay.kind {
	case overlaySnooze:
		return m.snoozeKey(name)
	case overlayHandOver:
		return m.handKey(name, text)
	case overlayFiles:
		return m.filesKey(name)
	case overlayHelp, overlayReader, overlayCompare:
		m.overlayKey(name, text)
		return nil
	case overlayNone:
	}
	if m.finding {
		return m.findKey(name, text)
	}
	if moving != nil && m.editor() == nil && m.keys.byKey[name] == actTakeBack && len(m.held) == 0 {
		return m.change(movedMsg{key: moving.key, said: m.say("Taken back")}, moving.back)
	}
	f := m.form()
	if m.inCard && f != nil {
		return m.cardKey(f, name, text)
	}
	return m.listKey(name)
}

// findKey types into the list's filter.
func (m *model) findKey(name, text string) tea.Cmd {
	switch name {
	case "enter":
		m.finding = false
	case "esc":
		m.finding = false
		m.filter.set("")
	case "down":
		return m.move(1)
	case "up":
		return m.move(-1)
	default:
		m.filter.key(name, text)
	}
	m.group()
	if m.at() < 0 && len(m.rows) > 0 {
		return m.moveTo(0)
	}
	return nil
}

func (m *model) listKey(name string) tea.Cmd {
	act := m.keys.byKey[name]
	if f := m.form(); f != nil && m.wide() && (ofCard(act) || len(name) == 1 && name >= "0" && name <= "9") {
		m.inCard = true // it is next to the list
		return m.cardKey(f, name, name)
	}
	switch act {
	case actNext, actDown:
		return m.move(1)
	case actPrev, actUp:
		return m.move(-1)
	case actSend, actForward, actToggle:
		if m.focus != (ask.Key{}) {
			m.inCard = true
		}
		if f := m.form(); f != nil {
			f.grab()
		} else {
			m.opening = m.inCard
		}
	case actOther, actBrowser:
		return m.browse()
	case actLeave:
		if !m.filter.empty() {
			m.filter.set("")
			m.group()
		}
	default:
		return m.anywhere(act)
	}
	return nil
}

// ofCard reports whether an action applies to the focused ask.
func ofCard(act action) bool {
	switch act {
	case actOther, actNote, actReply, actDecline, actContext, actPreview, actCompare, actFiles, actToggle, actConfirm, actAlone:
		return true
	default:
		return false
	}
}

// anywhere handles the actions that work both in the list and on a card.
func (m *model) anywhere(act action) tea.Cmd {
	switch act {
	case actNext:
		return m.move(1)
	case actPrev:
		return m.move(-1)
	case actFirst:
		return m.moveTo(0)
	case actLast:
		return m.moveTo(len(m.rows) - 1)
	case actFilter:
		if !m.single() {
			m.finding, m.inCard = true, false
		}
	case actMine:
		m.mine = !m.mine
		return m.refresh()
	case actSnooze:
		return m.beginSnooze()
	case actSnoozed:
		m.snoozed = !m.snoozed
		return m.refresh()
	case actHand:
		m.beginHandOver()
	case actCopy:
		if link := m.link(); link != "" {
			m.message = m.say("Copied %s", link)
			return tea.SetClipboard(link)
		}
		m.message = m.say("No web inbox is known, so there is no link")
	case actBrowser:
		return m.browse()
	case actTakeBack:
		return m.takeBack()
	case actHelp:
		m.overlay = overlay{kind: overlayHelp}
	case actQuit:
		return tea.Quit
	default: // the others apply only to a card
	}
	return nil
}

// cardKey handles a key press on a card.
func (m *model) cardKey(f *form, name, text string) tea.Cmd {
	act := m.keys.byKey[name]
	fresh := f.fresh
	if f.fresh = false; fresh && act == actSend {
		return nil // it was meant for the question before
	}
	if f.overtaken {
		if name == "enter" || name == "esc" {
			f.overtaken, f.typing = false, typingNothing
		} else {
			f.editor().key(name, text)
		}
		return nil
	}
	if e := f.editor(); e != nil && f.end == nil && !m.busy(f) {
		return m.typeKey(f, e, name, text)
	}
	if act == actLeave {
		if m.single() {
			return tea.Quit
		}
		m.inCard = false
		return nil
	}
	if act == actFiles {
		return m.showFiles()
	}
	if h := m.heldFor(f.rec.Ask.Key()); h != nil && act == actSend {
		return m.release(h.n)
	}
	if f.end != nil || m.busy(f) {
		if f.end != nil && act == actSend {
			if m.single() {
				return tea.Quit
			}
			return m.slideTo(m.at() + 1)
		}
		return m.anywhere(act)
	}
	view := m.card(f)
	q := &view.Questions[f.step]
	if len(name) == 1 && name >= "0" && name <= "9" && mayChoose(view) {
		return m.digit(f, q, int(name[0]-'0'))
	}
	switch act {
	case actSend:
		return m.commit(f)
	case actToggle:
		if !f.review && mayChoose(view) && f.field().cursor < optionCount(q) {
			f.choose(q, f.field().cursor)
		}
	case actConfirm:
		return m.confirm(f)
	case actDown:
		m.cursor(f, q, 1)
	case actUp:
		m.cursor(f, q, -1)
	case actForward:
		if f.step < len(f.fields)-1 {
			f.enter(f.step + 1)
		}
	case actBack:
		switch {
		case f.review:
			f.enter(len(f.fields) - 1)
		case f.step > 0:
			f.enter(f.step - 1)
		}
	case actFilter:
		if q.Filter && !f.review {
			f.typing = typingFind
			return nil
		}
		return m.anywhere(act)
	case actContext:
		f.context = !f.context
	case actPreview:
		m.read(f)
	case actCompare:
		m.compare(f)
	case actAlone:
		m.beginAlone(f, view)
	case actOther, actNote, actReply, actDecline:
		m.begin(f, q, view, act)
	default:
		return m.anywhere(act)
	}
	return nil
}

// begin focuses a field.
func (m *model) begin(f *form, q *card.Question, view *card.Card, act action) {
	switch {
	case act == actDecline && view.May.Decline:
		f.typing = typingReason
	case !view.May.Answer:
	case act == actReply && view.Approval != nil: // only an answer is a vote
	case act == actReply:
		f.typing = typingReply
	case act == actNote && !f.review:
		f.typing = typingNote
	case act == actOther && q.Other != nil && !f.review:
		if !f.field().other {
			f.choose(q, len(q.Options))
		}
		f.field().cursor, f.typing = len(q.Options), typingValue
	}
}

// digit chooses an option by its number; on the review it changes that answer.
func (m *model) digit(f *form, q *card.Question, n int) tea.Cmd {
	at := (n + 9) % 10
	if f.review {
		if at < len(f.fields) {
			f.enter(at)
		}
		return nil
	}
	if f.question().Kind == ask.KindNumber {
		f.grab()
		f.value().insert(strconv.Itoa(n))
		m.touched()
		return nil
	}
	if at >= len(q.Options) {
		return nil
	}
	f.choose(q, at)
	switch {
	case q.Multiple:
	case len(f.fields) > 1:
		f.advance(m.opts.Viewer.Lang)
	case m.opts.OneKey && m.card(f).May.Answer:
		return m.commit(f)
	}
	return nil
}

// cursor moves the cursor over the options, and scrolls beyond them.
func (m *model) cursor(f *form, q *card.Question, by int) {
	for at := f.field().cursor + by; !f.review && at >= 0 && at < optionCount(q); at += by {
		if f.field().fits(q, at) {
			f.field().cursor = at
			return
		}
	}
	f.scroll = max(0, f.scroll+by)
}

// typeKey types into a field.
func (m *model) typeKey(f *form, e *editor, name, text string) tea.Cmd {
	switch name {
	case "enter":
		return m.commit(f)
	case "esc":
		m.leaveField(f)
		return nil
	case "tab", "shift+tab":
		step := f.step + 1
		if name == "shift+tab" {
			step = f.step - 1
		}
		if f.typing == typingValue && step >= 0 && step < len(f.fields) {
			f.enter(step)
		}
		return nil
	}
	if f.typing == typingFind && (name == "up" || name == "down") {
		by := 1
		if name == "up" {
			by = -1
		}
		m.cursor(f, &m.card(f).Questions[f.step], by)
		return nil
	}
	if e.key(name, text) {
		m.touched()
		if f.typing == typingFind {
			m.found(f)
		}
		return nil
	}
	if name == "up" && f.typing == typingValue && len(f.question().Options) > 0 { // leave Other
		f.typing = typingNothing
		m.cursor(f, &m.card(f).Questions[f.step], -1)
	}
	return nil
}

// found moves the cursor to the first visible option.
func (m *model) found(f *form) {
	q := &m.card(f).Questions[f.step]
	for i := range q.Options {
		if f.field().fits(q, i) {
			f.field().cursor = i
			return
		}
	}
}

// leaveField leaves a field and keeps its text. In a question that is only typed it goes to the
// keys of the card.
func (m *model) leaveField(f *form) {
	was := f.typing
	f.typing = typingNothing
	if was == typingFind {
		f.field().find.set("")
	}
	if was == typingValue && f.value().empty() {
		f.field().other = false
	}
}

func (f *form) value() *editor { return &f.field().value }

func (m *model) link() string {
	if f := m.form(); f != nil {
		return m.card(f).Link
	}
	return ""
}

func (m *model) browse() tea.Cmd {
	link := m.link()
	switch {
	case link == "":
		m.message = m.say("No web inbox is known, so there is no link")
	case m.opts.Open == nil:
		m.message = link
	default:
		m.message = m.say("Opened %s", link)
		open := m.opts.Open
		return func() tea.Msg { open(link); return nil }
	}
	return nil
}

// click handles a mouse click.
func (m *model) click(x, y int) tea.Cmd {
	if m.overlay.kind != overlayNone {
		m.overlay = overlay{}
		return nil
	}
	h := m.hitAt(x, y)
	switch h.kind {
	case hitRow:
		m.inCard = !m.wide() || m.inCard
		return m.moveTo(h.n)
	case hitOption:
		f := m.form()
		if f == nil || f.end != nil || m.busy(f) || !mayChoose(m.card(f)) {
			return nil
		}
		m.inCard = true
		if typed(f.question()) {
			f.typing = typingValue
			return nil
		}
		f.typing = typingNothing
		f.choose(&m.card(f).Questions[f.step], h.n)
	case hitStep:
		if f := m.form(); f != nil && h.n < len(f.fields) {
			f.enter(h.n)
		}
	case hitNothing:
	}
	return nil
}

func (m *model) wheel(up bool) {
	by := 3
	if up {
		by = -3
	}
	switch {
	case m.overlay.kind != overlayNone:
		m.overlay.top = max(0, m.overlay.top+by)
	case m.inCard || m.wide():
		if f := m.form(); f != nil {
			f.scroll = max(0, f.scroll+by)
		}
	default:
		m.top = max(0, m.top+by)
	}
}
