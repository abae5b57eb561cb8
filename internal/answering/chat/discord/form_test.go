package discord_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// four is what an agent with several questions asks.
func four() ask.Ask {
	return ask.Ask{Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Description: "What we use elsewhere"}, {ID: "lite", Label: "SQLite"}}},
		{ID: "env", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}, {ID: "qa", Label: "QA"}}},
		{ID: "name", Kind: ask.KindText, Text: "Which name?"},
		{ID: "when", Kind: ask.KindDate, Text: "When?", Optional: true},
	}}
}

// Several questions are one form. What is wrong is told, and the form opens again as it was.
func TestSeveralQuestionsAreOneForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.ask("a1", four())
	form := w.click(mei, w.open("Which database?"), "Answer…")
	refused := w.submit(form, map[string][]string{"q0": {"Other…"}, "q1": {"1. Dev", "3. QA"}, "q2": {"orders"}, "q3": {"tomorrow or so"}})
	if !strings.Contains(refused.Words(), "Not stored") || !strings.Contains(refused.Words(), "Which database?") {
		t.Fatalf("it tells %q", refused.Words())
	}
	again := w.click(mei, *refused.Told, "Answer…")
	refused = w.submit(again, map[string][]string{"other": {"MariaDB"}})
	if !strings.Contains(refused.Words(), "When?") {
		t.Fatalf("it tells %q", refused.Words())
	}
	if in := w.submit(w.click(mei, *refused.Told, "Answer…"), map[string][]string{"q3": {"2027-01-02"}}); in.Words() != "" {
		t.Errorf("it tells %q", in.Words())
	}
	o := w.Wait("a1")
	if len(o.Answers) != 4 || o.Answers[0].Other != "MariaDB" || strings.Join(o.Answers[1].Selected, " ") != "dev qa" || o.Answers[2].Text != "orders" || o.Answers[3].Date != "2027-01-02" {
		t.Errorf("the answers are %+v", o.Answers)
	}
	if o.By == nil || o.By.Principal != "discord:"+mei || o.By.Proof != ask.ProofDiscord || o.By.Name != "Mei" {
		t.Errorf("by %+v", o.By)
	}
	w.closed("Mei answered")
}

// Words of one's own are a line for each question that chose so, in their order.
func TestOwnWordsOfSeveralQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	a := four()
	a.Questions = a.Questions[:2]
	w.ask("a1", a)
	form := w.click(mei, w.open("Which database?"), "Answer…")
	if refused := w.submit(form, map[string][]string{"q0": {"Other…"}, "q1": {"1. Dev", "Other…"}, "other": {"MariaDB"}}); !strings.Contains(refused.Words(), "A line for each question") {
		t.Errorf("it tells %q", refused.Words())
	}
	w.submit(form, map[string][]string{"q0": {"Other…"}, "q1": {"1. Dev", "Other…"}, "other": {"MariaDB\n\nstaging"}})
	if o := w.Wait("a1"); o.Answers[0].Other != "MariaDB" || o.Answers[1].Other != "staging" || o.Answers[1].Selected[0] != "dev" {
		t.Errorf("the answers are %+v", o.Answers)
	}
}

// What a form cannot hold is answered in the browser, and the message says so. What a message cannot hold comes as a file.
func TestMoreThanAFormHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(func(o *discord.Options) {
		o.Link = func(k ask.Key) string {
			if k.ID == "a2" {
				return ""
			}
			return respondertest.Link(k)
		}
	})
	var many ask.Ask
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		many.Questions = append(many.Questions, ask.Question{ID: id, Kind: ask.KindText, Text: "Question " + id})
	}
	w.ask("a1", many)
	m := w.open("Question f")
	shown := m.Shown()
	if strings.Contains(shown, "Answer…") || !strings.Contains(shown, "https://inbox.example/ask/acme/s1/a1") || !strings.Contains(shown, "too much for a form") {
		t.Errorf("it shows %s", shown)
	}
	long := chattest.Choice("a2", "Which database?")
	long.Context = strings.Repeat("It is long. ", 500)
	w.Ask(long)
	natstest.Eventually(t, "the whole question comes, to which no link leads", func() bool {
		return slices.ContainsFunc(w.fake.Messages(), func(m fakediscord.Message) bool {
			return slices.ContainsFunc(m.Files, func(f fakediscord.File) bool { return f.Name == "question.txt" && f.Size > len(long.Context) })
		})
	})
}

// More options than buttons are a menu; more than a menu holds are answered by number.
func TestManyOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	for n, id := range map[int]string{24: "menu", 60: "number"} {
		q := ask.Question{ID: "q", Text: "Which " + id + "?"}
		for i := range n {
			q.Options = append(q.Options, ask.Option{ID: "o" + string(rune('A'+i)), Label: "Option " + strings.Repeat("x", 1+i)})
		}
		w.ask(id, ask.Ask{Questions: []ask.Question{q}})
	}
	w.click(mei, w.open("Which menu?"), "3. Option xxx")
	if o := w.Wait("menu"); o.Answers[0].Selected[0] != "oC" {
		t.Errorf("the answers are %+v", o.Answers)
	}
	w.submit(w.click(mei, w.open("Which number?"), "Answer…"), map[string][]string{"q0": {"42"}})
	if o := w.Wait("number"); len(o.Answers[0].Selected) != 1 || o.Answers[0].Selected[0] != "o"+string(rune('A'+41)) {
		t.Errorf("the answers are %+v", o.Answers)
	}
}

// A destructive option is confirmed, by a second button or by a tick in the form.
func TestDestructiveOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	one := ask.Ask{Questions: []ask.Question{{ID: "db", Text: "Clean up?", NoOther: true, Options: []ask.Option{{ID: "keep", Label: "Keep"}, {ID: "drop", Label: "Drop all", Destructive: true}}}}}
	w.ask("a1", one)
	asked := w.click(mei, w.open("Clean up?"), "Drop all")
	if !strings.Contains(asked.Words(), "destructive") {
		t.Fatalf("it tells %q", asked.Words())
	}
	newer := *asked.Told // a control that another version made chooses nothing
	newer.Components = []fakediscord.Component{{Type: 2, Label: "Newer", CustomID: strings.TrimSuffix(asked.Told.Components[0].Components[0].CustomID, "y:1") + "z:0"}}
	if in := w.click(mei, newer, "Newer"); in.Form == nil {
		t.Errorf("it tells %q", in.Words())
	}
	w.click(mei, *asked.Told, "Yes: Drop all")
	if o := w.Wait("a1"); o.Answers[0].Selected[0] != "drop" {
		t.Errorf("the outcome is %+v", o)
	}
	one.Questions = append(one.Questions, ask.Question{ID: "why", Kind: ask.KindText, Text: "Why now?"})
	w.ask("a2", one)
	form := w.click(mei, w.open("Why now?"), "Answer…")
	if refused := w.submit(form, map[string][]string{"q0": {"2. Drop all · destructive"}, "q1": {"space"}}); !strings.Contains(refused.Words(), "tick this") {
		t.Errorf("it tells %q", refused.Words())
	}
	w.submit(form, map[string][]string{"q0": {"2. Drop all · destructive"}, "q1": {"space"}, "sure": {"Yes, I choose a destructive option"}})
	if o := w.Wait("a2"); o.Answers[0].Selected[0] != "drop" {
		t.Errorf("the outcome is %+v", o)
	}
}
