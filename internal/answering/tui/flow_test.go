package tui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/charmbracelet/x/ansi"
)

func start(t *testing.T, width, height int, change func(*tui.Options), asks ...ask.Ask) (*screen, *bus) {
	t.Helper()
	b := &bus{}
	for _, a := range asks {
		b.asked(a)
	}
	opts := options(b)
	if change != nil {
		change(&opts)
	}
	return newScreen(t, opts, width, height), b
}

func text(q string) ask.Ask {
	return ask.Ask{Questions: []ask.Question{{ID: "t", Kind: ask.KindText, Text: q}}}
}

func TestTwoKeysAnswerASingleChoice(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, nil, database(), text("Next?"))
	s.keys("2 enter")
	if got := b.replies(); len(got) != 1 || fmt.Sprint(got[0].Answers[0].Selected) != "[lite]" || got[0].By.Principal != "os:mei" {
		t.Fatalf("sent %+v", got)
	}
	s.has("✓ You chose SQLite at ", "1 waiting", "Next?", "ended a short while ago")
	if s.keys("enter"); len(b.replies()) != 1 {
		t.Error("the next one was answered by the same key")
	}
}

func TestAListThatIsNotReadYetIsNotEmpty(t *testing.T) {
	t.Parallel()
	b := &bus{reading: true}
	s := newScreen(t, options(b), 80, 24)
	s.has("reading …")
	s.hasNot("waiting", "Nothing waits for you.")
	b.reading = false
	s.send(tui.Changed())
	s.has("0 waiting", "Nothing waits for you.")
	s.hasNot("reading …")
}

func TestADraftAndItsCaretSurviveUpdatesAndReconnects(t *testing.T) {
	t.Parallel()
	out, refused := false, false
	s, b := start(t, 80, 24, func(o *tui.Options) {
		o.SignedOut, o.Refused = func() bool { return out }, func() bool { return refused }
	}, text("Name?"), database())
	s.keys("enter").typed("ledgr").keys("left")
	b.offline = true
	s.send(tui.Changed())
	s.has("offline: what you type is kept", "❯ ledgr")
	refused = true
	s.send(tui.Changed())
	s.has("refused: the credential expired or was revoked", "❯ ledgr")
	out = true
	s.send(tui.Changed())
	s.has("signed out: sign in again with askbus login", "❯ ledgr")
	for i := range 20 {
		b.asked(text(fmt.Sprint("More ", i, "?")))
		s.send(tui.Changed())
	}
	b.offline = false
	s.send(tui.Changed())
	s.send(tea.WindowSizeMsg{Width: 60, Height: 20})
	s.typed("e")
	s.has("❯ ledger", "22 waiting")
	s.keys("esc j k")
	s.has("❯ ledger") // also after another ask was looked at
	s.keys("enter")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Text != "ledger" {
		t.Errorf("sent %+v", got)
	}
}

func TestTypingStartsWhenASlowAskIsRead(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, nil, database())
	s.slow = true
	b.asked(text("Name?"))
	s.send(tui.Changed())
	s.keys("j enter")
	s.arrive()
	s.has("Name?", "enter send")
	s.typed("dune").keys("enter")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Text != "dune" {
		t.Errorf("sent %+v", got)
	}
}

func TestAnotherPersonAnswersFirst(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, nil, database())
	s.keys("enter o").typed("Oracle")
	b.end("a1", ask.Outcome{Status: ask.StatusAnswered, At: began.Add(5*time.Minute - 3*time.Second), Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &ask.By{Principal: "slack:U1", Name: "Ben", Responder: "slack"}})
	s.send(tui.Changed())
	s.has("Ben chose PostgreSQL at ", "What you had begun was not sent. It is still here", "❯ Oracle")
	s.keys("enter 1 enter")
	if got := b.replies(); len(got) != 0 {
		t.Errorf("sent %+v", got)
	}
}

func TestTheSamePersonAnswersElsewhereFirst(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, nil, database(), text("Name?"))
	s.keys("enter o").typed("Oracle, as in billing").keys("esc n").typed("see the ticket")
	b.end("a1", ask.Outcome{Status: ask.StatusAnswered, At: began.Add(5*time.Minute - 3*time.Second), Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &ask.By{Principal: mei().Principal, Name: mei().Name, Responder: "web"}})
	s.send(tui.Changed())
	s.has("You answered it yourself on the web, just now.", "What you had begun was not sent. It is still here", "❯ Oracle, as in billing", "❯ see the ticket")
	if s.keys("enter 1 enter"); len(b.replies()) != 0 {
		got := b.replies()
		t.Errorf("sent %+v", got)
	}
}

func TestALateAnswerShowsTheFirstOne(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, nil, database())
	late := ask.Refuse(ask.CodeResolved, "already answered")
	late.Outcome = &ask.Outcome{Status: ask.StatusAnswered, At: began, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &ask.By{Principal: "web:ben", Name: "Ben", Responder: "web"}}
	b.refuse = []error{late}
	s.keys("enter 2 enter")
	s.has("Ben chose PostgreSQL at ")
}

func TestARefusalMarksOnlyTheInvalidQuestion(t *testing.T) {
	t.Parallel()
	four := scenes()["steps"].asks[0]
	s, b := start(t, 80, 24, nil, four)
	b.refuse = []error{ask.InvalidError("answer", []ask.Fault{{QuestionID: "n", Code: ask.FaultTooHigh, Args: map[string]string{"given": "3", "most": "2"}}})}
	s.keys("enter 1 enter 1 2 enter 3 enter enter")
	s.has("This is what will be sent", "invoices, tax")
	s.keys("enter")
	s.has("3 of 4", "! Your answer is 3; give at most 2.", "Not sent yet: one question needs another look.", "✓ ✓ ! ")
	s.keys("backspace 2 enter enter")
	s.has("This is what will be sent")
	s.hasNot("another look")
	s.keys("1").has("1 of 4", "Which language?")
	s.keys("2 tab tab tab enter enter")
	got := b.replies()
	if len(got) != 2 || fmt.Sprint(got[1].Answers[0].Selected) != "[o2]" || *got[1].Answers[2].Number != 2 || got[0].AnswerID == got[1].AnswerID {
		t.Errorf("sent %+v", got)
	}
}

func TestAFailedAnswerIsRetriedUnderTheSameID(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, nil, database())
	b.refuse = []error{errors.New("no reply")}
	s.keys("enter 1 enter")
	s.has("Not sent: no reply")
	s.keys("enter")
	if got := b.replies(); len(got) != 2 || got[0].AnswerID != got[1].AnswerID || got[0].AnswerID == "" {
		t.Errorf("sent %+v", got)
	}
}

func TestNotesRepliesAndDeclining(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, nil, database(), database(), database())
	s.keys("enter 1 n").typed("keep backups").keys("enter enter")
	s.keys("r").typed("you choose").keys("enter")
	s.keys("x").typed("not today").keys("enter")
	got := b.replies()
	if len(got) != 3 || got[0].Answers[0].Notes != "keep backups" || got[1].Response != "you choose" || got[2].Response != "declined: not today" {
		t.Errorf("sent %+v", got)
	}
	s.has("0 waiting")
}

func TestOneKeySendsThroughTheHold(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, func(o *tui.Options) { o.OneKey, o.Undo = true, tui.MaxUndo }, database())
	s.keys("enter 2").has("sending SQLite in 10 s · z takes it back")
	s.keys("z").hasNot("sending SQLite")
	if s.has("Taken back: nothing was sent", "(•) SQLite"); len(b.replies()) != 0 {
		t.Errorf("sent %+v", b.replies())
	}
	s, b = start(t, 80, 24, func(o *tui.Options) { o.OneKey, o.Undo = true, 10*time.Millisecond }, database())
	s.keys("enter 2")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Selected[0] != "lite" {
		t.Errorf("sent %+v", got)
	}
}

func TestReaderAndCompare(t *testing.T) {
	t.Parallel()
	diff := database()
	diff.Questions[0].Options[0].Preview.Body = "@@ -1 +1 @@\n-old\n+new\n" + strings.Repeat("a very long line that goes on and on, ", 6) + strings.Repeat("\nline", 50) + "\nlast"
	s, _ := start(t, 80, 24, nil, diff)
	s.keys("enter").has("↓ more")
	s.keys("p").has("1 PostgreSQL", "-old", "+new")
	s.hasNot("last")
	s.keys("G").has("last")
	s.keys("g").has("on, a v\n↪ery")
	s.keys("w").has("on, a v…")
	s.keys("right").has("2 SQLite", "--> file")
	s.keys("esc v").has("1 PostgreSQL", " │ 2 SQLite", "--> file")
	s.keys("esc").has("Ledger storage")
}

// TestAPreviewIsThatOfTheOptionUnderTheCursor: no other one is drawn beside it, and each says whose
// it is.
func TestAPreviewIsThatOfTheOptionUnderTheCursor(t *testing.T) {
	t.Parallel()
	a := ask.Ask{Questions: []ask.Question{{ID: "m", Text: "How should I migrate?", Options: []ask.Option{
		{ID: "keep", Label: "Keep everything"},
		{ID: "drop", Label: "Drop the old table", Recommended: true, Destructive: true, Preview: &ask.Preview{Body: "DROP TABLE users;"}},
		{ID: "name", Label: "Rename", Preview: &ask.Preview{Body: "ALTER TABLE users;"}},
	}}}}
	s, _ := start(t, 80, 24, nil, a)
	s.keys("enter")
	for _, c := range []struct{ keys, shown string }{{"", ""}, {"1", ""}, {"down", "2 Drop the old table|DROP"}, {"3", "3 Rename|ALTER"}, {"o", ""}, {"esc 1", ""}} {
		s.keys(c.keys)
		caption, body, found := strings.Cut(c.shown, "|")
		if !found {
			s.hasNot("│", "TABLE")
			continue
		}
		s.has("│ "+caption, "│ "+body)
	}
	s.keys("p").has("2 Drop the old table  from line 1", "DROP TABLE users;") // the reader names it
}

func TestFilterFindsAndTheMouseChooses(t *testing.T) {
	t.Parallel()
	s, b := start(t, 120, 40, nil, text("Name?"), database(), ask.Ask{Session: "nightly", Title: "Deploy now?", Questions: []ask.Question{{Kind: ask.KindBoolean, Text: "Deploy?"}}})
	s.keys("/").typed("nightly").has("/nightly", "Deploy now?")
	s.hasNot("◆ Name?")
	s.keys("enter esc").has("◆ Name?")
	lines := strings.Split(plain(s.text()), "\n")
	click := func(on string) {
		for y, l := range lines {
			if before, _, found := strings.Cut(l, on); found {
				s.send(tea.MouseClickMsg{X: len([]rune(before)) + 1, Y: y, Button: tea.MouseLeft})
				break
			}
		}
		lines = strings.Split(plain(s.text()), "\n")
	}
	click("Ledger storage")
	click("SQLite")
	s.has("2 (•) SQLite")
	s.keys("enter")
	if got := b.replies(); len(got) != 1 || got[0].Answers[0].Selected[0] != "lite" {
		t.Errorf("sent %+v", got)
	}
}

func TestTheTerminalIsNotifiedOnlyOnTheFirstAsk(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, func(o *tui.Options) {
		o.Notify = func(n int) string { return fmt.Sprint("notify ", n) }
		o.Status = func(n int, first string) string { return fmt.Sprint("status ", n, " ", first) }
	})
	b.asked(text("Seen?"))
	s.send(tui.Changed())
	if got := strings.Join(s.raw, "|"); got != "status 0 |status 1 Seen?" {
		t.Errorf("while somebody looks: %q", got)
	}
	b.end("a1", ask.Outcome{Status: ask.StatusWithdrawn, At: began})
	s.send(tui.Changed())
	s.raw = nil
	s.send(tea.BlurMsg{})
	for i := range 3 {
		b.asked(ask.Ask{ID: fmt.Sprint("b", i), Questions: []ask.Question{{Text: "Unseen?", Kind: ask.KindText}}})
		s.send(tui.Changed())
	}
	if got := strings.Join(s.raw, "|"); got != "status 1 Unseen?|notify 1|status 2 Unseen?|status 3 Unseen?" {
		t.Errorf("unseen: %q", got)
	}
}

func TestKeysComeFromAFile(t *testing.T) {
	t.Parallel()
	s, b := start(t, 80, 24, func(o *tui.Options) { o.Keys = map[string][]string{"send": {"s", "enter"}, "decline": {"D"}} }, database())
	s.keys("enter 1 s")
	if len(b.replies()) != 1 {
		t.Error("s does not send")
	}
	s.keys("?").has("s enter", "D ", "decline, with a reason")
	s.typed("decl").has("decline, with a reason")
	s.hasNot("next ask")
	for _, c := range []struct {
		keys map[string][]string
		says string
	}{
		{map[string][]string{"sned": {"s"}}, `unknown action "sned"`},
		{map[string][]string{"send": {"x"}}, `"x" is bound to`},
		{map[string][]string{"send": {"1"}}, "chooses an option"},
	} {
		if _, err := tui.NewModel(tui.Options{Keys: c.keys}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.keys, err)
		}
	}
}

func TestAgentTextCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "pay\u202e lap\u2066\u200b\u009b2J\x1b[2J\x1b]0;x\x07\U000E0041\r"
	q := ask.Question{ID: "a", Header: "h\u202e", Text: evil, Options: []ask.Option{{ID: "x", Label: evil, Description: evil, Preview: &ask.Preview{Body: evil + "\n" + evil}}, {ID: "y", Label: "b"}}}
	a := ask.Ask{Title: evil, Context: evil, Agent: ask.Agent{Name: evil}, Questions: []ask.Question{q, {ID: "b", Kind: ask.KindText, Text: evil, Placeholder: evil}}}
	s, b := start(t, 120, 40, nil, a, database())
	check := func(where string) {
		t.Helper()
		if got := plain(s.text()); strings.ContainsAny(got, "\u202e\u2066\u200b\u009b\x1b\x07\U000E0041\r") {
			t.Errorf("%s: %+q", where, got)
		}
		title := s.m.View().WindowTitle
		if strings.ContainsAny(title, "\x1b\x07") {
			t.Errorf("%s: title %q", where, title)
		}
	}
	check("list")
	for _, keys := range []string{"enter", "1", "p", "esc v", "esc enter"} {
		s.keys(keys)
		check(keys)
	}
	s.send(tea.PasteMsg{Content: evil})
	check("pasted")
	s.keys("enter")
	check("review")
	s.keys("enter")
	b.end("a2", ask.Outcome{Status: ask.StatusCancelled, At: began, Reason: evil, By: &ask.By{Principal: "x:y", Name: evil, Responder: "slack"}})
	s.send(tui.Changed())
	check("ended")
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	b := &bus{}
	for i := range 500 {
		b.asked(ask.Ask{ID: fmt.Sprint("a", i), Session: fmt.Sprint("s", i%60), Questions: []ask.Question{{Text: fmt.Sprint("Question ", i, "?"), Kind: ask.KindText}}})
	}
	s := newScreen(t, options(b), 120, 40)
	for range 400 {
		s.keys("j")
	}
	s.has("500 waiting")
	if n := tui.Forms(s.m); n > 200 {
		t.Errorf("%d asks are held in full", n)
	}
}

// Urgent asks come first, even if an earlier session has older ones.
func TestUrgentAsksAreAboveAllSessions(t *testing.T) {
	t.Parallel()
	urgent := func(session, q string) ask.Ask {
		a := text(q)
		a.Session, a.Priority = session, ask.PriorityUrgent
		return a
	}
	calm := text("Calm of a?")
	calm.Session = "a"
	s, _ := start(t, 120, 30, nil, urgent("a", "First of a?"), urgent("b", "First of b?"), calm)
	shown := s.text()
	at := -1
	for _, q := range []string{"First of a?", "First of b?", "Calm of a?"} {
		found := strings.Index(shown, q)
		if found < at {
			t.Fatalf("%q is too high:\n%s", q, shown)
		}
		at = found
	}
}

func TestTheHelpLosesNoWords(t *testing.T) {
	t.Parallel()
	s, _ := start(t, 50, 200, nil, database())
	s.keys("?")
	if shown := strings.Join(strings.Fields(s.text()), " "); !strings.Contains(shown, "send; with several questions the next one") || !strings.Contains(shown, "choose an option, 0 is the tenth") {
		t.Errorf("the help is cut off:\n%s", s.text())
	}
}

func TestAWaitIsNotBrokenOverTwoLines(t *testing.T) {
	t.Parallel()
	a := database()
	a.Agent.Repository, a.Agent.Branch = "acme/payments", "retry-queue-again"
	for width := 60; width < 90; width++ {
		s, _ := start(t, width, 40, nil, a)
		s.keys("enter")
		if !strings.Contains(s.text(), "waiting 5 min") {
			t.Errorf("%d: %s", width, s.text())
		}
	}
}

func TestNobodyChoosesInTheReaderOfWhatOthersDecide(t *testing.T) {
	t.Parallel()
	a := database()
	a.Audience = []string{"os:tom"}
	s, _ := start(t, 80, 24, nil, a)
	s.keys("enter p 2 esc").hasNot("(•)")
}

func TestVotesAreCastMovedAndTakenBack(t *testing.T) {
	t.Parallel()
	deploy := ask.Ask{
		Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval:  &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket"}}},
	}
	s, b := start(t, 120, 40, nil, deploy)
	mismatch := ask.InvalidError("answer", []ask.Fault{{Pointer: "/answers/0/notes", QuestionID: "go", Message: "does not match"}})
	mine := ask.Vote{AnswerID: "v1", By: mei(), Choice: ask.ChoiceApprove, Reason: "OPS-17", At: began}
	b.refuse = []error{mismatch, &ask.Error{Code: ask.CodeVoted, Votes: []ask.Vote{mine}}}
	s.keys("1 enter").has("! A vote to approve needs a reason: the ticket")
	if len(b.replies()) != 0 {
		t.Errorf("sent without a reason: %+v", b.replies())
	}
	s.typed("OPS").keys("enter enter") // refused: back to the field of the reason
	s.typed("-17").keys("enter enter")
	if got := b.replies(); len(got) != 2 || got[1].Answers[0].Notes != "OPS-17" {
		t.Fatalf("sent %+v", got)
	}
	s.has("✓ Your vote is stored; the question stays open: 1 of 2 approvals: Mei; 1 more needed", "you approved, 5 min ago: OPS-17", "You have voted. Another answer changes your vote. z takes it back.", "enter change the vote")
	if s.keys("enter"); len(b.replies()) != 2 {
		t.Error("the vote was sent again by the same key")
	}
	b.records[0].Votes = []ask.Vote{mine, {AnswerID: "v2", By: ask.By{Principal: "slack:U1", Name: "Ben", Responder: "slack"}, Choice: ask.ChoiceDeny, Declined: true, At: began}}
	s.send(tui.Changed())
	s.has("Ben on Slack declined, 5 min ago") // the vote of somebody else comes by itself
	s.keys("z")
	s.has("Your vote is taken back; the question stays open: ", "you took the vote back", "Each answer is one person's vote.")
	s.keys("z r") // nothing is left to take back, and a reply in own words is no vote
	s.hasNot("Your reply to the whole ask")
	b.refuse = []error{&ask.Error{Code: ask.CodeVoted, Votes: []ask.Vote{mine}}}
	if s.keys("2 enter"); len(b.replies()) != 3 {
		t.Errorf("sent %+v", b.replies())
	}
}

// A vote that cannot be taken back is refused in the language of the screen.
func TestAVoteThatCannotBeTakenBackIsSaidInTheLanguageOfTheScreen(t *testing.T) {
	t.Parallel()
	deploy := ask.Ask{
		Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "部署？"}},
		Approval:  &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}},
	}
	ben := ask.By{Principal: "slack:U1", Name: "Ben", Responder: "slack"}
	for want, refusal := range map[string]error{
		"你没有可撤回的投票。":     ask.Refuse(ask.CodeConflict, "os:mei has no vote on this ask to take back"),
		"不能决定这个提问":       ask.Refusal(ask.CodeForbidden, ask.FaultNotInAudience, "os:mei", []string{"group:sre"}),
		"刚刚结束":           &ask.Error{Code: ask.CodeResolved, Outcome: &ask.Outcome{AskID: "a0", Status: ask.StatusCancelled, At: began, By: &ben}},
		"未作任何更改：timeout": errors.New("timeout"),
	} {
		s, b := start(t, 120, 40, func(o *tui.Options) { o.Viewer.Lang = "zh" }, deploy)
		b.records[0].Votes = []ask.Vote{{AnswerID: "v1", By: mei(), Choice: ask.ChoiceApprove, At: began}}
		s.send(tui.Changed())
		b.refuse = []error{refusal}
		s.keys("z").has(want)
		s.hasNot("no vote on this ask")
	}
}

func TestFourQuestionsTakeSixKeys(t *testing.T) {
	t.Parallel()
	var four ask.Ask
	for i := range 4 {
		four.Questions = append(four.Questions, ask.Question{ID: fmt.Sprint("q", i), Text: fmt.Sprint("Question ", i, "?"), Options: []ask.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}})
	}
	s, b := start(t, 120, 40, nil, four)
	s.keys("1 2 1 2 enter")
	s.has("This is what will be sent")
	if s.keys("enter"); len(b.replies()) != 1 || b.replies()[0].Answers[3].Selected[0] != "b" {
		t.Errorf("sent %+v", b.replies())
	}
	s, b = start(t, 120, 40, nil, four) // who presses Enter after each finds no fault in a question that was not seen
	s.keys("1 enter 2 enter 1 enter").hasNot("!", "needs an answer")
	if s.keys("2 enter enter"); len(b.replies()) != 1 {
		t.Errorf("sent %+v", b.replies())
	}
}

func TestNoLineBeginsWithTheDotOfTheOneBefore(t *testing.T) {
	t.Parallel()
	a := database()
	a.Agent.Repository, a.Agent.Branch = "acme/payments", "retry-queue-again"
	for width := 30; width < 70; width++ {
		s, _ := start(t, width, 40, nil, a)
		s.keys("enter")
		for line := range strings.Lines(s.text()) {
			if strings.HasPrefix(strings.TrimSpace(ansi.Strip(line)), "·") {
				t.Errorf("%d wide: %q", width, line)
			}
		}
	}
}

// Whoever types when the ask ends goes on typing into what is not sent. Their words are no keys: they neither move to another
// ask nor answer it.
func TestWordsForAnAskThatEndsAreNoKeys(t *testing.T) {
	t.Parallel()
	b := &bus{}
	b.asked(text("Name?"))
	b.asked(database())
	s := newScreen(t, options(b), 120, 40)
	s.keys("enter").typed("half a wo")
	b.end("a1", ask.Outcome{Status: ask.StatusWithdrawn, At: began})
	s.send(tui.Changed())
	s.has("not sent", "❯ half a wo")
	s.typed("rd, or just take 1").keys("enter").has("❯ half a word, or just take 1")
	if got := b.replies(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
	s.keys("enter").has("PostgreSQL")
	if got := b.replies(); len(got) != 0 {
		t.Errorf("sent %+v", got)
	}
}
