package telegram_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder/respondertest"
	"github.com/google/go-cmp/cmp"
)

// world is Telegram on a bus.
type world struct {
	*chattest.World
	fake *faketelegram.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{chattest.New(t), home(t)}
}

// start runs a replica; stop ends it.
func (w *world) start() (stop func()) {
	w.T.Helper()
	return w.Start(&surface{t: w.T, fake: w.fake}, new(respondertest.Clock)) // Telegram takes 20 messages a minute in a group
}

// message waits for the newest message that holds.
func (w *world) message(what string, holds func(m *faketelegram.Message) bool) faketelegram.Message {
	w.T.Helper()
	return *chattest.Newest(w.T, what, w.fake.Messages, holds)
}

func (w *world) open(words string) faketelegram.Message {
	w.T.Helper()
	return w.message("an open message with "+words, func(m *faketelegram.Message) bool { return m.Open() && strings.Contains(m.Text, words) })
}

func (w *world) click(user int64, m faketelegram.Message, label string) string {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), waittest.Limit)
	defer cancel()
	told, ok := w.fake.Click(ctx, user, m, label)
	if !ok {
		w.T.Fatalf("the press of %q was not acknowledged", label)
	}
	return told
}

// Files come below the buttons: a slow upload holds up neither these nor the receipt, without which another replica posts
// the card again.
func TestFilesComeAfterTheButtons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var early atomic.Bool
	sent := func(m *faketelegram.Message) bool { return strings.HasSuffix(m.File, "run.sh.txt") }
	w.fake.Intercept(func(method, _ string, done bool) (time.Duration, error) {
		if method == "editMessageReplyMarkup" && !done && slices.ContainsFunc(w.fake.Messages(), func(m faketelegram.Message) bool { return sent(&m) }) {
			early.Store(true)
		}
		return 0, nil
	})
	f, err := w.Agent.Upload(t.Context(), "run.sh", []byte("it was here\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.start()
	a := chattest.Choice("a1", "Which database?")
	a.Files, a.Context = []ask.File{f}, strings.Repeat("It is long. ", 2_000)
	w.Ask(a)
	w.open("Which database?")
	w.message("the file", sent)
	w.message("the whole question, to which no link leads", func(m *faketelegram.Message) bool { return m.File == "document question.txt" })
	if early.Load() {
		t.Error("the file came before the buttons")
	}
}

// Several questions come one after the other in one message: a choice, toggled ones, and words by a
// reply. Another person's press begins again with the first. An urgent ask is marked, and one of low priority notifies nobody.
func TestSeveralQuestionsInOneMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	_, err := w.Agent.Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
		{ID: "env", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}, {ID: "qa", Label: "QA"}}},
		{ID: "name", Kind: ask.KindText, Text: "Which name?"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.click(mei, w.open("Which database?"), "SQLite")
	second := w.open("Which environments?")
	if told := w.click(tom, second, "Send"); !strings.Contains(told, "begin") {
		t.Errorf("another person is told %q", told)
	}
	w.click(mei, w.open("Which database?"), "SQLite")
	w.click(mei, w.open("Which environments?"), "☐ Dev")
	w.click(mei, w.open("Which environments?"), "☐ QA")
	w.click(mei, w.open("Which environments?"), "Send")
	w.click(mei, w.open("Which name?"), "Answer…")
	prompt := w.message("a prompt", func(m *faketelegram.Message) bool { return m.Force })
	w.fake.Write(mei, group, "orders", prompt.ID)
	o := w.Wait("a1")
	if len(o.Answers) != 3 || o.Answers[0].Selected[0] != "lite" || strings.Join(o.Answers[1].Selected, " ") != "dev qa" || o.Answers[2].Text != "orders" {
		t.Errorf("the answers are %+v", o.Answers)
	}
	if o.By == nil || o.By.Principal != "telegram:103" || o.By.Proof != ask.ProofTelegram {
		t.Errorf("by %+v", o.By)
	}
	w.message("the outcome", func(m *faketelegram.Message) bool { return !m.Open() && strings.Contains(m.Text, "Mei answered") })

	for p, sign := range map[ask.Priority]string{ask.PriorityUrgent: "🚨", ask.PriorityHigh: "❓", ask.PriorityLow: "❓"} {
		w.Ask(ask.Ask{ID: string(p), Priority: p, Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "How " + string(p) + "?"}}})
		if m := w.open("How " + string(p)); !strings.HasPrefix(m.Text, sign) || m.Silent != (p == ask.PriorityLow) {
			t.Errorf("%s: silent %v, %s", p, m.Silent, m.Text)
		}
	}
}

// Buttons work after a restart: they carry all that a new process needs.
func TestClickAfterRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start()
	if _, err := w.Agent.Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}}}}}); err != nil {
		t.Fatal(err)
	}
	m := w.open("Which database?")
	stop()
	w.start()
	if told := w.click(mei, m, "PostgreSQL"); told != "" {
		t.Errorf("told %q", told)
	}
	if o := w.Wait("a1"); o.Answers[0].Selected[0] != "pg" {
		t.Errorf("the outcome is %+v", o)
	}
	told := w.click(tom, m, "PostgreSQL")
	if !strings.Contains(told, "Mei") {
		t.Errorf("a late press is told %q", told)
	}
}

// A restart in the middle loses no answer: the message carries them. An ask that ended meanwhile is not shown
// again by a press or by words, which are told how it ended.
func TestAnswersOutliveARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start()
	ids := []string{"a1", "a2"}
	for _, id := range ids {
		if _, err := w.Agent.Ask(t.Context(), ask.Ask{ID: id, Questions: []ask.Question{
			{ID: "db", Text: "Which database for " + id + "?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
			{ID: "env", Text: "Which environments for " + id + "?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}}},
		}}); err != nil {
			t.Fatal(err)
		}
		w.click(mei, w.open("Which database for "+id), "SQLite")
		w.click(mei, w.open("Which environments for "+id), "☐ Dev")
		w.message("Dev is chosen for "+id, func(m *faketelegram.Message) bool {
			return strings.Contains(m.Text, "environments for "+id) && strings.Contains(m.Shown(), "☑ Dev")
		})
	}
	first, second := w.open("environments for a1"), w.open("environments for a2")
	w.click(mei, second, "Other…")
	prompt := w.message("a prompt", func(m *faketelegram.Message) bool { return m.Force })
	stop()
	if _, err := w.Agent.Withdraw(t.Context(), "a2", ""); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.click(mei, first, "Send")
	if o := w.Wait("a1"); len(o.Answers) != 2 || o.Answers[0].Selected[0] != "lite" || strings.Join(o.Answers[1].Selected, " ") != "dev" {
		t.Errorf("the answers are %+v", o.Answers)
	}
	if told := w.click(mei, second, "Send"); !strings.Contains(told, "Withdrawn") {
		t.Errorf("a press of an ended ask is told %q", told)
	}
	w.fake.Write(mei, group, "staging", prompt.ID)
	w.message("who writes is told so", func(m *faketelegram.Message) bool {
		return m.ID != second.ID && strings.Contains(strings.ToLower(m.Text), "withdrawn by the agent")
	})
	w.message("it is closed", func(m *faketelegram.Message) bool { return m.ID == second.ID && !m.Open() })
}

// Talk below a message decides nothing, and neither does a bot; words that begin with "answer:" do.
func TestTalkDoesNotDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fake.AddUser(faketelegram.User{ID: 900, IsBot: true, First: "GroupAnonymousBot"}, group)
	w.start()
	if _, err := w.Agent.Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "ok", Text: "Deploy?", Options: []ask.Option{{ID: "allow", Label: "Allow"}, {ID: "deny", Label: "Deny"}}}}}); err != nil {
		t.Fatal(err)
	}
	m := w.open("Deploy?")
	w.fake.Write(tom, group, "allow? I would deny", m.ID)
	w.message("a hint", func(m *faketelegram.Message) bool { return strings.Contains(m.Text, "not taken as an answer") })
	if told := w.click(900, m, "Allow"); !strings.Contains(told, "Only a person") {
		t.Errorf("a bot is told %q", told)
	}
	w.fake.Write(tom, group, "Answer: ALLOW", m.ID)
	if o := w.Wait("a1"); o.Answers[0].Selected[0] != "allow" || o.By.Principal != "chat:tom" {
		t.Errorf("the outcome is %+v by %+v", o.Answers, o.By)
	}
}

// A refused token makes the surface not ready, and nothing is posted.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	f := home(t)
	f.Revoke()
	app, err := telegram.New(nil, telegram.Options{Token: faketelegram.Token, APIURL: f.URL(), Options: chat.Options{Routes: routes()}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := app.Connect(ctx); err == nil || strings.Contains(err.Error(), "fake") {
		t.Errorf("the error is %v; want one without the token", err)
	}
	if app.Ready() == nil {
		t.Error("it is ready")
	}
}

// The doctor names what is wrong and what to do.
func TestDoctor(t *testing.T) {
	t.Parallel()
	f := home(t)
	r := routes()
	r.Groups = map[string]string{"platform": "-42", "nowhere": "-43"}
	r.Rules = []chat.Rule{{Match: chat.Match{Session: "s1"}, To: chat.Target{Channel: "-44"}}, {Match: chat.Match{Session: "s2"}, To: chat.Target{Channel: "-44"}}}
	app, err := telegram.New(nil, telegram.Options{Token: faketelegram.Token, APIURL: f.URL(), Options: chat.Options{Routes: r}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, one := range app.Doctor(t.Context()) {
			got = append(got, string(one.State)+" "+one.What)
			if strings.Contains(one.Words, "fake") && one.What != "token" {
				t.Errorf("%s has the token: %s", one.What, one.Words)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check("ok token", "ok polling", "ok chat -100500", "broken chat -44", "broken group nowhere", "ok group platform")
	f.SetWebhook("https://elsewhere.example")
	check("ok token", "broken polling", "ok chat -100500", "broken chat -44", "broken group nowhere", "ok group platform")
	f.Revoke()
	check("broken token")
}
