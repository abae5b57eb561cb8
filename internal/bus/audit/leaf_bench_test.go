package audit_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/nats-io/nats.go"
)

// The leaf of an outcome with its question, as the server copies it.
func BenchmarkLeaf(b *testing.B) {
	m := audit.Raw{
		Seq: 17, At: time.Unix(1_800_000_000, 17), Subject: "ledgerv1.audit.acme.o",
		Header: nats.Header{
			audit.HeaderSalt: {audit.NewSalt()}, "ce-id": {"01M85T5BJGR31N0QBP6E4MW4E6"}, "ce-type": {"dev.askbus.ask.resolved.v1"}, "ce-source": {"/askbus/broker/x"}, "ce-specversion": {"1.0"},
			"ce-time": {"2026-11-24T03:39:00.560404185Z"}, "ce-subject": {"a1"}, "Content-Type": {"application/json"}, "Askbus-Life": {"01M85T5BJGR31N0QBP6E4MW4E6"}, "Nats-TTL": {"never"},
			"Nats-Stream-Source": {"ASKS_00 17 x x ledgerv1.00.acme.s1.a1.o c"},
		},
		Data: []byte(`{"ask_id":"a1","status":"answered","source":"human","at":"2026-11-24T03:39:00.560404185Z","waited_ms":1500,"by":{"responder":"web","principal":"oidc:mei","name":"Mei","proof":"oidc"},"answers":[{"question_id":"q1","selected":["yes"]}],"ask":{"id":"a1","title":"Deploy?","agent":{"id":"a","name":"b"},"questions":[{"id":"q1","text":"Deploy build 42 to production?","options":[{"id":"yes","label":"Yes"},{"id":"no","label":"No"}]}]}}`),
	}
	b.ReportAllocs()
	var text []byte
	for b.Loop() {
		text = m.AppendLeaf(text[:0])
	}
}
