package broker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/audit"
	"github.com/askbus/askbus/internal/backoff"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/ledger"
)

// Bounds of what waits for the audit.
const (
	auditQueue   = 4096             // records; what comes when it is full is lost, and counted
	auditKinds   = 1024             // kinds of refusals that are summarised at a time; further ones are one kind
	auditPatient = 15 * time.Second // for one record, while the audit cannot be written
	auditWindow  = time.Minute      // refusals of one kind by one sender within it are one record
	auditLook    = 10 * time.Second // how often the size of the audit is read
	auditGrace   = 2 * time.Second  // for what waits when the broker stops
)

// recorder writes records behind the requests that they are about. Nobody
// waits for it: what does not fit is lost, and the loss is told.
type recorder struct {
	led    *ledger.Ledger
	log    *slog.Logger
	writer string
	window time.Duration
	lose   func(int64) // counts losses

	queue   chan *audit.Record
	lost    atomic.Int64 // that no record tells of yet
	n       int64        // of the last record; of the running goroutine, as the next
	failing bool         // the last record could not be written

	mu       sync.Mutex
	refusals map[refusalKind]*summary
}

// refusalKind is what makes refusals one record.
type refusalKind struct {
	role, user, tenant, session, surface, what, code string
}

type summary struct {
	audit.Refusal
	until time.Time // by this machine's clock
}

func newRecorder(led *ledger.Ledger, opts *Options, id string, lose func(int64)) *recorder {
	return &recorder{
		led: led, log: opts.Logger, writer: id, window: opts.AuditWindow, lose: lose,
		queue: make(chan *audit.Record, auditQueue), refusals: map[refusalKind]*summary{},
	}
}

// add hands a record over. It never waits.
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

// miss counts records that are lost.
func (a *recorder) miss(n int64) {
	a.lost.Add(n)
	a.lose(n)
}

// refuse counts a refusal. The first of its kind opens a window, at whose end
// one record tells of all.
func (a *recorder) refuse(k refusalKind, why string, count int64) {
	now := a.led.Now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.refusals[k]
	if s == nil && len(a.refusals) >= auditKinds { // somebody varies what it is refused for
		k, why = refusalKind{what: "several", code: k.code}, "more kinds of refusals than are told apart"
		s = a.refusals[k]
	}
	if s == nil {
		s = &summary{audit.Refusal{What: k.what, Code: k.code, Why: why, First: now}, time.Now().Add(a.window)}
		a.refusals[k] = s
	}
	s.Count += count
	s.Last = now
}

// summarise hands over the refusals whose window is over; all, when the broker
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
		r := &audit.Record{Action: audit.Refused, Time: s.Last, Tenant: k.tenant, Session: k.session, Surface: k.surface, Refusal: &s.Refusal}
		if k.role != "" {
			r.Actor = &audit.Actor{Role: k.role, Credential: k.user}
		}
		a.add(r)
	}
}

// run writes until ctx ends, and then what waits.
func (a *recorder) run(ctx context.Context) {
	if a.led.AuditMade() {
		a.began("this broker made it")
	}
	every := time.NewTicker(min(a.window, time.Second))
	defer every.Stop()
	look := time.NewTicker(auditLook)
	defer look.Stop()
	for {
		select {
		case r := <-a.queue:
			a.write(ctx, r)
		case <-every.C:
			a.summarise(false)
			a.tellLoss()
		case <-look.C:
			a.look(ctx)
		case <-ctx.Done():
			a.finish(ctx)
			return
		}
	}
}

// finish writes what waits, as far as there is time.
func (a *recorder) finish(ctx context.Context) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditGrace)
	defer cancel()
	a.summarise(true)
	a.tellLoss()
	for {
		select {
		case r := <-a.queue:
			if last.Err() != nil {
				a.forget(r)
				continue
			}
			a.write(last, r)
		default:
			if n := a.lost.Load(); n > 0 {
				a.log.WarnContext(ctx, "the audit lacks records", slog.Int64("lost", n))
			}
			return
		}
	}
}

// tellLoss hands over a record of how many are missing.
func (a *recorder) tellLoss() {
	n := a.lost.Load()
	if n == 0 {
		return
	}
	select {
	case a.queue <- &audit.Record{Time: a.led.Now().UTC(), Action: audit.AuditLost, Actor: &audit.Actor{Role: "broker"}, Lost: n}:
		a.lost.Add(-n)
	default: // the next look may
	}
}

// began hands over that the audit begins here.
func (a *recorder) began(note string) {
	a.add(&audit.Record{Action: audit.AuditBegan, Actor: &audit.Actor{Role: "broker"}, Object: &audit.Object{Kind: "audit", Note: note}})
}

// look reads how large the audit is, and makes it when it is gone.
func (a *recorder) look(ctx context.Context) {
	one, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	made, err := a.led.RefreshAudit(one)
	if made {
		a.log.ErrorContext(ctx, "the audit was gone; this broker made a new one, and what the old one held is lost")
		a.began("the audit before was removed; what the ledger still holds was copied again")
	}
	if err != nil && ctx.Err() == nil {
		a.log.WarnContext(ctx, "cannot look at the audit", slog.Any("error", err))
	}
}

// write stores one record. It tries for a while; then the record is lost.
func (a *recorder) write(ctx context.Context, r *audit.Record) {
	a.n++
	if r.ID == "" {
		r.ID = cloudevent.NewID()
	}
	r.Chain = &audit.Chain{Writer: a.writer, N: a.n}
	data, err := audit.Encode(r)
	for end, try := time.Now().Add(auditPatient), 0; err == nil; try++ {
		if err = a.led.WriteAudit(ctx, r.Tenant, r.ID, data); err == nil {
			a.failing = false
			return
		}
		if ledger.AuditFull(err) || time.Now().After(end) || backoff.Wait(ctx, 50*time.Millisecond, try) != nil {
			break
		}
		if try == 0 {
			a.look(ctx) // it may be gone
		}
		err = nil
	}
	a.forget(r)
	if !a.failing {
		a.failing = true
		a.log.WarnContext(ctx, "cannot write to the audit; what is missing is counted", slog.Any("error", err))
	}
}

// forget counts a record that could not be written. One that tells of losses
// is made again.
func (a *recorder) forget(r *audit.Record) {
	if r.Action == audit.AuditLost {
		a.lost.Add(r.Lost)
		return
	}
	a.miss(1)
}
