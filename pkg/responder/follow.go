package responder

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
)

// follower is kept true by [Responder.follow]. Its methods are called one at a
// time, but for what read returns.
type follower interface {
	live(m *nats.Msg) // a question or an outcome was republished
	offline()         // the bus is away; a read follows when it is back
	// read returns what reads everything beside the live events, and that
	// returns what takes the result in.
	read() func(context.Context) (take func(), err error)
}

// inboxSize is how many messages wait for a slow screen.
const inboxSize = 16384

// follow keeps f true until ctx ends: it subscribes to what the streams
// republish first and reads then, reads again after each reconnect, when more
// came than was kept, and every minute.
func (r *Responder) follow(ctx context.Context, f follower) error {
	inbox := make(chan *nats.Msg, inboxSize)
	for _, kind := range []string{subject.Question, subject.Outcome} {
		// One channel for both, so that an outcome never overtakes its question.
		sub, err := r.nc.ChanSubscribe(subject.OutAll(r.opts.Tenant, r.opts.Session, kind), inbox)
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		defer sub.Unsubscribe() //nolint:errcheck // the connection may be closed
	}
	status := r.nc.StatusChanged(nats.CONNECTED, nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	defer r.nc.RemoveStatusListener(status)
	if err := r.nc.FlushTimeout(call.Attempt); err != nil { // the first read must not overtake the subscriptions
		r.opts.Logger.WarnContext(ctx, "watch: the server does not answer yet", slog.Any("error", err))
	}
	type result struct {
		take func()
		err  error
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var reading chan result // set while something is being read
	again := false          // it began too early to have all
	behind := false         // messages were dropped, and those before them are not all told
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
			if len(inbox) >= inboxSize-1 && !behind { // a full one drops: read what is known now
				behind = true
				r.opts.Logger.WarnContext(ctx, "watch: events come faster than they are shown; reading everything again")
				readSoon()
			}
			f.live(m)
			if behind && len(inbox) == 0 { // and what ended of the asks that were told since
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
			if got.err != nil {
				r.opts.Logger.WarnContext(ctx, "watch: cannot read what is pending", slog.Any("error", got.err))
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
