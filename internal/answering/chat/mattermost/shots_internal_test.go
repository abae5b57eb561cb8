//go:build shots

package mattermost

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

// TestPictures draws the posts of docs/mattermost.md with our own page in the style of Mattermost:
//
//	ASKBUS_SHOTS=../../../../docs/images go test -tags shots -run TestPictures ./internal/answering/chat/mattermost
func TestPictures(t *testing.T) {
	viewer := card.Viewer{Surface: Type, Lang: "en", Shared: true}
	var all []*post
	for _, rec := range []*ask.Record{chattest.Database(), chattest.Voting()} {
		d := drawing{Card: card.New(rec, viewer, chattest.Pictured), link: "https://ask.example.com/ask/a1"}
		all = append(all, presenter{}.post(rec, d.text(card.Steps{}), d.buttons(card.Steps{}, "", func(string) held { return held{} })))
	}
	rec := chattest.Chosen()
	all = append(all, presenter{}.post(rec, outcome(chat.Summarize(rec, card.New(rec, viewer, chattest.Pictured), clean)), nil))
	chattest.Picture(t, "post.html", "mattermost.png", "Drawn by a page of our own that follows Mattermost's look; not a picture of Mattermost.", all)
}
