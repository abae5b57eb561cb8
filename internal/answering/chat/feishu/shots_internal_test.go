//go:build shots

package feishu

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// TestPictures draws the cards of docs/feishu.md with our own page in the style of Feishu:
//
//	ASKBUS_SHOTS=../../../../docs/images go test -tags shots -run TestPictures ./internal/answering/chat/feishu
func TestPictures(t *testing.T) {
	now := chattest.Pictured
	a := ask.Ask{
		Tenant: "acme", Session: "billing-api", ID: "a1", Agent: ask.Agent{Name: "Claude Code", Repository: "acme/ledger", Branch: "main"}, Title: "账本服务的存储",
		Context: "账本服务需要一个**数据库**。两个候选都通过了试验。", Priority: ask.PriorityUrgent, Deadline: now.Add(2 * time.Hour),
		Files:    []ask.File{{ID: "0", Name: "压力测试.png", MediaType: ask.MediaPNG, Size: 48_213}},
		Escalate: []ask.Escalation{{After: 20 * time.Minute, Tell: []string{"group:dba"}}},
		Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "应该用哪个数据库？", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "集群里已经在运行", Recommended: true, Preview: &ask.Preview{Body: "ledger ──▶ PostgreSQL ──▶ replica\n             └────▶ backup"}},
			{ID: "lite", Label: "SQLite + Litestream", Description: "一个文件，持续备份到对象存储"},
			{ID: "drop", Label: "只放在内存里", Description: "节点重启后丢失", Destructive: true},
		}}},
	}
	several := a
	several.Files, several.Escalate, several.Context, several.Priority = nil, nil, "", ask.PriorityNormal
	several.Title, several.Questions = "发布之前", []ask.Question{
		{ID: "areas", Kind: ask.KindChoice, Text: "哪些部分手工测试过？", Multiple: true, Options: []ask.Option{{ID: "w", Label: "网页"}, {ID: "c", Label: "命令行"}}},
		{ID: "v", Kind: ask.KindText, Text: "版本号是多少？"},
		{ID: "d", Kind: ask.KindDate, Text: "哪天发布？", Optional: true},
	}
	viewer := card.Viewer{Surface: Type, Lang: "zh", Shared: true}
	var cards []json.RawMessage
	draw := func(a ask.Ask) {
		rec := ask.Record{State: ask.StatePending, Ask: a, AskedAt: now.Add(-3 * time.Minute)}
		d := drawing{Card: card.New(&rec, viewer, now), rec: &rec, id: "0123456789abcdef01234567", link: "https://ask.example.com/ask/a1", open: true}
		cards = append(cards, json.RawMessage(d.content()))
	}
	draw(a)
	draw(several)
	rec := ask.Record{State: ask.StateResolved, Ask: a, AskedAt: now.Add(-3 * time.Minute), Outcome: &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, At: now, By: &ask.By{Principal: "oidc:mei", Name: "Mei", Responder: "web"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}}
	cards = append(cards, json.RawMessage(made(outcome(chat.Summarize(&rec, card.New(&rec, viewer, now), literal)))))
	chattest.Picture(t, "card.html", "feishu.png", "Drawn by a page of our own that follows Feishu's look; not a picture of Feishu.", cards)
}
