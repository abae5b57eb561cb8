package responder

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// EventKind is what a live screen is told.
type EventKind int

// The kinds of events.
const (
	Pending  EventKind = iota + 1 // an ask waits; Record has it, with its receipts as far as known
	Resolved                      // an ask ended; Record.Outcome says how
	Synced                        // everything pending has been told; More says whether Limit cut it
	Offline                       // the connection is gone; Synced follows when it is back
)

// Event is one thing a live screen is told.
type Event struct {
	Kind   EventKind
	Record ask.Record
	More   bool
}

// snapshotEvery is how often a watch reads everything again, with jitter: the
// streams republish once, and one message was really missed.
const snapshotEvery = time.Minute

// Watch tells handle, one call at a time, what waits and what ended: every
// pending ask once per life (a snapshot first, then live), every outcome once,
// and Synced after each snapshot. It asks again after each reconnect, when
// handle was too slow for what came, and every minute, so a missed message is
// told late but not lost. It returns nil when ctx ends.
func (r *Responder) Watch(ctx context.Context, handle func(Event)) error {
	w := &watch{r: r, handle: handle, known: map[ask.Key]uint64{}, ended: map[ask.Key]ending{}, turned: time.Now()}
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
	if err := r.nc.FlushTimeout(call.Attempt); err != nil { // the first snapshot must not overtake the subscriptions
		r.opts.Logger.WarnContext(ctx, "watch: the server does not answer yet", slog.Any("error", err))
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var reading chan snapshot // set while one is being read
	again := false            // it began too early to have all
	behind := false           // messages were dropped, and those before them are not all told
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
				w.offline()
			}
		case m := <-inbox:
			if len(inbox) >= inboxSize-1 && !behind { // a full one drops: read what is known now
				behind = true
				r.opts.Logger.WarnContext(ctx, "watch: events come faster than they are shown; reading everything again")
				readSoon()
			}
			w.live(m)
			if behind && len(inbox) == 0 { // and what ended of the asks that were told since
				behind = false
				readSoon()
			}
		case <-timer.C:
			again, reading = false, make(chan snapshot, 1)
			go r.snapshot(ctx, maps.Clone(w.known), reading)
		case snap := <-reading:
			reading = nil
			if snap.err != nil {
				r.opts.Logger.WarnContext(ctx, "watch: no snapshot", slog.Any("error", snap.err))
				w.offline()
				timer.Reset(time.Second)
				continue
			}
			w.take(snap)
			next := r.snapshotEvery + rand.N(r.snapshotEvery/10) //nolint:gosec // jitter
			if again {
				next = time.Second
			}
			timer.Reset(next)
		}
	}
}

// inboxSize is how many messages wait for a slow screen.
const inboxSize = 16384

// watch is the state of one Watch. Only its goroutine touches it.
type watch struct {
	r      *Responder
	handle func(Event)
	known  map[ask.Key]uint64 // pending asks that were told, with the sequence of their question
	ended  map[ask.Key]ending // outcomes told lately
	before map[ask.Key]ending // and before that: see forget
	turned time.Time
	off    bool
	more   bool
}

// ending is an outcome that was told: a crash may republish it, and a snapshot
// that was read before may still have its question.
type ending struct {
	at  time.Time
	seq uint64
}

func (w *watch) offline() {
	if !w.off {
		w.off = true
		w.handle(Event{Kind: Offline})
	}
}

// live takes a republished message.
func (w *watch) live(m *nats.Msg) {
	k, kind, ok := subject.ParseOut(m.Subject)
	if !ok {
		return
	}
	if kind == subject.Question {
		q, err := cloudevent.ReadQuestion(m, k)
		if err != nil {
			w.r.opts.Logger.Warn("watch: cannot read a question", slog.String("ask_id", k.ID), slog.Any("error", err))
			return
		}
		w.pending(ask.Record{State: ask.StatePending, Ask: q.Ask, AskedAt: q.AskedAt, Seq: sequence(m)})
		return
	}
	if m.Header.Get("Nats-Last-Sequence") != "0" {
		return // not the first on its subject: not the truth
	}
	end, err := cloudevent.ReadOutcome(m, k)
	if err != nil {
		w.r.opts.Logger.Warn("watch: cannot read an outcome", slog.String("ask_id", k.ID), slog.Any("error", err))
		return
	}
	w.resolved(ask.Record{State: ask.StateResolved, Ask: *end.Outcome.Ask, AskedAt: end.AskedAt, Outcome: &end.Outcome})
}

func (w *watch) pending(rec ask.Record) {
	k := rec.Ask.Key()
	if seq, known := w.known[k]; known && (seq == rec.Seq || rec.Seq == 0) {
		return
	}
	if e, ended := w.lately(k); ended && e.seq == rec.Seq {
		return
	}
	if len(w.known) >= w.r.opts.Limit {
		w.more = true
		return
	}
	w.known[k] = rec.Seq
	w.handle(Event{Kind: Pending, Record: rec})
}

func (w *watch) resolved(rec ask.Record) {
	k := rec.Ask.Key()
	if e, told := w.lately(k); told && rec.Outcome != nil && e.at.Equal(rec.Outcome.At) {
		return
	}
	rec.Seq = w.known[k] // an outcome does not say which question it ended
	delete(w.known, k)
	if rec.Outcome != nil {
		if len(w.ended) > 4*w.r.opts.Limit {
			w.forget()
		}
		w.ended[k] = ending{rec.Outcome.At, rec.Seq}
	}
	w.handle(Event{Kind: Resolved, Record: rec})
}

// lately is an ending that was told a short while ago.
func (w *watch) lately(k ask.Key) (ending, bool) {
	e, ok := w.ended[k]
	if !ok {
		e, ok = w.before[k]
	}
	return e, ok
}

// forget drops the endings that were old when it was called last.
func (w *watch) forget() {
	w.before, w.ended, w.turned = w.ended, map[ask.Key]ending{}, time.Now()
}

// sequence is the stream sequence of a republished message.
func sequence(m *nats.Msg) uint64 {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return 0
	}
	return seq
}
