package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxTenantConsumers is how many consumers of tenants' desks one stream may
// have: two for each responder type and tenant. The server's own limit is 1,000.
const MaxTenantConsumers = 200

// idleDesk is how long a tenant's consumers stay with nobody asking them: no
// ask of the time before is pending by then.
const idleDesk = ask.MaxTimeout + 24*time.Hour

// DefaultLease is how long a piece of work stays with the replica that took it.
const DefaultLease = time.Minute

// Lease is how long a piece of work stays with the replica that took it,
// unless it is extended or settled.
func (l *Ledger) Lease() time.Duration { return l.opts.Lease }

// ensure makes a desk's consumers: first those of outcomes, so that no outcome
// of a question that it gets is missed.
func (w *Work) ensure(ctx context.Context, d Desk) (*deskWork, error) {
	w.mu.Lock()
	tw := w.made[d]
	if tw == nil {
		if len(w.made) >= maxDesks {
			w.mu.Unlock()
			return nil, ask.Refuse(ask.CodeQuota, "more than %d responder types and tenants take work", maxDesks)
		}
		tw = &deskWork{consumers: map[string][]jetstream.Consumer{}}
		w.made[d] = tw
	}
	w.mu.Unlock()
	tw.mu.Lock()
	defer tw.mu.Unlock()
	if len(tw.consumers[subject.Question]) == w.l.n {
		return tw, nil
	}
	if err := w.claim(ctx, d); err != nil {
		w.forget(d)
		return nil, err
	}
	for _, kind := range []string{subject.Outcome, subject.Question} {
		for p := len(tw.consumers[kind]); p < w.l.n; p++ {
			c, err := w.l.js.CreateOrUpdateConsumer(ctx, subject.Stream(p), w.l.deskConsumer(d, p, kind))
			if err != nil {
				return nil, fmt.Errorf("ledger: make consumer %s: %w", d.consumer(kind), err)
			}
			tw.consumers[kind] = append(tw.consumers[kind], c)
		}
	}
	return tw, nil
}

func (w *Work) forget(d Desk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.made, d)
}

func (l *Ledger) deskConsumer(d Desk, p int, kind string) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: d.consumer(kind), FilterSubject: subject.LedgerAll(p, subject.Key{Tenant: d.Tenant}, kind), DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.opts.Lease, MaxDeliver: -1, MaxAckPending: 5000,
	}
	if kind == subject.Outcome {
		c.DeliverPolicy = jetstream.DeliverNewPolicy
	}
	if d.Tenant != "" {
		c.InactiveThreshold = idleDesk
	}
	return c
}

// claim says who serves a type: its own consumers, or those of its tenants,
// because both together would post everything twice. The type's consumer of
// outcomes on the first stream decides: the server lets one be made by that
// name. Where tenants serve the type it is a placeholder that matches nothing.
// An operator who wants it the other way removes the consumers of before.
func (w *Work) claim(ctx context.Context, d Desk) error {
	whole := Desk{Type: d.Type}
	want := w.l.deskConsumer(whole, 0, subject.Outcome)
	if d.Tenant != "" {
		if err := w.room(ctx, d); err != nil {
			return err
		}
		want = placeholder(whole)
	}
	_, err := w.l.js.CreateConsumer(ctx, subject.Stream(0), want)
	if err == nil {
		return nil
	}
	if !errors.Is(err, jetstream.ErrConsumerExists) {
		return fmt.Errorf("ledger: make consumer %s: %w", want.Durable, err)
	}
	held, err := w.l.js.Consumer(ctx, subject.Stream(0), want.Durable)
	if err != nil {
		return fmt.Errorf("ledger: read consumer %s: %w", want.Durable, err)
	}
	if held.CachedInfo().Config.FilterSubject == want.FilterSubject {
		return nil // made by another version, with another lease
	}
	if d.Tenant == "" {
		return ask.Refuse(ask.CodeForbidden,
			"responder type %s is served tenant by tenant: use a credential of one tenant, or remove the consumers %s@… and %s of the ledger's streams first", d.Type, d.Type, want.Durable)
	}
	return ask.Refuse(ask.CodeForbidden,
		"responder type %s is served for all tenants together: use a credential of the whole type, or stop that service and remove the consumers %s and %s of the ledger's streams first",
		d.Type, whole.consumer(subject.Question), want.Durable)
}

// placeholder holds the name of a type's consumer while tenants serve the type.
func placeholder(whole Desk) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: whole.consumer(subject.Outcome), Description: "tenants serve this responder type, each with consumers of its own",
		FilterSubject: subject.LedgerRoot + ".00.tenants." + whole.Type, DeliverPolicy: jetstream.DeliverNewPolicy, AckPolicy: jetstream.AckExplicitPolicy,
	}
}

// room reports whether a tenant's desk may have consumers of its own.
func (w *Work) room(ctx context.Context, d Desk) error {
	s, err := w.l.js.Stream(ctx, subject.Stream(0))
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	n := 0
	names := s.ConsumerNames(ctx)
	for name := range names.Name() {
		if name == d.consumer(subject.Question) {
			return nil
		}
		if strings.Contains(name, "@") {
			n++
		}
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("ledger: list consumers: %w", err)
	}
	if n+2 > MaxTenantConsumers {
		return ask.Refuse(ask.CodeQuota, "%d consumers serve single tenants already; %s would need 2 more, and a stream has at most %d: serve some type for all tenants together", n, d, MaxTenantConsumers)
	}
	return nil
}
