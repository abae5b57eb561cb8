package tui_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
)

// What somebody has chosen and typed is there again on their next screen, and on nobody else's, until the ask has their answer.
func TestADraftOutlivesItsScreen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &bus{}
	b.asked(text("Name?"))
	b.asked(database())
	b.asked(ask.Ask{Title: "Why?", Questions: []ask.Question{{Kind: ask.KindBoolean, Text: "Shall it be public?"}}})
	open := func(change func(*tui.Options)) *screen {
		t.Helper()
		drafts, err := tui.OpenDrafts(dir)
		if err != nil {
			t.Fatal(err)
		}
		opts := options(b)
		opts.Drafts = drafts
		if change != nil {
			change(&opts)
		}
		return newScreen(t, opts, 120, 40)
	}
	first := open(nil)
	first.keys("j 2 n").typed("keep 14 days").keys("enter esc j enter r").typed("ask me tomorrow")
	first.send(tui.Tick()) // and then nothing: no key, no end

	second := open(nil)
	second.has("✎ Ledger storage", "✎ Why?", "◆ Name?")
	second.keys("j").has("This is your draft from before", "(•) SQLite", "note: keep 14 days")
	second.keys("j").has("This is your draft from before", "Your reply to the whole ask", "ask me tomorrow")
	open(func(o *tui.Options) { o.By = ask.By{Principal: "os:tom"} }).hasNot("✎")

	second.keys("k enter enter")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Notes != "keep 14 days" || got[0].Answers[0].Selected[0] != "lite" {
		t.Fatalf("sent %+v", got)
	}
	second.keys("enter r ctrl+u")
	second.send(tui.Tick())
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("kept %v, %v", left, err)
	}
}

// drafting opens a screen that keeps its drafts in a directory, as another process does.
func drafting(t *testing.T, b *bus, dir string, width int) *screen {
	t.Helper()
	drafts, err := tui.OpenDrafts(dir)
	if err != nil {
		t.Fatal(err)
	}
	opts := options(b)
	opts.Drafts = drafts
	return newScreen(t, opts, width, 40)
}

// Two screens of one person, such as two terminals, do not overwrite each other's draft, and neither is left once one of them
// has sent the answer.
func TestTwoScreensKeepTheirOwnDrafts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &bus{}
	b.asked(text("Name?"))
	open := func() *screen { return drafting(t, b, dir, 120) }
	hour := 0
	later := func() { // what is written from now on is newer
		t.Helper()
		hour++
		files, err := os.ReadDir(dir)
		for _, f := range files {
			err = errors.Join(err, os.Chtimes(dir+"/"+f.Name(), time.Time{}, time.Now().Add(time.Duration(hour-10)*time.Hour)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	one, two := open(), open()
	one.keys("enter").typed("ledger").send(tui.Tick())
	two.keys("enter").typed("journal").send(tui.Tick())
	later()
	one.typed(" of asks").send(tui.Tick())
	two.send(tui.Tick())
	three := open() // goes on with the newest
	three.has("ledger of asks").keys("enter ctrl+u").send(tui.Tick())
	four := open()
	four.has("journal").keys("enter").typed(" of asks").send(tui.Tick())
	later()
	two.typed(", perhaps").send(tui.Tick())
	open().has("journal, perhaps")
	four.keys("enter")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Text != "journal of asks" {
		t.Fatalf("sent %+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("kept %v, %v", left, err)
	}
}

// What is held is a draft until it is sent: a screen that is killed loses nothing, and one that closes sends it once.
func TestWhatIsHeldIsADraftUntilItIsSent(t *testing.T) {
	t.Parallel()
	drafts, err := tui.OpenDrafts(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, b := start(t, 120, 40, func(o *tui.Options) { o.Undo, o.Drafts = tui.MaxUndo, drafts }, database(), text("Next?"))
	s.keys("2 enter").has("sending SQLite")
	s.send(tui.Tick())
	again := newScreen(t, func() tui.Options { o := options(b); o.Drafts = drafts; return o }(), 120, 40)
	again.has("✎ Ledger storage", "(•) SQLite")
	if err := tui.Flush(s.m); err != nil || len(b.replies()) != 1 {
		t.Fatal(err, b.replies())
	}
	s.send(tui.Tick())
	newScreen(t, func() tui.Options { o := options(b); o.Drafts = drafts; return o }(), 120, 40).hasNot("✎")
}

func TestDraftsOfEndedAsksAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 40 * 24 * time.Hour, "new": time.Hour} {
		if err := os.WriteFile(dir+"/"+name, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir+"/"+name, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tui.OpenDrafts(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "new" {
		t.Error(left, err)
	}
}

// What was not sent to an ask that ended while no screen was open is shown by the next one, once; of several, one at a time.
func TestADraftOfAnAskThatEndedIsShown(t *testing.T) {
	t.Parallel()
	for _, width := range []int{120, 60} {
		dir := t.TempDir()
		b := &bus{}
		b.asked(text("Name?"))
		b.asked(text("Why?"))
		b.asked(text("Where?"))
		open := func() *screen { return drafting(t, b, dir, width) }
		first := open()
		first.keys("enter").typed("ledger").keys("esc j enter").typed("because it is small").keys("esc")
		first.send(tui.Tick())
		for _, id := range []string{"a1", "a2"} {
			b.end(id, ask.Outcome{AskID: id, Tenant: "acme", Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Principal: "os:tom", Name: "Tom"}})
		}
		b.over, b.ended = b.ended, nil

		shown := map[string]bool{}
		for range 2 {
			s := open()
			s.has("Tom answered", "not sent", "It is still here")
			for _, words := range []string{"ledger", "because it is small"} {
				if strings.Contains(tui.Screen(s.m), words) {
					shown[words] = true
				}
			}
			s.keys("esc j").send(tui.Tick())
		}
		if len(shown) != 2 {
			t.Errorf("%d cells wide: shown are %v", width, shown)
		}
		open().hasNot("not sent")
	}
}
