package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// maxLeaving bounds the asks that a broker is about to withdraw. More are withdrawn at once.
const maxLeaving = 1_000

// leftTTL is how long an entry lives: longer than a lease keeps its ask open if this broker dies.
const leftTTL = time.Hour

// leftEntry is the value of an entry of the bucket.
type leftEntry struct {
	Life string `json:"life"`
}

// leave serves a withdrawal that the answer of the host's own dialog may precede. Once the reply is sent,
// every broker refuses all other answers. If this broker dies meanwhile, the ask's lease ends it.
func (b *Broker) leave(ctx context.Context, r *request, e wire.End) error {
	k, withdraw := r.Key(), lifecycle.Withdraw{Reason: e.Reason}
	s, err := b.load(ctx, k)
	if err != nil {
		return err
	}
	if !s.Pending() {
		return b.resolve(ctx, r, withdraw)
	}
	select {
	case b.leaving <- struct{}{}:
	default:
		return b.resolve(ctx, r, withdraw)
	}
	value, err := wire.Marshal(leftEntry{s.Life})
	if err == nil {
		now := b.led.Now()
		_, err = b.led.WriteState(ctx, &ledger.StateWrite{Bucket: subject.BucketLeft, Key: leftKey(k), Value: value, Expires: now.Add(leftTTL)}, now)
	}
	if err != nil {
		<-b.leaving
		return err
	}
	b.running.Go(func() { //nolint:contextcheck // it outlives the request
		defer func() { <-b.leaving }()
		timer := time.NewTimer(e.DialogWithin)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-b.draining:
		}
		ctx, cancel := context.WithTimeout(b.base, b.opts.Limit)
		defer cancel()
		s, err := b.apply(ctx, k, withdraw, r.User)
		switch {
		case err == nil:
			b.traceEnd(ctx, k, &s)
			b.log(ctx, string(s.End.Status), r, &s)
		case !errors.Is(err, ask.ErrResolved):
			b.opts.Logger.WarnContext(ctx, "cannot withdraw an ask whose agent has left", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
	})
	w := b.status(r, &s)
	w.RawAsk = nil // the agent has it
	return b.replyStatus(r, w)
}

// left reports whether the agent of a pending ask has left, for a command that decides the ask. Only the
// agent of a while_waiting ask leaves.
func (b *Broker) left(ctx context.Context, s *lifecycle.State, c lifecycle.Command) (bool, error) {
	switch c.(type) {
	case lifecycle.Reply, lifecycle.Decline, lifecycle.Climb, lifecycle.Remind:
	default:
		return false, nil
	}
	if !s.Pending() || !s.Ask.WhileWaiting {
		return false, nil
	}
	k := s.Ask.Key()
	e, err := b.led.ReadState(ctx, subject.BucketLeft, leftKey(k))
	if err != nil || !e.Live(b.led.Now()) {
		return false, err
	}
	var v leftEntry
	if err := json.Unmarshal(e.Value, &v); err != nil {
		return false, fmt.Errorf("broker: entry %s of %s: %w", e.Key.Name, subject.BucketLeft, err)
	}
	return v.Life == s.Life, nil
}

func leftKey(k ask.Key) subject.StateKey {
	return subject.StateKey{Tenant: k.Tenant, Name: k.Session + "." + k.ID}
}
