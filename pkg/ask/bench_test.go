package ask_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// benchAsk is an ask of ordinary size.
func benchAsk() ask.Ask {
	return ask.Ask{
		ID: "deploy-42", Tenant: "acme", Session: "s1", Title: "Ledger storage", Context: "What I am doing and why I ask.", Timeout: time.Hour,
		Questions: []ask.Question{
			{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Description: "already deployed"}, {ID: "lite", Label: "SQLite"}}},
			{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?", Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}},
		},
	}
}

func BenchmarkValidate(b *testing.B) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	a := benchAsk()
	a.Normalize()
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Validate(now); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	a := benchAsk()
	a.Normalize()
	reply := ask.Reply{
		AnswerID: "w1", By: ask.By{Principal: "os:mei"},
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}, {QuestionID: "n", Number: new(3.0)}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := a.Check(reply); err != nil {
			b.Fatal(err)
		}
	}
}
