package board

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// PutOff snoozes an ask for a person, whether it is pending or not.
func (b *Board) PutOff(ctx context.Context, by ask.By, k ask.Key, until time.Time) error {
	return b.putOff(ctx, by, snooze{Key: k, Until: until})
}

// PutOffBy returns how many asks a person has snoozed.
func (b *Board) PutOffBy(principal string) int {
	return len(b.snoozes.of(subject.SnoozerToken(principal)))
}

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

// Posting returns how many asks are known to be shown in chats.
func (b *Board) Posting() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, list := range b.readers.newest {
		n += len(list)
	}
	return n
}

// ReadersLeft lets the time pass after which nobody is expected to read anything in a chat.
func (b *Board) ReadersLeft() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers.fade(b, time.Now().Add(readsWithin))
}

// CameLate has a board keep an ask as if it had just been read.
func CameLate(b *Board, rec ask.Record) { b.bodies.put(rec, time.Now()) }
