package broker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// countGroup is the queue group in which brokers receive outcomes to count
// them.
const countGroup = "askbus-metrics"

// countEvery is how often pending asks are counted. It costs one small read for
// each partition and each tenant with a label.
const countEvery = 15 * time.Second

// reading returns the figures for a scrape of the metrics.
func (b *Broker) reading() metrics.Reading {
	used, budget := b.led.Usage()
	audit := b.led.AuditUse()
	r := metrics.Reading{
		Ready: b.Ready(), Used: used, Budget: budget, Reserve: b.led.Reserve(), Held: map[string]int{},
		AuditUsed: audit.Used, AuditMost: audit.Most, AuditLag: audit.Lag,
	}
	r.Skews, r.ClocksSet = b.led.ClockSkews()
	r.Schedules = b.schedules()
	if lines := b.differing.Load(); lines != nil {
		r.Wrong = len(*lines)
	}
	if b.opts.Unread != nil {
		r.Wrong += len(b.opts.Unread())
	}
	b.waits.mu.Lock()
	defer b.waits.mu.Unlock()
	for k, on := range b.waits.byKey {
		r.Held[k.Tenant] += len(on.by)
	}
	return r
}

// countOutcomes receives every republished outcome in a queue group, so that
// exactly one broker counts it. The server's timer also ends asks, without any
// broker.
func (b *Broker) countOutcomes() error {
	if b.counts == nil && b.tracer == nil {
		return nil
	}
	sub, err := b.nc.QueueSubscribe(subject.OutAll("", "", subject.Outcome), countGroup, func(m *nats.Msg) {
		k, ok := cloudevent.FirstOutcome(m)
		if !ok {
			return
		}
		s, err := cloudevent.ReadOutcome(m, k)
		if err != nil {
			b.opts.Logger.Debug("cannot count an outcome", slog.String("ask_id", k.ID), slog.Any("error", err))
			return
		}
		e := metrics.End{Tenant: k.Tenant, Status: string(s.End.Status), Source: string(s.End.Source), Took: s.End.Waited, Trace: s.Trace, Alone: s.End.BreakGlass != nil}
		if s.End.By != nil {
			e.Surface = s.End.By.Responder
		}
		b.counts.Ended(e)
		if s.Timed { // no broker saw it end
			b.traceEnd(b.base, k, &s)
		}
	})
	if err == nil {
		err = sub.SetPendingLimits(-1, 64<<20)
	}
	if err != nil {
		return fmt.Errorf("broker: listen: %w", err)
	}
	b.counting = sub
	return nil
}

// traceEnd adds the end of an ask to its trace, with a link to what ended it.
func (b *Broker) traceEnd(ctx context.Context, k ask.Key, s *lifecycle.State) {
	if b.tracer == nil || s.Trace == "" {
		return
	}
	cause := b.tracer.Carry(ctx)
	of := tracing.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}
	if s.End.By != nil {
		of.Responder = s.End.By.Responder
	}
	ctx, end := b.tracer.Start(ctx, "outcome "+string(s.End.Status), tracing.Inside, s.Trace, of)
	b.tracer.Link(ctx, cause)
	end(nil)
}

// countPending counts pending asks periodically until ctx ends.
func (b *Broker) countPending(ctx context.Context) {
	if b.counts == nil {
		return
	}
	for on := true; on; on = backoff.Sleep(ctx, countEvery) == nil {
		if err := b.countPendingOnce(ctx); err != nil && ctx.Err() == nil {
			b.opts.Logger.WarnContext(ctx, "cannot count what is pending", slog.Any("error", err))
		}
	}
}

func (b *Broker) countPendingOnce(ctx context.Context) error {
	all, err := b.led.Waiting(ctx, "")
	if err != nil {
		return err
	}
	if all.N > 0 {
		b.counts.Meet(all.Key.Tenant) // it may be older than this broker
	}
	age := func(since time.Time) time.Duration {
		if since.IsZero() {
			return 0
		}
		return max(0, b.led.Now().Sub(since))
	}
	var of []metrics.Waiting
	for _, tenant := range b.counts.Tenants() {
		w, err := b.led.Waiting(ctx, tenant)
		if err != nil {
			return err
		}
		of = append(of, metrics.Waiting{Tenant: tenant, N: w.N, Oldest: age(w.Oldest)})
	}
	b.counts.Pending(metrics.Waiting{Tenant: all.Key.Tenant, N: all.N, Oldest: age(all.Oldest)}, of)
	work, err := b.Backlog(ctx)
	if err != nil {
		return err
	}
	apart := map[string]bool{} // types that tenants serve: the sum over them is no surface
	for name := range work {
		if typ, _, of := strings.Cut(name, "@"); of {
			apart[typ] = true
		}
	}
	backlogs := make([]metrics.Backlog, 0, len(work))
	for name, w := range work {
		g, _ := ledger.ParseGroup(name) // its consumers were parsed
		if g.Tenant == "" && apart[g.Type] {
			continue
		}
		backlogs = append(backlogs, metrics.Backlog{Surface: g.Type, Tenant: g.Tenant, Questions: w.Questions, Outcomes: w.Outcomes, Oldest: age(w.Oldest)})
	}
	b.counts.Backlogs(backlogs)
	return nil
}

// countPresented counts the first receipt of an ask. It reads earlier receipts
// only if metrics are on.
func (b *Broker) countPresented(ctx context.Context, r *request, s *wire.StatusReply, state ask.ReceiptState, now time.Time) {
	if b.counts == nil || state != ask.ReceiptPosted {
		return
	}
	before, err := b.led.Receipts(ctx, r.Key(), s.Life)
	if err != nil {
		return // writing the receipt reports the error
	}
	for i := range before {
		if before[i].State == ask.ReceiptPosted {
			return
		}
	}
	b.counts.Presented(r.Tenant, r.Type, now.Sub(s.AskedAt), "")
}

// workKind names a kind of work for people.
func workKind(kind string) string {
	if kind == subject.Outcome {
		return "outcome"
	}
	return "question"
}
