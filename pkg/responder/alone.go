package responder

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
)

// aloneBeat is how often who is alone says so. Another replica follows one that died without a word after three beats.
const aloneBeat = 5 * time.Second

// Alone calls f in one replica at a time of those with the same account, such as the one that polls a service that takes
// one poller, until ctx ends. The context of f ends before another replica may call it; f returns then, and may be called
// again. A credential of one session has no state that replicas share: then it calls f at once.
func (r *Responder) Alone(ctx context.Context, account string, f func(ctx context.Context)) {
	r.alone(ctx, account, aloneBeat, f)
}

func (r *Responder) alone(ctx context.Context, account string, beat time.Duration, f func(ctx context.Context)) {
	if r.opts.Session != "" {
		f(ctx)
		return
	}
	sum := sha256.Sum256([]byte("askbus alone\x00" + account))
	key := state.Key{Tenant: r.opts.Tenant, Name: r.typ + "." + base64.RawURLEncoding.EncodeToString(sum[:18])}
	bucket := state.Open(r.nc, state.Responder(r.typ, r.opts.Tenant), state.Replicas)
	life := 3*beat + beat/2
	for ctx.Err() == nil {
		asked := time.Now()
		one, cancel := context.WithTimeout(ctx, beat)
		revision, err := bucket.Create(one, key, struct{}{}, life)
		cancel()
		if err == nil {
			r.hold(ctx, bucket, key, revision, asked, beat, f)
			continue
		}
		if !errors.Is(err, ask.ErrConflict) && ctx.Err() == nil {
			r.opts.Logger.WarnContext(ctx, "cannot ask whether another replica does this alone; trying again", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(beat):
		}
	}
}

// hold calls f while this replica has the entry, since it was asked for.
func (r *Responder) hold(ctx context.Context, bucket *state.Bucket, key state.Key, revision uint64, since time.Time, beat time.Duration, f func(ctx context.Context)) {
	held, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(held)
	}()
	over := time.NewTimer(3*beat - time.Since(since))
	defer over.Stop()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for kept := true; kept; {
		select {
		case <-done:
			kept = false
		case <-over.C:
			kept = false
		case <-ctx.Done():
			kept = false
		case <-tick.C:
			asked := time.Now()
			one, cancel := context.WithTimeout(ctx, beat)
			next, err := bucket.Update(one, key, struct{}{}, revision, 3*beat+beat/2)
			cancel()
			switch {
			case err == nil:
				revision = next
				over.Reset(3*beat - time.Since(asked))
			case errors.Is(err, ask.ErrConflict): // another one has it, or the reply to the last update was lost
				kept = false
			}
		}
	}
	end()
	<-done
	last, cancel := connection.WithGrace(ctx, time.Second)
	_ = bucket.DeleteRevision(last, key, revision) // or it expires
	cancel()
}
