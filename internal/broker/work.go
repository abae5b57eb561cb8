package broker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// next hands out work of a posting surface, waiting for some if asked to.
func (b *Broker) next(r *request) error {
	q, err := cloudevent.DecodeNext(r.body)
	if err != nil {
		return err
	}
	kind := subject.Question
	if q.Of == cloudevent.NextOutcome {
		kind = subject.Outcome
	}
	if err := b.ears.open(kind); err != nil {
		return err
	}
	wait := min(q.Wait, ask.MaxHold)
	b.running.Go(func() {
		ctx, cancel := context.WithTimeout(b.base, wait+b.opts.Limit)
		defer cancel()
		items, err := b.nextItems(ctx, r.Type, kind, q.Max, wait)
		if err == nil {
			var body []byte
			if body, err = cloudevent.EncodeNext(items); err == nil {
				err = b.tellJSON(r, body)
			}
		}
		if err != nil {
			b.refuse(ctx, r, err)
		}
	})
	return nil
}

func (b *Broker) nextItems(ctx context.Context, typ, kind string, most int, wait time.Duration) ([]cloudevent.NextItem, error) {
	end := time.Now().Add(wait)
	for {
		stirred := b.stirred[kind].c()
		found, err := b.work.Next(ctx, typ, kind, most)
		if err != nil {
			return nil, err
		}
		items, err := nextEvents(found)
		if err != nil || len(items) > 0 || !time.Now().Before(end) || !b.ready.Load() {
			return items, err
		}
		t := time.NewTimer(min(time.Second, time.Until(end))) // redeliveries stir nothing
		select {
		case <-stirred:
			t.Reset(gather)
			<-t.C
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// gather is how long a request for work waits for more, once there is some: in
// a burst every message stirs everybody who waits.
const gather = 10 * time.Millisecond

func nextEvents(found []ledger.WorkItem) ([]cloudevent.NextItem, error) {
	items := make([]cloudevent.NextItem, 0, len(found))
	for _, w := range found {
		item := cloudevent.NextItem{Token: w.Token, Seq: w.Seq, Receipt: w.Receipt}
		if w.End != nil {
			ev, err := w.End.Event()
			if err != nil {
				return nil, err
			}
			item.Event = ev.Build()
		} else {
			data, err := cloudevent.EncodeStored(&w.Question.Stored)
			if err != nil {
				return nil, err
			}
			item.Event = cloudevent.Event{
				ID: w.Question.EventID, Source: cloudevent.AgentSource(w.Key.Tenant, w.Key.Session), Type: cloudevent.TypeAsked, Key: w.Key,
				Time: w.Question.AskedAt, Trace: w.Question.Trace, Expiry: w.Question.Ask.Deadline, Data: data,
			}.Build()
		}
		items = append(items, item)
	}
	return items, nil
}

// settle serves done, extend and later.
func (b *Broker) settle(ctx context.Context, r *request) error {
	token, delay, err := cloudevent.DecodeSettle(string(r.Verb), r.body)
	if err != nil {
		return err
	}
	if err := b.work.Settle(ctx, r.Type, token, ledger.Verb(r.Verb), delay); err != nil {
		return err
	}
	body, err := json.Marshal(struct {
		OK bool `json:"ok"`
	}{true})
	if err != nil {
		return err
	}
	return b.tellJSON(r, body)
}

// isUnavailable reports whether err says that the ledger cannot be reached.
func isUnavailable(err error) bool {
	return errors.Is(err, ask.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrConnectionClosed)
}

// signal wakes everybody who waits on its channel.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func newSignal() *signal { return &signal{ch: make(chan struct{})} }

func (s *signal) c() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch
}

func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ch)
	s.ch = make(chan struct{})
}
