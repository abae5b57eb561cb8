package main

import (
	"context"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
)

// abort ends an ask in the operator's name.
func abort(ctx context.Context, b *bus, subj string, k ask.Key, reason string) (ask.Outcome, error) {
	data, err := cloudevent.EncodeEnd(k.ID, reason)
	if err != nil {
		return ask.Outcome{}, err
	}
	_, reply, err := call.Event(ctx, b.nc, subj, cloudevent.Event{
		Source: "/askbus/operator", Type: cloudevent.TypeAborted, Key: k, Time: time.Now(), Data: data,
	}, 0)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("abort ask %s: %w", k, err)
	}
	return cloudevent.DecodeOutcome(reply)
}
