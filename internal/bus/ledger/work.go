package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Group shares work: the replicas of a responder type, for every tenant or for
// one.
type Group struct {
	Type   string
	Tenant string // empty: all
}

// name is the common part of the names of the group's durable consumers. Tokens
// have no @, so the names are unique.
func (g Group) name() string {
	if g.Tenant == "" {
		return g.Type
	}
	return g.Type + "@" + g.Tenant
}

// consumer returns the name of a group's durable consumer of a kind.
func (g Group) consumer(kind string) string { return g.name() + "-" + kind }

// String formats the group for people.
func (g Group) String() string {
	if g.Tenant == "" {
		return g.Type
	}
	return g.Type + " in tenant " + g.Tenant
}

// Work hands out a responder type's questions and outcomes to its replicas,
// each to one of them, and again if it was not acknowledged. It is safe for
// concurrent use.
type Work struct {
	l      *Ledger
	tokens tokenKeys

	mu   sync.Mutex
	made map[Group]*groupWork
}

type groupWork struct {
	mu        sync.Mutex
	consumers map[string][]jetstream.Consumer // by kind, one per partition
	turn      int
}

// maxGroups bounds the groups that one broker remembers.
const maxGroups = 256

// NewWork returns the work of a ledger.
func NewWork(l *Ledger) *Work { return &Work{l: l, made: map[Group]*groupWork{}} }

// WorkItem is one piece of work: a pending ask, or one that has ended.
type WorkItem struct {
	Token   string
	State   lifecycle.State
	Receipt *ask.Receipt // of this type, for this life of the ask
	Again   bool         // it was handed out before, and not settled in time
}

// Next takes up to most messages of kind ([subject.Question] or
// [subject.Outcome]) for a group, without waiting. It creates the consumers of a
// new group, which gets all pending questions but only new outcomes. A type is
// served as a whole or by tenant: see [Work.claim].
func (w *Work) Next(ctx context.Context, g Group, kind string, most int) ([]WorkItem, error) {
	own, err := w.tokens.of(ctx, w.l, true)
	if err != nil {
		return nil, err
	}
	tw, err := w.ensure(ctx, g)
	if err != nil {
		return nil, err
	}
	tw.mu.Lock()
	start := tw.turn
	tw.turn++
	consumers := tw.consumers[kind]
	tw.mu.Unlock()
	var items []WorkItem
	for i := range consumers {
		c := consumers[(start+i)%len(consumers)].CachedInfo()
		began := time.Now()
		msgs, err := w.l.fetch(ctx, c.Stream, c.Name, most-len(items))
		got := w.items(ctx, g.Type, kind, w.hold(ctx, msgs, began))
		for i := range got {
			got[i].Token = own.make(g, got[i].Token)
		}
		items = append(items, got...)
		if err != nil && len(items) == 0 {
			w.forget(g)
			return nil, fmt.Errorf("ledger: next %s: %w", g.consumer(kind), err)
		}
		if len(items) >= most {
			break
		}
	}
	return items, nil
}

// piece is a delivered work message.
type piece struct {
	*nats.Msg
	key   ask.Key
	seq   uint64
	again bool
}

// items decodes the messages of one partition, all at once: if the reply is
// late, they are redelivered only after a minute.
func (w *Work) items(ctx context.Context, typ, kind string, msgs []*nats.Msg) []WorkItem {
	pieces := make([]piece, 0, len(msgs))
	for _, m := range msgs {
		k, _, _, ok := subject.ParseLedger(m.Subject)
		meta, err := m.Metadata()
		if !ok || err != nil {
			_ = m.Term() // an unknown subject
			continue
		}
		pieces = append(pieces, piece{m, k, meta.Sequence.Stream, meta.NumDelivered > 1})
	}
	if len(pieces) == 0 {
		return nil
	}
	found, err := w.related(ctx, typ, kind, pieces)
	items := make([]WorkItem, 0, len(pieces))
	for i := range pieces {
		item, ok := WorkItem{}, false
		failed := err
		if failed == nil {
			item, ok, failed = w.item(ctx, kind, &pieces[i], found[pieces[i].key])
		}
		switch {
		case failed != nil:
			w.l.opts.Logger.WarnContext(ctx, "cannot hand out work", slog.String("responder", typ), slog.Any("error", failed))
			_ = pieces[i].NakWithDelay(attempt)
		case !ok || w.l.breakWork(kind):
			_ = pieces[i].Ack()
		default:
			items = append(items, item)
		}
	}
	return items
}

// related reads what belongs to the pieces of one partition: in one request from
// a single server; in a cluster one by one from the leader, because a lagging
// replica may not have the latest receipt, which would lead to a second post.
func (w *Work) related(ctx context.Context, typ, kind string, pieces []piece) (map[ask.Key]extras, error) {
	p, stream := w.l.place(pieces[0].key)
	var filters []string
	for i := range pieces {
		filters = append(filters, subject.LedgerReceipt(p, pieces[i].key, typ))
		if kind == subject.Question {
			filters = append(filters, subject.LedgerOutcome(p, pieces[i].key))
		}
	}
	var found []message
	var err error
	if w.l.alone {
		found, err = w.l.lasts(ctx, stream, filters)
	} else {
		found, err = w.l.firsts(ctx, stream, filters)
	}
	return extrasIn(found), err
}

// firsts reads the first message of each subject from the leader.
func (l *Ledger) firsts(ctx context.Context, stream string, subjects []string) ([]message, error) {
	all := make([]message, len(subjects))
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range subjects {
		g.Go(func() (err error) {
			if all[i], err = l.first(gctx, stream, s, 1); errors.Is(err, errNone) {
				return nil
			}
			return err
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(all, func(m message) bool { return m.Msg == nil }), err
}

// item decodes a piece of work. ok is false if there is nothing to do: an
// outcome that is not the first, or a ghost question.
func (w *Work) item(ctx context.Context, kind string, of *piece, with extras) (item WorkItem, ok bool, err error) {
	item = WorkItem{Token: of.Reply, Again: of.again}
	if kind == subject.Question {
		if with.ended > of.seq { // an earlier outcome belongs to an earlier life, which has expired
			return WorkItem{}, false, w.l.removeIfGhost(ctx, of.key, of.seq)
		}
		item.State, err = cloudevent.ReadQuestion(of.Msg, of.key)
		item.State.Version = of.seq
	} else {
		item.State, err = cloudevent.ReadOutcome(of.Msg, of.key)
	}
	if err != nil {
		return WorkItem{}, false, err
	}
	if kind == subject.Outcome && (item.State.Timed || item.State.Versioned()) { // it may be late, or beside an expiry whose question a crash left
		_, stream := w.l.place(of.key)
		first, err := w.l.first(ctx, stream, of.Subject, 1)
		if errors.Is(err, errNone) || err == nil && first.Seq != of.seq {
			return WorkItem{}, false, nil
		}
		if err != nil {
			return WorkItem{}, false, err
		}
	}
	if receipts := with.of(item.State.Life); len(receipts) > 0 {
		item.Receipt = &receipts[0] // of this type, so there is one
	}
	return item, true, nil
}

// Settle applies a verb to a token that Next returned to the same group, at any
// broker: [subject.VerbDone], and it is never redelivered; [subject.VerbExtend], while
// it is in progress; or [subject.VerbLater], and it is redelivered after a delay. It
// refuses any other token without a request.
func (w *Work) Settle(ctx context.Context, g Group, token string, verb subject.Verb, delay time.Duration) error {
	own, err := w.tokens.of(ctx, w.l, false)
	if err != nil {
		return err
	}
	ack, ok := own.open(g, token)
	if !ok {
		return ask.InvalidError(string(verb), []ask.Fault{ask.NewFault("/token", ask.FaultForeignToken, g.String())})
	}
	bodies := []string{"+ACK"}
	switch {
	case verb == subject.VerbExtend:
		bodies[0] = redeliverIn(w.l.opts.Lease)
	case verb == subject.VerbLater && delay <= 0: // the second one redelivers it at once, the first one when that is forgotten
		bodies = []string{redeliverIn(0), "-NAK"}
	case verb == subject.VerbLater:
		bodies[0] = redeliverIn(delay)
	}
	one, cancel := context.WithTimeout(ctx, 2*attempt)
	defer cancel()
	for _, body := range bodies {
		_, err = w.l.request(one, &nats.Msg{Subject: ack, Data: []byte(body)})
		if errors.Is(err, nats.ErrNoResponders) {
			return ask.Refuse(ask.CodeNotFound, "no work has this token any more; ask for work again with next")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
