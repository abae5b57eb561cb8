package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/charmbracelet/x/ansi"
)

// presence is the last presence that was reported to others.
type presence struct {
	key       ask.Key // zero: at no ask
	answering bool
	at        time.Time
}

// lookEvery is how often presence is repeated.
const lookEvery = 10 * time.Second

// awake is how long after a key, click or focus somebody counts as being there.
const awake = time.Minute

// movedMsg is the result of snoozing or handing over.
type movedMsg struct {
	key  ask.Key
	said string  // empty: that it is snoozed
	back move    // takes it back; nil: nothing does
	form overlay // of a hand-over: opened again if it is refused
	err  error
}

// move changes whose list an ask is on.
type move func(ctx context.Context, v board.Viewer, k ask.Key) error

// handedWords says to whom an ask was handed, by whom, and why.
func (m *model) handedWords(k ask.Key) string {
	at := slices.IndexFunc(m.heads, func(h board.Head) bool { return h.Key == k })
	if at < 0 || m.heads[at].Handed == nil {
		return ""
	}
	h := m.heads[at].Handed
	return m.opts.Viewer.HandedOver(ask.By{Principal: h.To, Name: h.Whom()}, h.By, h.Word)
}

func (m *model) viewer() board.Viewer {
	return board.Viewer{By: m.opts.By, StandIns: m.opts.Viewer.StandIns}
}

// readOff reads this person's snoozed asks. On an error the previous ones stay.
func (m *model) readOff() {
	if m.opts.Team == nil {
		return
	}
	if off, err := m.opts.Team.Snoozed(context.Background(), m.viewer()); err == nil {
		m.off = off
	}
}

// others returns the other people at an ask, for its card.
func (m *model) others(k ask.Key) []card.Attention {
	if m.opts.Team == nil {
		return nil
	}
	var all []card.Attention
	for _, a := range m.opts.Team.Attending(k) {
		all = append(all, card.Attention{By: ask.By{Principal: a.Principal, Name: a.Name}, Answering: a.Answering})
	}
	return all
}

// attend reports this person's presence at the open card while the terminal has the focus and is used.
func (m *model) attend() tea.Cmd {
	if m.opts.Team == nil {
		return nil
	}
	now, before := m.opts.Now(), m.there
	next := presence{at: now}
	if f := m.form(); f != nil && f.end == nil && !m.blurred && now.Sub(m.active) < awake && (m.inCard || m.wide()) {
		next.key, next.answering = m.focus, f.touched || m.busy(f)
	}
	if next.key == before.key && next.answering == before.answering && (now.Sub(before.at) < lookEvery || next.key == (ask.Key{})) {
		return nil
	}
	m.there = next
	team, v := m.opts.Team, m.viewer()
	// To others an ask whose answer is held or under way is being answered.
	left := m.forms[before.key]
	leaves := before.key != next.key && before.key != (ask.Key{}) && (left == nil || !m.busy(left))
	return func() tea.Msg {
		if leaves {
			_ = team.Leave(v, before.key) // it expires by itself
		}
		if next.key != (ask.Key{}) {
			_ = team.Look(v, next.key, next.answering) // repeated soon
		}
		return nil
	}
}

// answers tells others that an ask is being answered, so that they are not offered it while its answer is held.
func (m *model) answers(k ask.Key) tea.Cmd {
	if m.opts.Team == nil {
		return nil
	}
	team, v := m.opts.Team, m.viewer()
	return func() tea.Msg {
		_ = team.Look(v, k, true) // the worst is that somebody reads it for nothing
		return nil
	}
}

// beginSnooze offers the durations, or ends the snooze.
func (m *model) beginSnooze() tea.Cmd {
	if m.opts.Team == nil || m.focus == (ask.Key{}) {
		return nil
	}
	if _, is := m.off[m.focus]; is {
		return m.change(movedMsg{key: m.focus, said: m.say("Back in the list")}, m.unsnooze)
	}
	m.overlay = overlay{kind: overlaySnooze}
	return nil
}

func (m *model) beginHandOver() {
	if m.opts.Team != nil && m.focus != (ask.Key{}) {
		m.overlay = overlay{kind: overlayHandOver}
	}
}

// snoozeKey handles a key press while durations are offered.
func (m *model) snoozeKey(name string) tea.Cmd {
	all := m.opts.Viewer.Snoozes(m.opts.Now())
	if len(name) != 1 || name[0] < '1' || int(name[0]-'1') >= len(all) {
		if name == "esc" || name == "h" || name == "q" {
			m.overlay = overlay{}
		}
		return nil
	}
	until := all[name[0]-'1'].Until
	m.overlay = overlay{}
	return m.change(movedMsg{key: m.focus, back: m.unsnooze}, func(ctx context.Context, v board.Viewer, k ask.Key) error {
		return m.opts.Team.Snooze(ctx, v, k, until)
	})
}

func (m *model) unsnooze(ctx context.Context, v board.Viewer, k ask.Key) error {
	return m.opts.Team.Snooze(ctx, v, k, time.Time{})
}

// handKey handles a key press while the recipient and the message are typed.
func (m *model) handKey(name, text string) tea.Cmd {
	o := &m.overlay
	at := &o.filter
	if o.second {
		at = &o.word
	}
	switch name {
	case "esc":
		m.overlay = overlay{}
	case "tab", "shift+tab":
		o.second = !o.second
	case "enter":
		if o.filter.empty() {
			return nil
		}
		if !o.second {
			o.second = true
			return nil
		}
		to, word := strings.TrimSpace(o.filter.String()), strings.TrimSpace(o.word.String())
		form := m.overlay
		m.overlay = overlay{}
		back := func(ctx context.Context, v board.Viewer, k ask.Key) error { return m.opts.Team.TakeBack(ctx, v, k, to) }
		return m.change(movedMsg{key: m.focus, said: m.opts.Viewer.HandedOver(ask.By{Principal: to}, m.opts.By, word), back: back, form: form}, func(ctx context.Context, v board.Viewer, k ask.Key) error {
			return m.opts.Team.HandOver(ctx, v, k, to, word)
		})
	default:
		at.key(name, text)
	}
	return nil
}

// change applies a change to an ask that moves it between lists, and returns its result.
func (m *model) change(msg movedMsg, do move) tea.Cmd {
	v := m.viewer()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
		defer cancel()
		msg.err = do(ctx, v, msg.key)
		return msg
	}
}

// moved continues with the next ask.
func (m *model) moved(msg movedMsg) tea.Cmd {
	if msg.err != nil {
		words := msg.err.Error()
		if e, ok := errors.AsType[*ask.Error](msg.err); ok {
			words = m.opts.Viewer.NotMoved(e, msg.form.filter.String())
		}
		m.message = ask.CleanLine(words)
		if msg.form.kind == overlayHandOver && m.overlay.kind == overlayNone && m.focus == msg.key {
			m.overlay, m.overlay.fault, m.overlay.second = msg.form, m.message, false
		}
		return nil
	}
	at := m.at()
	refreshed := m.refresh()
	var next tea.Cmd
	if m.focus == msg.key && m.at() < 0 && m.opts.Once == (ask.Key{}) {
		if next = m.slideTo(max(0, at)); len(m.rows) == 0 {
			m.focus, m.inCard = ask.Key{}, false
		}
	}
	m.message = msg.said
	if until, off := m.off[msg.key]; off && msg.said == "" { // it comes back before it ends, whatever was chosen
		m.message = m.opts.Viewer.Snoozed(until, m.opts.Now())
	}
	if msg.back != nil {
		m.moving = &msg
		m.message += " · " + m.say("%s takes it back", m.keys.key(actTakeBack))
	}
	return tea.Batch(refreshed, next)
}

// teamView renders the overlays for snoozing and handing over.
func (m *model) teamView() []string {
	height := max(1, m.height-3)
	if m.overlay.kind == overlaySnooze {
		var lines []string
		for i, c := range m.opts.Viewer.Snoozes(m.opts.Now()) {
			lines = append(lines, "  "+string(rune('1'+i))+"  "+c.Words)
		}
		lines = append(lines, "", m.styles.dim.Render("  "+m.say("Others still see it. It comes back to you by itself.")))
		return m.framed(m.styles.title.Render(m.say("Snooze")), lines, height, m.say("1–5 choose · esc back"))
	}
	mark := func(on bool) string {
		if on {
			return m.styles.accent.Render("› ")
		}
		return "  "
	}
	o := &m.overlay
	label := max(4, ansi.StringWidth(m.say("To|person")), ansi.StringWidth(m.say("Word"))) + 2
	lines := []string{
		mark(!o.second) + padded(m.say("To|person"), label) + o.filter.String(), mark(o.second) + padded(m.say("Word"), label) + o.word.String(), "",
	}
	if o.fault != "" {
		for _, l := range wrapBehind("  ", "  ", o.fault, m.width-4) {
			lines = append(lines, m.styles.fault.Render(l))
		}
		lines = append(lines, "")
	}
	lines = append(
		lines,
		m.styles.dim.Render("  "+m.say("A name of somebody who was seen here, a principal such as os:mei, or group:platform.")),
		m.styles.dim.Render("  "+m.say("It moves to their list. Everybody who may decide it still may.")),
	)
	return m.framed(m.styles.title.Render(m.say("Hand over")), lines, height, m.say("enter next, then hands over · tab changes the field · esc back"))
}
