package broker

import (
	"errors"
	"fmt"
	"sync"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// subscriptions are the broker's subscriptions to republished messages. They
// are opened when a request first waits here, and stay open: a broker without
// held requests and without work does not need to receive every question and
// outcome.
type subscriptions struct {
	b *Broker

	mu     sync.Mutex
	subs   map[string]*nats.Subscription // by kind
	closed bool
}

// open subscribes to questions or outcomes before it returns.
func (s *subscriptions) open(kind string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs[kind] != nil || s.closed {
		return nil
	}
	sub, err := s.b.nc.Subscribe(subject.OutAll("", "", kind), func(m *nats.Msg) {
		if k, _, ok := subject.ParseOut(m.Subject); ok {
			s.b.republished[kind].notify(k.Tenant)
		}
		if kind == subject.Outcome {
			s.b.waits.outcome(m)
		}
	})
	if err != nil {
		return fmt.Errorf("broker: listen: %w", err)
	}
	// The subscription must exist before the ledger is read, which uses another
	// connection.
	if err := errors.Join(sub.SetPendingLimits(-1, 256<<20), s.b.nc.FlushTimeout(s.b.opts.Limit)); err != nil {
		return errors.Join(fmt.Errorf("broker: listen: %w", err), sub.Unsubscribe())
	}
	s.subs[kind] = sub
	return nil
}

func (s *subscriptions) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, sub := range s.subs {
		errs = append(errs, sub.Unsubscribe())
	}
	return errors.Join(errs...)
}
