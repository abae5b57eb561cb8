package tui_test

import (
	"testing"

	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
)

func asksOf(id, q string) ask.Ask {
	a := text(q)
	a.ID = id
	return a
}

// TestAnIDThatIsAskedAgainIsAnotherAsk: the bus takes an id for a new ask once it has forgotten the earlier one.
func TestAnIDThatIsAskedAgainIsAnotherAsk(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, nil, asksOf("a1", "First?"))
	s.keys("enter").typed("one").keys("enter")
	s.has("0 waiting", "You answered one")
	b.again(asksOf("a1", "Second?"))
	s.send(tui.Changed())
	s.has("1 waiting", "You answered one") // it is being read
	s.keys("j").has("Second?")
	s.hasNot("You answered")
	s.keys("enter").typed("two").keys("enter")
	if got := b.replies(); len(got) != 2 || got[1].Answers[0].Text != "two" {
		t.Errorf("sent %+v", got)
	}
}

func TestAnAskThatIsAskedAgainTakesThePlaceOfTheFirst(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, nil, asksOf("a1", "First?"), asksOf("a2", "Other?"))
	s.has("First?", "Other?")
	b.again(asksOf("a1", "Second?"))
	b.again(asksOf("a2", "Another?"))
	s.send(tui.Changed())
	s.has("Second?", "Another?")
	s.hasNot("First?", "Other?")
}

// TestWhatWasTypedForAnEarlierAskIsNotSentToTheNext: the person sees what is asked now first.
func TestWhatWasTypedForAnEarlierAskIsNotSentToTheNext(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, nil, asksOf("a1", "First?"))
	s.keys("enter").typed("dune")
	b.again(asksOf("a1", "Second?"))
	s.send(tui.Changed())
	s.has("First?", "❯ dune")
	s.hasty = true
	s.keys("enter enter").has("Second?", "dune", "Not sent: the agent has asked this again. Look at it, then answer.")
	s.hasty = false
	if got := b.replies(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
	s.keys("enter")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Text != "dune" {
		t.Errorf("sent %+v", got)
	}
}

func TestAHeldAnswerIsNotSentToAnAskThatIsAskedAgain(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, holding(tui.MaxUndo), asksOf("a1", "First?"), asksOf("a2", "Other?"))
	s.keys("enter").typed("dune").keys("enter").has("sending dune in 10 s", "Other?")
	b.again(asksOf("a1", "Second?"))
	s.send(tui.Changed())
	s.has("Not sent: the agent has asked this again. Look at it, then answer.")
	s.keys("esc j").has("Second?", "dune")
	if err := tui.Flush(s.m); err != nil || len(b.replies()) != 0 {
		t.Errorf("sent %+v: %v", b.replies(), err)
	}
}
