package metrics

import (
	"cmp"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/process/metrics/exposition"
)

// Broker counts the work of a broker. A nil one counts nothing. It is safe for
// concurrent use.
type Broker struct {
	tenants, surfaces names

	requests, asks, outcomes, refusals, redeliveries *exposition.Vec[*exposition.Counter]
	races, dropped, auditLost, alone                 *exposition.Counter
	presented, answered                              *exposition.Vec[*exposition.Histogram]
	pending, oldest, held, backlog, unpresented      *exposition.Vec[*exposition.Gauge]
	read                                             func() Reading
}

// Reading holds the figures of one scrape.
type Reading struct {
	Ready                 bool
	Used, Budget, Reserve int64          // bytes
	AuditUsed, AuditMost  int64          // bytes
	AuditLag              int64          // messages of the ledger that the audit does not have yet
	Held                  map[string]int // requests that wait for an outcome, by tenant
	Wrong                 int            // settings that differ from another broker's, and files of settings that cannot be read

	Skews     map[string]time.Duration // how far each server's clock is ahead of the majority's
	ClocksSet int64                    // how often a server's clock was set

	Schedules []Schedule // that are read elsewhere
}

// Schedule says whether a schedule, or a calendar, can be read.
type Schedule struct {
	Name    string
	Failing bool
	Read    time.Time // the last time; zero: never
}

// Broker adds the metrics of a broker; read is called for each scrape.
func (s *Set) Broker(read func() Reading) *Broker {
	b := &Broker{
		requests:     s.reg.Counters("askbus_requests_total", "Requests to this broker.", "verb"),
		asks:         s.reg.Counters("askbus_asks_total", "Asks that this broker stored.", "tenant"),
		outcomes:     s.reg.Counters("askbus_outcomes_total", "Asks that ended; each is counted by one broker.", "tenant", "status", "source", "surface"),
		refusals:     s.reg.Counters("askbus_refusals_total", "Requests that were refused, by the problem's code.", "tenant", "code"),
		redeliveries: s.reg.Counters("askbus_redeliveries_total", "Pieces of work handed to a posting surface again.", "surface", "kind"),
		races:        s.reg.Counters("askbus_lost_races_total", "Writes that lost their compare-and-set and were decided again.").With(),
		alone:        s.reg.Counters("askbus_break_glass_total", "Asks that one person decided alone by break-glass; each is counted by one broker.").With(),
		dropped:      s.reg.Counters("askbus_dropped_requests_total", "Requests with a reply subject that is not the sender's.").With(),
		auditLost:    s.reg.Counters("askbus_audit_lost_total", "Records that this broker could not write to the audit.").With(),
		presented: s.reg.Histograms("askbus_first_presentation_seconds", "From the question to the first receipt of a surface.",
			[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}, "tenant", "surface"),
		answered: s.reg.Histograms("askbus_outcome_seconds", "From the question to its outcome.",
			[]float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}, "tenant", "status"),
		pending:     s.reg.Gauges("askbus_pending_asks", "Pending asks in the whole ledger; every broker reports the same.", "tenant"),
		oldest:      s.reg.Gauges("askbus_oldest_pending_seconds", "Age of the oldest pending ask; every broker reports the same.", "tenant"),
		held:        s.reg.Gauges("askbus_held_requests", "Requests that this broker holds until an outcome comes.", "tenant"),
		backlog:     s.reg.Gauges("askbus_surface_backlog", "Work that waits for a posting surface; every broker reports the same.", "surface", "kind", "tenant"),
		unpresented: s.reg.Gauges("askbus_surface_oldest_seconds", "Age of the oldest ask that a posting surface has not presented; every broker reports the same.", "surface", "tenant"),
		read:        read,
	}
	skew := exposition.Desc{Name: "askbus_server_clock_skew_seconds", Help: "How far a server's clock is ahead of the majority's.", Labels: []string{"server"}}
	failing := exposition.Desc{Name: "askbus_schedule_failing", Help: "1 while a schedule or calendar of the approvals file cannot be read; what it said last stays in effect.", Labels: []string{"name"}}
	at := exposition.Desc{Name: "askbus_schedule_read_timestamp_seconds", Help: "When a schedule or calendar was last read; 0: never since the broker started.", Labels: []string{"name"}}
	s.reg.Collect(func(to *exposition.Scrape) {
		r := read()
		report(to,
			figure{"askbus_broker_ready", "1 while this broker serves.", bool1(r.Ready)},
			figure{"askbus_ledger_bytes", "Bytes that the ledger uses.", float64(r.Used)},
			figure{"askbus_ledger_budget_bytes", "Bytes that the ledger may use; 0: no limit is known.", float64(r.Budget)},
			figure{"askbus_ledger_reserve_bytes", "Of these, what is kept so that every pending ask can end.", float64(r.Reserve)},
			figure{"askbus_audit_bytes", "Bytes that the audit uses.", float64(r.AuditUsed)},
			figure{"askbus_audit_budget_bytes", "Bytes that the audit may use; 0: there is none.", float64(r.AuditMost)},
			figure{"askbus_audit_lag_messages", "Questions and outcomes that the audit does not have yet.", float64(r.AuditLag)},
			figure{"askbus_broker_wrong_settings", "Settings that differ from those of another broker, and files of settings that cannot be read as they are.", float64(r.Wrong)},
			figure{"askbus_server_clock_set_total", "Times that a server's clock was set by more than a second.", float64(r.ClocksSet)},
		)
		for server, ahead := range r.Skews { // those that are known now
			to.Number(&skew, ahead.Seconds(), server)
		}
		for _, one := range r.Schedules { // those that are configured now
			to.Number(&failing, bool1(one.Failing), one.Name)
			to.Number(&at, unix(one.Read), one.Name)
		}
	})
	return b
}

func bool1(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix returns a moment in Unix time; 0: it is not known.
func unix(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.Unix())
}

// Request counts a request.
func (b *Broker) Request(verb string) {
	if b != nil {
		b.requests.With(verb).Inc()
	}
}

// Asked counts an ask that was stored.
func (b *Broker) Asked(tenant string) {
	if b != nil {
		b.asks.With(b.tenants.of(tenant)).Inc()
	}
}

// End describes the end of an ask.
type End struct {
	Tenant, Status, Source string
	Surface                string // of the answer; empty: none
	Took                   time.Duration
	Trace                  string // the ask's traceparent
	Alone                  bool   // by break-glass
}

// Ended counts an outcome.
func (b *Broker) Ended(e End) {
	if b == nil {
		return
	}
	tenant, surface := b.tenants.of(e.Tenant), e.Surface
	if surface != "" {
		surface = b.surfaces.of(surface)
	}
	b.outcomes.With(tenant, e.Status, e.Source, surface).Inc()
	if e.Alone {
		b.alone.Inc()
	}
	observe(b.answered.With(tenant, e.Status), e.Took, e.Trace)
}

// Presented counts the first receipt of an ask.
func (b *Broker) Presented(tenant, surface string, took time.Duration, trace string) {
	if b != nil {
		observe(b.presented.With(b.tenants.of(tenant), b.surfaces.of(surface)), took, trace)
	}
}

func observe(h *exposition.Histogram, took time.Duration, traceparent string) {
	h.Observe(max(0, took.Seconds()), sampled(traceparent))
}

// Refused counts a refusal.
func (b *Broker) Refused(tenant, code string) {
	if b == nil {
		return
	}
	if tenant != "" {
		tenant = b.tenants.of(tenant)
	}
	b.refusals.With(tenant, code).Inc()
}

// LostRace counts a write that lost its compare-and-set.
func (b *Broker) LostRace() {
	if b != nil {
		b.races.Inc()
	}
}

// Dropped counts a request with a foreign reply subject.
func (b *Broker) Dropped() {
	if b != nil {
		b.dropped.Inc()
	}
}

// AuditLost counts records that the audit lacks.
func (b *Broker) AuditLost(n int64) {
	if b != nil {
		b.auditLost.Add(n)
	}
}

// Redelivered counts work that was handed out again.
func (b *Broker) Redelivered(surface, kind string) {
	if b != nil {
		b.redeliveries.With(b.surfaces.of(surface), kind).Inc()
	}
}

// Backlog is the work that waits for a posting surface.
type Backlog struct {
	Surface, Tenant     string // Tenant: of a surface that serves one; empty: all
	Questions, Outcomes int64
	Oldest              time.Duration // age of the oldest question; 0: none
}

// Backlogs sets the work that waits for each posting surface: of at most [Most], and of the others together.
func (b *Broker) Backlogs(all []Backlog) {
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(cmp.Compare(all[i].Surface, all[j].Surface), cmp.Compare(all[i].Tenant, all[j].Tenant)) < 0
	})
	if len(all) > Most {
		rest := Backlog{Surface: allOthers}
		for _, w := range all[Most:] {
			rest.Questions, rest.Outcomes, rest.Oldest = rest.Questions+w.Questions, rest.Outcomes+w.Outcomes, max(rest.Oldest, w.Oldest)
		}
		all = append(all[:Most:Most], rest)
	}
	b.backlog.Reset() // a type may be gone
	b.unpresented.Reset()
	for _, w := range all {
		b.backlog.With(w.Surface, "question", w.Tenant).Set(float64(w.Questions))
		b.backlog.With(w.Surface, "outcome", w.Tenant).Set(float64(w.Outcomes))
		b.unpresented.With(w.Surface, w.Tenant).Set(w.Oldest.Seconds())
		if w.Surface != allOthers { // so that the first redelivery is an increase
			b.redeliveries.With(b.surfaces.of(w.Surface), "question")
			b.redeliveries.With(b.surfaces.of(w.Surface), "outcome")
		}
	}
}

// Tenants returns the tenants that have their own label.
func (b *Broker) Tenants() []string { return b.tenants.all() }

// Waiting describes the pending asks of a tenant.
type Waiting struct {
	Tenant string
	N      int
	Oldest time.Duration // age; 0: none
}

// Meet gives a tenant its own label, if there is room.
func (b *Broker) Meet(tenant string) { b.tenants.of(tenant) }

// Pending sets the pending asks: of each tenant that has a label, and of all,
// whose tenant is that of the oldest ask.
func (b *Broker) Pending(all Waiting, of []Waiting) {
	rest := all.N
	for _, w := range of {
		rest -= w.N
		b.pending.With(w.Tenant).Set(float64(w.N))
		b.oldest.With(w.Tenant).Set(w.Oldest.Seconds())
	}
	if rest = max(0, rest); rest > 0 || len(of) >= Most {
		b.pending.With(allOthers).Set(float64(rest))
		if b.tenants.of(all.Tenant) == allOthers {
			b.oldest.With(allOthers).Set(all.Oldest.Seconds())
		}
	}
	held := map[string]int{}
	for tenant, n := range b.read().Held {
		held[b.tenants.of(tenant)] += n
	}
	for _, tenant := range append(b.tenants.all(), allOthers) {
		if n := held[tenant]; n > 0 || tenant != allOthers {
			b.held.With(tenant).Set(float64(n))
		}
	}
}
