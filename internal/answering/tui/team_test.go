package tui_test

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// team is an in-memory team; the kit's board has its own tests.
type team struct {
	*bus
	off    map[ask.Key]time.Time
	handed []string
	told   chan string
	given  *board.Handover // of every ask
	there  map[ask.Key][]board.Attention

	lastCall time.Time // no snooze is longer; zero: any is as long as was chosen
}

func (c *team) Pending(f board.Filter, offset, limit int) ([]board.Head, int) {
	all, _ := c.bus.Pending(f, 0, 1000)
	var heads []board.Head
	for _, h := range all {
		h.Handed = c.given
		if f.Takes(h) {
			heads = append(heads, h)
		}
	}
	return heads, len(heads)
}

func (c *team) Snooze(_ context.Context, _ board.Viewer, k ask.Key, until time.Time) error {
	if delete(c.off, k); !until.IsZero() {
		if !c.lastCall.IsZero() && until.After(c.lastCall) {
			until = c.lastCall
		}
		c.off[k] = until
	}
	return nil
}

func (c *team) Snoozed(context.Context, board.Viewer) (map[ask.Key]time.Time, error) {
	return c.off, nil
}

func (c *team) HandOver(_ context.Context, _ board.Viewer, _ ask.Key, to, word string) error {
	if to == "Zoe" {
		return ask.InvalidError("handover", []ask.Fault{{Pointer: "/to", Message: "is nobody who was seen here"}})
	}
	c.handed = append(c.handed, to+": "+word)
	return nil
}

func (c *team) TakeBack(ctx context.Context, v board.Viewer, k ask.Key, from string) error {
	return c.HandOver(ctx, v, k, "", "from "+from)
}

func (c *team) Attending(k ask.Key) []board.Attention { return c.there[k] }

func (c *team) Look(_ board.Viewer, k ask.Key, answering bool) error {
	c.told <- map[bool]string{false: "looks at ", true: "answers "}[answering] + k.ID
	return nil
}

func (c *team) Leave(_ board.Viewer, k ask.Key) error {
	c.told <- "leaves " + k.ID
	return nil
}

func withTeam(t *testing.T, asks ...ask.Ask) (*screen, *team) {
	t.Helper()
	c := &team{off: map[ask.Key]time.Time{}, told: make(chan string, 10), there: map[ask.Key][]board.Attention{}}
	s, _ := start(t, 120, 40, func(o *tui.Options) {
		c.bus = o.Source.(*bus)
		o.Source, o.Team = c, c
	}, asks...)
	return s, c
}

func keyOf(id string) ask.Key {
	return ask.Key{Tenant: ask.DefaultTenant, Session: "build-42", ID: id}
}

func TestSnoozing(t *testing.T) {
	t.Parallel()
	s, c := withTeam(t, database(), text("Next?"))
	s.keys("h")
	s.has("Snooze", "2  1 hour", "Monday, 9:00")
	s.keys("2")
	s.has("1 waiting", "Next?", "Snoozed, back in 1 h · z takes it back")
	if got := c.off[keyOf("a1")]; !got.Equal(began.Add(65 * time.Minute)) {
		t.Errorf("until %s", got)
	}
	s.keys("esc H")
	s.has("what you snoozed", "Ledger storage", "back in 1 h")
	s.hasNot("Next?  ")
	s.keys("k h")
	if len(c.off) != 0 {
		t.Error("it is not taken back")
	}
	s.keys("H")
	s.has("2 waiting")
	s.keys("h 1").has("1 waiting")
	s.keys("z").has("2 waiting", "Taken back")
	s.keys("h 1 j z").has("1 waiting") // z takes back only what is said
}

// TestASnoozeSaysWhenTheAskComesBack: that is before it ends, whatever was chosen.
func TestASnoozeSaysWhenTheAskComesBack(t *testing.T) {
	t.Parallel()
	s, c := withTeam(t, database(), text("Next?"))
	c.lastCall = began.Add(45 * time.Minute)
	s.keys("h 5").has("Snoozed, back in 40 min · z takes it back")
}

// TestANamedAskStaysOnTheScreen: no key brings up another one, which would be answered in its place.
func TestANamedAskStaysOnTheScreen(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, func(o *tui.Options) {
		c := &team{bus: o.Source.(*bus), off: map[ask.Key]time.Time{}, told: make(chan string, 10)}
		o.Once, o.Source, o.Team = keyOf("a1"), c, c
	}, text("First?"), text("Next?"))
	s.keys("esc") // leaves the field
	for _, keys := range []string{"j", "k", "g", "G"} {
		s.keys(keys).has("First?", "Only the ask that you named is shown.")
	}
	s.hasNot("next and previous ask")
	s.keys("h 1").has("First?", "Snoozed, back in 15 min · z takes it back")
	s.keys("enter").typed("dune").keys("enter")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Text != "dune" {
		t.Errorf("sent %+v", got)
	}
}

func TestHandingOver(t *testing.T) {
	t.Parallel()
	s, c := withTeam(t, database())
	s.keys("a").typed("Zoe").keys("enter").typed("yours").keys("enter")
	s.has("Not handed over: “Zoe” is nobody who was seen here.", "To    Zoe", "Word  yours")
	s.keys("ctrl+u").typed("os:tom")
	s.has("To    os:tom", "Word  yours")
	s.keys("enter enter")
	if s.has("Handed to os:tom by you: “yours” · z takes it back"); len(c.handed) != 1 || c.handed[0] != "os:tom: yours" {
		t.Errorf("%q", c.handed)
	}
	if s.keys("z").has("Taken back"); len(c.handed) != 2 || c.handed[1] != ": from os:tom" {
		t.Errorf("%q", c.handed)
	}
	s.keys("a esc")
	s.hasNot("Hand over")
}

func TestTheNoteOfAHandOverReachesTheOpenCard(t *testing.T) {
	t.Parallel()
	s, c := withTeam(t, database())
	s.keys("enter")
	c.given = &board.Handover{To: "os:mei", Word: "you know the ledger", By: ask.By{Principal: "os:tom", Name: "Tom"}}
	s.send(tui.Changed())
	s.has("Handed to you by Tom: “you know the ledger”")
}

func TestPresenceIsShownAndReported(t *testing.T) {
	t.Parallel()
	s, c := withTeam(t, database(), text("Next?"))
	c.there[keyOf("a1")] = []board.Attention{{Principal: "os:tom", Name: "Tom", Answering: true}}
	s.send(tui.Changed())
	s.has("Tom is answering", "Tom answers · 5 min")
	said := func(want string) {
		t.Helper()
		s.send(tui.Tick())
		select {
		case got := <-c.told:
			if got != want {
				t.Errorf("others are told %q, not %q", got, want)
			}
		default:
			if want != "" {
				t.Errorf("others are not told %q", want)
			}
		}
	}
	said("looks at a1")
	said("")
	s.keys("2")
	said("answers a1")
	s.keys("esc j")
	said("leaves a1")
	if got := <-c.told; got != "looks at a2" {
		t.Error(got)
	}
	s.send(tea.BlurMsg{})
	said("leaves a2")
}

// An answer that is held is being answered: others are not offered the ask.
func TestAHeldAnswerKeepsOthersAway(t *testing.T) {
	t.Parallel()
	c := &team{off: map[ask.Key]time.Time{}, told: make(chan string, 10), there: map[ask.Key][]board.Attention{}}
	s, _ := start(t, 120, 40, func(o *tui.Options) {
		c.bus, o.Undo = o.Source.(*bus), tui.MaxUndo
		o.Source, o.Team = c, c
	}, database(), text("Next?"))
	s.send(tui.Tick())
	s.keys("2 enter").has("sending SQLite", "Next?")
	s.send(tui.Tick())
	for _, want := range []string{"looks at a1", "answers a1", "looks at a2"} {
		if got := <-c.told; got != want {
			t.Errorf("others are told %q, not %q", got, want)
		}
	}
	if len(c.told) > 0 {
		t.Errorf("others are told %q as well", <-c.told)
	}
}

// A terminal that nobody touches for a minute takes no asks out of the others' queues.
func TestPresenceEndsInAnUntouchedTerminal(t *testing.T) {
	t.Parallel()
	c := &team{off: map[ask.Key]time.Time{}, told: make(chan string, 10), there: map[ask.Key][]board.Attention{}}
	now := began
	s, _ := start(t, 120, 40, func(o *tui.Options) {
		c.bus = o.Source.(*bus)
		o.Source, o.Team, o.Now = c, c, func() time.Time { return now }
	}, database())
	for _, step := range []struct {
		after time.Duration
		used  tea.Msg
		want  string
	}{
		{0, nil, "looks at a1"},
		{59 * time.Second, nil, "looks at a1"},
		{time.Second, nil, "leaves a1"},
		{time.Hour, nil, ""},
		{0, tea.FocusMsg{}, "looks at a1"},
		{time.Minute, nil, "leaves a1"},
		{0, tea.MouseClickMsg{X: 1, Y: 1}, "looks at a1"},
	} {
		now = now.Add(step.after)
		if step.used != nil {
			s.send(step.used)
		}
		s.send(tui.Tick())
		got := ""
		select {
		case got = <-c.told:
		default:
		}
		if got != step.want {
			t.Errorf("after %s and %T others are told %q, not %q", step.after, step.used, got, step.want)
		}
	}
}

func TestTheListIsTranslated(t *testing.T) {
	t.Parallel()
	links := 0
	s, b := start(t, 120, 40, func(o *tui.Options) {
		o.Viewer.Lang = "zh"
		o.Open = func(string) { links++ }
		team := &team{bus: o.Source.(*bus), off: map[ask.Key]time.Time{}, told: make(chan string, 10)}
		team.there = map[ask.Key][]board.Attention{keyOf("a1"): {{Principal: "os:tom", Name: "Tom"}}}
		o.Team = team
	}, database())
	b.asked(text("Next?"))
	s.send(tui.Changed())
	s.has("Tom 正在看 · ")
	s.keys("y").has("已复制 http")
	if s.keys("O").has("已打开 http"); links != 1 {
		t.Errorf("%d links were opened", links)
	}
}

// On a narrow terminal what was just done has the line of how many wait.
func TestANarrowHeadSaysWhatWasJustDone(t *testing.T) {
	t.Parallel()
	s, _ := start(t, 40, 12, nil, database(), text("Next?"))
	s.keys("enter 1 enter")
	s.has("✓ You chose PostgreSQL at 1")
}
