package prompt_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

func record(questions ...ask.Question) *ask.Record {
	for i := range questions { // cases that run side by side may share options
		questions[i].Options = slices.Clone(questions[i].Options)
	}
	a := ask.Ask{ID: "a1", Tenant: "default", Session: "s", Agent: ask.Agent{Name: "builder"}, Questions: questions}
	a.Normalize()
	return &ask.Record{State: ask.StatePending, Ask: a, AskedAt: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
}

// answer types lines at a prompt, and returns the sent decisions and the output.
func answer(t *testing.T, rec *ask.Record, typed string, refusals ...error) (sent []prompt.Decision, said string, err error) {
	t.Helper()
	return answerAt(t, 0, rec, typed, refusals...)
}

// answerAt is answer at a terminal of the given width.
func answerAt(t *testing.T, width int, rec *ask.Record, typed string, refusals ...error) (sent []prompt.Decision, said string, err error) {
	t.Helper()
	var out bytes.Buffer
	view := card.New(rec, card.Viewer{By: ask.By{Principal: "os:mei"}}, rec.AskedAt.Add(time.Minute))
	_, err = prompt.Answer(t.Context(), &out, width, prompt.Read(strings.NewReader(typed)), rec, view, func(_ context.Context, d prompt.Decision) (ask.Outcome, error) {
		sent = append(sent, d)
		if len(sent) <= len(refusals) {
			return ask.Outcome{}, refusals[len(sent)-1]
		}
		return ask.Outcome{}, nil
	})
	return sent, out.String(), err
}

func TestPreviewsAreSideBySideIfTheyFit(t *testing.T) {
	t.Parallel()
	drawn := func(body string) *ask.Preview { return &ask.Preview{Format: ask.PreviewText, Body: body} }
	rec := record(ask.Question{ID: "layout", Text: "Which layout?", Options: []ask.Option{
		{ID: "side", Label: "侧边栏", Preview: drawn("┌──┬─────┐\n│  │     │\n└──┴─────┘")},
		{ID: "top", Label: "Top bar", Preview: drawn("┌────────┐\n├────────┤\n│        │\n└────────┘")},
		{ID: "none", Label: "Neither"},
	}})
	const beside = `  1. 侧边栏
  2. Top bar
  3. Neither
  1. 侧边栏      2. Top bar
  | ┌──┬─────┐   | ┌────────┐
  | │  │     │   | ├────────┤
  | └──┴─────┘   | │        │
                 | └────────┘
`
	const below = `  1. 侧边栏
     | ┌──┬─────┐
     | │  │     │
     | └──┴─────┘
  2. Top bar
     | ┌────────┐
     | ├────────┤
     | │        │
     | └────────┘
  3. Neither
`
	for width, want := range map[int]string{80: beside, 29: beside, 28: below, 0: below} {
		_, said, err := answerAt(t, width, rec, "1\n")
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("%v: at %d cells it says\n%s", err, width, said)
		}
	}
}

func TestEveryKindIsAnsweredWithALine(t *testing.T) {
	t.Parallel()
	db := ask.Question{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Description: "already deployed"}, {ID: "lite", Label: "SQLite"}}}
	parts := db
	parts.Multiple = true
	stop := ask.Question{ID: "go", Text: "Go on?", Options: []ask.Option{{ID: "yes", Label: "Yes"}, {ID: "stop", Label: "Stop all", Cancels: true}}}
	for _, c := range []struct {
		name  string
		q     ask.Question
		typed string
		want  ask.Answer
		says  string
	}{
		{"one option by its number", db, "2\n", ask.Answer{QuestionID: "db", Selected: []string{"lite"}}, "  1. PostgreSQL - already deployed"},
		{"own words", db, "Oracle\n", ask.Answer{QuestionID: "db", Other: "Oracle"}, ""},
		{"a number that is none, then one", db, "7\n1\n", ask.Answer{QuestionID: "db", Selected: []string{"pg"}}, `"7" is not one of the options`},
		{"several", parts, "1,2\n", ask.Answer{QuestionID: "db", Selected: []string{"pg", "lite"}}, ""},
		{"a number", ask.Question{ID: "n", Kind: ask.KindNumber, Text: "How many?", Limits: ask.Limits{Max: new(9.0)}}, "12\n3\n", ask.Answer{QuestionID: "n", Number: new(3.0)}, "give at most 9"},
		{"yes or no", ask.Question{ID: "b", Kind: ask.KindBoolean, Text: "Public?"}, "no\n", ask.Answer{QuestionID: "b", Boolean: new(false)}, "  1. Yes"},
		{"a date", ask.Question{ID: "d", Kind: ask.KindDate, Text: "When?"}, "soon\n2026-12-01\n", ask.Answer{QuestionID: "d", Date: "2026-12-01"}, `"soon" is not a date`},
		{"a text of two lines", ask.Question{ID: "t", Kind: ask.KindText, Text: "Name?"}, "one\\\ntwo\n", ask.Answer{QuestionID: "t", Text: "one\ntwo"}, ""},
		{"a text that begins with a slash", ask.Question{ID: "t", Kind: ask.KindText, Text: "Path?"}, "//etc\n", ask.Answer{QuestionID: "t", Text: "/etc"}, ""},
		{"an optional one left out", ask.Question{ID: "t", Kind: ask.KindText, Text: "Name?", Optional: true}, "/skip\n", ask.Answer{QuestionID: "t", Skipped: true}, ""},
		{"an option that ends the ask", stop, "2\n", ask.Answer{QuestionID: "go", Selected: []string{"stop"}}, "ends the whole ask"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sent, said, err := answer(t, record(c.q), c.typed)
			if err != nil || len(sent) != 1 || !reflect.DeepEqual(sent[0].Reply.Answers, []ask.Answer{c.want}) {
				t.Errorf("%v, sent %+v", err, sent)
			}
			if !strings.Contains(said, c.says) || !strings.Contains(said, "builder asks") || !strings.Contains(said, c.q.Text) {
				t.Errorf("it said\n%s", said)
			}
		})
	}
}

func several() *ask.Record {
	return record(
		ask.Question{ID: "db", Header: "DB", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
		ask.Question{ID: "n", Kind: ask.KindNumber, Text: "How many?"},
		ask.Question{ID: "why", Kind: ask.KindText, Text: "Why?", Optional: true},
	)
}

func TestSeveralQuestionsAreReviewedAndOnlyInvalidOnesAskedAgain(t *testing.T) {
	t.Parallel()
	refused := ask.InvalidError("answer", []ask.Fault{{QuestionID: "n", Code: ask.FaultTooHigh, Args: map[string]string{"given": "3", "most": "2"}}})
	sent, said, err := answer(t, several(), strings.Join([]string{
		"1", "/note keep backups", "3", "/back", "3", "/skip", // two notes and a step back
		"1", "2", "yes", // change the first, then send
		"2", "y", // the one that was refused
	}, "\n")+"\n", refused)
	if err != nil || len(sent) != 2 {
		t.Fatalf("%v, sent %+v\n%s", err, sent, said)
	}
	want := []ask.Answer{
		{QuestionID: "db", Selected: []string{"lite"}}, {QuestionID: "n", Number: new(2.0), Notes: "keep backups"}, {QuestionID: "why", Skipped: true},
	}
	if !reflect.DeepEqual(sent[1].Reply.Answers, want) {
		t.Errorf("sent %+v", sent[1].Reply.Answers)
	}
	_, after, _ := strings.Cut(said, "Not sent yet: one question needs another look.")
	if !strings.Contains(after, "[n] How many?") || strings.Contains(after, "Which database?\n") {
		t.Errorf("after the refusal it said\n%s", after)
	}
	for _, want := range []string{"  1. DB: PostgreSQL\n", "  2. How many? 3 (note: keep backups)\n", "  1. DB: SQLite\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

func TestOtherEnds(t *testing.T) {
	t.Parallel()
	sent, _, err := answer(t, several(), "1\n/decline not today\n")
	if err != nil || len(sent) != 1 || !sent[0].Decline || sent[0].Reason != "not today" {
		t.Errorf("decline: %v, %+v", err, sent)
	}
	sent, _, err = answer(t, several(), "/decline\n\n")
	if err != nil || len(sent) != 1 || !sent[0].Decline || sent[0].Reason != "" {
		t.Errorf("decline without a reason: %v, %+v", err, sent)
	}
	sent, _, err = answer(t, several(), "/reply you choose\n")
	if err != nil || len(sent) != 1 || sent[0].Reply.Response != "you choose" {
		t.Errorf("own words: %v, %+v", err, sent)
	}
	if sent, _, err = answer(t, several(), "1\n/quit\n"); !errors.Is(err, prompt.ErrLeft) || len(sent) != 0 {
		t.Errorf("quit: %v, %+v", err, sent)
	}
	if sent, _, err = answer(t, several(), "1\n"); !errors.Is(err, io.EOF) || len(sent) != 0 {
		t.Errorf("end of input: %v, %+v", err, sent)
	}
	late := errors.New("too late")
	if _, _, err = answer(t, record(ask.Question{Text: "Name?"}), "x\n", late); !errors.Is(err, late) {
		t.Errorf("too late: %v", err)
	}
}

func TestCommandsShowMore(t *testing.T) {
	t.Parallel()
	rec := record(ask.Question{ID: "l", Text: "Which layout?", NoOther: true, Options: []ask.Option{{ID: "a", Label: "A", Preview: &ask.Preview{Body: "+--+\n|  |\n+--+"}}, {ID: "b", Label: "B"}}})
	rec.Ask.Context = strings.Repeat("A line of why.\n\n", 9)
	_, said, err := answer(t, rec, "/help\n/why\n/read 1\n/read 2\n/skip\n/again\n/nonsense\n/reply\n1\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"type /why to read them", "/decline WHY", "A line of why.\n\nA line of why.", "> +--+\n|  |", "There is no such preview", "This one needs an answer.", "There is no /nonsense", "Type your reply behind /reply."} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

func TestAnUnauthorizedPersonOnlyReads(t *testing.T) {
	t.Parallel()
	rec := several()
	rec.Ask.Audience = []string{"group:finance"}
	sent, said, err := answer(t, rec, "1\n")
	if !errors.Is(err, prompt.ErrLeft) || len(sent) != 0 || !strings.Contains(said, "Only group finance may decide this.") || !strings.Contains(said, "Which database?") {
		t.Errorf("%v, %+v\n%s", err, sent, said)
	}
}

func TestAPromptPrintsNoControlCharacters(t *testing.T) {
	t.Parallel()
	const evil = "pay\u202e lap\u2066\u200b\u009b2J\x1b[2J\x1b]0;x\x07\U000E0041\r"
	rec := record(
		ask.Question{ID: "a", Header: evil[:8], Text: evil, Options: []ask.Option{{ID: "x", Label: evil, Description: evil, Preview: &ask.Preview{Body: evil}}, {ID: "y", Label: "b"}}},
		ask.Question{ID: "b", Text: evil, Kind: ask.KindText},
	)
	rec.Ask.Title, rec.Ask.Context, rec.Ask.Agent.Name = evil, strings.Repeat(evil+"\n\n", 9), evil
	_, said, _ := answer(t, rec, evil+"\n/why\n/read 1\n/"+evil+"\n/note "+evil+"\n1\n"+evil+"\n"+evil+"\nyes\n")
	if strings.ContainsAny(said, "\u202e\u2066\u200b\u009b\x1b\x07\U000E0041\r") {
		t.Errorf("%+q", said)
	}
}

func TestWaitingForALineCanBeCancelled(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	lines := prompt.Read(r)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := lines.Next(ctx)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	go w.Write([]byte("next\n"))
	if s, err := lines.Next(t.Context()); err != nil || s != "next" {
		t.Errorf("%q, %v", s, err)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	rows := []card.Row{card.NewRow(several(), card.Viewer{}, time.Now()), card.NewRow(record(ask.Question{Text: "Deploy?"}), card.Viewer{}, time.Now())}
	for typed, want := range map[string]int{"\n": 0, "2\n": 1, "3\nx\n1\n": 0} {
		var out bytes.Buffer
		got, err := prompt.Pick(t.Context(), &out, prompt.Read(strings.NewReader(typed)), card.Viewer{}, rows)
		if err != nil || got != want || !strings.Contains(out.String(), "  2. Deploy? · builder") {
			t.Errorf("%q: %d, %v\n%s", typed, got, err, out.String())
		}
	}
	if _, err := prompt.Pick(t.Context(), io.Discard, prompt.Read(strings.NewReader("/quit\n")), card.Viewer{}, rows); !errors.Is(err, prompt.ErrLeft) {
		t.Errorf("%v", err)
	}
}

// deployment is an ask that takes two votes, with a reason.
func deployment(votes ...ask.Vote) *ask.Record {
	rec := record(ask.Question{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"})
	rec.Ask.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"os:mei", "os:ben"}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket"}}}
	rec.Votes = votes
	return rec
}

func TestAVoteIsCastWithItsReason(t *testing.T) {
	t.Parallel()
	ben := ask.Vote{AnswerID: "v1", By: ask.By{Principal: "os:ben", Name: "Ben", Responder: "slack"}, Choice: ask.ChoiceApprove, Reason: "OPS-17"}
	voted := &ask.Error{Code: ask.CodeVoted, Detail: "1 of 2 approvals: Mei"}
	sent, said, err := answer(t, deployment(ben), "yes\nOPS-18\n", voted)
	if !errors.Is(err, ask.ErrVoted) || len(sent) != 1 || !*sent[0].Reply.Answers[0].Boolean || sent[0].Reply.Answers[0].Notes != "OPS-18" {
		t.Errorf("%v, sent %+v\n%s", err, sent, said)
	}
	for _, want := range []string{"1 of 2 approvals: Ben; 1 more needed from os:mei", "- Ben on Slack approved", "Each answer is one person's vote.", "A vote to approve needs a reason: the ticket"} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q:\n%s", want, said)
		}
	}
	if sent, _, err = answer(t, deployment(ben), "no\n", voted); !errors.Is(err, ask.ErrVoted) || len(sent) != 1 || *sent[0].Reply.Answers[0].Boolean {
		t.Errorf("a denial needs no reason: %v, sent %+v", err, sent)
	}
	sent, said, _ = answer(t, deployment(), "/take-back\n/reply later\n/quit\n")
	if len(sent) != 0 || !strings.Contains(said, "You have no vote to take back.") || !strings.Contains(said, "Only an answer is a vote") {
		t.Errorf("without a vote: %+v\n%s", sent, said)
	}
	mine := ben
	mine.By = ask.By{Principal: "os:mei", Name: "Mei"}
	sent, said, err = answer(t, deployment(mine), "/take-back\n", prompt.ErrLeft)
	if !errors.Is(err, prompt.ErrLeft) || len(sent) != 1 || !sent[0].TakeBack || !strings.Contains(said, "You have voted. Another answer changes your vote.") {
		t.Errorf("%v: %+v\n%s", err, sent, said)
	}
}

func TestADestructiveOptionIsConfirmed(t *testing.T) {
	t.Parallel()
	rec := record(ask.Question{ID: "t", Text: "The old table?", Options: []ask.Option{{ID: "keep", Label: "Keep it"}, {ID: "drop", Label: "Drop it", Destructive: true}}})
	sent, said, err := answer(t, rec, "2\nyes\n2\nconfirm\n")
	if err != nil || len(sent) != 1 || sent[0].Reply.Answers[0].Selected[0] != "drop" || strings.Count(said, "“Drop it” is destructive.") != 2 {
		t.Errorf("%v %+v\n%s", err, sent, said)
	}
}

// TestDecidingAloneIsConfirmed: an answer decides alone only after /break-glass with a
// reason and after "confirm"; without it somebody who may not vote sends nothing.
func TestDecidingAloneIsConfirmed(t *testing.T) {
	t.Parallel()
	rec := deployment()
	rec.Ask.Approval.AnyOf[0].From = []string{"group:sre"}
	rec.Ask.BreakGlass = []ask.BreakGlassRole{{Name: "commanders", From: []string{"os:mei"}, ReasonPrompt: "the incident", ReasonPattern: "^INC-"}}
	sent, said, err := answer(t, rec, "yes\n/break-glass because\n/break-glass\nINC-7\nyes\nno\n/break-glass INC-8\nno\nconfirm\n")
	if err != nil || len(sent) != 1 || sent[0].Reply.BreakGlass == nil || sent[0].Reply.BreakGlass.Reason != "INC-8" || *sent[0].Reply.Answers[0].Boolean {
		t.Errorf("%v, sent %+v\n%s", err, sent, said)
	}
	for _, want := range []string{"Only the votes of group sre count here.", "/break-glass decides it alone", "The reason is required: the incident", `is "because"`, "“Yes”, because: INC-7. Type confirm"} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q:\n%s", want, said)
		}
	}
	if sent, said, _ := answer(t, deployment(), "/break-glass INC-7\n/quit\n"); len(sent) != 0 || !strings.Contains(said, "You have no break-glass role for this ask.") {
		t.Errorf("without a role: %+v\n%s", sent, said)
	}
}
