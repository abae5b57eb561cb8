package call

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// List asks for one page.
func List(ctx context.Context, nc *nats.Conn, subject string, q cloudevent.Query) ([]ask.Record, string, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, "", fmt.Errorf("list: %w", err)
	}
	reply, err := Do(ctx, nc, &nats.Msg{Subject: subject, Data: body}, 0)
	if err != nil {
		return nil, "", fmt.Errorf("list: %w", err)
	}
	return cloudevent.DecodePage(reply.Data)
}

// Pages walks all pages that read gives, from a cursor on.
func Pages(cursor string, read func(cursor string) ([]ask.Record, string, error)) iter.Seq2[ask.Record, error] {
	return func(yield func(ask.Record, error) bool) {
		for {
			items, next, err := read(cursor)
			if err != nil {
				yield(ask.Record{}, err)
				return
			}
			for _, r := range items {
				if !yield(r, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}
