package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Bounds of a [Reporter].
const (
	reportQueue    = 1024             // reports; what comes when it is full is lost, and counted
	reportKinds    = 256              // kinds of refusals that are told apart at a time; further ones are one kind
	reportPatience = 15 * time.Second // for one report, while no broker takes it
	reportWindow   = time.Minute      // refusals of one kind within it are one report
	reportGrace    = 2 * time.Second  // for what waits when the process stops
	// Strangers is how many reports about callers whom nobody knows are sent in a
	// row. One more is allowed each minute, and beyond that they are one kind: who
	// has many addresses cannot fill the audit.
	strangers = 60
)

// Attempt is something that a surface, a gateway or an issuer refused.
type Attempt struct {
	What    string // "POST /v1/asks", "sign-in link", "exchange"
	Code    string // as in a problem body
	Why     string // for people
	Tenant  string
	Session string
	Address string // of who tried
	By      ask.By // who tried
	Token   string // the id of the API token that was shown
	// Known says that the sender of the report has checked By or Token. Of strangers
	// they are a claim.
	Known bool
}

// kind is what makes refusals one report.
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

// ReporterOptions tunes a [Reporter]. The zero value is ready to use.
type ReporterOptions struct {
	Logger *slog.Logger  // default: discard
	Window time.Duration // in which refusals of one kind are one report; default 1m, less only in tests
}

// Reporter tells the brokers what they do not see: what a gateway, a web inbox or
// an issuer refused and let in. Nobody waits for it: what does not fit into its
// queue, or is not taken by a broker in time, is lost and counted, and the audit
// is told how many are missing. A nil Reporter reports nothing. It is safe for
// concurrent use.
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

// NewReporter makes a reporter that sends with send, such as [Over]. It sends
// nothing until [Reporter.Run].
func NewReporter(send func(context.Context, Report) error, opts ReporterOptions) *Reporter {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Window == 0 {
		opts.Window = reportWindow
	}
	return &Reporter{send: send, opts: opts, queue: make(chan Report, reportQueue), refusals: map[kind]*attempts{}, left: strangers, refilled: time.Now()}
}

// Over sends reports over a connection.
func Over(nc *nats.Conn, from Sender) func(context.Context, Report) error {
	return func(ctx context.Context, r Report) error { return Send(ctx, nc, from, r) }
}

// Lost is how many reports were lost.
func (r *Reporter) Lost() int64 {
	if r == nil {
		return 0
	}
	return r.lost.Load()
}

// Report hands over a report. It never waits.
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

// Refused counts something that was refused. The first of its kind opens a
// window, at whose end one report tells of all. It never waits.
func (r *Reporter) Refused(a Attempt) {
	if r == nil {
		return
	}
	now := time.Now()
	k := a.kind()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.refusals[k]
	if s == nil && !r.tellApart(&a, now) {
		k = kind{what: "several", code: a.Code}
		a = Attempt{What: k.what, Code: k.code, Why: "too many kinds of refusals"}
		s = r.refusals[k]
	}
	if s == nil {
		s = &attempts{Report: a.report(now), until: now.Add(r.opts.Window)}
		r.refusals[k] = s
	}
	s.Refusal.Count++
	s.Refusal.Last = now.UTC()
}

// tellApart reports whether there is room for one more kind of refusals.
func (r *Reporter) tellApart(a *Attempt, now time.Time) bool {
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

// Run sends until ctx ends, and then what waits, as far as there is time.
func (r *Reporter) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(reportGrace, cancel) })
	defer stop()
	every := time.NewTicker(min(r.opts.Window, time.Second))
	defer every.Stop()
	for {
		select {
		case p := <-r.queue:
			r.deliver(work, p)
		case <-every.C:
			r.summarise(false)
			r.tellLoss()
		case <-ctx.Done():
			r.finish(work)
			return nil
		}
	}
}

// finish sends what waits, while there is time.
func (r *Reporter) finish(ctx context.Context) {
	r.summarise(true)
	r.tellLoss()
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

// summarise hands over the refusals whose window is over; all, at the end.
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

// tellLoss hands over how many reports are missing.
func (r *Reporter) tellLoss() {
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

// deliver sends one report. It tries for a while; then the report is lost.
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

// Gateway, Surface and Issuer are who reports.
func Gateway() Sender { return Sender{Role: subject.StateGateway} }

// Surface is a responder of a type, narrowed to a tenant unless that is empty.
func Surface(typ, tenant string) Sender {
	return Sender{Role: subject.StateResponder, Type: typ, Tenant: tenant}
}

// Issuer is who issues credentials.
func Issuer() Sender { return Sender{Role: subject.StateIssuer} }

// Operator is an operator's command.
func Operator() Sender { return Sender{Role: subject.StateOperator} }
