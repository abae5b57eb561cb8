package exposition_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/askbus/askbus/internal/process/metrics/exposition"
	"github.com/askbus/askbus/internal/testkit/goldentest"
)

// tools/alerttest reads the golden files with the parsers of Prometheus.
func TestBothFormats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the time of the exemplar
		var r exposition.Registry
		r.Counters("bare_total", "Without labels.").With().Inc()
		c := r.Counters("askbus_asks_total", `Asks with a \ and "quotes",`+"\nin two lines.", "tenant", "code")
		c.With("acme", `back\slash`).Inc()
		c.With("a \"quoted\"\nline", "200").Add(2_000_000)
		c.With("caf\xc3\xa9, \xff", "") // the last byte is no UTF-8
		g := r.Gauges("askbus_open", "Open requests.")
		g.With().Add(3)
		g.With().Add(-1)
		r.Gauges("nobody", "No series, so it is left out.", "tenant")
		h := r.Histograms("askbus_took_seconds", "Time.", []float64{.05, 1, 14400}, "tenant")
		h.With("acme").Observe(1, "") // on a bound
		h.With("acme").Observe(.5, "4bf92f3577b34da6a3ce929d0e0e4736")
		h.With("acme").Observe(20_000, `"}`)
		h.With("idle")
		odd := exposition.Desc{Name: "odd", Help: "Odd numbers.", Labels: []string{"of"}}
		clash := exposition.Desc{Name: "odd_total", Help: "A counter whose family would have the name of a gauge."}
		r.Collect(func(s *exposition.Scrape) {
			s.Number(&odd, math.Inf(1), "infinite")
			s.Number(&odd, math.NaN(), "none")
			s.Number(&odd, 1.5, "fraction")
			s.Number(&odd, 2, "fraction") // a second of the same labels
			s.Number(&clash, 1e21)
			s.Summary(&exposition.Desc{Name: "pause_seconds", Help: "Pauses."}, []float64{.1, .2, .3, .4, .5}, 9, 30)
		})
		goldentest.Equal(t, "testdata/plain.txt", string(r.Scrape().Text(false)))
		goldentest.Equal(t, "testdata/openmetrics.txt", string(r.Scrape().Text(true)))
	})
}

func TestWhatAScraperPrefers(t *testing.T) {
	t.Parallel()
	const one, older = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores", "application/openmetrics-text; version=0.0.1; charset=utf-8; escaping=underscores"
	for accept, want := range map[string]string{
		"":                             exposition.Plain,
		"*/*":                          exposition.Plain,
		"text/html":                    exposition.Plain,
		"text/plain":                   exposition.Plain,
		"application/openmetrics-text": older,
		"application/openmetrics-text; version=1.0.0; charset=utf-8":                                                 one,
		"application/openmetrics-text;version=2.0.0":                                                                 exposition.Plain,
		"application/openmetrics-text;q=0":                                                                           exposition.Plain,
		"text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.9":                            exposition.Plain,
		"application/json;q=0.9, application/openmetrics-text;version=0.0.1;q=0.2, text/plain;q=0.1":                 older,
		"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.2,/;q=1": one,
	} {
		got, openMetrics := exposition.Negotiate(accept)
		if got != want || openMetrics != (want != exposition.Plain) {
			t.Errorf("%q: %s, %v", accept, got, openMetrics)
		}
	}
}

// What is counted while others read is whole: the sum and the counts of a histogram belong together.
func TestCountsWhileOthersRead(t *testing.T) {
	t.Parallel()
	var r exposition.Registry
	c, g, h := r.Counters("c_total", "", "of"), r.Gauges("g", "", "of"), r.Histograms("h", "", []float64{1, 2}, "of")
	const workers, each = 8, 2000
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				c.With("a").Inc()
				g.With("a").Add(2)
				h.With("a").Observe(2, "trace")
			}
		})
	}
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		all.Wait()
	}()
	for going := true; going; {
		select {
		case <-counted:
			going = false
		default:
		}
		var sum, count, most string
		for line := range strings.Lines(string(r.Scrape().Text(false))) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
			switch name {
			case `h_sum{of="a"`:
				sum = value
			case `h_count{of="a"`:
				count = value
			case `h_bucket{of="a",le="+Inf"`:
				most = value
			}
		}
		if count != most || sum != "" && number(t, sum) != 2*number(t, count) {
			t.Fatalf("count %s, of all buckets %s, sum %s", count, most, sum)
		}
	}
	got := r.Scrape().Text(false)
	for _, want := range []string{`c_total{of="a"} 16000`, `g{of="a"} 32000`, `h_count{of="a"} 16000`} {
		if !bytes.Contains(got, []byte(want+"\n")) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatIsRemovedIsNotReported(t *testing.T) {
	t.Parallel()
	var r exposition.Registry
	first := r.Collect(func(s *exposition.Scrape) { s.Number(&exposition.Desc{Name: "g"}, 1) })
	r.Collect(func(s *exposition.Scrape) { s.Number(&exposition.Desc{Name: "g"}, 2) })
	v := r.Gauges("v", "", "of")
	v.With("a").Set(1)
	said := func(want string) {
		t.Helper()
		if got := string(r.Scrape().Text(false)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	said("# HELP g \n# TYPE g gauge\ng 1\n# HELP v \n# TYPE v gauge\nv{of=\"a\"} 1\n")
	first()
	v.Reset()
	said("# HELP g \n# TYPE g gauge\ng 2\n")
}

func TestMistakesOfAProgram(t *testing.T) {
	t.Parallel()
	var r exposition.Registry
	for name, mistake := range map[string]func(){
		"a counter without _total": func() { r.Counters("asks", "") },
		"a label without a value":  func() { r.Gauges("g", "", "one", "two").With("1") },
		"a value without a label":  func() { r.Gauges("g", "").With("1") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", name)
				}
			}()
			mistake()
		}()
	}
}

func BenchmarkInc(b *testing.B) {
	var r exposition.Registry
	v := r.Counters("c_total", "", "tenant", "code")
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			v.With("acme", "quota").Inc()
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	var r exposition.Registry
	v := r.Histograms("h", "", []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}, "tenant", "surface")
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			v.With("acme", "web").Observe(2, "")
		}
	})
}
