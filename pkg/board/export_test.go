package board

import (
	"context"
	"time"

	"github.com/askbus/askbus/pkg/responder"
)

// WatchEvery is [Watch] that reads everything again after a time.
func WatchEvery(ctx context.Context, r *responder.Responder, every time.Duration, handle func(Event)) error {
	s := newSource(r)
	s.snapshotEvery = every
	return s.watch(ctx, handle)
}

// MaxWaiting bounds the bytes that wait for a slow screen.
const MaxWaiting = maxWaiting

// SetEchoLimit changes how long Take waits for the bus.
func (b *Board) SetEchoLimit(d time.Duration) { b.echoLimit = d }
