package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// MaxUndo is the longest that an answer is held before it is sent.
const MaxUndo = 10 * time.Second

// soon is when an ask ends too early for its answer to be held.
const soon = 30 * time.Second

// decision sends an answer or a decline.
type decision func(ctx context.Context, k ask.Key) (ask.Outcome, error)

// held is a decision that is sent after [Options.Undo].
type held struct {
	form  *form
	label string
	at    time.Time // when it is sent
	n     int
	send  decision
}

func (h *held) key() ask.Key { return h.form.rec.Ask.Key() }

// heldWords says what is about to be sent.
func (m *model) heldWords(h *held) string {
	left := max(0, h.at.Sub(m.opts.Now()))
	return m.say("sending %s in %d s", card.InlinePlain(h.label), int((left+time.Second-1)/time.Second)) + " · " + m.say("%s takes it back", m.keys.key(actTakeBack))
}

// heldFor returns what is held for an ask, or nil.
func (m *model) heldFor(k ask.Key) *held {
	if at := slices.IndexFunc(m.held, func(h held) bool { return h.key() == k }); at >= 0 {
		return &m.held[at]
	}
	return nil
}

// busy reports whether an ask's answer is held or being sent.
func (m *model) busy(f *form) bool { return f.sending || m.heldFor(f.rec.Ask.Key()) != nil }

// decide sends a decision, after the time in which it can be taken back. What cannot wait is sent at once.
func (m *model) decide(f *form, label string, send decision) tea.Cmd {
	a := &f.rec.Ask
	if m.opts.Undo == 0 || a.Priority == ask.PriorityUrgent || !a.Deadline.IsZero() && a.Deadline.Sub(m.opts.Now()) < soon {
		return f.send(send)
	}
	m.holds++
	n := m.holds
	m.held = append(m.held, held{f, label, m.opts.Now().Add(m.opts.Undo), n, send})
	f.typing = typingNothing
	later := tea.Batch(m.answers(f.rec.Ask.Key()), tea.Tick(m.opts.Undo, func(time.Time) tea.Msg { return heldMsg(n) }))
	if m.single() {
		return later
	}
	return tea.Batch(later, m.onward())
}

// onward shows the next ask whose answer is not held.
func (m *model) onward() tea.Cmd {
	from := m.at() + 1
	for i := range m.rows {
		row := (from + i) % len(m.rows)
		if k := m.heads[m.rows[row]].Key; k != m.focus && m.heldFor(k) == nil {
			return m.slideTo(row)
		}
	}
	return nil
}

// unhold removes what is held.
func (m *model) unhold(h *held) held {
	one := *h
	m.held = slices.DeleteFunc(m.held, func(h held) bool { return h.n == one.n })
	return one
}

// release sends what is held, unless it was taken back.
func (m *model) release(n int) tea.Cmd {
	at := slices.IndexFunc(m.held, func(h held) bool { return h.n == n })
	if at < 0 {
		return nil
	}
	h := m.unhold(&m.held[at])
	m.forms[h.key()] = h.form
	return h.form.send(h.send)
}

// undo takes the newest held decision back, and shows its ask.
func (m *model) undo() tea.Cmd {
	h := m.unhold(&m.held[len(m.held)-1])
	m.forms[h.key()] = h.form
	cmd := m.focusOn(h.key())
	m.inCard = true
	h.form.grab()
	m.message = m.say("Taken back: nothing was sent")
	return cmd
}

// flush sends what is held when the screen closes. It returns what was not sent, and why.
func (m *model) flush() error {
	errs := make([]error, len(m.held))
	var sending sync.WaitGroup
	var once sync.Mutex
	for i := range m.held {
		h := &m.held[i]
		sending.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
			defer cancel()
			o, err := h.send(ctx, h.key())
			refused, is := errors.AsType[*ask.Error](err)
			h.form.touched = err != nil && (!is || refused.Outcome == nil) && !errors.Is(err, ask.ErrVoted)
			if errors.Is(err, ask.ErrVoted) {
				return
			}
			if is && refused.Outcome != nil {
				o = *refused.Outcome
			}
			once.Lock()
			defer once.Unlock()
			if m.single() && (err == nil || is && refused.Outcome != nil) {
				m.outcome = &o
				return
			}
			if err != nil {
				errs[i] = fmt.Errorf("not sent: %s: %w", card.InlinePlain(h.form.rec.Ask.Heading()), err)
			}
		})
	}
	sending.Wait()
	m.held = nil
	return errors.Join(errs...)
}
