package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/charmbracelet/x/ansi"
)

// besideFrom is the minimum card width for a preview next to the options.
const besideFrom = 76

func trimmed(e *editor) string { return strings.TrimSpace(e.String()) }

// cardSheet renders an ask.
func (m *model) cardSheet(f *form, width int) *sheet {
	s, view, st := newSheet(width), m.card(f), m.styles
	top := *view
	top.Attention = nil // it has lines of its own, as has the time that is left of what is urgent
	if view.Priority.Left != nil {
		top.Ends, top.Priority.Words = nil, ""
	}
	for _, l := range wrapBehind("", "", together(top.Head()), s.width) {
		s.put(hit{}, st.dim.Render(strings.ReplaceAll(l, noBreak, " ")))
	}
	if left := view.Priority.Left; left != nil && f.end == nil {
		s.put(hit{}, st.urgent.Render("▲ "+view.Priority.Words+m.say(" · ")+left.Words))
	}
	if words := m.handedWords(f.rec.Ask.Key()); words != "" && f.end == nil {
		s.add(hit{}, st.accent.Render, "", "", words)
	}
	for _, line := range view.Attention {
		s.add(hit{}, st.accent.Render, "", "", line)
	}
	if view.Title != "" {
		s.add(hit{}, st.title.Render, "", "", view.Title)
	}
	m.drawContext(s, f, view)
	m.drawFiles(s, "", view.Files)
	m.drawVotes(s, view)
	if l := view.Ladder; l != nil {
		s.blank()
		s.add(hit{}, st.dim.Render, "", "  ", l.Text())
	}
	s.blank()
	switch {
	case f.end != nil:
		m.drawEnd(s, f, view)
		return s
	case f.review:
		m.drawReview(s, f, view)
	default:
		m.drawQuestion(s, f, view)
	}
	m.drawFields(s, f, view)
	if f.message != "" {
		s.blank()
		s.add(hit{}, st.fault.Render, "", "", "! "+f.message)
	}
	s.blank()
	if b := view.BreakGlass; b != nil {
		s.add(hit{}, st.dim.Render, "", "", m.keys.key(actAlone)+m.say(": ")+b.Lead+m.say(": ")+b.HowTo)
	}
	forThem := view.ForThem
	if !view.May.Answer { // the question says why
		forThem = ""
	}
	for _, line := range []string{view.AtEnd, forThem} {
		if line != "" {
			s.add(hit{}, st.dim.Render, "", "", line)
		}
	}
	for _, d := range view.Defaults {
		s.add(hit{}, st.dim.Render, "  ", "  ", strings.ReplaceAll(d.Question+" "+d.Answer, "\n", " "))
	}
	if len(view.Places) > 0 {
		places := make([]string, len(view.Places))
		for i, p := range view.Places {
			places[i] = strings.TrimSpace(p.Where + " " + p.Words)
		}
		s.add(hit{}, st.dim.Render, "", "", m.say("Also shown %s.", strings.Join(places, m.say(", "))))
	}
	return s
}

func (m *model) drawContext(s *sheet, f *form, view *card.Card) {
	if view.Context == nil {
		return
	}
	if !f.context {
		n := strings.Count(strings.TrimSpace(view.Context.Body), "\n") + 1
		s.add(hit{}, m.styles.dim.Render, "", "", m.say("%s: what the agent is doing (%d lines)", m.keys.key(actContext), n))
		return
	}
	for _, line := range m.preview(&card.Preview{Kind: view.Context.Kind, Body: strings.TrimSpace(view.Context.Body)}, s.width-2, true) {
		s.put(hit{}, m.styles.dim.Render("┃ ")+line)
	}
}

// votesMost is how many votes a card shows; more are counted.
const votesMost = 6

// drawVotes renders how the votes stand, and what an answer does.
func (m *model) drawVotes(s *sheet, view *card.Card) {
	p, st := view.Approval, m.styles
	if p == nil {
		return
	}
	s.blank()
	if p.Progress != "" {
		s.add(hit{}, st.accent.Render, "", "", p.Progress)
	}
	votes := p.Votes
	if len(votes) > votesMost {
		votes = votes[len(votes)-votesMost+1:]
		s.add(hit{}, st.dim.Render, "  ", "  ", m.say("%d earlier votes", len(p.Votes)-len(votes)))
	}
	for i := range votes {
		style := st.dim.Render
		if votes[i].Own {
			style = st.title.Render
		}
		s.add(hit{}, style, "  ", "    ", votes[i].Text(view.Lang))
		m.drawFiles(s, "    ", votes[i].Files)
	}
	howTo := p.HowTo
	if p.TakeBack != "" {
		howTo = strings.TrimSpace(howTo + " " + m.say("%s takes it back", m.keys.key(actTakeBack)) + ".")
	}
	for _, line := range []string{howTo, p.Reason} {
		if line != "" {
			s.add(hit{}, st.dim.Render, "", "", line)
		}
	}
}

// drawEnd renders how the ask ended.
func (m *model) drawEnd(s *sheet, f *form, view *card.Card) {
	e := view.End
	if e == nil {
		return
	}
	if !e.Detailed {
		for i := range view.Questions {
			s.add(hit{}, asIs, "", "", m.inlineIn(m.styles.title, view.Questions[i].Text))
		}
		s.blank()
	}
	s.add(hit{}, m.styles.accent.Render, endMark(e), "  ", card.InlinePlain(e.Sentence))
	if e.Detailed {
		for _, l := range e.Lines {
			s.add(hit{}, m.styles.dim.Render, "  ", "    ", strings.ReplaceAll(l.Question+" "+l.Answer, "\n", " "))
			if l.Note != "" {
				s.add(hit{}, m.styles.dim.Render, "    ", "    ", m.say("note: ")+l.Note)
			}
			m.drawFiles(s, "    ", l.Files)
		}
	}
	for _, l := range []string{e.Reply, e.Rest()} {
		if l != "" {
			s.add(hit{}, m.styles.dim.Render, "  ", "  ", l)
		}
	}
	m.drawUnsent(s, f, e)
}

// endMark is a tick for an answer. Nobody answered an ask that ended otherwise.
func endMark(e *card.End) string {
	if e.Status == ask.StatusAnswered {
		return "✓ "
	}
	return "– "
}

// drawUnsent keeps the draft of an ask that ended elsewhere, even by the same person, so that it
// can be read and copied.
func (m *model) drawUnsent(s *sheet, f *form, e *card.End) {
	if !f.touched || f.sentHere {
		return
	}
	s.blank()
	if e.Mine {
		s.add(hit{}, m.styles.accent.Render, "", "", m.say("You answered it yourself %[1]s, %[2]s.", e.Where, e.Ago.Words))
	}
	begun := f.begun()
	words := m.say("What you had begun was not sent.")
	if len(begun) > 0 {
		words = m.say("What you had begun was not sent. It is still here, to read or copy:")
	}
	s.add(hit{}, m.styles.dim.Render, "", "", words)
	for _, text := range begun {
		s.add(hit{}, asIs, "  ❯ ", "    ", text)
	}
}

// asIs is the empty style.
func asIs(s ...string) string { return strings.Join(s, " ") }

// drawReview renders the answers that would be sent.
func (m *model) drawReview(s *sheet, f *form, view *card.Card) {
	s.put(hit{}, m.styles.title.Render(m.say("This is what will be sent")))
	s.blank()
	for i, l := range f.draft(view).Review() {
		lead := fmt.Sprintf("%2d ", i+1)
		s.add(hit{hitStep, i}, m.styles.dim.Render, lead, "   ", l.Question)
		s.add(hit{hitStep, i}, m.styles.title.Render, "   ", "   ", l.Answer)
		if l.Note != "" {
			s.add(hit{hitStep, i}, m.styles.dim.Render, "   ", "   ", m.say("note: ")+l.Note)
		}
		if fault := f.fields[i].fault; fault != "" {
			s.add(hit{hitStep, i}, m.styles.fault.Render, "   ! ", "     ", fault)
		}
	}
	if m.busy(f) {
		return
	}
	s.blank()
	s.add(hit{}, m.styles.dim.Render, "", "", m.say("%s sends · a number changes that answer", m.keys.key(actSend)))
}

func (m *model) drawQuestion(s *sheet, f *form, view *card.Card) {
	q, st := &view.Questions[f.step], m.styles
	if q.Step != "" {
		dots := make([]string, q.Of)
		for i := range dots {
			switch ans, fault := f.answer(i, view.Lang); {
			case f.fields[i].fault != "":
				dots[i] = st.fault.Render("!")
			case i == f.step:
				dots[i] = st.accent.Render("●")
			case fault == "" && !ans.Empty():
				dots[i] = "✓"
			default:
				dots[i] = "○"
			}
		}
		s.put(hit{}, st.dim.Render(q.Step+"  ")+strings.Join(dots, " "))
	}
	head := ""
	if q.Chip != "" {
		head = st.chip.Render("["+q.Chip+"]") + " "
	}
	marks := ""
	if len(q.Marks) > 0 {
		marks = " (" + strings.Join(q.Marks, ", ") + ")"
	}
	for i, part := range strings.Split(q.Text, "\n") {
		if i > 0 {
			head = ""
		}
		s.add(hit{}, asIs, head, "", m.inlineIn(st.title, part))
	}
	if marks != "" {
		s.more(st.dim.Render, "", marks)
	}
	s.blank()
	from := len(s.lines)
	width := s.width
	shown := m.shownPreview(f, q)
	// The options keep their width when the cursor moves to one without a preview.
	narrow := width >= besideFrom && slices.ContainsFunc(q.Options, func(o card.Option) bool { return o.Preview != nil && !o.Preview.Diff() })
	if narrow {
		s.width = width*9/20 - 3
	}
	m.drawOptions(s, f, q)
	if typed(f.question()) {
		m.drawTyped(s, f, q)
	}
	if q.Unknown {
		s.add(hit{}, st.fault.Render, "", "", q.HowTo)
	}
	s.width = width
	if shown != nil {
		room := width - width*9/20
		if narrow && !shown.Preview.Diff() {
			s.beside(from, m.previewLines(shown, room), width*9/20, room)
		} else {
			s.put(hit{}, st.dim.Render(strings.Repeat("─", min(width, 40))))
			for _, line := range m.previewLines(shown, width) {
				s.put(hit{}, line)
			}
		}
	}
	if q.Hint != "" {
		s.add(hit{}, st.dim.Render, "", "", q.Hint)
	}
	if !view.May.Answer {
		s.blank()
		s.add(hit{}, st.fault.Render, "", "", view.May.Why)
	}
	if fault := f.field().fault; fault != "" {
		s.add(hit{}, st.fault.Render, "! ", "  ", fault)
	}
}

// previewMost is how many lines of a preview a card shows; the reader shows all.
const (
	previewMost = 24
	previewEnd  = 6 // of them at its end
)

func (m *model) previewLines(o *card.Option, width int) []string {
	lines := m.preview(o.Preview, width, broken(o.Preview))
	wide := slices.ContainsFunc(lines, func(l string) bool { return ansi.StringWidth(l) > width })
	if len(lines) > previewMost { // a command shows its start and its end
		more := m.styles.dim.Render(m.say("… %d lines more: %s", len(lines)-previewMost, m.keys.key(actPreview)))
		lines = slices.Concat(lines[:previewMost-previewEnd], []string{more}, lines[len(lines)-previewEnd:])
	}
	if wide {
		lines = append(lines, m.styles.dim.Render(m.say("… wider than this: %s", m.keys.key(actPreview))))
	}
	return slices.Concat([]string{m.previewHead(o)}, lines)
}

// broken reports whether the long lines of a preview are broken. A drawing would fall apart; the reader shows it by columns.
func broken(p *card.Preview) bool { return p.Kind == card.Prose || p.Diff() }

// previewHead says whose preview is shown.
func (m *model) previewHead(o *card.Option) string {
	return m.styles.title.Render(strings.TrimSpace(o.Key + " " + card.InlinePlain(o.Label)))
}

// coloring returns how to render a part of a line: the lines of a diff are highlighted.
func (m *model) coloring(lines []string) func(line, part string) string {
	p := card.Preview{Body: strings.Join(lines, "\n")}
	diff := p.Diff()
	return func(line, part string) string {
		switch {
		case !diff:
		case strings.HasPrefix(line, "+"):
			return m.styles.added.Render(part)
		case strings.HasPrefix(line, "-"):
			return m.styles.removed.Render(part)
		case strings.HasPrefix(line, "@@"):
			return m.styles.dim.Render(part)
		}
		return part
	}
}

// shownPreview returns the option under the cursor if it has a preview. That of another option
// beside it would be taken for its own.
func (m *model) shownPreview(f *form, q *card.Question) *card.Option {
	if at := f.field().cursor; at < len(q.Options) && q.Options[at].Preview != nil {
		return &q.Options[at]
	}
	return nil
}

func (m *model) drawOptions(s *sheet, f *form, q *card.Question) {
	fl, st := f.field(), m.styles
	mark := func(on bool) string {
		switch {
		case q.Multiple && on:
			return "[x]"
		case q.Multiple:
			return "[ ]"
		case on:
			return "(•)"
		}
		return "( )"
	}
	if f.typing == typingFind || !fl.find.empty() {
		s.edit(hit{}, st.dim.Render(m.say("find: ")), &fl.find, f.typing == typingFind)
	}
	for i := range q.Options {
		if !fl.fits(q, i) {
			continue
		}
		o := &q.Options[i]
		on := slices.Contains(fl.chosen, o.ID)
		cursor := " "
		label := st.title
		if i == fl.cursor && (f.typing == typingNothing || f.typing == typingFind) {
			cursor, s.near = "›", len(s.lines)
			label = st.accent
		}
		key := cmp.Or(o.Key, " ")
		h := hit{hitOption, i}
		s.add(h, asIs, cursor+st.dim.Render(key)+" "+mark(on)+" ", "       ", m.inlineIn(label, o.Label))
		if len(o.Marks) > 0 {
			s.more(st.dim.Render, "       ", "  "+strings.Join(o.Marks, ", "))
		}
		for _, below := range []string{o.Description, o.Note} {
			if below != "" {
				s.add(h, asIs, "       ", "       ", m.inlineIn(st.dim, strings.ReplaceAll(below, "\n", " ")))
			}
		}
		if o.File != nil {
			m.drawFiles(s, "       ", []card.File{*o.File})
		}
	}
	if q.Other == nil || len(q.Options) == 0 {
		return
	}
	cursor := " "
	if fl.cursor == len(q.Options) && f.typing == typingNothing {
		cursor, s.near = "›", len(s.lines)
	}
	lead := cursor + st.dim.Render(q.Other.Key) + " " + mark(fl.other) + " " + q.Other.Label
	if f.typing == typingValue || !fl.value.empty() {
		s.edit(hit{hitOption, len(q.Options)}, lead+": ", &fl.value, f.typing == typingValue)
	} else {
		s.put(hit{hitOption, len(q.Options)}, lead)
	}
}

func (m *model) drawTyped(s *sheet, f *form, q *card.Question) {
	fl := f.field()
	lead := m.styles.accent.Render("❯ ")
	if fl.value.String() == "" && q.Placeholder != "" {
		s.put(hit{hitOption, 0}, lead+m.styles.dim.Render(q.Placeholder))
		if f.typing == typingValue {
			s.caret = &point{2, len(s.lines) - 1}
			s.near = len(s.lines) - 1
		}
		return
	}
	s.edit(hit{hitOption, 0}, lead, &fl.value, f.typing == typingValue)
}

// drawFields renders the text fields of a note, a reply or a decline.
func (m *model) drawFields(s *sheet, f *form, view *card.Card) {
	st, label := m.styles, m.say("note: ")
	if view.Approval != nil && view.Approval.Note != "" {
		label = view.Approval.Note + m.say(": ")
	}
	if note := &f.field().note; !f.review && (f.typing == typingNote || !note.empty()) {
		s.blank()
		s.edit(hit{}, st.dim.Render(label), note, f.typing == typingNote)
	}
	switch f.typing {
	case typingReply:
		s.blank()
		s.put(hit{}, st.title.Render(m.say("Your reply to the whole ask")))
		s.edit(hit{}, st.accent.Render("❯ "), &f.reply, true)
	case typingReason:
		s.blank()
		s.put(hit{}, st.title.Render(m.say("Decline the whole ask: why? (optional)")))
		s.edit(hit{}, st.accent.Render("❯ "), &f.reason, true)
	case typingAlone:
		s.blank()
		s.add(hit{}, st.title.Render, "", "", view.BreakGlass.Lead+m.say(": ")+view.BreakGlass.Reason)
		s.edit(hit{}, st.accent.Render("❯ "), &f.alone, true)
	case typingNothing, typingValue, typingNote, typingFind:
	}
	if !m.busy(f) {
		return
	}
	s.blank()
	if h := m.heldFor(f.rec.Ask.Key()); h != nil {
		s.add(hit{}, st.accent.Render, "", "", m.heldWords(h))
	} else {
		s.put(hit{}, st.dim.Render(m.say("sending …")))
	}
	s.near = len(s.lines) - 1 // it may be below a long review; no key moves the cursor now
}

// commits returns what the enter key does, for the foot of the screen.
func (m *model) commits(f *form) string {
	several := len(f.fields) > 1
	switch {
	case f.typing == typingNothing && !m.card(f).May.Answer:
		return ""
	case f.typing == typingReason:
		return m.say("decline|key")
	case f.typing == typingAlone:
		return m.say("go on")
	case f.typing == typingReply:
		return m.say("send the reply")
	case f.typing == typingNote:
		return m.say("keep the note")
	case f.typing == typingFind:
		return m.say("take it")
	case f.typing == typingNothing && typed(f.question()) && f.value().empty() && !f.review:
		return m.say("type the answer")
	case !several && f.rec.Ask.Approval != nil:
		return strings.ToLower(m.card(f).Approval.Send)
	case f.review, !several:
		return m.say("send")
	case f.step == len(f.fields)-1:
		return m.say("review")
	}
	return m.say("next question")
}
