package wire_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// asked returns a normalized ask of ordinary size.
func asked(b *testing.B) *ask.Ask {
	b.Helper()
	a := &ask.Ask{
		ID: "deploy-42", Tenant: "acme", Session: "s1", Title: "Ledger storage", Context: "Markdown: what I am *doing* and why I ask.",
		Agent: ask.Agent{ID: "a-7", Name: "builder"}, Timeout: time.Hour,
		Questions: []ask.Question{
			{ID: "db", Text: "Which database should the ledger use?", Options: []ask.Option{
				{ID: "pg", Label: "PostgreSQL", Description: "already deployed", Recommended: true}, {ID: "lite", Label: "SQLite", Description: "one file"},
			}},
			{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?", Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}},
		},
	}
	a.Normalize()
	return a
}

func BenchmarkEncodeAsk(b *testing.B) {
	a := asked(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.EncodeAsk(a); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeAsk decodes an ask from outside, strictly.
func BenchmarkDecodeAsk(b *testing.B) {
	data, err := wire.EncodeAsk(asked(b))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.DecodeAsk(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	a := asked(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Digest(a); err != nil {
			b.Fatal(err)
		}
	}
}

// outcome returns an outcome of the ask of [asked].
func outcome(a *ask.Ask) *ask.Outcome {
	return &ask.Outcome{
		AskID: a.ID, Tenant: a.Tenant, Session: a.Session, Status: ask.StatusAnswered, Source: ask.SourceHuman, AnswerID: "01J0000000000000000000000",
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Notes: "keep 14 days of backups"}, {QuestionID: "n", Number: new(3.0)}},
		By:      &ask.By{Principal: "os:mei", Name: "Mei", Responder: "web", Proof: "local"}, At: time.Unix(1795000000, 0), Waited: time.Minute, Ask: a,
	}
}

func BenchmarkEncodeOutcome(b *testing.B) {
	o := outcome(asked(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.EncodeOutcome(o, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeOutcome(b *testing.B) {
	data, err := wire.EncodeOutcome(outcome(asked(b)), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.DecodeOutcome(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMessage writes an event into a NATS message and reads it back, in
// both modes.
func BenchmarkMessage(b *testing.B) {
	a := asked(b)
	data, err := wire.EncodeAsk(a)
	if err != nil {
		b.Fatal(err)
	}
	ev := cloudevent.Event{ID: "1", Source: cloudevent.AgentSource("acme", "s1"), Type: cloudevent.TypeAsked, Key: a.Key(), Time: time.Unix(1795000000, 0), Data: data}
	for name, mode := range map[string]cloudevent.Mode{"structured": cloudevent.Structured, "binary": cloudevent.Binary} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				msg, err := ev.Msg(mode)
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := cloudevent.Read(msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// page is a page of 500 asks of ordinary size; size is that of their JSON.
func page(b *testing.B) (items []wire.ListItem, size int) {
	b.Helper()
	a := asked(b)
	raw, err := wire.EncodeAsk(a)
	if err != nil {
		b.Fatal(err)
	}
	items = make([]wire.ListItem, 500)
	for i := range items {
		items[i] = wire.ListItem{Record: ask.Record{State: ask.StatePending, Ask: *a, AskedAt: time.Unix(1795000000, 0), Seq: 7}, RawAsk: raw}
	}
	return items, 500 * len(raw)
}

func BenchmarkEncodePage(b *testing.B) {
	items, size := page(b)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.EncodePage(items, "MTIuMy4tLjQ"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePage(b *testing.B) {
	items, size := page(b)
	data, err := wire.EncodePage(items, "MTIuMy4tLjQ")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := wire.DecodePage(data); err != nil {
			b.Fatal(err)
		}
	}
}
