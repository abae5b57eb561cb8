package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Page requests one page; [wire.DecodePage] reads it.
func Page(ctx context.Context, on *Conn, subj string, q wire.Query) ([]byte, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	reply, err := Do(ctx, on, &nats.Msg{Subject: subj, Data: body}, 0)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return reply.Data, nil
}

// Pages iterates over all pages from a cursor on. It requests the next page
// while the current one is read.
func Pages(ctx context.Context, cursor string, fetch func(ctx context.Context, cursor string) ([]byte, error)) iter.Seq2[ask.Record, error] {
	return func(yield func(ask.Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var asked sync.WaitGroup
		defer asked.Wait()
		defer cancel()
		type page struct {
			data []byte
			err  error
		}
		next := make(chan page, 1)
		begin := func(cursor string) {
			asked.Go(func() {
				data, err := fetch(ctx, cursor)
				next <- page{data, err}
			})
		}
		begin(cursor)
		for {
			p := <-next
			ahead := wire.NextPage(p.data)
			if ahead != "" {
				begin(ahead)
				runtime.Gosched() // so that the request is sent before this page is read
			}
			var items []ask.Record
			cursor := ""
			if p.err == nil {
				items, cursor, p.err = wire.DecodePage(p.data)
			}
			if p.err != nil {
				yield(ask.Record{}, p.err)
				return
			}
			for _, r := range items {
				if !yield(r, nil) {
					return
				}
			}
			if cursor == "" {
				return
			}
			if ahead == "" {
				begin(cursor)
			}
		}
	}
}
