package tui_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/charmbracelet/x/ansi"
)

// On a wide terminal the card has what it needs, and the list takes the rest: more of each question, and who asks.
func TestTheListTakesTheRoomThatTheCardDoesNotNeed(t *testing.T) {
	t.Parallel()
	long := "Shall I rename the column customer_identifier to customer_id in all services before the freeze?"
	asks := []ask.Ask{
		{Agent: ask.Agent{ID: "b", Name: "builder"}, Questions: []ask.Question{{Text: long, Options: []ask.Option{{Label: "Yes"}, {Label: "No"}}}}},
		{Agent: ask.Agent{ID: "m", Name: "migrator"}, Questions: []ask.Question{{Text: "Which region?", Options: []ask.Option{{Label: "eu-west"}, {Label: "eu-north"}}}}},
	}
	list := func(width int) (row string, at int, s *screen) {
		s, _ = start(t, width, 24, nil, asks...)
		for l := range strings.Lines(plain(s.text())) {
			if left, _, two := strings.Cut(l, " │"); two && strings.Contains(left, "Shall I rename") {
				return left, ansi.StringWidth(left), s
			}
		}
		t.Fatalf("no list at %d columns:\n%s", width, s.text())
		return "", 0, nil
	}
	before := 0
	for _, width := range []int{120, 160, 200, 260} {
		row, at, s := list(width)
		if at < before || width >= 160 && at == before {
			t.Errorf("at %d columns the list has %d, and %d on a narrower screen", width, at, before)
		}
		before = at
		if who := strings.Contains(row, "builder"); who != (width >= 200) {
			t.Errorf("at %d columns it says who asks: %v: %q", width, who, row)
		}
		for y, l := range strings.Split(plain(s.text()), "\n") { // the whole width of a row is the row
			if left, _, found := strings.Cut(l, " │"); found && strings.Contains(left, "Which region?") {
				s.send(tea.MouseClickMsg{X: at - 1, Y: y, Button: tea.MouseLeft})
			}
		}
		s.has("eu-north")
	}
}

// Each priority above the usual one has a mark of its own, which needs no colour.
func TestPrioritiesAreMarked(t *testing.T) {
	t.Parallel()
	b := &bus{}
	for text, p := range map[string]ask.Priority{"Now?": ask.PriorityUrgent, "Soon?": ask.PriorityHigh, "Some time?": ask.PriorityNormal} {
		b.asked(ask.Ask{ID: string(p), Priority: p, Questions: []ask.Question{{Kind: ask.KindBoolean, Text: text}}})
	}
	newScreen(t, options(b), 120, 40).has("▲ Now?", "△ Soon?", "◆ Some time?")
}
