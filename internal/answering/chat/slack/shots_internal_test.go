//go:build shots

package slack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/chromedp/chromedp"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// TestPictures draws the cards of docs/slack.md with our own page in the style of
// Block Kit:
//
//	ASKBUS_SHOTS=../../../../docs/slack go test -tags shots -run TestPictures ./internal/answering/chat/slack
func TestPictures(t *testing.T) {
	dir := os.Getenv("ASKBUS_SHOTS")
	if dir == "" {
		t.Fatal("ASKBUS_SHOTS names no directory")
	}
	page, err := filepath.Abs("testdata/blockkit.html")
	if err != nil {
		t.Fatal(err)
	}
	database := ask.Ask{
		Agent: ask.Agent{Name: "Claude Code", Parent: "release"}, Context: "The ledger service needs a store. Two candidates passed the spike.",
		Audience: []string{"group:dba"}, Deadline: when.Add(2 * time.Hour), Priority: ask.PriorityHigh,
		Questions: []ask.Question{{ID: "db", Header: "Storage", Text: "Which database should the ledger service use?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "Runs in the cluster already", Recommended: true, Preview: &ask.Preview{Body: "ledger ──▶ PostgreSQL ──▶ replica\n             └────▶ backup"}},
			{ID: "lite", Label: "SQLite + Litestream", Description: "One file, streamed to object storage", Preview: &ask.Preview{Body: "ledger ──▶ ledger.db ──▶ bucket"}},
		}}},
	}
	long := ask.Ask{Agent: ask.Agent{Name: "deployer"}, Questions: []ask.Question{{ID: "q", Text: "How shall the migration run?", Options: []ask.Option{
		{ID: "a", Label: "Stop writes for about four minutes, migrate everything in one transaction, and start again"},
		{ID: "b", Label: "Write to both tables for a day, compare the counts each hour, and switch the readers over then"},
	}}}}
	several := ask.Ask{Agent: ask.Agent{Name: "planner"}, Title: "Before the release", Questions: []ask.Question{
		{ID: "areas", Text: "Which areas were tested by hand?", Multiple: true, Options: []ask.Option{{ID: "w", Label: "Web"}, {ID: "c", Label: "Command line"}, {ID: "s", Label: "Slack"}}},
		{ID: "v", Kind: ask.KindText, Text: "Which version is it?"},
		{ID: "d", Kind: ask.KindDate, Text: "When does it go out?"},
	}}
	boxes := ask.Ask{Agent: ask.Agent{Name: "planner"}, Questions: several.Questions[:1]}
	plans := ask.Ask{
		Agent: ask.Agent{Name: "Claude Code"}, Context: "The nightly job fails since **Tuesday**: `retry` gives up after *one* try.",
		Questions: []ask.Question{{ID: "fix", Text: "Which fix shall I make?", Options: []ask.Option{
			{ID: "a", Label: "Retry with back-off", Recommended: true, Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: "Small, and **no new dependency**.\n\n1. Wrap `fetch` in a loop of five tries\n2. Wait 1 s, 2 s, 4 s …\n   - jitter of a half\n3. Log each try\n\n> Mei asked for this in the [review](https://git.example/r/17)."}},
			{ID: "b", Label: "Queue and worker", Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: "Survives restarts, *but* needs a table:\n\n```sql\nCREATE TABLE jobs (id uuid, due timestamptz);\n```\n\n~~Redis~~ is not available. <!channel> stays text."}},
		}}},
	}
	draw := func(a ask.Ask) (content, *ask.Record, *card.Card) {
		rec := record(a)
		rec.Ask.Session = "billing-api"
		c := card.New(rec, card.Viewer{Surface: Type}, when)
		return pendingCard(asked{Record: *rec, Life: rec.Life, Card: c, Link: "https://inbox.example/ask/a1", Replies: true, Mentions: mention(a)}), rec, c
	}
	first, rec, _ := draw(database)
	o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, At: when, By: &ask.By{Principal: "oidc:mei", Name: "Mei", Responder: "web"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}
	ended := *rec
	ended.State, ended.Outcome = ask.StateResolved, &o
	folded := outcomeCard(o.At, chat.Summarize(&ended, card.New(&ended, card.Viewer{Surface: Type, Shared: true}, when), literal))
	voting := chattest.Voting()
	votes := pendingCard(asked{Record: *voting, Card: card.New(voting, card.Viewer{Surface: Type, Shared: true}, chattest.Pictured), Link: "https://inbox.example/ask/a2", Replies: true})
	numbers, _, _ := draw(long)
	prose, _, _ := draw(plans)
	checks, _, _ := draw(boxes)
	_, rec, c := draw(several)
	form := answerModal(asked{Record: *rec, Life: "l1", Card: c}, modalRef{Target: chat.Ref{Key: rec.Ask.Key(), Life: "l1"}.String()})
	for name, shown := range map[string]struct {
		cards  []content
		modal  any
		errors map[string]string
	}{
		"choice":  {cards: []content{first}},
		"votes":   {cards: []content{votes}},
		"outcome": {cards: []content{folded}},
		"prose":   {cards: []content{prose}},
		"more":    {cards: []content{numbers, checks}},
		"form":    {modal: form, errors: map[string]string{"q1": "This question needs an answer."}},
	} {
		var messages []any
		for _, c := range shown.cards {
			messages = append(messages, fit(c).Blocks)
		}
		data, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		modal, err := json.Marshal(shown.modal)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := json.Marshal(shown.errors)
		if err != nil {
			t.Fatal(err)
		}
		b := browsertest.Open(t)
		b.Do(chromedp.Navigate("file://" + page))
		b.Wait(`typeof show === "function"`)
		b.Wait(`(() => { const m = ` + string(modal) + `; if (m) m.errors = ` + string(faults) + `; show("Drawn by a page of our own that follows Slack's look; not a picture of Slack.", ` + string(data) + `, m); return true })()`)
		image, err := chromedp.Run(b.Context(), chromedp.Screenshot(chromedp.CSS("body")))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), image, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func mention(a ask.Ask) []string {
	if len(a.Audience) > 0 {
		return []string{"S1"}
	}
	return nil
}
