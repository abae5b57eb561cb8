package lifecycle_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

func BenchmarkDecide(b *testing.B) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	a := ask.Ask{
		ID: "deploy-42", Tenant: "acme", Session: "s1", Timeout: time.Hour,
		Questions: []ask.Question{{ID: "db", Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}},
	}
	a.Normalize()
	q := lifecycle.New(a, now)
	q.Digests = []string{"sha256:1"}
	reply := lifecycle.Reply{Reply: ask.Reply{
		AnswerID: "w1", Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: ask.By{Principal: "os:mei", Responder: "web", Proof: "local"},
	}}
	for _, c := range []struct {
		name    string
		held    lifecycle.State
		command lifecycle.Command
	}{
		{"ask", lifecycle.State{}, lifecycle.Ask{State: q}},
		{"answer", q, reply},
		{"look", q, lifecycle.Look{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := lifecycle.Decide(c.held, c.command, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
