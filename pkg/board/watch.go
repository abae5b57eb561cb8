package board

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
)

// EventKind is the kind of an event for a live screen.
type EventKind int

// The kinds of events.
const (
	Pending  EventKind = iota + 1 // an ask is pending; Record has it, with the known receipts
	Resolved                      // an ask ended; Record.Outcome says how
	Synced                        // every pending ask has been told; More says whether Limit cut the list
	Offline                       // the connection is lost; Synced follows when it is back
	Reset                         // of a Board only: forget what was told; it is told again
	Changed                       // of a Board only: who looks at the ask, or who put it off, changed
)

// Event is one event for a live screen.
type Event struct {
	Kind   EventKind
	Record ask.Record // of Pending, Resolved and Changed: the ask; its Key names it in other calls
	More   bool       // of Synced: more asks are pending than the limit, and not all were told
}

// snapshotEvery is how often a watch reads everything again, with jitter, in
// case it missed a message: the streams republish each one only once.
const snapshotEvery = time.Minute

// Watch calls handle with one event at a time: every pending ask once per life
// (first from a snapshot, then live), every outcome once, and Synced after each
// snapshot. It takes a snapshot after each reconnect, when handle is too slow,
// and every minute, so that a missed message is late but not lost. It returns
// nil when ctx ends, and an error only if the connection is closed for good. It
// keeps no asks and tracks at most [responder.Options.Limit] of them: a screen that shows
// many keeps a [Board].
func Watch(ctx context.Context, r *responder.Responder, handle func(Event)) error {
	return newSource(r).watch(ctx, handle)
}

func (r *source) watch(ctx context.Context, handle func(Event)) error {
	w, err := newWatch(r, handle)
	if err != nil {
		return err
	}
	return r.follow(ctx, w)
}

func newWatch(r *source, handle func(Event)) (*watch, error) {
	ended, err := lru.New[ask.Key, ending](4 * r.opts.Limit)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return &watch{r: r, handle: handle, known: map[ask.Key]known{}, ended: ended}, nil
}

// read reads the pending asks concurrently with live events.
func (w *watch) read() func(context.Context) (func(), error) {
	known := maps.Clone(w.known)
	return func(ctx context.Context) (func(), error) {
		s := snapshot{known: known}
		err := s.read(ctx, w.r)
		return func() { w.apply(s) }, err
	}
}

// watch is the state of one Watch. Only its goroutine uses it.
type watch struct {
	r      *source
	handle func(Event)
	known  map[ask.Key]known           // pending asks that were told
	ended  *lru.Cache[ask.Key, ending] // outcomes told recently
	off    bool
	more   bool
}

// known is the question of an ask as it was told.
type known struct {
	life string
	seq  uint64
}

// ending is an outcome that was told. A crash may republish it, and an older
// snapshot may still have its question.
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

// live handles a republished message.
func (w *watch) live(m *nats.Msg) {
	k, kind, seq, ok := cloudevent.Republished(m)
	if !ok {
		return
	}
	if kind == subject.Question {
		q, err := cloudevent.ReadAsked(m, k)
		if err != nil {
			w.r.opts.Logger.Warn("watch: cannot read a question", slog.String("ask_id", k.ID), slog.Any("error", err))
			return
		}
		w.pending(ask.Record{State: ask.StatePending, Ask: *q.Ask, AskedAt: q.AskedAt, Life: q.Life, Seq: seq, Votes: q.Votes(), Escalated: q.Escalated()})
		return
	}
	if _, first := cloudevent.FirstOutcome(m); !first {
		return // not the first outcome
	}
	s, err := cloudevent.ReadOutcome(m, k)
	if err != nil {
		w.r.opts.Logger.Warn("watch: cannot read an outcome", slog.String("ask_id", k.ID), slog.Any("error", err))
		return
	}
	w.resolved(ask.Record{State: ask.StateResolved, Ask: *s.Ask, AskedAt: s.AskedAt, Life: s.Life, Outcome: s.End})
}

func (w *watch) pending(rec ask.Record) {
	k := rec.Ask.Key()
	if told, is := w.known[k]; is && (rec.Seq == told.seq || rec.Seq == 0 || rec.Seq < told.seq && rec.Life == told.life) {
		return // a snapshot that began before a vote was told may have the question without it
	}
	if e, ended := w.ended.Peek(k); ended && e.seq == rec.Seq {
		return
	}
	if len(w.known) >= w.r.opts.Limit {
		w.more = true
		return
	}
	w.known[k] = known{strings.Clone(rec.Life), rec.Seq} // a clone, else it keeps its message's header
	w.handle(Event{Kind: Pending, Record: rec})
}

func (w *watch) resolved(rec ask.Record) {
	k := rec.Ask.Key()
	if e, told := w.ended.Peek(k); told && rec.Outcome != nil && e.at.Equal(rec.Outcome.At) {
		return
	}
	rec.Seq = w.known[k].seq // an outcome does not say which question it ended
	delete(w.known, k)
	if rec.Outcome != nil {
		w.ended.Add(k, ending{rec.Outcome.At, rec.Seq})
	}
	w.handle(Event{Kind: Resolved, Record: rec})
}
