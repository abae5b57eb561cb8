package tui_test

import (
	"testing"

	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
)

// emergency is an ask of others that Mei may decide alone.
func emergency() ask.Ask {
	return ask.Ask{
		Questions:  []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval:   &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"group:sre"}}}},
		BreakGlass: []ask.BreakGlassRole{{Name: "commanders", From: []string{"os:mei"}, ReasonPrompt: "the incident", ReasonPattern: "^INC-"}},
	}
}

// TestDecidingAloneTakesThreeKeys: the choice, the reason behind B, and another key
// that confirms it; Enter alone sends nothing, and it is not held.
func TestDecidingAloneTakesThreeKeys(t *testing.T) {
	t.Parallel()
	s, b := start(t, 180, 40, func(o *tui.Options) { o.Undo = tui.MaxUndo }, emergency())
	s.keys("enter B")
	s.has("Only the votes of group sre count here.", "Choose what you decide first, then B.", "B: Decide alone (break-glass): In an emergency")
	s.keys("1 enter ! B").typed("because").keys("enter")
	s.has("The reason is required: the incident", `is "because"`)
	if len(b.replies()) != 0 {
		t.Fatalf("sent %+v", b.replies())
	}
	for range len("because") {
		s.keys("backspace")
	}
	s.typed("INC-7").keys("enter")
	s.has("You decide this alone, whatever the votes: “Yes”, because: INC-7. ! confirms it.")
	s.keys("enter")
	if len(b.replies()) != 0 {
		t.Fatalf("Enter sent %+v", b.replies())
	}
	s.keys("B enter !")
	got := b.replies()
	if len(got) != 1 || got[0].BreakGlass == nil || got[0].BreakGlass.Reason != "INC-7" || !*got[0].Answers[0].Boolean {
		t.Fatalf("sent %+v", got)
	}
}

// TestNobodyElseDecidesAlone: without a role the key says so, and sends nothing.
func TestNobodyElseDecidesAlone(t *testing.T) {
	t.Parallel()
	a := emergency()
	a.BreakGlass[0].From = []string{"os:ben"}
	s, b := start(t, 100, 40, nil, a)
	s.keys("enter 1 B !")
	s.hasNot("Decide alone")
	if len(b.replies()) != 0 {
		t.Fatalf("sent %+v", b.replies())
	}
}
