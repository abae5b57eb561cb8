package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
)

// NewModel makes the screen's model for tests.
func NewModel(opts Options) (tea.Model, error) { return newModel(opts) }

// IsRecord reports whether msg carries an ask to show.
func IsRecord(msg tea.Msg) bool {
	_, ok := msg.(recordMsg)
	return ok
}

// Changed returns the message that the source has changed.
func Changed() tea.Msg { return changedMsg{} }

// Tick returns the message of each second.
func Tick() tea.Msg { return tickMsg(time.Time{}) }

// Screen returns a model's screen, line by line.
func Screen(m tea.Model) string {
	lines, _ := m.(*model).screen()
	return strings.Join(lines, "\n")
}

// Forms returns how many forms a model holds.
func Forms(m tea.Model) int { return len(m.(*model).forms) }

// Listed returns the asks of a model's list, in order.
func Listed(m tea.Model) (keys []ask.Key) {
	md := m.(*model)
	for _, i := range md.rows {
		keys = append(keys, md.heads[i].Key)
	}
	return keys
}

// Open reports whether an ask has been read, and whether this person can
// answer it.
func Open(m tea.Model, k ask.Key) (read, open bool) {
	md := m.(*model)
	f := md.forms[k]
	if f == nil {
		return md.failed != nil, false
	}
	return true, f.end == nil && md.card(f).May.Answer
}

// Row returns the row of an option of an ask's first question, or -1.
func Row(m tea.Model, k ask.Key, option string) int {
	f := m.(*model).forms[k]
	if f == nil {
		return -1
	}
	return slices.IndexFunc(f.rec.Ask.Questions[0].Options, func(o ask.Option) bool { return o.ID == option })
}

// Sending reports whether an answer to an ask is being sent.
func Sending(m tea.Model, k ask.Key) bool {
	f := m.(*model).forms[k]
	return f != nil && f.sending
}

// Settle lets a model take keys again for an ask that nobody chose.
func Settle(m tea.Model) { m.(*model).quiet = time.Time{} }

// Flush sends what a model holds, as when its screen closes.
func Flush(m tea.Model) error { return m.(*model).flush() }

// Painted is the time before an image is drawn.
const Painted = painted
