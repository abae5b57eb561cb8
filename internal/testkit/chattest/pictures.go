//go:build shots

package chattest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/chromedp"
)

// Pictured is when the cards of pictures are drawn.
var Pictured = time.Date(2026, 11, 26, 10, 2, 0, 0, time.UTC)

// Database is an ask for a picture: options with a preview and a destructive one, a file and a ladder.
func Database() *ask.Record {
	return &ask.Record{State: ask.StatePending, AskedAt: Pictured.Add(-3 * time.Minute), Ask: ask.Ask{
		Tenant: "acme", Session: "billing-api", ID: "a1", Agent: ask.Agent{Name: "Claude Code", Repository: "acme/ledger", Branch: "main"}, Title: "Storage of the ledger",
		Context: "The ledger service needs a **store**. Two candidates passed the spike.", Priority: ask.PriorityUrgent, Deadline: Pictured.Add(2 * time.Hour),
		Files:    []ask.File{{ID: "0", Name: "load-test.png", MediaType: ask.MediaPNG, Size: 48_213}},
		Escalate: []ask.Escalation{{After: 20 * time.Minute, Tell: []string{"group:dba"}}},
		Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Which database should it use?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "Runs in the cluster already", Recommended: true, Preview: &ask.Preview{Body: "ledger ──▶ PostgreSQL ──▶ replica\n             └────▶ backup"}},
			{ID: "lite", Label: "SQLite + Litestream", Description: "One file, streamed to object storage"},
			{ID: "drop", Label: "Keep it in memory", Description: "Lost with the node", Destructive: true},
		}}},
	}}
}

// Chosen is how it ended.
func Chosen() *ask.Record {
	rec := Database()
	rec.State, rec.Outcome = ask.StateResolved, &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, At: Pictured, By: &ask.By{Principal: "oidc:mei", Name: "Mei", Responder: "web"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}
	return rec
}

// Voting is an ask that two people decide, of whom one has voted.
func Voting() *ask.Record {
	return &ask.Record{
		State: ask.StatePending, AskedAt: Pictured.Add(-8 * time.Minute),
		Votes: []ask.Vote{{By: ask.By{Principal: "oidc:tom", Name: "Tom", Responder: "web", Groups: []string{"sre"}}, Choice: ask.ChoiceApprove, Reason: "OPS-17", At: Pictured.Add(-2 * time.Minute)}},
		Ask: ask.Ask{
			Tenant: "acme", Session: "deploy-42", ID: "a2", Agent: ask.Agent{Name: "deployer"}, Title: "Release 4.2", Context: "```\nkubectl -n prod set image deploy/api api=acme/api:4.2\n```",
			Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy to production?"}},
			Approval:  &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"group:sre"}}}},
		},
	}
}

// Picture draws cards with the function "show" of a page of the package's testdata, and writes the picture into the
// directory that ASKBUS_SHOTS names.
func Picture(t *testing.T, page, name, note string, cards any) {
	t.Helper()
	dir := os.Getenv("ASKBUS_SHOTS")
	if dir == "" {
		t.Fatal("ASKBUS_SHOTS names no directory")
	}
	at, err := filepath.Abs(filepath.Join("testdata", page))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal([]any{note, cards})
	if err != nil {
		t.Fatal(err)
	}
	b := browsertest.Open(t)
	b.Do(chromedp.Navigate("file://" + at))
	b.Wait(`typeof show === "function"`)
	b.Wait(`(() => { show(...` + string(data) + `); return true })()`)
	image, err := chromedp.Run(b.Context(), chromedp.Screenshot(chromedp.CSS("body")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), image, 0o600); err != nil {
		t.Fatal(err)
	}
}
