package broker_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

func scrape(t *testing.T, s *metrics.Set) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// Two brokers together count each ask and each outcome once, including those
// that the server's timer ended.
func TestTwoBrokersCountEachOutcomeOnce(t *testing.T) {
	t.Parallel()
	one, two := metrics.New(), metrics.New()
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{Metrics: one}})
	b.Broker(broker.Options{Metrics: two})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	for _, id := range []string{"a", "b", "c", "late"} {
		a := storage()
		a.ID = id
		if id == "late" {
			a.Timeout = time.Second
		}
		asked, err := c.Ask(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if id == "late" {
			continue
		}
		k := ask.Key{Tenant: "acme", Session: "s1", ID: asked.ID}
		rec, err := r.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first one counts
			if err := r.Receipt(t.Context(), k, ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Answer(t.Context(), k, pick("pg")); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Answer(t.Context(), k, pick("lite")); err == nil {
			t.Fatal("a second answer won")
		}
	}
	sum := func(line string) (n int) {
		for _, s := range []*metrics.Set{one, two} {
			for got := range strings.Lines(scrape(t, s)) {
				if value, ok := strings.CutPrefix(strings.TrimSpace(got), line+" "); ok {
					n += int(value[0] - '0')
				}
			}
		}
		return n
	}
	for _, c := range []struct {
		line string
		want int
	}{
		{`askbus_asks_total{tenant="acme"}`, 4},
		{`askbus_outcomes_total{source="human",status="answered",surface="web",tenant="acme"}`, 3},
		{`askbus_outcomes_total{source="",status="expired",surface="",tenant="acme"}`, 1},
		{`askbus_outcome_seconds_count{status="answered",tenant="acme"}`, 3},
		{`askbus_first_presentation_seconds_count{surface="web",tenant="acme"}`, 3},
		{`askbus_refusals_total{code="already_resolved",tenant="acme"}`, 3},
		{`askbus_requests_total{verb="answer"}`, 6},
	} {
		natstest.Eventually(t, c.line, func() bool { return sum(c.line) == c.want })
	}
}

func TestAsksFromBeforeABrokersStartAreCounted(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newClient(t, b, "s1")
	for range 3 {
		if _, err := c.Ask(t.Context(), storage()); err != nil {
			t.Fatal(err)
		}
	}
	s := metrics.New()
	b.Broker(broker.Options{Metrics: s})
	natstest.Eventually(t, "three wait", func() bool {
		return strings.Contains(scrape(t, s), `askbus_pending_asks{tenant="acme"} 3`) && strings.Contains(scrape(t, s), `askbus_oldest_pending_seconds{tenant="acme"}`)
	})
}
