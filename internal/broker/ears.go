package broker

import (
	"errors"
	"fmt"
	"sync"

	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
)

// ears are our subscriptions to what the streams republish. They open when
// somebody first waits for something here, and stay open: a broker that holds
// no request and has no work to hand out need not see every question and every
// outcome pass.
type ears struct {
	b *Broker

	mu     sync.Mutex
	subs   map[string]*nats.Subscription // by kind
	closed bool
}

// open hears questions or outcomes from when it returns on.
func (e *ears) open(kind string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.subs[kind] != nil || e.closed {
		return nil
	}
	sub, err := e.b.nc.Subscribe(subject.OutAll("", "", kind), func(m *nats.Msg) {
		e.b.stirred[kind].notify()
		if kind == subject.Outcome {
			e.b.waits.outcome(m)
		}
	})
	if err != nil {
		return fmt.Errorf("broker: listen: %w", err)
	}
	// The subscription must be there before the ledger is read, which goes over
	// another connection.
	if err := errors.Join(sub.SetPendingLimits(-1, 256<<20), e.b.nc.FlushTimeout(e.b.opts.Limit)); err != nil {
		return errors.Join(fmt.Errorf("broker: listen: %w", err), sub.Unsubscribe())
	}
	e.subs[kind] = sub
	return nil
}

func (e *ears) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	var errs []error
	for _, sub := range e.subs {
		errs = append(errs, sub.Unsubscribe())
	}
	return errors.Join(errs...)
}
