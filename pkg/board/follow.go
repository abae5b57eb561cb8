package board

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// follower is kept up to date by [source.follow]. Its methods are called one
// at a time, except the function that read returns.
type follower interface {
	live(m *nats.Msg) // a question or an outcome was republished
	offline()         // the bus is unreachable; a read follows when it is back
	// read returns a function that reads everything concurrently with live
	// events. Its result, take, applies what was read.
	read() func(context.Context) (take func(), err error)
}

// follow keeps f up to date until ctx ends: it subscribes to the republished
// messages, then reads everything. It reads again after each reconnect, after
// dropped messages, and every minute.
func (r *source) follow(ctx context.Context, f follower) error {
	ctx, cancel := context.WithCancel(ctx)
	arrived, inbox := make(chan *nats.Msg, maxArrived), make(chan waiting)
	var waits sync.WaitGroup
	waits.Go(func() { wait(ctx, arrived, inbox) })
	defer waits.Wait()
	defer cancel()
	for _, kind := range []string{subject.Question, subject.Outcome} {
		// One channel for both kinds, so that an outcome never overtakes its
		// question.
		sub, err := r.nc.ChanSubscribe(subject.OutAll(r.opts.Tenant, r.opts.Session, kind), arrived)
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		defer sub.Unsubscribe() //nolint:errcheck // the connection may be closed
	}
	status := r.nc.StatusChanged(nats.CONNECTED, nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	defer r.nc.RemoveStatusListener(status)
	if err := r.nc.FlushTimeout(connection.Attempt); err != nil { // the first read must not overtake the subscriptions
		r.opts.Logger.WarnContext(ctx, "watch: no answer from the server yet", slog.Any("error", err))
	}
	type result struct {
		take func()
		err  error
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var reading chan result // set during a read
	again := false          // the read began too early to be complete
	behind := false         // messages were dropped, and earlier ones are still queued
	readSoon := func() {
		again = true
		if reading == nil {
			timer.Reset(0)
		}
	}
	for {
		select {
		case <-ctx.Done():
			if reading != nil {
				<-reading // it ends with ctx
			}
			return nil
		case s, ok := <-status:
			switch {
			case !ok || s == nats.CLOSED:
				return fmt.Errorf("watch: %w", nats.ErrConnectionClosed)
			case s == nats.CONNECTED:
				readSoon()
			default:
				f.offline()
			}
		case m := <-inbox:
			if m.lost && !behind { // read the current state
				behind = true
				r.opts.Logger.WarnContext(ctx, "watch: events arrive faster than they are handled; reading everything again")
				readSoon()
			}
			f.live(m.Msg)
			if behind && m.last { // to find the ends of asks told since
				behind = false
				readSoon()
			}
		case <-timer.C:
			again, reading = false, make(chan result, 1)
			read, to := f.read(), reading
			go func() {
				take, err := read(ctx)
				to <- result{take, err}
			}()
		case got := <-reading:
			reading = nil
			if errors.Is(got.err, connection.ErrProtocol) {
				return fmt.Errorf("watch: %w", got.err)
			}
			if got.err != nil {
				r.opts.Logger.WarnContext(ctx, "watch: cannot read the pending asks", slog.Any("error", got.err))
				f.offline()
				timer.Reset(time.Second)
				continue
			}
			got.take()
			next := r.snapshotEvery + rand.N(r.snapshotEvery/10) //nolint:gosec // jitter
			if again {
				next = time.Second
			}
			timer.Reset(next)
		}
	}
}
