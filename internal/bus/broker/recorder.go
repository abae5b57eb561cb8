package broker

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of the audit's queue.
const (
	auditQueue   = 4096             // records; further ones are lost and counted
	auditKinds   = 1024             // kinds of refusals that are summarised at a time; further ones share one kind
	auditPatient = 15 * time.Second // for one record, while the audit cannot be written
	auditWindow  = time.Minute      // refusals of one kind by one sender within it are one record
	auditLook    = 10 * time.Second // how often the size of the audit is read
	auditGrace   = 2 * time.Second  // for queued records when the broker stops
	auditWrites  = 64               // records that are written at once
)

// recorder writes audit records asynchronously. No request waits for it:
// records that do not fit into the queue are lost, and the loss is recorded.
type recorder struct {
	led    *ledger.Ledger
	log    *slog.Logger
	writer string
	window time.Duration
	lose   func(int64)            // counts losses
	rules  func() *approvals.File // nil: this broker has none

	queue   chan *audit.Record
	slots   chan struct{} // one for each record that is being written
	writing sync.WaitGroup
	lost    atomic.Int64 // not recorded yet
	n       int64        // of the last record; used only by run
	failing atomic.Bool  // the last record could not be written
	looking sync.Mutex   // held while the audit's stream is looked at
	ruled   *string      // digest of the approvals file that was recorded; used only by run

	mu       sync.Mutex
	refusals map[refusalKind]*summary
}

// refusalKind identifies refusals that share one record.
type refusalKind struct {
	role, user, principal, proof, tenant, session, surface, what, code string
}

type summary struct {
	audit.Refusal
	ask   string    // of all of them; empty: of several
	until time.Time // by this machine's clock
}

func newRecorder(led *ledger.Ledger, opts *Options, id string, lose func(int64)) *recorder {
	return &recorder{
		led: led, log: opts.Logger, writer: id, window: opts.AuditWindow, lose: lose, rules: opts.Approvals,
		queue: make(chan *audit.Record, auditQueue), slots: make(chan struct{}, auditWrites), refusals: map[refusalKind]*summary{},
	}
}

// add queues a record. It never blocks.
func (a *recorder) add(r *audit.Record) {
	if r.Time.IsZero() {
		r.Time = a.led.Now().UTC()
	}
	select {
	case a.queue <- r:
	default:
		a.miss(1)
	}
}

// miss counts lost records.
func (a *recorder) miss(n int64) {
	a.lost.Add(n)
	a.lose(n)
}

// refuse counts a refusal. The first of its kind opens a window, after which
// one record summarises all.
func (a *recorder) refuse(k refusalKind, id, why string) {
	now := a.led.Now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.refusals[k]
	if s == nil && len(a.refusals) >= auditKinds { // somebody varies the refused requests
		k, why = refusalKind{what: "several", code: k.code}, "too many kinds of refusals"
		s = a.refusals[k]
	}
	if s == nil {
		s = &summary{audit.Refusal{What: k.what, Code: k.code, Why: why, First: now}, id, time.Now().Add(a.window)}
		a.refusals[k] = s
	}
	if s.ask != id {
		s.ask = ""
	}
	s.Count++
	s.Last = now
}

// summarise queues the refusals whose window has ended, or all when the broker
// stops.
func (a *recorder) summarise(all bool) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, s := range a.refusals {
		if !all && now.Before(s.until) {
			continue
		}
		delete(a.refusals, k)
		r := &audit.Record{Action: audit.Refused, Time: s.Last, Tenant: k.tenant, Session: k.session, Ask: s.ask, Surface: k.surface, Refusal: &s.Refusal}
		if k.role != "" {
			r.Actor = &audit.Actor{Role: k.role, Credential: k.user, Principal: k.principal, Proof: k.proof}
		}
		a.add(r)
	}
}

// run writes records until ctx ends, and then those still queued.
func (a *recorder) run(ctx context.Context) {
	work, cancel := connection.WithGrace(ctx, auditGrace) // the record that is being written when ctx ends is not lost
	defer cancel()
	if a.led.AuditMade() {
		a.began("this broker created it")
	}
	every := time.NewTicker(min(a.window, time.Second))
	defer every.Stop()
	look := time.NewTicker(auditLook)
	defer look.Stop()
	for {
		select {
		case r := <-a.queue:
			a.write(work, r)
		case <-every.C:
			a.summarise(false)
			a.reportLoss()
			a.governed()
		case <-look.C:
			a.check(ctx)
		case <-ctx.Done():
			a.finish(work)
			return
		}
	}
}

// finish writes the queued records, as far as there is time, and then how many
// are missing: nobody else would know.
func (a *recorder) finish(ctx context.Context) {
	a.summarise(true)
	for len(a.queue) > 0 {
		if r := <-a.queue; ctx.Err() != nil {
			a.forget(r)
		} else {
			a.write(ctx, r)
		}
	}
	a.writing.Wait()
	n := a.lost.Load()
	if n == 0 {
		return
	}
	a.log.WarnContext(ctx, "the audit lacks records", slog.Int64("lost", n))
	a.reportLoss()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditGrace)
	defer cancel()
	a.write(last, <-a.queue)
	a.writing.Wait()
}

// reportLoss queues a record of how many are missing.
func (a *recorder) reportLoss() {
	n := a.lost.Load()
	if n == 0 {
		return
	}
	select {
	case a.queue <- &audit.Record{Time: a.led.Now().UTC(), Action: audit.AuditLost, Actor: &audit.Actor{Role: "broker"}, Lost: n}:
		a.lost.Add(-n)
	default: // the next look retries
	}
}

// governed queues a record of the approvals file, when the broker starts, also without one, and when it has changed:
// nothing else would say since when a policy was gone.
func (a *recorder) governed() {
	o := audit.Object{Kind: "approvals", Note: "no approvals file"}
	if a.rules != nil {
		f := a.rules()
		o.ID, o.Note = f.Digest(), ask.Clip(f.Summary(), audit.MaxText)
	}
	if a.ruled == nil || *a.ruled != o.ID {
		a.ruled = new(o.ID) // the record has its own
		if host, err := os.Hostname(); err == nil {
			o.Note += ", on " + host
		}
		a.add(&audit.Record{Action: audit.PoliciesRead, Actor: &audit.Actor{Role: "broker"}, Object: &o})
	}
}

// began queues a record that the audit begins here.
func (a *recorder) began(note string) {
	a.add(&audit.Record{Action: audit.AuditBegan, Actor: &audit.Actor{Role: "broker"}, Object: &audit.Object{Kind: "audit", Note: note}})
}

// check reads the size of the audit, and recreates it if it is gone.
func (a *recorder) check(ctx context.Context) {
	if !a.looking.TryLock() {
		return
	}
	defer a.looking.Unlock()
	one, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	made, err := a.led.RefreshAudit(one)
	if made {
		a.log.ErrorContext(ctx, "the audit was removed; this broker created a new one, and the records of the old one are lost")
		a.began("the previous audit was removed; the contents of the ledger were copied again")
	}
	if err != nil && ctx.Err() == nil {
		a.log.WarnContext(ctx, "cannot look at the audit", slog.Any("error", err))
	}
}

// write begins to store one record, once fewer than auditWrites are being stored.
func (a *recorder) write(ctx context.Context, r *audit.Record) {
	a.n++
	if r.ID == "" {
		r.ID = cloudevent.NewID()
	}
	r.Chain = &audit.Chain{Writer: a.writer, N: a.n}
	data, err := audit.Encode(r) // one after another: it shortens the record's texts, and records may share a list
	a.slots <- struct{}{}
	a.writing.Go(func() {
		a.store(ctx, r, data, err)
		<-a.slots
	})
}

// store stores one record, unless it has an error. It retries for a while; then the record is lost.
func (a *recorder) store(ctx context.Context, r *audit.Record, data []byte, err error) {
	for end, try := time.Now().Add(auditPatient), 0; err == nil; try++ {
		if err = a.led.WriteAudit(ctx, r.Tenant, r.ID, data); err == nil {
			a.failing.Store(false)
			return
		}
		if ledger.AuditFull(err) || time.Now().After(end) || backoff.Wait(ctx, 50*time.Millisecond, try) != nil {
			break
		}
		if try == 0 {
			a.check(ctx) // the stream may be gone
		}
		err = nil
	}
	a.forget(r)
	if !a.failing.Swap(true) {
		a.log.WarnContext(ctx, "cannot write to the audit; lost records are counted", slog.Any("error", err))
	}
}

// forget counts a record that could not be written. A record of losses is
// queued again.
func (a *recorder) forget(r *audit.Record) {
	if r.Action == audit.AuditLost {
		a.lost.Add(r.Lost)
		return
	}
	a.miss(1)
}
