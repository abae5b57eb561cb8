package tui

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// takeBack takes back what is about to be sent, else the person's vote on the ask that is shown.
func (m *model) takeBack() tea.Cmd {
	if len(m.held) > 0 {
		return m.undo()
	}
	f := m.form()
	if f == nil || f.end != nil || f.sending || !m.inCard && !m.wide() {
		return nil
	}
	if p := m.card(f).Approval; p == nil || p.TakeBack == "" {
		return nil
	}
	k, id := f.rec.Ask.Key(), rand.Text()
	f.sending, f.message = true, ""
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
		defer cancel()
		votes, err := m.opts.Decider.Unvote(ctx, k, id, m.opts.By)
		return takenBackMsg{k, votes, err}
	}
}

// tookBack handles the result of taking a vote back.
func (m *model) tookBack(msg takenBackMsg) tea.Cmd {
	f := m.forms[msg.key]
	if f == nil {
		return nil
	}
	f.sending = false
	refused, ok := errors.AsType[*ask.Error](msg.err)
	switch {
	case msg.err == nil:
		f.rec.Votes = msg.votes
		m.message = "✓ " + m.opts.Viewer.VoteTakenBack(&f.rec, msg.votes, m.opts.Now())
	case !ok:
		f.message = m.say("Nothing was changed: %s", ask.CleanLine(msg.err.Error()))
	case refused.Code == ask.CodeConflict:
		f.message = m.opts.Viewer.NoVote()
	default:
		return m.sent(sentMsg{key: msg.key, err: msg.err})
	}
	return nil
}

// commit handles the enter key: go to the next question or the review, or send.
func (m *model) commit(f *form) tea.Cmd {
	view := m.card(f)
	if f.end != nil || m.busy(f) {
		return nil
	}
	if m.askedAgain(f) {
		return m.again(f)
	}
	if f.typing == typingAlone {
		m.askAlone(f, view)
		return nil
	}
	if !view.May.Answer {
		return nil
	}
	f.message, f.breaking = "", false
	switch f.typing {
	case typingReply:
		if f.reply.empty() {
			f.message = m.say("Type your reply first.")
			return nil
		}
		return m.answer(f, ask.Reply{Response: trimmed(&f.reply)}, trimmed(&f.reply))
	case typingReason:
		return m.decline(f)
	case typingNote:
		f.typing = typingNothing
		if typed(f.question()) {
			f.typing = typingValue
		}
		return nil
	case typingFind:
		f.typing = typingNothing
		return nil
	case typingNothing, typingValue, typingAlone:
	}
	q := &view.Questions[f.step]
	if fl := f.field(); len(fl.chosen) == 0 && !fl.other && !typed(f.question()) && !q.Multiple && !q.Optional && fl.cursor < optionCount(q) && f.typing == typingNothing && !f.review {
		f.field().fault = m.say("Choose one: a number, or %s on the option.", m.keys.key(actToggle))
		return nil
	}
	if typed(f.question()) && f.typing == typingNothing && !f.review && f.field().value.empty() {
		f.grab()
		return nil
	}
	if len(f.fields) == 1 || f.review {
		return m.send(f)
	}
	if ans, fault := f.answer(f.step, m.opts.Viewer.Lang); fault != "" || ans.Empty() && !f.question().Optional {
		f.field().fault = fault
		if fault == "" {
			f.field().fault = m.say("This one needs an answer.")
		}
		return nil
	}
	f.field().fault = ""
	if f.step < len(f.fields)-1 && !f.cancels() {
		f.enter(f.step + 1)
		return nil
	}
	f.review, f.typing, f.scroll = true, typingNothing, 0
	return nil
}

// send sends the answers if they are complete.
func (m *model) send(f *form) tea.Cmd { return m.sendIf(f, false) }

// confirm sends the destructive options that Enter found.
func (m *model) confirm(f *form) tea.Cmd {
	if (f.breaking || f.destroys != "") && m.askedAgain(f) {
		return m.again(f)
	}
	if f.breaking {
		return m.sendAlone(f)
	}
	if f.destroys == "" || !m.card(f).May.Answer {
		return nil
	}
	f.message = ""
	return m.sendIf(f, true)
}

func (m *model) sendIf(f *form, sure bool) tea.Cmd {
	view := m.card(f)
	reply, ok := f.check(view)
	if !ok {
		return nil
	}
	if why := view.Approval.Unreasoned(&f.rec.Ask, &reply); why != "" {
		f.message, f.typing = why, typingNote
		return nil
	}
	chosen := view.Destructive(reply.Answers)
	if sure = sure && chosen == f.destroys; chosen != "" && !sure {
		f.destroys, f.message = chosen, m.say("“%s” is destructive: %s confirms it", chosen, m.keys.key(actConfirm))
		f.scroll = cardEnd
		return nil
	}
	f.destroys = ""
	label := f.rec.Ask.Heading()
	if lines := f.draft(view).Review(); len(lines) == 1 {
		label = lines[0].Answer
	}
	return m.answer(f, reply, label)
}

func (m *model) answer(f *form, reply ask.Reply, label string) tea.Cmd {
	reply.AnswerID, reply.By = f.id(), m.opts.By
	return m.decide(f, ask.Clip(ask.CleanLine(label), 40), func(ctx context.Context, k ask.Key) (ask.Outcome, error) {
		return m.opts.Decider.Answer(ctx, k, reply)
	})
}

func (m *model) decline(f *form) tea.Cmd {
	d := responder.Decline{AnswerID: f.id(), Reason: trimmed(&f.reason), By: m.opts.By}
	return m.decide(f, m.say("decline|key"), func(ctx context.Context, k ask.Key) (ask.Outcome, error) { return m.opts.Decider.Cancel(ctx, k, d) })
}

// send sends a decision in the background.
func (f *form) send(send decision) tea.Cmd {
	k := f.rec.Ask.Key()
	f.sending = true
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
		defer cancel()
		o, err := send(ctx, k)
		return sentMsg{k, o, err}
	}
}

// sendLimit bounds the attempts to reach the bus.
const sendLimit = 30 * time.Second

// id returns the id of the current answer. A retry without a reply uses the same id.
func (f *form) id() string {
	if f.answerID == "" {
		f.answerID = rand.Text()
	}
	return f.answerID
}

// sent handles the result of an answer.
func (m *model) sent(msg sentMsg) tea.Cmd {
	f := m.forms[msg.key]
	if f == nil {
		return nil
	}
	f.sending = false
	o := &msg.o
	if refused, ok := errors.AsType[*ask.Error](msg.err); ok {
		switch {
		case refused.Outcome != nil:
			o = refused.Outcome
		case refused.Code == ask.CodeVoted:
			voted := newForm(f.rec, f.context) // another answer is another vote
			voted.rec.Votes, voted.kept, voted.file = refused.Votes, f.kept, f.file
			m.forms[msg.key] = voted
			m.message = "✓ " + m.opts.Viewer.Voted(&f.rec, refused.Votes, m.opts.Now())
			return nil
		case refused.Code == ask.CodeInvalid:
			f.answerID, f.message = "", ""
			f.enter(f.mark(m.card(f), refused.Faults))
			if slices.ContainsFunc(refused.Faults, func(f ask.Fault) bool { return strings.HasSuffix(f.Pointer, "/notes") }) {
				f.typing = typingNote // a vote's reason
			}
			return m.toldOf(f)
		default:
			f.message = m.opts.Viewer.Explain(&f.rec, refused, m.opts.Now())
			return m.toldOf(f)
		}
	} else if msg.err != nil {
		f.message, f.scroll = m.say("Not sent: %s · Enter tries again", ask.CleanLine(msg.err.Error())), cardEnd
		return m.toldOf(f)
	}
	f.end, f.typing, f.review, f.sentHere = o, typingNothing, false, msg.err == nil
	f.rec.Outcome, f.rec.State = o, ask.StateResolved
	if f.sentHere {
		m.opts.Drafts.forget(draftOf(m.opts.By, msg.key, f.rec.Life))
	}
	m.opts.Source.Learn(f.rec)
	if m.single() {
		m.outcome = o
		return tea.Quit
	}
	if msg.err == nil && msg.key == m.focus { // show the next ask; this one collapses in the list
		m.message = "✓ " + card.InlinePlain(m.card(f).End.Sentence)
		at := m.at()
		refreshed := m.refresh()
		said := m.message
		next := m.slideTo(max(0, at))
		m.message = said
		return tea.Batch(refreshed, next)
	}
	return tea.Batch(m.refresh(), m.toldOf(f))
}

// toldOf says how a held answer ended while another ask is shown. Words that were not sent are shown with their ask,
// unless somebody types.
func (m *model) toldOf(f *form) tea.Cmd {
	k := f.rec.Ask.Key()
	if m.focus == k || m.single() {
		return nil
	}
	if m.forms[k] = f; !f.sentHere && len(f.begun()) > 0 && m.editor() == nil {
		return m.focusOn(k)
	}
	switch {
	case f.sentHere:
		m.message = "✓ " + card.InlinePlain(m.card(f).End.Sentence)
	case f.end != nil:
		m.message = m.card(f).End.Late()
	default:
		m.message = m.say("Not sent: %s", cmp.Or(f.message, f.field().fault, m.say("look at it again")))
	}
	return nil
}
