package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// A session has one topic in a forum, whichever replica posts; a closed one is replaced, and a chat without topics gets the
// messages as they are.
func TestATopicForEachSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fake.SetForum(group)
	clock := new(respondertest.Clock) // Telegram takes 20 messages a minute in a group
	run := func() {
		r := w.Responder(telegram.Type)
		to := routes()
		to.Default = chat.Target{Channel: fmt.Sprint(group), Threads: chat.ThreadsTopic}
		w.Run(func(ctx context.Context) error {
			app, err := telegram.New(r, telegram.Options{Token: faketelegram.Token, APIURL: w.fake.URL(), Options: chat.Options{Routes: to, Logger: natstest.Logger(), Clock: clock}})
			if err != nil {
				return err
			}
			if _, err := app.Connect(ctx); err != nil {
				return err
			}
			return errors.Join(app.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 8}}))
		})
	}
	run()
	run()
	for i := range 6 {
		w.Ask(chattest.Choice(fmt.Sprint("a", i), fmt.Sprint("Which database ", i, "?")))
	}
	posted := func(id string) ask.Place {
		return w.Receipt(id, telegram.Type, 0).Places[0]
	}
	for i := range 6 {
		posted(fmt.Sprint("a", i))
	}
	topics := w.fake.Topics(group)
	if len(topics) != 1 || topics[0].Name == "" {
		t.Fatalf("the topics are %+v", topics)
	}
	for _, m := range w.fake.Messages() {
		if m.Chat == group && m.Topic != topics[0].ID {
			t.Errorf("a message is in topic %d: %s", m.Topic, m.Text)
		}
	}
	for n, deleted := range []bool{false, true} {
		w.fake.EndTopic(group, w.fake.Topics(group)[n].ID, deleted)
		id := fmt.Sprint("b", n)
		w.Ask(chattest.Choice(id, "And now?"))
		posted(id)
		if topics := w.fake.Topics(group); len(topics) != n+2 {
			t.Fatalf("the topics are %+v", topics)
		}
	}
}

// A chat that is no forum gets the messages as they are. The first one names the bot already, by which a reply is known.
func TestNoTopicsWithoutAForum(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	to := routes()
	to.Default = chat.Target{Channel: fmt.Sprint(group), Threads: chat.ThreadsTopic}
	app, err := telegram.New(w.Responder(telegram.Type), telegram.Options{Token: faketelegram.Token, APIURL: w.fake.URL(), Options: chat.Options{Routes: to, Logger: natstest.Logger()}})
	if err != nil {
		t.Fatal(err)
	}
	w.Run(func(ctx context.Context) error { return app.Serve(ctx, responder.ServeOptions{}) })
	w.Ask(chattest.Choice("a1", "Which database?"))
	w.Receipt("a1", telegram.Type, 0)
	w.message("a message of no topic", func(m *faketelegram.Message) bool {
		return m.Chat == group && m.Topic == 0 && strings.HasPrefix(m.First[0].URL, "https://t.me/askbus_fake_bot?start=")
	})
}
