package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
)

func holding(d time.Duration) func(*tui.Options) {
	return func(o *tui.Options) { o.Undo = d }
}

func TestAnswersAreHeldAndTakenBackNewestFirst(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, holding(tui.MaxUndo), database(), text("Name?"), text("Next?"))
	s.keys("2 enter")
	s.has("sending …", "sending SQLite in 10 s · z takes it back", "3 waiting", "Name?")
	s.keys("enter").typed("ledger").keys("enter")
	s.has("sending ledger in 10 s", "Next?")
	if got := strings.Count(plain(s.text()), "sending …"); got != 2 {
		t.Errorf("%d rows say so", got)
	}
	s.keys("z").has("❯ ledger", "Taken back: nothing was sent")
	s.keys("esc z").has("(•) SQLite")
	s.hasNot("sending")
	if got := b.replies(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
	s.keys("enter k").has("sending SQLite in 10 s") // its own card says so, too
	if s.keys("enter"); len(b.replies()) != 1 {
		t.Errorf("Enter on what is held does not send it: %+v", b.replies())
	}
}

// TestALongReviewSaysWhatEnterDid: without scrolling, and no longer what Enter did before.
func TestALongReviewSaysWhatEnterDid(t *testing.T) {
	t.Parallel()
	a := ask.Ask{Title: "Release 4.2"}
	for i := range 8 {
		a.Questions = append(a.Questions, ask.Question{Text: fmt.Sprint("Check ", i, "?"), Options: []ask.Option{{Label: "Keep"}, {Label: "Drop", Destructive: true}}})
	}
	s, b := start(t, 80, 24, holding(tui.MaxUndo), a)
	s.keys("enter 1 1 1 1 1 1 1 2 enter").has("This is what will be sent", "↓ more")
	s.keys("enter").has("“Drop” is destructive: ! confirms it")
	s.keys("!").has("sending Release 4.2 in 10 s · z takes it back", "enter send now · z take it back")
	s.hasNot("enter sends", "↓ more")
	s.keys("z").has("Taken back", "enter send · ")
	if s.keys("enter ! enter"); len(b.replies()) != 1 {
		t.Errorf("sent %+v", b.replies())
	}
}

func TestAHeldAnswerIsSentAndTold(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, holding(10*time.Millisecond), database(), text("Name?"))
	s.keys("2 enter")
	s.has("✓ You chose SQLite at ", "1 waiting", "Name?")
	if got := b.replies(); len(got) != 1 {
		t.Errorf("sent %+v", got)
	}
	s.keys("x").typed("not today").keys("enter")
	if got := b.replies(); len(got) != 2 || got[1].Response != "declined: not today" {
		t.Errorf("sent %+v", got)
	}
}

func TestWhatCannotWaitIsNotHeld(t *testing.T) {
	t.Parallel()
	urgent, late := database(), database()
	urgent.Priority = ask.PriorityUrgent
	late.Deadline = began.Add(5*time.Minute + 29*time.Second)
	for _, a := range []ask.Ask{urgent, late} {
		s, b := start(t, 120, 40, holding(tui.MaxUndo), a)
		if s.keys("2 enter"); len(b.replies()) != 1 {
			t.Errorf("%s is held", a.Priority)
		}
	}
}

func TestSomebodyElseIsFirstWhileAnAnswerIsHeld(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, holding(tui.MaxUndo), database(), text("Name?"))
	s.keys("2 enter")
	b.end("a1", ask.Outcome{Status: ask.StatusAnswered, At: began.Add(5*time.Minute - 3*time.Second), Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &ask.By{Principal: "slack:U1", Name: "Ben", Responder: "slack"}})
	s.send(tui.Changed())
	s.has("Too late: Ben chose PostgreSQL at ")
	s.hasNot("sending")
	if len(b.replies()) != 0 {
		t.Errorf("sent %+v", b.replies())
	}
}

func TestTheWordsOfARefusedHeldAnswerAreShown(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, holding(10*time.Millisecond), text("Name?"), database())
	late := ask.Refuse(ask.CodeResolved, "already answered")
	late.Outcome = &ask.Outcome{Status: ask.StatusAnswered, At: began, Answers: []ask.Answer{{QuestionID: "t", Text: "books"}}, By: &ask.By{Principal: "web:ben", Name: "Ben", Responder: "web"}}
	b.refuse = []error{late}
	s.keys("enter").typed("ledger").keys("enter")
	s.has("Ben answered books at ", "❯ ledger")
}

func TestClosingTheScreenSendsWhatIsHeld(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, holding(tui.MaxUndo), database(), text("Name?"))
	s.keys("2 enter")
	if err := tui.Flush(s.m); err != nil || len(b.replies()) != 1 {
		t.Errorf("%v, sent %+v", err, b.replies())
	}
	s, b = start(t, 120, 40, holding(tui.MaxUndo), database())
	b.refuse = []error{fmt.Errorf("no reply")}
	s.keys("2 enter")
	if err := tui.Flush(s.m); err == nil || err.Error() != "not sent: Ledger storage: no reply" {
		t.Error(err)
	}
}

func TestADestructiveOptionNeedsAnotherKey(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, nil, ask.Ask{Questions: []ask.Question{{ID: "t", Text: "The old table?", Options: []ask.Option{{ID: "keep", Label: "Keep it"}, {ID: "drop", Label: "Drop it", Destructive: true}}}}})
	s.keys("! 2 enter").has("Drop it  destructive", "“Drop it” is destructive: ! confirms it")
	s.keys("enter 1 ! 2") // neither Enter, nor what was found for another choice
	if got := b.replies(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
	s.keys("enter !")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Selected[0] != "drop" {
		t.Errorf("sent %+v", got)
	}
}

func TestAnAskThatComesWhileSomebodyTypesTakesNoKeys(t *testing.T) {
	t.Parallel()
	now := began
	s, b := start(t, 120, 40, func(o *tui.Options) { o.Now = func() time.Time { return now } })
	s.hasty = true
	s.keys("j")
	now = now.Add(500 * time.Millisecond)
	b.asked(database())
	s.send(tui.Changed())
	for range 2 { // what goes on without a pause is dropped, too
		now = now.Add(299 * time.Millisecond)
		if s.keys("1 enter").hasNot("(•)"); len(b.replies()) != 0 {
			t.Errorf("sent %+v", b.replies())
		}
	}
	now = now.Add(300 * time.Millisecond)
	if s.keys("1 enter"); len(b.replies()) != 1 {
		t.Errorf("sent %+v", b.replies())
	}
}

// TestKeysThatWereTypedAheadAnswerNothing: not the ask that comes next, however it comes.
func TestKeysThatWereTypedAheadAnswerNothing(t *testing.T) {
	t.Parallel()
	next := func(id string) ask.Ask {
		return ask.Ask{ID: id, Questions: []ask.Question{{Text: "Next " + id + "?", Options: []ask.Option{{Label: "Keep"}, {Label: "Drop"}}}}}
	}
	now := began
	clock := func(undo time.Duration, one bool) func(*tui.Options) {
		return func(o *tui.Options) { o.Now, o.Undo, o.OneKey = func() time.Time { return now }, undo, one }
	}
	for name, c := range map[string]struct {
		opts func(*tui.Options)
		keys string
	}{
		"sent":         {clock(0, false), "2 enter 2 enter 1 enter"},
		"held":         {clock(tui.MaxUndo, false), "2 enter 2 enter enter"},
		"with one key": {clock(0, true), "2 2 2 2"},
	} {
		s, b := start(t, 120, 40, c.opts, next("a1"), next("a2"), next("a3"))
		s.hasty = true
		if s.keys(c.keys).hasNot("(•)"); len(b.replies()) > 1 {
			t.Errorf("%s: sent %+v", name, b.replies())
		}
	}

	s, b := start(t, 120, 40, clock(0, false), next("a1"), next("a2"))
	s.hasty = true
	s.keys("2")
	b.end("a1", ask.Outcome{Status: ask.StatusAnswered, At: began, Answers: []ask.Answer{{Selected: []string{"1"}}}, By: &ask.By{Principal: "web:ben", Name: "Ben", Responder: "web"}})
	s.send(tui.Changed())
	if s.keys("enter 2 enter").has("Next a2?").hasNot("(•)"); len(b.replies()) != 0 {
		t.Errorf("sent to the one after that which somebody else answered: %+v", b.replies())
	}
	now = now.Add(time.Second)
	if s.keys("2 enter"); len(b.replies()) != 1 {
		t.Errorf("sent %+v", b.replies())
	}
}
