package telegram_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
)

const table = "Measured:\n\n| store | writes |\n|---|---:|\n| pg | 900 |\n| lite @all | 70 |\n\nMore below."

// A question that is too long, or has a table, is a rich message: with buttons, answered by a press or by a reply, edited
// to its votes and to its outcome. One with several questions is not.
func TestRichMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	long := chattest.Choice("long", "Which of them?")
	long.Context = strings.Repeat("A line that says something.\n", 200) + "THE END"
	w.Ask(long)
	m := w.open("THE END")
	if !m.Rich || strings.Contains(m.Text, "Not everything fits") || len(m.Text) < 5_000 {
		t.Fatalf("rich %t, %d bytes", m.Rich, len(m.Text))
	}
	w.click(mei, m, "SQLite")
	if o := w.Wait("long"); o.Answers[0].Selected[0] != "lite" {
		t.Errorf("the outcome is %+v", o)
	}
	w.message("the outcome", func(m *faketelegram.Message) bool {
		return m.Rich && m.Edited && !m.Open() && strings.Contains(m.Text, "Mei chose SQLite")
	})

	tabled := chattest.Choice("table", "Which of the two?")
	tabled.Context = table
	w.Ask(tabled)
	m = w.open("Which of the two?")
	if !m.Rich || !strings.Contains(m.Text, "\n| store | writes |\n| pg | 900 |\n| lite @\u200ball | 70 |\n") {
		t.Errorf("rich %t: %s", m.Rich, m.Text)
	}
	w.fake.Write(mei, m.Chat, "answer: 1", m.ID)
	if o := w.Wait("table"); o.Answers[0].Selected[0] != "pg" {
		t.Errorf("the outcome is %+v", o)
	}

	votes := chattest.Choice("votes", "Which one do we take?")
	votes.Context, votes.Questions[0].NoOther = table, true
	votes.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}, ApproveOptions: []string{"pg"}}
	w.Ask(votes)
	w.click(mei, w.open("0 of 2 approvals"), "⭐ PostgreSQL")
	if m := w.open("1 of 2 approvals"); !m.Rich || !strings.Contains(m.Text, "| pg | 900 |") {
		t.Errorf("rich %t: %s", m.Rich, m.Text)
	}

	several := chattest.Choice("several", "Which of these?")
	several.Context = table
	several.Questions = append(several.Questions, ask.Question{ID: "ok", Text: "Really?", Kind: ask.KindBoolean})
	w.Ask(several)
	if m := w.open("Which of these?"); m.Rich {
		t.Error("one with several questions is rich")
	}
}

// A server from before rich messages gets others, and is not asked again.
func TestAServerWithoutRichMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fake.PlainOnly()
	w.start()
	for i := range 2 {
		a := chattest.Choice(fmt.Sprint("a", i), fmt.Sprint("Which database ", i, "?"))
		a.Context = table
		w.Ask(a)
		if m := w.open(a.Questions[0].Text); m.Rich || !strings.Contains(m.Text, "store") {
			t.Errorf("rich %t: %s", m.Rich, m.Text)
		}
	}
	if n := w.fake.Calls("sendRichMessage"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}
