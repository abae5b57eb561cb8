//go:build shots

package teams

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

// TestPictures draws the cards of docs/teams.md with Microsoft's renderer of Adaptive Cards, which interop has:
//
//	ASKBUS_SHOTS=../../../../docs/images go test -tags shots -run TestPictures ./internal/answering/chat/teams
func TestPictures(t *testing.T) {
	viewer := card.Viewer{Surface: Type, Lang: "en", Shared: true}
	var all []*sheet
	for _, rec := range []*ask.Record{chattest.Database(), chattest.Voting()} {
		d := drawing{Card: card.New(rec, viewer, chattest.Pictured), ref: refOf(rec.Ask.Key(), rec.Life), link: "https://ask.example.com/ask/a1"}
		all = append(all, d.sheet())
	}
	rec := chattest.Chosen()
	all = append(all, outcome(chat.Summarize(rec, card.New(rec, viewer, chattest.Pictured), clip), refOf(rec.Ask.Key(), rec.Life)))
	chattest.Picture(t, "cards.html", "teams.png", "Drawn by Microsoft's renderer of Adaptive Cards in a page of our own; not a picture of Teams.", all)
}
