//go:build shots

package discord

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/chromedp/chromedp"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// TestPictures draws the messages of docs/discord.md with our own page in the style of Discord:
//
//	ASKBUS_SHOTS=../../../../docs/images go test -tags shots -run TestPictures ./internal/answering/chat/discord
func TestPictures(t *testing.T) {
	dir := os.Getenv("ASKBUS_SHOTS")
	if dir == "" {
		t.Fatal("ASKBUS_SHOTS names no directory")
	}
	page, err := filepath.Abs("testdata/components.html")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 26, 10, 2, 0, 0, time.UTC)
	a := ask.Ask{
		Tenant: "acme", Session: "billing-api", ID: "a1", Agent: ask.Agent{Name: "Claude Code", Repository: "acme/ledger", Branch: "main"}, Title: "Storage of the ledger",
		Context: "The ledger service needs a **store**. Two candidates passed the spike.", Priority: ask.PriorityUrgent, Deadline: now.Add(2 * time.Hour),
		Files:    []ask.File{{ID: "0", Name: "load-test.png", MediaType: ask.MediaPNG, Size: 48_213}},
		Escalate: []ask.Escalation{{After: 20 * time.Minute, Tell: []string{"group:dba"}}},
		Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Which database should it use?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "Runs in the cluster already", Recommended: true, Preview: &ask.Preview{Body: "ledger ──▶ PostgreSQL ──▶ replica\n             └────▶ backup"}},
			{ID: "lite", Label: "SQLite + Litestream", Description: "One file, streamed to object storage"},
			{ID: "drop", Label: "Keep it in memory", Description: "Lost with the node", Destructive: true},
		}}},
	}
	rec := ask.Record{State: ask.StatePending, Ask: a, AskedAt: now.Add(-3 * time.Minute)}
	viewer := card.Viewer{Surface: Type, Lang: "en", Shared: true}
	d := drawing{Card: card.New(&rec, viewer, now), key: "askbus-0123456789abcdef01234567", link: "https://ask.example.com/ask/a1"}
	rec.State, rec.Outcome = ask.StateResolved, &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, At: now, By: &ask.By{Principal: "oidc:mei", Name: "Mei", Responder: "web"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}
	messages, err := json.Marshal([]message{d.message(), ended(chat.Summarize(&rec, card.New(&rec, viewer, now), literal))})
	if err != nil {
		t.Fatal(err)
	}
	b := browsertest.Open(t)
	b.Do(chromedp.Navigate("file://" + page))
	b.Wait(`typeof show === "function"`)
	b.Wait(`(() => { show("Drawn by a page of our own that follows Discord's look; not a picture of Discord.", ` + string(messages) + `); return true })()`)
	image, err := chromedp.Run(b.Context(), chromedp.Screenshot(chromedp.CSS("body")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "discord.png"), image, 0o600); err != nil {
		t.Fatal(err)
	}
}
