package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go/jetstream"
)

// maxTenantConsumers is how many consumers of tenants' groups one stream may
// have: two for each responder type and tenant. The server's own limit is
// 1,000.
const maxTenantConsumers = 200

// idleGroup is how long unused consumers are kept: no earlier ask is pending by
// then, so those that are made later miss nothing.
const idleGroup = ask.MaxTimeout + 24*time.Hour

// defaultLease is how long a work item stays with the replica that took it.
const defaultLease = time.Minute

// Lease returns how long a work item stays with the replica that took it,
// unless it is extended or settled.
func (l *Ledger) Lease() time.Duration { return l.opts.Lease }

// ensure creates a group's consumers: those of outcomes first, so that it misses
// no outcome of a question that it gets.
func (w *Work) ensure(ctx context.Context, g Group) (*groupWork, error) {
	w.mu.Lock()
	tw := w.made[g]
	if tw == nil {
		if len(w.made) >= maxGroups {
			clear(w.made) // most may be of tenants that are removed; the others are found again
		}
		tw = &groupWork{consumers: map[string][]jetstream.Consumer{}}
		w.made[g] = tw
	}
	w.mu.Unlock()
	tw.mu.Lock()
	defer tw.mu.Unlock()
	if len(tw.consumers[subject.Question]) == w.l.n {
		return tw, nil
	}
	if err := w.claim(ctx, g); err != nil {
		w.forget(g)
		return nil, err
	}
	for _, kind := range []string{subject.Outcome, subject.Question} {
		for p := len(tw.consumers[kind]); p < w.l.n; p++ {
			c, err := w.l.js.CreateOrUpdateConsumer(ctx, subject.Stream(p), w.l.groupConsumer(g, p, kind))
			if err != nil {
				return nil, fmt.Errorf("ledger: make consumer %s: %w", g.consumer(kind), err)
			}
			tw.consumers[kind] = append(tw.consumers[kind], c)
		}
	}
	return tw, nil
}

func (w *Work) forget(g Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.made, g)
}

func (l *Ledger) groupConsumer(g Group, p int, kind string) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: g.consumer(kind), FilterSubject: subject.LedgerAll(p, subject.Key{Tenant: g.Tenant}, kind), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: firstWork,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.requeue(), MaxDeliver: -1, MaxAckPending: 5000,
		InactiveThreshold: idleGroup,
	}
	if kind == subject.Outcome {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverNewPolicy, 0
	}
	return c
}

// claim decides who serves a type: its own consumers or those of its tenants,
// because both together would post everything twice. The type's consumer of
// outcomes on the first stream decides, since the server lets only one be
// created under that name. If tenants serve the type it is a placeholder that
// matches nothing. To switch, an operator removes the old consumers.
func (w *Work) claim(ctx context.Context, g Group) error {
	whole := Group{Type: g.Type}
	want := w.l.groupConsumer(whole, 0, subject.Outcome)
	if g.Tenant != "" {
		if err := w.checkConsumers(ctx, g); err != nil {
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
		return nil // created by another version, with another lease
	}
	if g.Tenant == "" {
		return ask.Refuse(ask.CodeForbidden,
			"responder type %s is served tenant by tenant: use a credential of one tenant, or remove the consumers %s@… and %s of the ledger's streams first", g.Type, g.Type, want.Durable)
	}
	return ask.Refuse(ask.CodeForbidden,
		"responder type %s is served for all tenants together: use a credential of the whole type, or stop that service and remove the consumers %s and %s of the ledger's streams first",
		g.Type, whole.consumer(subject.Question), want.Durable)
}

// placeholder reserves the name of a type's consumer while tenants serve the
// type.
func placeholder(whole Group) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: whole.consumer(subject.Outcome), Description: "tenants serve this responder type, each with consumers of its own",
		FilterSubject: subject.LedgerRoot + ".00.tenants." + whole.Type, DeliverPolicy: jetstream.DeliverNewPolicy, AckPolicy: jetstream.AckExplicitPolicy,
	}
}

// checkConsumers returns an error if a tenant's group may have no consumers of its own.
func (w *Work) checkConsumers(ctx context.Context, g Group) error {
	s, err := w.l.js.Stream(ctx, subject.Stream(0))
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	n := 0
	names := s.ConsumerNames(ctx)
	for name := range names.Name() {
		if name == g.consumer(subject.Question) {
			return nil
		}
		if strings.Contains(name, "@") {
			n++
		}
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("ledger: list consumers: %w", err)
	}
	if n+2 > maxTenantConsumers {
		return ask.Refuse(ask.CodeQuota, "%d consumers already serve single tenants; %s would need 2 more, and a stream has at most %d: serve some type for all tenants together", n, g, maxTenantConsumers)
	}
	return nil
}
