package audit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Limits of a [Reporter].
const (
	reportQueue    = 1024             // reports; what comes when it is full is lost, and counted
	reportKinds    = 256              // kinds of refusals that are told apart at a time; further ones are one kind
	reportPatience = 15 * time.Second // for one report, while no broker takes it
	reportWindow   = time.Minute      // refusals of one kind within it are one report
	reportGrace    = 2 * time.Second  // for what waits when the process stops
	// Strangers is the burst of reports about unauthenticated callers. It refills by one per
	// minute; beyond it they share one kind, so that a caller with many addresses cannot fill the
	// audit.
	strangers = 60
)

// Attempt is a request that a surface, a gateway or an issuer refused.
type Attempt struct {
	What    string // "POST /v1/asks", "sign-in link", "exchange"
	Code    string // as in a problem body
	Why     string // for people
	Tenant  string
	Session string
	Address string // of who tried
	By      ask.By // who tried
	Token   string // the id of the API token that was shown
	// Known says that the sender of the report has verified By or Token. Otherwise they are claims.
	Known bool
}

// kind groups refusals into one report.
type kind struct {
	what, code, tenant, session, address, principal, token string
}

func (a *Attempt) kind() kind {
	k := kind{what: a.What, code: a.Code, tenant: a.Tenant, session: a.Session, principal: a.By.Principal, token: a.Token}
	if !a.Known {
		k.address = a.Address
	}
	return k
}

// ReporterOptions configures a [Reporter]. The zero value is ready to use.
type ReporterOptions struct {
	Logger *slog.Logger // default: discard
}

// Reporter sends the brokers events that they do not see: what a gateway, a web inbox or an issuer
// refused and admitted. It never blocks its callers: reports that do not fit into its queue, or
// that no broker accepts in time, are lost and counted, and it reports the count to the audit.
// Refusals of one kind within a minute are one report, because the sender chooses how often that happens.
// A nil Reporter reports nothing. It is safe for concurrent use.
type Reporter struct {
	send func(context.Context, Report) error
	opts ReporterOptions

	queue   chan Report
	untold  atomic.Int64 // losses that no report tells of yet
	lost    atomic.Int64
	failing bool // the last report was lost; of the running goroutine

	mu       sync.Mutex
	refusals map[kind]*attempts
	left     int       // reports about strangers that may follow
	refilled time.Time // when left last grew
}

type attempts struct {
	Report
	until time.Time
}

// NewReporter makes a reporter that sends with send, such as [Over]. It sends nothing until
// [Reporter.Run].
func NewReporter(send func(context.Context, Report) error, opts ReporterOptions) *Reporter {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Reporter{send: send, opts: opts, queue: make(chan Report, reportQueue), refusals: map[kind]*attempts{}, left: strangers, refilled: time.Now()}
}

// Over returns a function that sends reports over a connection.
func Over(nc *nats.Conn, from Sender) func(context.Context, Report) error {
	return func(ctx context.Context, r Report) error { return Send(ctx, nc, from, r) }
}

// Lost returns how many reports were lost.
func (r *Reporter) Lost() int64 {
	if r == nil {
		return 0
	}
	return r.lost.Load()
}

// Report queues a report. It never blocks.
func (r *Reporter) Report(p Report) {
	if r == nil {
		return
	}
	if p.ID == "" {
		p.ID = cloudevent.NewID() // sent again it is the same one
	}
	select {
	case r.queue <- p:
	default:
		r.miss(1)
	}
}

func (r *Reporter) miss(n int64) {
	r.untold.Add(n)
	r.lost.Add(n)
}

// Refused counts a refusal. The first of its kind opens a window, at whose end one report has the
// count. It never blocks.
func (r *Reporter) Refused(a Attempt) {
	if r == nil {
		return
	}
	now := time.Now()
	k := a.kind()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.refusals[k]
	if s == nil && !r.distinguish(&a, now) {
		k = kind{what: "several", code: a.Code}
		a = Attempt{What: k.what, Code: k.code, Why: "too many kinds of refusals"}
		s = r.refusals[k]
	}
	if s == nil {
		s = &attempts{Report: a.report(now), until: now.Add(reportWindow)}
		r.refusals[k] = s
	}
	s.Refusal.Count++
	s.Refusal.Last = now.UTC()
}

// distinguish reports whether there is room for another kind of refusals.
func (r *Reporter) distinguish(a *Attempt, now time.Time) bool {
	if len(r.refusals) >= reportKinds {
		return false
	}
	if a.Known {
		return true
	}
	if n := int(now.Sub(r.refilled) / time.Minute); n > 0 {
		r.left, r.refilled = min(strangers, r.left+n), r.refilled.Add(time.Duration(n)*time.Minute)
	}
	if r.left == 0 {
		return false
	}
	r.left--
	return true
}

func (a *Attempt) report(now time.Time) Report {
	p := Report{
		Action: Refused, Tenant: a.Tenant, Session: a.Session, Address: a.Address, Principal: a.By.Principal, Proof: a.By.Proof, Name: a.By.Name,
		Refusal: &Refusal{What: a.What, Code: a.Code, Why: a.Why, First: now.UTC()},
	}
	if a.Token != "" {
		p.Object = &Object{Kind: "token", ID: a.Token}
		if !a.Known {
			p.Object.Note = "claimed, not proven"
		}
	}
	return p
}

// Run sends reports until ctx ends, and then the queued ones within a grace period.
func (r *Reporter) Run(ctx context.Context) error {
	work, cancel := connection.WithGrace(ctx, reportGrace)
	defer cancel()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case p := <-r.queue:
			r.deliver(work, p)
		case <-every.C:
			r.summarise(false)
			r.reportLoss()
		case <-ctx.Done():
			r.finish(work)
			return nil
		}
	}
}

// finish sends the queued reports within a grace period.
func (r *Reporter) finish(ctx context.Context) {
	r.summarise(true)
	r.reportLoss()
	for {
		select {
		case p := <-r.queue:
			r.deliver(ctx, p)
		default:
			if n := r.untold.Load(); n > 0 {
				r.opts.Logger.WarnContext(ctx, "the audit lacks reports of this process", slog.Int64("lost", n))
			}
			return
		}
	}
}

// summarise queues reports of the refusals whose window is over, or of all at the end.
func (r *Reporter) summarise(all bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.refusals {
		if all || !now.Before(s.until) {
			delete(r.refusals, k)
			r.Report(s.Report)
		}
	}
}

// reportLoss queues a report of the number of lost reports.
func (r *Reporter) reportLoss() {
	n := r.untold.Load()
	if n == 0 {
		return
	}
	select {
	case r.queue <- Report{Action: AuditLost, ID: cloudevent.NewID(), Lost: n}:
		r.untold.Add(-n)
	default: // the next tick may
	}
}

// deliver sends one report. It retries for a while; then the report is lost.
func (r *Reporter) deliver(ctx context.Context, p Report) {
	one, cancel := context.WithTimeout(ctx, reportPatience)
	defer cancel()
	err := one.Err()
	for err == nil {
		err = r.send(one, p)
		if err == nil {
			r.failing = false
			return
		}
		if !errors.Is(err, ask.ErrUnavailable) && !errors.Is(err, ask.ErrQuota) {
			break
		}
		select {
		case <-one.Done():
		case <-time.After(time.Second):
			err = nil
		}
	}
	if p.Action == AuditLost {
		r.untold.Add(p.Lost) // it is told again
	} else {
		r.miss(1)
	}
	if !r.failing {
		r.failing = true
		r.opts.Logger.WarnContext(ctx, "cannot report to the audit; what is missing is counted", slog.Any("error", err))
	}
}

// Gateway returns the gateway as a sender.
func Gateway() Sender { return Sender{Role: subject.StateGateway} }

// Surface returns a responder type as a sender, limited to a tenant unless it is empty.
func Surface(typ, tenant string) Sender {
	return Sender{Role: subject.StateResponder, Type: typ, Tenant: tenant}
}

// Issuer returns the issuer as a sender.
func Issuer() Sender { return Sender{Role: subject.StateIssuer} }

// Operator returns an operator's command as a sender.
func Operator() Sender { return Sender{Role: subject.StateOperator} }

// Saved reports a backup.
func Saved() Sender { return Sender{Role: subject.StateSaved} }
