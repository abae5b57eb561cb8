package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/metrics"
)

// everything returns a set in which each metric has counted once.
func everything() (*metrics.Set, *metrics.Broker) {
	s := metrics.New()
	s.Build("broker", "v1")
	s.AuditReports("gateway", func() int64 { return 0 })
	s.Certificate(func() time.Time { return time.Unix(1_800_000_000, 0) })
	s.Credential("responder/slack", func() time.Time { return time.Unix(1_800_000_000, 0) })
	s.Credential("responder/slack", time.Now) // another connection
	s.Exchanges()("forbidden")
	s.Server(func() metrics.Server {
		return metrics.Server{Healthy: true, Connections: 3, SlowConsumers: 2, DiskFree: 7, Behind: 1}
	})
	s.HTTP("gateway", 20, http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	s.HTTP("inbox", 30, http.NotFoundHandler())
	s.AuditLog(func() int64 { return 7 }, func() int64 { return 1_800_000_000 })
	b := s.Broker(func() metrics.Reading {
		return metrics.Reading{Ready: true, Used: 5, Budget: 10, Reserve: 2, Held: map[string]int{"acme": 3}, Skews: map[string]time.Duration{"n3": 2 * time.Second}, ClocksSet: 1, Schedules: []metrics.Schedule{{Name: "schedule sre", Failing: true, Read: time.Unix(1795000000, 0)}, {Name: "schedule dba"}}}
	})
	b.Request("ask")
	b.Asked("acme")
	b.Presented("acme", "web", time.Second, "")
	b.Ended(metrics.End{Tenant: "acme", Status: "answered", Source: "human", Surface: "web", Took: time.Minute, Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	b.Refused("acme", "quota")
	b.LostRace()
	b.Dropped()
	b.Redelivered("slack", "question")
	b.Backlogs([]metrics.Backlog{{Surface: "slack", Tenant: "acme", Questions: 3, Outcomes: 1, Oldest: time.Hour}, {Surface: "slack", Tenant: "other"}})
	b.Pending(metrics.Waiting{Tenant: "acme", N: 2, Oldest: time.Minute}, []metrics.Waiting{{Tenant: "acme", N: 2, Oldest: time.Minute}})
	return s, b
}

func scrape(t *testing.T, s *metrics.Set, accept string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// row is a metric of the table, or of a scrape.
type row struct{ name, kind string }

func TestTheTableListsEveryMetric(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, there []row
	for _, m := range regexp.MustCompile("(?m)^\\| `(askbus_[a-z_]+)` \\| (\\w+) \\|").FindAllStringSubmatch(string(doc), -1) {
		if !strings.HasPrefix(m[1], "askbus_slack_") { // internal/answering/chat/slack compares those
			listed = append(listed, row{m[1], m[2]})
		}
	}
	s, _ := everything()
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (askbus_\w+) (\w+)$`).FindAllStringSubmatch(scrape(t, s, "text/plain"), -1) {
		there = append(there, row{m[1], m[2]})
	}
	order := func(a, b row) int { return strings.Compare(a.name, b.name) }
	slices.SortFunc(listed, order)
	slices.SortFunc(there, order)
	if !slices.Equal(listed, there) {
		t.Errorf("docs/metrics.md lists\n%v\nand there are\n%v", listed, there)
	}
}

func TestPendingAsksAreReported(t *testing.T) {
	t.Parallel()
	s, b := everything()
	got := scrape(t, s, "text/plain")
	for _, want := range []string{
		`askbus_pending_asks{tenant="acme"} 2`, `askbus_oldest_pending_seconds{tenant="acme"} 60`, `askbus_held_requests{tenant="acme"} 3`,
		"askbus_ledger_bytes 5", "askbus_ledger_budget_bytes 10", "askbus_ledger_reserve_bytes 2", "askbus_broker_ready 1", `askbus_server_clock_skew_seconds{server="n3"} 2`, "askbus_server_clock_set_total 1",
		`askbus_outcomes_total{source="human",status="answered",surface="web",tenant="acme"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	b.Pending(metrics.Waiting{}, []metrics.Waiting{{Tenant: "acme"}})
	if got := scrape(t, s, "text/plain"); !strings.Contains(got, `askbus_pending_asks{tenant="acme"} 0`) || !strings.Contains(got, `askbus_oldest_pending_seconds{tenant="acme"} 0`) {
		t.Errorf("nothing waits any more:\n%s", got)
	}
}

// Two workspaces of a type are told apart, and one that is gone is not reported any more.
func TestADeadSurfaceIsReported(t *testing.T) {
	t.Parallel()
	s, b := everything()
	got := scrape(t, s, "text/plain")
	for _, want := range []string{
		`askbus_surface_backlog{kind="question",surface="slack",tenant="acme"} 3`, `askbus_surface_backlog{kind="outcome",surface="slack",tenant="acme"} 1`,
		`askbus_surface_oldest_seconds{surface="slack",tenant="acme"} 3600`, `askbus_surface_oldest_seconds{surface="slack",tenant="other"} 0`,
		`askbus_redeliveries_total{kind="question",surface="slack"} 1`, `askbus_redeliveries_total{kind="outcome",surface="slack"} 0`, // the first one is an increase
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	many := []metrics.Backlog{}
	for i := range 300 {
		many = append(many, metrics.Backlog{Surface: fmt.Sprintf("t%03d", i), Questions: 1, Oldest: time.Duration(i) * time.Second})
	}
	b.Backlogs(many)
	got = scrape(t, s, "text/plain")
	if n := strings.Count(got, "\naskbus_surface_oldest_seconds{"); n != metrics.Most+1 || strings.Contains(got, `surface="slack",tenant="acme"`+"} 3600") {
		t.Errorf("%d surfaces", n)
	}
	for _, want := range []string{`askbus_surface_backlog{kind="question",surface="all others",tenant=""} 250`, `askbus_surface_oldest_seconds{surface="all others",tenant=""} 299`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// A scrape says what the server of the process, its HTTP listeners and its credentials are doing.
func TestAProcessIsReported(t *testing.T) {
	t.Parallel()
	s, _ := everything()
	got := scrape(t, s, "text/plain")
	for _, want := range []string{
		"askbus_server_healthy 1", "askbus_server_connections 3", "askbus_server_slow_consumers_total 2", "askbus_server_disk_free_bytes 7", "askbus_server_raft_copies_behind 1",
		`askbus_http_requests_total{code="404",part="gateway"} 1`, `askbus_http_open_requests{part="inbox"} 0`, `askbus_http_max_requests{part="gateway"} 20`, `askbus_http_response_seconds_count{part="gateway"} 1`,
		`askbus_credential_expires_timestamp_seconds{credential="responder/slack"} 1.8e+09`, `askbus_exchange_refusals_total{code="forbidden"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	s, b := everything()
	for i := range 2000 {
		name := fmt.Sprint("t", i)
		b.Asked(name)
		b.Refused(name, "quota")
		b.Presented(name, name, time.Second, "")
		b.Redelivered(name, "outcome")
	}
	b.Pending(metrics.Waiting{Tenant: "t1999", N: 90, Oldest: time.Hour}, []metrics.Waiting{{Tenant: "acme", N: 2}})
	got := scrape(t, s, "text/plain")
	if n := strings.Count(got, "\naskbus_asks_total{"); n != metrics.Most+1 {
		t.Errorf("%d tenants, want %d and the others", n, metrics.Most)
	}
	if n := strings.Count(got, "\n"); n > 5000 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{`askbus_pending_asks{tenant="all others"} 88`, `askbus_oldest_pending_seconds{tenant="all others"} 3600`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if len(b.Tenants()) != metrics.Most {
		t.Errorf("%d tenants", len(b.Tenants()))
	}
}

func TestASampledTraceIsAnExemplar(t *testing.T) {
	t.Parallel()
	s, _ := everything()
	got := scrape(t, s, "application/openmetrics-text")
	if !strings.Contains(got, `trace_id="4bf92f3577b34da6a3ce929d0e0e4736"`) || strings.Count(got, "trace_id=") != 1 {
		t.Errorf("exemplars:\n%s", got)
	}
}

func TestANilBrokerCountsNothing(t *testing.T) {
	t.Parallel()
	var b *metrics.Broker
	b.Request("ask")
	b.Asked("acme")
	b.Presented("acme", "web", time.Second, "")
	b.Ended(metrics.End{})
	b.Refused("acme", "quota")
	b.LostRace()
	b.Dropped()
	b.Redelivered("slack", "question")
}
