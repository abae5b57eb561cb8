package card_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/google/go-cmp/cmp"
)

func several() *card.Card {
	r := record(ask.Ask{Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Recommended: true}, {ID: "none", Label: "Stop", Cancels: true}}},
		{ID: "env", Text: "Which environments?", Multiple: true, Optional: true, NoOther: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}}},
		{ID: "ok", Text: "Now?", Kind: ask.KindBoolean},
		{ID: "n", Text: "How many?", Kind: ask.KindNumber},
	}})
	return card.New(r, mei, now)
}

// press presses the button with a label, after a restart.
func press(t *testing.T, c *card.Card, s card.Steps, label string) (card.Steps, card.Do) {
	t.Helper()
	for _, b := range s.Buttons(c) {
		if b.Label == label {
			if len(b.Data) > 10 {
				t.Errorf("%q has %d bytes", b.Data, len(b.Data))
			}
			data, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var stored card.Steps
			if err := json.Unmarshal(data, &stored); err != nil {
				t.Fatal(err)
			}
			return stored.Press(c, b.Data)
		}
	}
	t.Fatalf("no button %q in %+v", label, s.Buttons(c))
	return s, 0
}

func TestSteps(t *testing.T) {
	t.Parallel()
	c := several()
	var s card.Steps
	var do card.Do
	var labels []string
	for _, b := range s.Buttons(c) {
		labels = append(labels, b.Label)
	}
	if got := strings.Join(labels, " "); got != "PostgreSQL Stop Other… Decline" {
		t.Errorf("the buttons are %s", got)
	}
	for _, label := range []string{"PostgreSQL", "☐ Dev", "☐ Prod", "☑ Dev", "Send", "Yes"} {
		if s, do = press(t, c, s, label); do == card.DoNothing {
			t.Fatal(label, "did nothing")
		}
	}
	if _, do = press(t, c, s, "Answer…"); do != card.DoType {
		t.Error("words are not asked for")
	}
	if _, err := s.Type(c, "a few"); err == nil || !strings.Contains(err.Error(), "number") {
		t.Errorf("the error is %v", err)
	}
	s, err := s.Type(c, "3")
	if err != nil || s.Next(c) != nil {
		t.Fatalf("%v; next %+v", err, s.Next(c))
	}
	want := []ask.Answer{
		{QuestionID: "db", Selected: []string{"pg"}},
		{QuestionID: "env", Selected: []string{"prod"}},
		{QuestionID: "ok", Boolean: new(true)},
		{QuestionID: "n", Number: new(3.0)},
	}
	if diff := cmp.Diff(want, s.Answers); diff != "" {
		t.Error(diff)
	}
	if got := s.Review(c); len(got) != 4 || got[0].Answer != "PostgreSQL" {
		t.Errorf("review %v", got)
	}
}

func TestStepsOfOldButtons(t *testing.T) {
	t.Parallel()
	c := several()
	s, _ := press(t, c, card.Steps{}, "PostgreSQL")
	for _, data := range []string{"", "x", "1:2:0", "1:-1:0", "1:0:9", "1:0:-1", "0:0:0", "9:0:0", "1:99999999999999999999:0"} {
		if got, do := s.Press(c, data); do != card.DoNothing {
			t.Errorf("%q did %v: %+v", data, do, got)
		}
	}
	again, do := s.Press(c, "1:0:1") // the first question, after the second was shown
	if do != card.DoChoose || len(again.Answers) != 1 || again.Answers[0].Selected[0] != "none" || again.Next(c) != nil {
		t.Errorf("%v %+v; want an answer that ends the ask", do, again)
	}
	if s.Answers[0].Selected[0] != "pg" {
		t.Error("the earlier steps changed")
	}
	skipped, _ := press(t, c, s, "Skip")
	if !skipped.Answers[1].Skipped {
		t.Errorf("%+v", skipped)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	r := record(ask.Ask{Audience: []string{"group:dba"}, Questions: []ask.Question{{ID: "n", Text: "How many?", Kind: ask.KindNumber}}})
	tom := &ask.By{Principal: "os:tom", Name: "Tom", Responder: "slack"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&ask.Error{Code: ask.CodeResolved, Outcome: &ask.Outcome{Status: ask.StatusAnswered, By: tom, At: now, Answers: []ask.Answer{{QuestionID: "n", Number: new(3.0)}}}}, "Too late: Tom answered 3"},
		{ask.Refuse(ask.CodeForbidden, "no"), "Only group dba may decide this."},
		{ask.ErrForbidden, "dba"},
		{ask.InvalidError("answer", []ask.Fault{{QuestionID: "n", Code: ask.FaultNoAnswer, Message: "x"}}), "This one needs an answer."},
		{ask.ErrResolved, "Somebody else answered first"},
		{ask.ErrUnavailable, "cannot be reached"},
	} {
		if got := mei.Explain(r, c.err, now); !strings.Contains(got, c.want) && !strings.Contains(got, "For group dba") || c.want == "" && got != "" {
			t.Errorf("%v: %q; want %q", c.err, got, c.want)
		}
	}
	r = record(ask.Ask{
		Questions:  []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}},
		Approval:   &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"group:sre"}}}},
		BreakGlass: []ask.BreakGlassRole{{Name: "commanders", From: []string{mei.By.Principal}, MinProof: ask.ProofOS}},
	})
	proven := mei
	proven.By.Proof = ask.ProofOS
	gone := ask.Refuse(ask.CodeForbidden, "the role is gone")
	gone.Faults = []ask.Fault{ask.NewFault("/by/principal", ask.FaultMayNotBreakGlass)}
	for err, want := range map[error]string{ask.ErrForbidden: "in the inbox or a terminal, not in a chat", gone: "the role is gone"} {
		if got := proven.Explain(r, err, now); !strings.Contains(got, want) {
			t.Errorf("with a break-glass role, %v: %q; want %q", err, got, want)
		}
	}
	r.Ask.BreakGlass = nil
	chinese := proven
	chinese.Lang = "zh-CN"
	asked := ask.Refuse(ask.CodeForbidden, "os:mei asked")
	asked.Faults = []ask.Fault{ask.NewFault("/by/principal", ask.FaultIsTheAsker)}
	unlisted := ask.Refuse(ask.CodeForbidden, "os:mei is linked to nobody").At("/by/principal", ask.FaultNotLinked)
	r.Ask.Audience = []string{"group:platform"} // mei is one of them, so this is not why
	for err, want := range map[error]string{
		r.Ask.CheckVote(&ask.Vote{By: proven.By, Choice: ask.ChoiceApprove}): "你不能回答此问题。这里只有组 sre 的投票有效。提问仍然开放。",
		asked:    "你不能回答此问题：不能是提问者。提问仍然开放。",
		unlisted: "你不能回答此问题：管理员的人员名单中没有 os:mei。请在收件箱的“你的聊天账号”页面关联此账号，或联系管理员。提问仍然开放。",
	} {
		if got := chinese.Explain(r, err, now); got != want {
			t.Errorf("in Chinese, %v: %q; want %q", err, got, want)
		}
	}
	for err, want := range map[error]string{ask.ErrNotFound: "ended long ago", ask.ErrAskedAgain: "asked again", ask.ErrUnavailable: "click again"} {
		told, shown := mei.Gone(err)
		if !strings.Contains(told, want) || (shown == "") != (err == ask.ErrUnavailable) { //nolint:errorlint // the same value
			t.Errorf("%v: %q, %q", err, told, shown)
		}
	}
}

// A shared card says who may answer, whoever reads it.
func TestSharedCard(t *testing.T) {
	t.Parallel()
	r := record(ask.Ask{Audience: []string{"group:dba"}, Questions: []ask.Question{{ID: "n", Text: "How many?", Kind: ask.KindNumber}}})
	c := card.New(r, card.Viewer{Shared: true}, now)
	if text := c.Text(); !c.May.Answer || !strings.Contains(text, "For group dba to decide.") || !strings.Contains(text, "Type a number") {
		t.Errorf("%v %s", c.May, text)
	}
}

func TestADestructiveStepIsConfirmed(t *testing.T) {
	t.Parallel()
	options := []ask.Option{{ID: "keep", Label: "Keep it"}, {ID: "drop", Label: "Drop it", Destructive: true}}
	for _, several := range []bool{false, true} {
		c := card.New(record(ask.Ask{Questions: []ask.Question{{ID: "t", Text: "The old table?", Multiple: several, Options: options}}}), mei, now)
		var s card.Steps
		choose := func() {
			if label := "Drop it"; several {
				s, _ = press(t, c, s, "☐ "+label)
				s, _ = press(t, c, s, "Send")
			} else {
				s, _ = press(t, c, s, label)
			}
		}
		choose()
		if s.Next(c) == nil || len(s.Buttons(c)) != 2 {
			t.Fatalf("it is sent without the second button: %+v", s)
		}
		s, _ = press(t, c, s, "Back")
		if len(s.Answers) != 0 || len(s.Buttons(c)) < 3 {
			t.Fatalf("it does not go back: %+v", s)
		}
		choose()
		if s, _ = press(t, c, s, "Yes: Drop it"); s.Next(c) != nil || s.Answers[0].Selected[0] != "drop" {
			t.Errorf("it is not confirmed: %+v", s)
		}
	}
	c := card.New(record(ask.Ask{Questions: []ask.Question{{ID: "t", Text: "The old table?", Options: options}}}), mei, now)
	if s, err := (card.Steps{}).Type(c, "2"); err != nil || s.Held == nil || s.Next(c) == nil {
		t.Errorf("typed words confirm it: %+v %v", s, err)
	}
}
