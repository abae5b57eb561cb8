//go:build shots

package telegram

import (
	"os"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// TestPictures draws the messages of docs/telegram.md with our own page in the style of Telegram:
//
//	ASKBUS_SHOTS=../../../../docs/images go test -tags shots -run TestPictures ./internal/answering/chat/telegram
func TestPictures(t *testing.T) {
	viewer := card.Viewer{Surface: Type, Lang: "en", Shared: true}
	var all []map[string]any
	shown := func(s text, k *keyboard) {
		all = append(all, map[string]any{"text": s.String(), "entities": s.entities, "reply_markup": k})
	}
	for _, rec := range []*ask.Record{chattest.Database(), chattest.Voting()} {
		d := drawing{Card: card.New(rec, viewer, chattest.Pictured), id: "0123456789abcdef01234567", link: "https://ask.example.com/ask/a1", bot: "askbus_bot"}
		shown(d.text(chat.Draft{}), d.keyboard(card.Steps{}))
	}
	rec := chattest.Chosen()
	shown(outcome(chat.Summarize(rec, card.New(rec, viewer, chattest.Pictured), literal)), nil)
	chattest.Picture(t, "message.html", "telegram.png", "Drawn by a page of our own that follows Telegram's look; not a picture of Telegram.", all)
}
