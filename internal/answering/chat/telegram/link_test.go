package telegram_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
)

var linkCode = regexp.MustCompile(`[2-9A-Z]{4}-[2-9A-Z]{4}-[2-9A-Z]{4}`)

// Who writes "link" to the bot in private gets a code, with which the inbox links them under the id that Telegram proves;
// in a group nobody does, nor who replies to a message: that answers a question which has an option of this name.
func TestAMemberAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	a := chattest.OptionLink("a1")
	a.Audience = []string{"chat:tom"}
	w.Ask(a)
	card := w.open("What to do")
	w.fake.Write(tom, group, "link", 0)
	w.fake.Write(tom, tom, "/Link", 0)
	told := w.message("a code", func(m *faketelegram.Message) bool { return linkCode.MatchString(m.Text) })
	if told.Chat != tom {
		t.Fatalf("it is told in %d", told.Chat)
	}
	mei := ask.By{Principal: "oidc:mei", Name: "Mei", Proof: ask.ProofOIDC}
	l, err := w.Other.Link(t.Context(), mei, linkCode.FindString(told.Text))
	if err != nil || !strings.HasPrefix(l.Principal, "telegram:") || l.Name == "" || l.Account != "oidc:mei" {
		t.Fatalf("%+v, %v", l, err)
	}
	if rec := w.Get("a1"); rec.State != ask.StatePending {
		t.Errorf("it is %s", rec.State)
	}
	w.fake.Write(tom, card.Chat, "link", card.ID)
	w.AnsweredLink("a1")
	w.fake.Write(tom, tom, "link", told.ID)
	w.message("that it answers nothing", func(m *faketelegram.Message) bool {
		return m.Chat == tom && strings.Contains(m.Text, "Please reply to")
	})
	codes := 0
	for _, m := range w.fake.Messages() {
		if linkCode.MatchString(m.Text) {
			codes++
		}
		if m.Chat == group && linkCode.MatchString(m.Text) {
			t.Errorf("a group reads a code: %s", m.Text)
		}
	}
	if codes != 1 {
		t.Errorf("%d codes", codes)
	}
}
