package telegram_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/chattest"
)

func TestTwoReplicasPostOneDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AskMarked("a1")
	due, clock := chattest.DigestDue()
	s := &surface{t: t, fake: w.fake, tune: func(o *telegram.Options) { o.Digest = due }}
	stops := []func(){w.Start(s, clock), w.Start(s, clock)}
	is := func(m *faketelegram.Message) bool { return strings.HasPrefix(m.Text, "askbus, ") }
	m := chattest.Once(t, "the digest", w.fake.Messages, is, stops...)
	if m.Chat != group || !strings.Contains(m.Text, "Questions asked: 1 (the week before: 0)") || !strings.Contains(m.Text, "• <!channel> @\u200beveryone **b**") || len(m.Entities) != 1 {
		t.Errorf("%+v", m)
	}
}

// The library's errors have the address, and that the token: logs must not.
func TestErrorsDoNotTellTheToken(t *testing.T) {
	t.Parallel()
	app, err := telegram.New(nil, telegram.Options{Token: faketelegram.Token, APIURL: "http://127.0.0.1:1", Options: chat.Options{Routes: routes()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = app.Connect(t.Context()); err == nil || strings.Contains(err.Error(), faketelegram.Token) || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
