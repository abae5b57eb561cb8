package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Broker counts the work of a broker. A nil one counts nothing. It is safe for
// concurrent use.
type Broker struct {
	tenants, surfaces names

	requests, asks, outcomes, refusals, redeliveries *prometheus.CounterVec
	races, dropped, auditLost, alone                 prometheus.Counter
	presented, answered                              *prometheus.HistogramVec
	pending, oldest, held                            *prometheus.GaugeVec
	backlog, unpresented                             *prometheus.GaugeVec
	read                                             func() Reading
}

// Reading holds the figures of one scrape.
type Reading struct {
	Ready                 bool
	Used, Budget, Reserve int64          // bytes
	AuditUsed, AuditMost  int64          // bytes
	AuditLag              int64          // messages of the ledger that the audit does not have yet
	Held                  map[string]int // requests that wait for an outcome, by tenant

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
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		s.reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append(labels, "tenant"))
		s.reg.MustRegister(g)
		return g
	}
	times := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		s.reg.MustRegister(h)
		return h
	}
	b := &Broker{
		requests:     counter("askbus_requests_total", "Requests to this broker.", "verb"),
		asks:         counter("askbus_asks_total", "Asks that this broker stored.", "tenant"),
		outcomes:     counter("askbus_outcomes_total", "Asks that ended; each is counted by one broker.", "tenant", "status", "source", "surface"),
		refusals:     counter("askbus_refusals_total", "Requests that were refused, by the problem's code.", "tenant", "code"),
		redeliveries: counter("askbus_redeliveries_total", "Pieces of work handed to a posting surface again.", "surface", "kind"),
		races:        counter("askbus_lost_races_total", "Writes that lost their compare-and-set and were decided again.").WithLabelValues(),
		alone:        counter("askbus_break_glass_total", "Asks that one person decided alone by break-glass; each is counted by one broker.").WithLabelValues(),
		dropped:      counter("askbus_dropped_requests_total", "Requests with a reply subject that is not the sender's.").WithLabelValues(),
		auditLost:    counter("askbus_audit_lost_total", "Records that this broker could not write to the audit.").WithLabelValues(),
		presented: times("askbus_first_presentation_seconds", "From the question to the first receipt of a surface.",
			[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}, "tenant", "surface"),
		answered: times("askbus_outcome_seconds", "From the question to its outcome.",
			[]float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}, "tenant", "status"),
		pending:     gauge("askbus_pending_asks", "Pending asks in the whole ledger; every broker reports the same."),
		oldest:      gauge("askbus_oldest_pending_seconds", "Age of the oldest pending ask; every broker reports the same."),
		held:        gauge("askbus_held_requests", "Requests that this broker holds until an outcome comes."),
		backlog:     gauge("askbus_surface_backlog", "Work that waits for a posting surface; every broker reports the same.", "surface", "kind"),
		unpresented: gauge("askbus_surface_oldest_seconds", "Age of the oldest ask that a posting surface has not presented; every broker reports the same.", "surface"),
		read:        read,
	}
	for name, of := range map[string]struct {
		help string
		read func(Reading) float64
	}{
		"askbus_broker_ready":         {"1 while this broker serves.", func(r Reading) float64 { return bool1(r.Ready) }},
		"askbus_ledger_bytes":         {"Bytes that the ledger uses.", func(r Reading) float64 { return float64(r.Used) }},
		"askbus_ledger_budget_bytes":  {"Bytes that the ledger may use; 0: no limit is known.", func(r Reading) float64 { return float64(r.Budget) }},
		"askbus_ledger_reserve_bytes": {"Of these, what is kept so that every pending ask can end.", func(r Reading) float64 { return float64(r.Reserve) }},
		"askbus_audit_bytes":          {"Bytes that the audit uses.", func(r Reading) float64 { return float64(r.AuditUsed) }},
		"askbus_audit_budget_bytes":   {"Bytes that the audit may use; 0: there is none.", func(r Reading) float64 { return float64(r.AuditMost) }},
		"askbus_audit_lag_messages":   {"Questions and outcomes that the audit does not have yet.", func(r Reading) float64 { return float64(r.AuditLag) }},
	} {
		s.gauge(name, of.help, nil, func() float64 { return of.read(read()) })
	}
	skew := prometheus.NewDesc("askbus_server_clock_skew_seconds", "How far a server's clock is ahead of the majority's.", []string{"server"}, nil)
	failing := prometheus.NewDesc("askbus_schedule_failing", "1 while a schedule or calendar of the approvals file cannot be read; what it said last stays in effect.", []string{"name"}, nil)
	at := prometheus.NewDesc("askbus_schedule_read_timestamp_seconds", "When a schedule or calendar was last read; 0: never since the broker started.", []string{"name"}, nil)
	s.reg.MustRegister(changing(func(to chan<- prometheus.Metric) { // of the servers that are known now, and the schedules that are configured now
		r := read()
		for server, ahead := range r.Skews {
			to <- prometheus.MustNewConstMetric(skew, prometheus.GaugeValue, ahead.Seconds(), server)
		}
		for _, one := range r.Schedules {
			to <- prometheus.MustNewConstMetric(failing, prometheus.GaugeValue, bool1(one.Failing), one.Name)
			to <- prometheus.MustNewConstMetric(at, prometheus.GaugeValue, unix(one.Read), one.Name)
		}
	}))
	s.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "askbus_server_clock_set_total", Help: "Times that a server's clock was set by more than a second."},
		func() float64 { return float64(read().ClocksSet) }))
	return b
}

// changing collects figures whose labels come and go. It describes none beforehand, so it may collect any.
type changing func(to chan<- prometheus.Metric)

// Describe implements [prometheus.Collector].
func (changing) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c changing) Collect(to chan<- prometheus.Metric) { c(to) }

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
		b.requests.WithLabelValues(verb).Inc()
	}
}

// Asked counts an ask that was stored.
func (b *Broker) Asked(tenant string) {
	if b != nil {
		b.asks.WithLabelValues(b.tenants.of(tenant)).Inc()
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
	b.outcomes.WithLabelValues(tenant, e.Status, e.Source, surface).Inc()
	if e.Alone {
		b.alone.Inc()
	}
	observe(b.answered.WithLabelValues(tenant, e.Status), e.Took, e.Trace)
}

// Presented counts the first receipt of an ask.
func (b *Broker) Presented(tenant, surface string, took time.Duration, trace string) {
	if b != nil {
		observe(b.presented.WithLabelValues(b.tenants.of(tenant), b.surfaces.of(surface)), took, trace)
	}
}

func observe(o prometheus.Observer, took time.Duration, trace string) {
	seconds := max(0, took.Seconds())
	if e, ok := o.(prometheus.ExemplarObserver); ok {
		if of := exemplar(trace); of != nil {
			e.ObserveWithExemplar(seconds, of)
			return
		}
	}
	o.Observe(seconds)
}

// Refused counts a refusal.
func (b *Broker) Refused(tenant, code string) {
	if b == nil {
		return
	}
	if tenant != "" {
		tenant = b.tenants.of(tenant)
	}
	b.refusals.WithLabelValues(tenant, code).Inc()
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
		b.auditLost.Add(float64(n))
	}
}

// Redelivered counts work that was handed out again.
func (b *Broker) Redelivered(surface, kind string) {
	if b != nil {
		b.redeliveries.WithLabelValues(b.surfaces.of(surface), kind).Inc()
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
	slices.SortFunc(all, func(x, y Backlog) int {
		return cmp.Or(cmp.Compare(x.Surface, y.Surface), cmp.Compare(x.Tenant, y.Tenant))
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
		b.backlog.WithLabelValues(w.Surface, "question", w.Tenant).Set(float64(w.Questions))
		b.backlog.WithLabelValues(w.Surface, "outcome", w.Tenant).Set(float64(w.Outcomes))
		b.unpresented.WithLabelValues(w.Surface, w.Tenant).Set(w.Oldest.Seconds())
		if w.Surface != allOthers { // so that the first redelivery is an increase
			b.redeliveries.WithLabelValues(b.surfaces.of(w.Surface), "question")
			b.redeliveries.WithLabelValues(b.surfaces.of(w.Surface), "outcome")
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
		b.pending.WithLabelValues(w.Tenant).Set(float64(w.N))
		b.oldest.WithLabelValues(w.Tenant).Set(w.Oldest.Seconds())
	}
	if rest = max(0, rest); rest > 0 || len(of) >= Most {
		b.pending.WithLabelValues(allOthers).Set(float64(rest))
		if b.tenants.of(all.Tenant) == allOthers {
			b.oldest.WithLabelValues(allOthers).Set(all.Oldest.Seconds())
		}
	}
	held := map[string]int{}
	for tenant, n := range b.read().Held {
		held[b.tenants.of(tenant)] += n
	}
	for _, tenant := range append(b.tenants.all(), allOthers) {
		if n := held[tenant]; n > 0 || tenant != allOthers {
			b.held.WithLabelValues(tenant).Set(float64(n))
		}
	}
}
