package alerttest_test

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"go.yaml.in/yaml/v3"
)

// course is a metric over an hour: its value at the beginning, and what it grows by in a minute.
type course struct {
	metric      string
	begin, grow float64
}

// sample is one value. Prometheus has none that is exported.
type sample struct {
	at int64
	v  float64
}

func (sample) ST() int64                     { return 0 }
func (s sample) T() int64                    { return s.at }
func (s sample) F() float64                  { return s.v }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

// list is a set of series.
type list struct {
	all []storage.Series
	at  int
}

func (l *list) Next() bool                      { l.at++; return l.at <= len(l.all) }
func (l *list) At() storage.Series              { return l.all[l.at-1] }
func (*list) Err() error                        { return nil }
func (*list) Warnings() annotations.Annotations { return nil }

// store holds series, a value each 15 s before now.
type store struct {
	all []storage.Series
}

func newStore(t *testing.T, now time.Time, all []course) *store {
	t.Helper()
	s := &store{}
	for _, one := range all {
		l, err := parser.ParseMetric(one.metric)
		if err != nil {
			t.Fatalf("%s: %v", one.metric, err)
		}
		var values []chunks.Sample
		for ago := time.Hour; ago >= 0; ago -= 15 * time.Second {
			values = append(values, sample{now.Add(-ago).UnixMilli(), one.begin + one.grow*(time.Hour-ago).Minutes()})
		}
		s.all = append(s.all, storage.NewListSeries(l, values))
	}
	return s
}

func (s *store) Querier(_, _ int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		l := &list{}
		for _, one := range s.all {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Labels().Get(m.Name)) }) {
				l.all = append(l.all, one)
			}
		}
		return l
	}}, nil
}

// Each alert fires when what it is for happens, and is quiet beside it.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	unix := float64(now.Unix())
	const day = 86400
	cases := map[string]struct{ fires, quiet []course }{
		"AskbusNoBroker":         {[]course{{"askbus_broker_ready", 0, 0}}, []course{{`askbus_broker_ready{instance="a"}`, 0, 0}, {`askbus_broker_ready{instance="b"}`, 1, 0}}},
		"AskbusLedgerNearlyFull": {[]course{{"askbus_ledger_bytes", 70, 0}, {"askbus_ledger_reserve_bytes", 5, 0}, {"askbus_ledger_budget_bytes", 100, 0}}, []course{{"askbus_ledger_bytes", 70, 0}, {"askbus_ledger_reserve_bytes", 5, 0}, {"askbus_ledger_budget_bytes", 0, 0}}},
		"AskbusLedgerFull":       {[]course{{`askbus_refusals_total{code="ledger_full"}`, 0, 1}}, []course{{`askbus_refusals_total{code="ledger_full"}`, 9, 0}, {`askbus_refusals_total{code="quota"}`, 0, 9}}},
		"AskbusUnavailable":      {[]course{{`askbus_refusals_total{code="unavailable"}`, 0, 60}}, []course{{`askbus_refusals_total{code="unavailable"}`, 0, 1}}},
		"AskbusServerClock":      {[]course{{`askbus_server_clock_skew_seconds{server="n1"}`, -3, 0}}, []course{{`askbus_server_clock_skew_seconds{server="n1"}`, .5, 0}}},
		"AskbusNobodyAnswers":    {[]course{{`askbus_oldest_pending_seconds{tenant="acme"}`, 20_000, 60}}, []course{{`askbus_oldest_pending_seconds{tenant="acme"}`, 60, 0}}},
		"AskbusSlowPresentation": {
			[]course{{`askbus_first_presentation_seconds_bucket{surface="slack",le="60"}`, 0, 0}, {`askbus_first_presentation_seconds_bucket{surface="slack",le="300"}`, 0, 9}, {`askbus_first_presentation_seconds_bucket{surface="slack",le="+Inf"}`, 0, 9}},
			[]course{{`askbus_first_presentation_seconds_bucket{surface="slack",le="60"}`, 0, 9}, {`askbus_first_presentation_seconds_bucket{surface="slack",le="+Inf"}`, 0, 9}},
		},
		"AskbusSurfaceDead":          {[]course{{`askbus_surface_oldest_seconds{surface="slack",tenant="acme"}`, 0, 60}, {`askbus_surface_oldest_seconds{surface="slack",tenant="other"}`, 0, 0}}, []course{{`askbus_surface_oldest_seconds{surface="slack",tenant="other"}`, 30, 0}}},
		"AskbusRedeliveries":         {[]course{{`askbus_redeliveries_total{surface="slack"}`, 0, 6}}, []course{{`askbus_redeliveries_total{surface="slack"}`, 0, .1}}},
		"AskbusForeignReplySubjects": {[]course{{"askbus_dropped_requests_total", 0, 1}}, []course{{"askbus_dropped_requests_total", 5, 0}}},
		"AskbusCertificateExpires":   {[]course{{"askbus_tls_certificate_expires_timestamp_seconds", unix + 6*day, 0}}, []course{{"askbus_tls_certificate_expires_timestamp_seconds", unix + 8*day, 0}}},
		"AskbusBrokersDiffer":        {[]course{{`askbus_broker_wrong_settings{instance="a"}`, 1, 0}, {`askbus_broker_wrong_settings{instance="b"}`, 0, 0}}, []course{{`askbus_broker_wrong_settings{instance="a"}`, 0, 0}}},
		"AskbusVersionsDiffer":       {[]course{{`askbus_build_info{role="broker",version="1"}`, 1, 0}, {`askbus_build_info{role="broker",version="2"}`, 1, 0}}, []course{{`askbus_build_info{role="broker",version="1"}`, 1, 0}, {`askbus_build_info{role="web",version="2"}`, 1, 0}}},
		"AskbusSlackSocketsGone":     {[]course{{`askbus_slack_connections_live{tenant="acme"}`, 0, 0}, {`askbus_slack_connections_live{tenant="other"}`, 2, 0}}, []course{{`askbus_slack_connections_live{instance="a",tenant="acme"}`, 0, 0}, {`askbus_slack_connections_live{instance="b",tenant="acme"}`, 2, 0}}},
		"AskbusServerUnhealthy":      {[]course{{`askbus_server_healthy{instance="a"}`, 1, 0}, {`askbus_server_healthy{instance="b"}`, 0, 0}}, []course{{`askbus_server_healthy{instance="a"}`, 1, 0}}},
		"AskbusNoLeader":             {[]course{{"askbus_server_raft_leaderless", 2, 0}}, []course{{"askbus_server_raft_leaderless", 0, 0}}},
		"AskbusCopiesBehind":         {[]course{{"askbus_server_raft_copies_behind", 1, 0}}, []course{{"askbus_server_raft_copies_behind", 0, 0}}},
		"AskbusDiskTooSmall": {
			[]course{{`askbus_server_disk_free_bytes{instance="a"}`, 40, 0}, {`askbus_server_store_budget_bytes{instance="a"}`, 100, 0}, {`askbus_server_store_bytes{instance="a"}`, 50, 0}},
			[]course{{`askbus_server_disk_free_bytes{instance="a"}`, 60, 0}, {`askbus_server_store_budget_bytes{instance="a"}`, 100, 0}, {`askbus_server_store_bytes{instance="a"}`, 50, 0}},
		},
		"AskbusSlowConsumers":         {[]course{{"askbus_server_slow_consumers_total", 0, 1}}, []course{{"askbus_server_slow_consumers_total", 7, 0}}},
		"AskbusConnectionsNearlyFull": {[]course{{"askbus_server_connections", 81, 0}, {"askbus_server_max_connections", 100, 0}}, []course{{"askbus_server_connections", 79, 0}, {"askbus_server_max_connections", 100, 0}}},
		"AskbusConnectionsRefused":    {[]course{{"askbus_server_connections_refused_total", 0, 1}}, []course{{"askbus_server_connections_refused_total", 7, 0}}},
		"AskbusHTTPFails": {
			[]course{{`askbus_http_requests_total{part="gateway",code="200"}`, 0, 90}, {`askbus_http_requests_total{part="gateway",code="503"}`, 0, 10}},
			[]course{{`askbus_http_requests_total{part="gateway",code="200"}`, 0, 90}, {`askbus_http_requests_total{part="gateway",code="429"}`, 0, 90}},
		},
		"AskbusInboxSlow": {
			[]course{{`askbus_http_response_seconds_bucket{part="inbox",le="2.5"}`, 0, 5}, {`askbus_http_response_seconds_bucket{part="inbox",le="5"}`, 0, 9}, {`askbus_http_response_seconds_bucket{part="inbox",le="+Inf"}`, 0, 9}},
			[]course{{`askbus_http_response_seconds_bucket{part="gateway",le="2.5"}`, 0, 0}, {`askbus_http_response_seconds_bucket{part="gateway",le="60"}`, 0, 9}, {`askbus_http_response_seconds_bucket{part="gateway",le="+Inf"}`, 0, 9}, {`askbus_http_response_seconds_bucket{part="inbox",le="0.1"}`, 0, 9}, {`askbus_http_response_seconds_bucket{part="inbox",le="+Inf"}`, 0, 9}},
		},
		"AskbusHeldRequestsNearlyFull": {
			[]course{{`askbus_http_open_requests{part="gateway"}`, 900, 0}, {`askbus_http_max_requests{part="gateway"}`, 1000, 0}},
			[]course{{`askbus_http_open_requests{part="gateway"}`, 9_000, 0}, {`askbus_http_max_requests{part="gateway"}`, 20_000, 0}, {`askbus_http_open_requests{part="inbox"}`, 900, 0}, {`askbus_http_max_requests{part="inbox"}`, 1000, 0}},
		},
		"AskbusExchangesRefused":  {[]course{{`askbus_exchange_refusals_total{code="forbidden"}`, 0, 12}}, []course{{`askbus_exchange_refusals_total{code="forbidden"}`, 0, 1}}},
		"AskbusCredentialExpires": {[]course{{`askbus_credential_expires_timestamp_seconds{credential="broker"}`, unix + 2*day, 0}}, []course{{`askbus_credential_expires_timestamp_seconds{credential="broker"}`, unix + 4*day, 0}, {`askbus_credential_expires_timestamp_seconds{credential="web"}`, 0, 0}}},
		"AskbusBreakGlass":        {[]course{{"askbus_break_glass_total", 0, 1}}, []course{{"askbus_break_glass_total", 3, 0}}},
		"AskbusAuditLosesRecords": {[]course{{"askbus_audit_lost_total", 0, 1}}, []course{{"askbus_audit_lost_total", 3, 0}, {`askbus_audit_reports_lost_total{part="gateway"}`, 2, 0}}},
		"AskbusAuditNotCopied":    {[]course{{"askbus_audit_lag_messages", 4, 0}}, []course{{"askbus_audit_lag_messages", 0, 0}}},
		"AskbusAuditLogBehind":    {[]course{{"askbus_audit_log_current_timestamp_seconds", unix - 1000, 0}}, []course{{"askbus_audit_log_current_timestamp_seconds", unix - 100, 0}, {`askbus_audit_log_current_timestamp_seconds{instance="old"}`, unix - 9000, 0}}},
	}
	data, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	fires := func(expr string, all []course) bool {
		q, err := engine.NewInstantQuery(t.Context(), newStore(t, now, all), nil, expr, now)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		defer q.Close()
		r := q.Exec(t.Context())
		v, err := r.Vector()
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		return len(v) > 0
	}
	for _, rule := range file.Groups[0].Rules {
		c, ok := cases[rule.Alert]
		if !ok {
			t.Errorf("%s: say with which series it fires, and with which not", rule.Alert)
		}
		delete(cases, rule.Alert)
		if !fires(rule.Expr, c.fires) {
			t.Errorf("%s does not fire", rule.Alert)
		}
		if fires(rule.Expr, c.quiet) {
			t.Errorf("%s fires although nothing is wrong", rule.Alert)
		}
	}
	for _, left := range slices.Sorted(maps.Keys(cases)) {
		t.Errorf("there is no alert %s", left)
	}
}
