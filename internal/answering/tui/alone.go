package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// mayChoose reports whether a person can choose an option: to answer, or to decide alone.
func mayChoose(view *card.Card) bool { return view.May.Answer || view.BreakGlass != nil }

// beginAlone asks for the reason with which a person decides alone what is chosen.
func (m *model) beginAlone(f *form, view *card.Card) {
	f.breaking = false
	switch {
	case view.BreakGlass == nil:
		f.message = m.say("You have no break-glass role for this ask.")
	case len(f.field().chosen) == 0:
		f.message = m.say("Choose what you decide first, then %s.", m.keys.key(actAlone))
	default:
		f.typing, f.message = typingAlone, ""
	}
}

// askAlone checks the reason. Another key than the one that ends it sends the decision.
func (m *model) askAlone(f *form, view *card.Card) {
	if view.BreakGlass == nil {
		f.typing = typingNothing
		return
	}
	reason, wrong := view.BreakGlass.Check(f.alone.String())
	if wrong != "" {
		f.message = wrong
		return
	}
	f.typing, f.breaking = typingNothing, true
	f.message = m.say("You decide this alone, whatever the votes: “%[1]s”, because: %[2]s. %[3]s confirms it.", f.chosenWords(view), ask.CleanLine(reason), m.keys.key(actConfirm))
}

// chosenWords returns the labels of what is chosen.
func (f *form) chosenWords(view *card.Card) string {
	if lines := f.draft(view).Review(); len(lines) == 1 {
		return lines[0].Answer
	}
	return ""
}

// sendAlone sends the decision at once: what everybody is told cannot be taken back.
func (m *model) sendAlone(f *form) tea.Cmd {
	f.breaking, f.message = false, ""
	view := m.card(f)
	if f.end != nil || m.busy(f) || view.BreakGlass == nil {
		return nil
	}
	reply, ok := f.check(view)
	if !ok {
		return nil
	}
	reason, _ := view.BreakGlass.Check(f.alone.String())
	reply.AnswerID, reply.By, reply.BreakGlass = f.id(), m.opts.By, &ask.BreakGlass{Reason: reason}
	return f.send(func(ctx context.Context, k ask.Key) (ask.Outcome, error) { return m.opts.Decider.Answer(ctx, k, reply) })
}
