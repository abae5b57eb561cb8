package natstest

import (
	"context"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go/jetstream"
)

// Mute keeps the server from republishing what the ledger stores: clients learn
// about questions and outcomes only by asking.
func (b *Bus) Mute() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Limit)
	defer cancel()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		b.t.Fatal(err)
	}
	for p := range b.Ledger().Partitions() {
		s, err := js.Stream(ctx, subject.Stream(p))
		if err != nil {
			b.t.Fatalf("mute the ledger: %v", err)
		}
		cfg := s.CachedInfo().Config
		cfg.RePublish = nil
		if _, err := js.UpdateStream(ctx, cfg); err != nil {
			b.t.Fatalf("mute the ledger: %v", err)
		}
	}
}
