package card_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/testkit/goldentest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

var now = time.Date(2026, 11, 20, 10, 2, 3, 0, time.UTC)

// mei is in the audience of every ask here, tom is not.
var (
	mei = card.Viewer{By: ask.By{Principal: "os:mei", Name: "Mei", Groups: []string{"platform"}}, Surface: "web", Inbox: "https://inbox.example"}
	tom = card.Viewer{By: ask.By{Principal: "os:tom", Name: "Tom"}, Surface: "cli"}
	ana = ask.By{Principal: "slack:T01/U02", Name: "Ana", Responder: "slack"}
)

func record(a ask.Ask) *ask.Record {
	a.ID, a.Tenant, a.Session = "deploy-42", ask.DefaultTenant, "payments-api"
	if a.Agent.Name == "" {
		a.Agent.Name = "builder"
	}
	a.Normalize()
	return &ask.Record{State: ask.StatePending, AskedAt: now.Add(-5 * time.Minute), Seq: 7, Ask: a}
}

func ended(r *ask.Record, o ask.Outcome) *ask.Record {
	done := *r
	o.At = now.Add(-3 * time.Second)
	done.State, done.Outcome = ask.StateResolved, &o
	return &done
}

func database() ask.Question {
	return ask.Question{ID: "db", Header: "Storage", Text: "Which database should the ledger use?", Options: []ask.Option{
		{ID: "pg", Label: "PostgreSQL (Recommended)", Description: "already deployed", Recommended: true},
		{ID: "lite", Label: "SQLite", Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: "+--------+    +----+\n| ledger |--->| S3 |\n+--------+    +----+\n"}},
		{ID: "stop", Label: "Neither", Cancels: true},
	}}
}

func kinds() map[string]ask.Ask {
	one, nine := 1.0, 9.0
	several := ask.Question{ID: "checks", Text: "Which checks must pass?", Multiple: true, MinItems: 1, MaxItems: 2, NoOther: true, Options: []ask.Option{{Label: "Unit tests", Recommended: true}, {Label: "Race"}, {Label: "Lint"}}}
	replicas := ask.Question{ID: "n", Header: "Replicas", Text: "How many replicas?", Kind: ask.KindNumber, Limits: ask.Limits{Min: &one, Max: &nine, Integer: true}, Default: &ask.Answer{Number: &one}}
	live := ask.Question{ID: "when", Text: "When may it go live?", Kind: ask.KindDate, Limits: ask.Limits{MinDate: "2026-11-20"}, Optional: true}
	public := ask.Question{ID: "pub", Text: "May it be reached from outside?", Kind: ask.KindBoolean}
	ask1 := func(q ...ask.Question) ask.Ask { return ask.Ask{Questions: q, Audience: []string{"group:platform"}} }

	choice := ask1(database())
	choice.WhileWaiting = true
	choice.Title, choice.Priority, choice.Deadline = "Ledger storage", ask.PriorityUrgent, now.Add(40*time.Minute+30*time.Second)
	choice.Context = "I am wiring the **ledger** service.\n\n  col a   col b\n  1       2"
	choice.Agent = ask.Agent{Name: "builder", Parent: "planner/a-1"}

	undeclared := ask1(ask.Question{ID: "msg", Text: "What should the release note say?", Kind: ask.KindText, Limits: ask.Limits{MaxLength: 80}, Placeholder: "one line"})
	undeclared.Deadline, undeclared.Priority = now.Add(-5*time.Minute).Add(ask.MaxTimeout), ask.PriorityHigh

	four := ask1(database(), replicas, live, public)
	four.AtDeadline, four.Deadline = ask.AtDeadlineDefault, now.Add(2*time.Hour)
	four.Questions[0].Default = &ask.Answer{Selected: []string{"pg"}}

	evil := "\x1b[2J\x1b]0;x\x07Deploy\u202e?\r\n  2. forged\u0085\u2066"
	hostile := ask1(ask.Question{ID: "q", Header: "a\nb\x1b[31m", Text: evil, Placeholder: evil, Options: []ask.Option{
		{Label: "yes\n  2. forged", Description: evil, Preview: &ask.Preview{Format: ask.PreviewText, Body: evil + "\n  kept"}},
		{Label: "\u202eon"},
	}})
	hostile.Title, hostile.Context, hostile.Agent = evil, evil, ask.Agent{Name: evil, Parent: evil}

	return map[string]ask.Ask{
		"choice":  choice,
		"several": ask1(several),
		"text":    undeclared,
		"number":  ask1(replicas),
		"boolean": ask1(public),
		"date":    ask1(live),
		"four":    four,
		"hostile": hostile,
		"unknown": ask1(ask.Question{ID: "r", Kind: "rating", Text: "How good is it?"}),
		"rtl": ask1(ask.Question{ID: "db", Header: "אחסון", Text: "באיזה מסד נתונים צריך השירות להשתמש?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "בוגר, ותומך בעסקאות.", Recommended: true}, {ID: "one", Label: "קובץ אחד"},
		}}),
		"chinese": ask1(ask.Question{ID: "db", Header: "存储方案", Text: "账本服务应该使用哪个数据库？🗄️", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL 数据库（推荐）", Description: "成熟、支持事务，平台团队已经在运维。"}, {ID: "lite", Label: "SQLite 单文件"},
		}}),
	}
}

// replies has a typed answer for each kind.
var replies = map[string]string{
	"choice": "postgre", "several": "1, lint", "text": "Faster ledger.", "number": "3", "boolean": "no", "date": "2026/12/1",
	"four": "db=other: DuckDB\nn=2\npub=yes", "hostile": "other: \u202eevil\x1b[2J", "rtl": "2", "chinese": "PostgreSQL 数据库",
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, a := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(a)
			r.Receipts = []ask.Receipt{{Type: "web", State: ask.ReceiptPosted}, {Type: "slack", State: ask.ReceiptPosted, Places: []ask.Place{{Where: "#ops"}, {Where: "https://chat.example/p1"}}}, {Type: "gateway", State: ask.ReceiptFailed}}
			var b strings.Builder
			say := func(title, text string) { fmt.Fprintf(&b, "-- %s --\n%s\n", title, text) }
			view := card.New(r, mei, now, card.Attention{By: ana, Answering: true}, card.Attention{By: mei.By}, card.Attention{By: tom.By})
			say("pending, for mei", view.Text())
			say("pending, for tom", card.New(r, tom, now).Text())
			if typed, ok := replies[name]; ok {
				draft := view.Draft()
				if again := draft.Read(typed); len(again) > 0 {
					t.Fatalf("%q is asked again: %+v", typed, again)
				}
				answers, _, err := r.Ask.Check(draft.Reply())
				if err != nil {
					t.Fatal(err)
				}
				o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: answers, By: &ana}
				say("answered elsewhere", card.New(ended(r, o), mei, now).Text())
				say("the one who was about to answer", card.New(ended(r, o), mei, now).End.Late())
				o.By = &ask.By{Principal: "os:mei", Name: "Mei", Responder: "web"}
				say("answered by the viewer", card.New(ended(r, o), mei, now).Text())
				say("in short", card.New(ended(r, o), mei, now).End.Brief)
			}
			if name == "choice" || name == "four" {
				says := func(title string, o ask.Outcome) { say(title, card.New(ended(r, o), tom, now).End.Text()) }
				says("a reply", ask.Outcome{Status: ask.StatusAnswered, Response: "Ask Ana\nfirst", By: &ana})
				says("policy", ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourcePolicy, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}})
				says("with a note", ask.Outcome{Status: ask.StatusAnswered, By: &ana, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Notes: "14 days\nof backups"}}})
				says("cancelled by an option", ask.Outcome{Status: ask.StatusCancelled, CancelledBy: &ask.CancelledBy{QuestionID: "db", OptionID: "stop"}, By: &ana, Reason: "not now"})
				says("declined", ask.Outcome{Status: ask.StatusCancelled, By: &ana, Reason: "too risky"})
				says("withdrawn", ask.Outcome{Status: ask.StatusWithdrawn, Reason: "found it"})
				says("given up", ask.Outcome{Status: ask.StatusWithdrawn, Reason: ask.ReasonGaveUp})
				says("aborted", ask.Outcome{Status: ask.StatusAborted})
				says("expired", ask.Outcome{Status: ask.StatusExpired})
				says("expired with defaults", ask.Outcome{Status: ask.StatusExpired, Source: ask.SourceDefault, Answers: r.Ask.Defaults()})
				say("keys", fmt.Sprint(view.Keys()))
			}
			goldentest.Equal(t, filepath.Join("testdata", name+".golden"), b.String())
		})
	}
}

// TestTextHasTheQuestionsOfPlain checks that the text form has the same questions as pkg/ask's,
// which agents and chats get.
func TestTextHasTheQuestionsOfPlain(t *testing.T) {
	t.Parallel()
	for name, a := range kinds() {
		if name == "unknown" || name == "hostile" {
			continue
		}
		r := record(a)
		reader := mei
		reader.Lang = a.Language()
		whole := card.New(r, reader, now).Text()
		for i := range r.Ask.Questions {
			q := r.Ask.Questions[i]
			plain := q.Plain()
			_, plain, _ = strings.Cut(plain, "\n")
			if q.Kind == ask.KindChoice && !strings.Contains(whole, plain) {
				t.Errorf("%s: the card does not contain\n%s\n%s", name, plain, whole)
			}
		}
	}
}

// An agent's text cannot forge an option, a question or an instruction.
func TestTextQuotesAgentLines(t *testing.T) {
	t.Parallel()
	const hostile = "Which?\n  3. Delete everything\r\n[q2] Sure?\u2028  1. Forged\nChoose one: type 3."
	a := kinds()["choice"]
	a.Context, a.Questions[0].Text = hostile, hostile
	a.Questions[0].Options[0].Description = hostile
	view := card.New(record(a), mei, now)
	for name, text := range map[string]string{"card": view.Text(), "question": view.QuestionText(0, 0, utf8.RuneCountInString)} {
		for line := range strings.Lines(text) {
			forged := strings.HasPrefix(line, "  3. Delete") || strings.HasPrefix(line, "[q2]") || strings.HasPrefix(line, "  1. Forged") || strings.HasPrefix(line, "Choose one: type 3")
			if forged {
				t.Errorf("%s: %q passes for a line of the form in\n%s", name, line, text)
			}
		}
		if !strings.Contains(text, "> [q2] Sure?\n>   1. Forged\n> Choose one: type 3.") {
			t.Errorf("%s quotes nothing:\n%s", name, text)
		}
	}
}

func TestOnlyInvalidAnswersAreAskedAgain(t *testing.T) {
	t.Parallel()
	view := card.New(record(kinds()["four"]), mei, now)
	draft := view.Draft()
	again := draft.Read("db=1\nn=12\nwhen=soon")
	var got []string
	for _, one := range again {
		got = append(got, one.Question.ID+": "+one.Why)
	}
	want := []string{`n: Your answer is 12; give at most 9.`, `when: "soon" is not a date; type one such as 2026-11-20.`, "pub: This one needs an answer."}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("asked again:\n%s", strings.Join(got, "\n"))
	}
	if words := view.AskAgain(again[:1]); words != "Your answer is 12; give at most 9.\n[n] Replicas: How many replicas? (required)\nType a whole number from 1 to 9." {
		t.Errorf("%s", words)
	}
	if again = draft.Read("n=3"); len(again) != 1 || again[0].Question.ID != "pub" {
		t.Fatalf("%+v", again)
	}
	if again = draft.Read("perhaps"); len(again) != 1 || again[0].Question.ID != "pub" {
		t.Fatalf("%+v", again)
	}
	if again = draft.Read("yes"); len(again) != 0 {
		t.Fatalf("%+v", again)
	}
	if review := draft.Review(); review[0].Answer != "PostgreSQL" || review[1].Answer != "3" || review[2].Answer != "no answer" || review[3].Answer != "Yes" {
		t.Errorf("%+v", review)
	}
	if again = view.Draft().Read("db=3"); len(again) != 0 {
		t.Errorf("an option that ends the whole ask leaves nothing open: %+v", again)
	}
	for _, words := range []string{"You decide.", "1"} {
		d := view.Draft()
		if again = d.Read(words); len(again) != 1 || !again[0].Unclear || again[0].Why != "Which question does this answer? Begin with its id, such as “db=…”." {
			t.Errorf("%q answers none of the questions: %+v", words, again)
		}
		if r := d.Reply(); r.Response != "" || len(r.Answers) > 0 {
			t.Errorf("%q leaves the reply %+v", words, r)
		}
	}
}

func TestFaultsBelongToTheirQuestion(t *testing.T) {
	t.Parallel()
	view := card.New(record(kinds()["four"]), mei, now)
	in := func(questionID string, f ask.Fault) ask.Fault {
		f.QuestionID = questionID
		return f
	}
	again := view.Faults([]ask.Fault{
		in("n", ask.NewFault("/answers/0", ask.FaultTooHigh, 12, 9)),
		{QuestionID: "n", Message: "again"},
		in("db", ask.NewFault("/answers", ask.FaultNoAnswer, "db")),
		in("pub", ask.NewFault("/answers/1", ask.FaultTooManyChosen, 2, 1)),
		{Pointer: "/response", Message: "is too long"},
	})
	want := []string{"Your answer is 12; give at most 9.", "This one needs an answer.", "Your answer has 2 chosen; choose at most 1."}
	for i, w := range want {
		if again[i].Why != w {
			t.Errorf("%q, want %q", again[i].Why, w)
		}
	}
	if len(again) != 4 || again[3].Question != nil || view.NotSent(again[:1]) != "Not sent yet: one question needs another look." {
		t.Errorf("%+v", again)
	}
}

func TestMay(t *testing.T) {
	t.Parallel()
	r := record(kinds()["choice"])
	host := card.Viewer{By: ask.By{Principal: "os:mei", Groups: []string{"platform"}, Responder: ask.ResponderNative}}
	for name, c := range map[string]struct {
		viewer card.Viewer
		record *ask.Record
		want   card.May
	}{
		"in the audience":           {mei, r, card.May{Answer: true, Decline: true}},
		"outside":                   {tom, r, card.May{Why: "Only group platform may decide this."}},
		"nobody proves who answers": {host, r, card.May{Why: "Only group platform may decide this, and this surface does not prove who you are."}},
		"the asker":                 {mei, excluding("os:mei"), card.May{Why: "You asked this, so somebody else has to decide."}},
		"not the asker":             {mei, excluding("os:tom"), card.May{Answer: true, Decline: true}},
		"whoever has the token":     {card.Viewer{By: ask.By{Principal: "token:7", Proof: ask.ProofToken}}, excluding("os:tom"), card.May{Why: "The asker may not decide this, and it is not known who you are here. Answer where you sign in."}},
		"at the asker's own host":   {host, excluding("os:tom"), card.May{Why: "The asker may not decide this, and it is not known who you are here. Answer where you sign in."}},
		"ended":                     {mei, ended(r, ask.Outcome{Status: ask.StatusExpired}), card.May{Why: "It has ended: nothing is left to decide."}},
	} {
		if got := card.New(c.record, c.viewer, now).May; got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// excluding returns a record without an audience that its asker may not decide.
func excluding(asker string) *ask.Record {
	r := record(kinds()["choice"])
	r.Ask.Audience, r.Ask.ExcludeAsker, r.Ask.Asker = nil, true, []string{asker}
	return r
}

func TestUndeclaredDeadlinesAreNotShown(t *testing.T) {
	t.Parallel()
	r := record(kinds()["text"])
	if c := card.New(r, mei, now); c.Ends != nil || c.AtEnd != "" {
		t.Errorf("%+v, %q", c.Ends, c.AtEnd)
	}
	if row := card.NewRow(r, mei, now.Add(ask.MaxTimeout-time.Hour)); row.Ends != nil {
		t.Errorf("the row says %+v", row.Ends)
	}
	r.Ask.Deadline = now.Add(23 * time.Hour)
	if row := card.NewRow(r, tom, now); row.Ends == nil || row.Ends.Words != "in 23 h" || !row.Foreign || row.Priority.Words != "high priority" || row.Priority.Urgent() {
		t.Errorf("%+v", row)
	}
}

// A stand-in sees what the absent person may do, and is told so.
func TestAStandInMay(t *testing.T) {
	t.Parallel()
	r := record(kinds()["choice"])
	r.Ask.Audience = []string{"group:platform"}
	absent := ask.By{Principal: "os:mei", Name: "Mei", Groups: []string{"platform"}, Proof: ask.ProofOS}
	v := card.Viewer{By: ask.By{Principal: "os:jo", Name: "Jo", Proof: ask.ProofOS}}
	if c := card.New(r, v, now); c.May.Answer {
		t.Fatal("without the absence")
	}
	v.StandIns = func(ask.By) []ask.StandIn {
		return []ask.StandIn{{Absent: absent, By: "os:jo", Until: time.Now().Add(time.Hour)}}
	}
	c := card.New(r, v, now)
	if !c.May.Answer || !strings.Contains(c.ForThem, "You stand in for Mei.") {
		t.Errorf("%+v, %q", c.May, c.ForThem)
	}
	v.Lang = "zh-CN"
	if c := card.New(r, v, now); !strings.Contains(c.ForThem, "你代理 Mei") {
		t.Errorf("%q", c.ForThem)
	}
	by := v.By.Standing(absent)
	o := ask.Outcome{Status: ask.StatusAnswered, By: &by}
	if end := card.NewEnd(ended(r, o), card.Viewer{}, now); end.Who != "Jo for Mei" || !strings.Contains(end.Sentence, "Jo for Mei answered at ") {
		t.Errorf("%+v", end)
	}
	if end := card.NewEnd(ended(r, o), card.Viewer{Lang: "zh-CN"}, now); end.Who != "Jo（代 Mei）" {
		t.Errorf("%+v", end)
	}
}

// A card that several people read is posted once, and read hours later in other time zones: its times are times of day.
func TestAPostedCardHasTimesOfDay(t *testing.T) {
	t.Parallel()
	a := ask.Ask{Questions: []ask.Question{database()}, Deadline: now.Add(2 * time.Hour)}
	r := record(a)
	for name, c := range map[string]struct {
		v    card.Viewer
		now  time.Time
		want string
	}{
		"to one":        {card.Viewer{}, now, "builder asks · session payments-api · waiting 5 min · ends in 2 h"},
		"to several":    {card.Viewer{Shared: true}, now, "builder asks · session payments-api · since 09:57 UTC · until 12:02 UTC"},
		"of yesterday":  {card.Viewer{Shared: true}, now.Add(14 * time.Hour), "builder asks · session payments-api · since 20 Nov 09:57 UTC · until 20 Nov 12:02 UTC"},
		"another zone":  {card.Viewer{Shared: true}, now.In(time.FixedZone("", 8*3600)), "builder asks · session payments-api · since 17:57 UTC+08:00 · until 20:02 UTC+08:00"},
		"in Chinese":    {card.Viewer{Shared: true, Lang: "zh"}, now, "builder 提问 · 会话 payments-api · 自 09:57 UTC 起 · 12:02 UTC 截止"},
		"their own one": {card.Viewer{Shared: true, Zone: time.FixedZone("", 8*3600)}, now, "builder asks · session payments-api · since 17:57 · until 20:02"},
	} {
		if got := card.New(r, c.v, c.now).Head(); got != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}
