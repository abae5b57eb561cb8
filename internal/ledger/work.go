package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Work hands a responder type's questions and outcomes to its replicas, each to
// one of them, again when it was not acknowledged. It is safe for concurrent use.
type Work struct {
	l *Ledger

	mu   sync.Mutex
	made map[string]*typeWork
}

type typeWork struct {
	mu        sync.Mutex
	consumers map[string][]jetstream.Consumer // by kind, one a partition
	turn      int
}

// maxTypes bounds the responder types that one broker remembers.
const maxTypes = 256

// NewWork makes the work desk of a ledger.
func NewWork(l *Ledger) *Work { return &Work{l: l, made: map[string]*typeWork{}} }

// WorkItem is one piece of work. Exactly one of Question and End is set.
type WorkItem struct {
	Token    string
	Seq      uint64 // of the message
	Key      ask.Key
	Question *cloudevent.Question
	End      *cloudevent.End
	Receipt  *ask.Receipt // this type's, of this life of the ask
}

// Next takes up to most messages of kind ([subject.Question] or
// [subject.Outcome]) for a type, without waiting. The consumers of a new type
// are made on the way; it gets all pending questions and new outcomes only.
func (w *Work) Next(ctx context.Context, typ, kind string, most int) ([]WorkItem, error) {
	tw, err := w.ensure(ctx, typ)
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
		c := consumers[(start+i)%len(consumers)]
		batch, err := c.FetchNoWait(most - len(items))
		if err != nil {
			return items, fmt.Errorf("ledger: next %s-%s: %w", typ, kind, err)
		}
		var msgs []jetstream.Msg
		for m := range batch.Messages() {
			msgs = append(msgs, m)
		}
		items = append(items, w.items(ctx, typ, kind, msgs)...)
		if err := batch.Error(); err != nil && len(items) == 0 {
			w.forget(typ)
			return nil, fmt.Errorf("ledger: next %s-%s: %w", typ, kind, err)
		}
		if len(items) >= most {
			break
		}
	}
	return items, nil
}

// piece is a message of work as it was delivered.
type piece struct {
	jetstream.Msg
	key ask.Key
	seq uint64
}

// beside is what the ledger holds beside a piece of work.
type beside struct {
	ended   uint64 // the sequence of the outcome beside a question
	receipt *ask.Receipt
}

// items makes work of messages of one partition: all at once, because whoever
// waits for the reply has them again only after a minute when it comes too late.
func (w *Work) items(ctx context.Context, typ, kind string, msgs []jetstream.Msg) []WorkItem {
	pieces := make([]piece, 0, len(msgs))
	for _, m := range msgs {
		k, _, _, ok := subject.ParseLedger(m.Subject())
		meta, err := m.Metadata()
		if !ok || err != nil {
			_ = m.Term() // no subject of ours
			continue
		}
		pieces = append(pieces, piece{m, k, meta.Sequence.Stream})
	}
	if len(pieces) == 0 {
		return nil
	}
	around, err := w.around(ctx, typ, kind, pieces)
	items := make([]WorkItem, 0, len(pieces))
	for i := range pieces {
		item, ok := WorkItem{}, false
		failed := err
		if failed == nil {
			item, ok, failed = w.item(ctx, kind, &pieces[i], around[pieces[i].key])
		}
		switch {
		case failed != nil:
			w.l.opts.Logger.WarnContext(ctx, "could not hand out work", slog.String("responder", typ), slog.Any("error", failed))
			_ = pieces[i].NakWithDelay(attempt)
		case !ok || kind == subject.Outcome && w.l.opts.Sabotage == sabotage.NoWork:
			_ = pieces[i].Ack()
		default:
			items = append(items, item)
		}
	}
	return items
}

// around reads what lies beside pieces of one partition: at once from a server
// that is alone; in a cluster one by one from the leader, because a replica
// that is behind would not know a receipt that was written a moment ago, and
// somebody would post twice.
func (w *Work) around(ctx context.Context, typ, kind string, pieces []piece) (map[ask.Key]beside, error) {
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
	if w.l.alone() {
		found, err = w.l.lasts(ctx, stream, filters)
	} else {
		found, err = w.l.firsts(ctx, stream, filters)
	}
	if err != nil {
		return nil, err
	}
	all := map[ask.Key]beside{}
	for _, m := range found {
		k, kind, _, ok := subject.ParseLedger(m.Subject)
		if !ok {
			continue
		}
		b := all[k]
		if kind == subject.Outcome {
			b.ended = m.Seq
		} else if r, ok := readReceipt(m, k); ok {
			b.receipt = &r
		}
		all[k] = b
	}
	return all, nil
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

// item reads a piece of work. It is not ok when there is nothing to do: an
// outcome that is not the first, or a question that is a ghost.
func (w *Work) item(ctx context.Context, kind string, of *piece, b beside) (WorkItem, bool, error) {
	item := WorkItem{Token: of.Reply(), Seq: of.seq, Key: of.key}
	msg := &nats.Msg{Subject: of.Subject(), Header: of.Headers(), Data: of.Data()}
	if kind == subject.Question {
		switch {
		case b.ended > of.seq:
			return WorkItem{}, false, w.l.removeIfGhost(ctx, of.key, of.seq)
		case b.ended != 0:
			return WorkItem{}, false, nil
		}
		q, err := cloudevent.ReadQuestion(msg, of.key)
		if err != nil {
			return WorkItem{}, false, err
		}
		if item.Question = &q; b.receipt != nil && b.receipt.Seq == of.seq {
			item.Receipt = b.receipt
		}
		return item, true, nil
	}
	end, err := cloudevent.ReadOutcome(msg, of.key)
	if err != nil {
		return WorkItem{}, false, err
	}
	if end.Digest != "" { // written by the server: it may have come late
		_, stream := w.l.place(of.key)
		first, err := w.l.first(ctx, stream, of.Subject(), 1)
		if errors.Is(err, errNone) || err == nil && first.Seq != of.seq {
			return WorkItem{}, false, nil
		}
		if err != nil {
			return WorkItem{}, false, err
		}
	}
	if item.End = &end; b.receipt != nil && !b.receipt.At.Before(end.AskedAt) {
		item.Receipt = b.receipt
	}
	return item, true, nil
}

// Verb is what a replica does with a piece of work.
type Verb string

// The verbs of a token.
const (
	Done   Verb = "done"   // it is done; never deliver it again
	Extend Verb = "extend" // still at it
	Later  Verb = "later"  // deliver it again after a delay
)

// Settle carries out a verb on a token that Next gave to the same type.
func (w *Work) Settle(ctx context.Context, typ, token string, verb Verb, delay time.Duration) error {
	if !w.l.ownToken(typ, token) {
		return ask.InvalidError(string(verb), []ask.Fault{{Pointer: "/token", Message: "is no token that next gave to responder type " + typ}})
	}
	body := "+ACK"
	switch verb {
	case Extend:
		body = "+WPI"
	case Later:
		body = fmt.Sprintf(`-NAK {"delay": %d}`, delay.Nanoseconds())
	case Done:
	}
	one, cancel := context.WithTimeout(ctx, 2*attempt)
	defer cancel()
	_, err := w.l.request(one, &nats.Msg{Subject: token, Data: []byte(body)})
	if errors.Is(err, nats.ErrNoResponders) {
		return ask.Refuse(404, ask.CodeNotFound, "nobody has work with this token any more; ask for work again with next")
	}
	return err
}

// ownToken reports whether token is an ack subject of the type's own consumers:
// $JS.ACK.<stream>.<consumer>.… or $JS.ACK.<domain>.<account>.<stream>.<consumer>.….
func (l *Ledger) ownToken(typ, token string) bool {
	t := strings.Split(token, ".")
	if len(t) != 9 && len(t) != 11 && len(t) != 12 || t[0] != "$JS" || t[1] != "ACK" || strings.ContainsAny(token, "*> \t\r\n") {
		return false
	}
	at := 2
	if len(t) > 9 {
		at = 4
	}
	if t[at+1] != typ+"-"+subject.Question && t[at+1] != typ+"-"+subject.Outcome {
		return false
	}
	p, err := strconv.Atoi(strings.TrimPrefix(t[at], subject.StreamPrefix))
	return err == nil && p >= 0 && p < l.n && t[at] == subject.Stream(p)
}

// ensure makes a type's consumers: first those of outcomes, so that no outcome
// of a question that it gets is missed.
func (w *Work) ensure(ctx context.Context, typ string) (*typeWork, error) {
	w.mu.Lock()
	tw := w.made[typ]
	if tw == nil {
		if len(w.made) >= maxTypes {
			w.mu.Unlock()
			return nil, ask.Refuse(429, ask.CodeQuota, "more than %d responder types", maxTypes)
		}
		tw = &typeWork{consumers: map[string][]jetstream.Consumer{}}
		w.made[typ] = tw
	}
	w.mu.Unlock()
	tw.mu.Lock()
	defer tw.mu.Unlock()
	for _, kind := range []string{subject.Outcome, subject.Question} {
		for p := len(tw.consumers[kind]); p < w.l.n; p++ {
			policy := jetstream.DeliverAllPolicy
			if kind == subject.Outcome {
				policy = jetstream.DeliverNewPolicy
			}
			c, err := w.l.js.CreateOrUpdateConsumer(ctx, subject.Stream(p), jetstream.ConsumerConfig{
				Durable: typ + "-" + kind, FilterSubject: subject.LedgerAll(p, subject.Key{}, kind), DeliverPolicy: policy,
				AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxDeliver: -1, MaxAckPending: 5000,
			})
			if err != nil {
				return nil, fmt.Errorf("ledger: make consumer %s-%s: %w", typ, kind, err)
			}
			tw.consumers[kind] = append(tw.consumers[kind], c)
		}
	}
	return tw, nil
}

func (w *Work) forget(typ string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.made, typ)
}
