package telegram_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/faketelegram"
)

// Whom a step of a ladder names is told where their route is: in their own chat, or in a group that has no card.
func TestAStepIsToldWhereThereIsNoCard(t *testing.T) {
	t.Parallel()
	f := home(t)
	app, err := telegram.New(nil, telegram.Options{Token: faketelegram.Token, APIURL: f.URL(), Options: chat.Options{Routes: routes()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []chat.Target{{Person: fmt.Sprint(tom)}, {Channel: fmt.Sprint(group)}} {
		if err := app.Note(t.Context(), &chat.Note{To: to, Lines: []string{"Nobody has decided this yet"}, Step: true, Link: "https://ask.example.com/ask/a1"}); err != nil {
			t.Fatal(err)
		}
		all := f.Messages()
		if m := all[len(all)-1]; fmt.Sprint(m.Chat) != to.Place() || !strings.HasPrefix(m.Text, "🚨 Nobody has decided this yet\nhttps://ask.example.com/ask/a1") {
			t.Errorf("%+v", m)
		}
	}
}
