//go:build shots

package discord

import (
	"os"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/card"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// TestPictures draws the messages of docs/discord.md with our own page in the style of Discord:
//
//	ASKBUS_SHOTS=../../../../docs/images go test -tags shots -run TestPictures ./internal/answering/chat/discord
func TestPictures(t *testing.T) {
	viewer := card.Viewer{Surface: Type, Lang: "en", Shared: true}
	d := drawing{Card: card.New(chattest.Database(), viewer, chattest.Pictured), key: "askbus-0123456789abcdef01234567", link: "https://ask.example.com/ask/a1"}
	rec := chattest.Chosen()
	chattest.Picture(t, "components.html", "discord.png", "Drawn by a page of our own that follows Discord's look; not a picture of Discord.",
		[]message{d.message(), ended(chat.Summarize(rec, card.New(rec, viewer, chattest.Pictured), literal))})
}
