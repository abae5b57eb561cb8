package alerttest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// read is what Prometheus reads from a scrape.
type read struct {
	values    map[string]float64          // by name and labels
	types     map[string]model.MetricType // by the names that HELP and TYPE have
	exemplars map[string]exemplar.Exemplar
}

// parse reads a scrape as Prometheus does, which must not find anything twice.
func parse(t *testing.T, body []byte, contentType string) read {
	t.Helper()
	p, err := textparse.New(body, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := read{map[string]float64{}, map[string]model.MetricType{}, map[string]exemplar.Exemplar{}}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return r
		}
		if err != nil {
			t.Fatalf("%s: %v in\n%s", contentType, err, body)
		}
		switch entry {
		case textparse.EntryType:
			name, of := p.Type()
			if r.types[string(name)] != "" {
				t.Errorf("%s: %s is described twice", contentType, name)
			}
			r.types[string(name)] = of
		case textparse.EntrySeries:
			var of labels.Labels
			p.Labels(&of)
			if _, twice := r.values[of.String()]; twice {
				t.Errorf("%s: %s is there twice", contentType, of)
			}
			_, _, r.values[of.String()] = p.Series()
			var e exemplar.Exemplar
			if p.Exemplar(&e) {
				r.exemplars[of.String()] = e
			}
		case textparse.EntryHelp, textparse.EntryComment, textparse.EntryUnit: // words
		case textparse.EntryInvalid, textparse.EntryHistogram: // a native histogram
			t.Errorf("%s: an entry of kind %d, which askbus does not write", contentType, entry)
		}
	}
}

// families reads a scrape in the text format as tools do that are written with Prometheus's libraries.
func families(t *testing.T, body []byte) (names []string) {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	all, err := p.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	for name, f := range all {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
	}
	return slices.Sorted(maps.Keys(all))
}

const plain, openMetrics = "text/plain; version=0.0.4; charset=utf-8", "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Prometheus reads what internal/process/metrics/exposition writes: both formats say the same, and labels
// come back as they were.
func TestPrometheusReadsBothFormats(t *testing.T) {
	t.Parallel()
	const folder = "../../internal/process/metrics/exposition/testdata/"
	text, err := os.ReadFile(folder + "plain.txt")
	if err != nil {
		t.Fatal(err)
	}
	openText, err := os.ReadFile(folder + "openmetrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := families(t, text)
	if want := []string{"askbus_asks_total", "askbus_open", "askbus_took_seconds", "bare_total", "odd", "odd_total", "pause_seconds"}; !slices.Equal(names, want) {
		t.Errorf("families %v", names)
	}
	one, other := parse(t, text, plain), parse(t, openText, openMetrics)
	if len(one.values) < 25 || !maps.EqualFunc(one.values, other.values, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
		t.Errorf("in the text format\n%v\nand in OpenMetrics\n%v", one.values, other.values)
	}
	for _, want := range []labels.Labels{
		labels.FromStrings("__name__", "askbus_asks_total", "tenant", "a \"quoted\"\nline", "code", "200"),
		labels.FromStrings("__name__", "askbus_asks_total", "tenant", "acme", "code", `back\slash`),
		labels.FromStrings("__name__", "askbus_asks_total", "tenant", "café, \uFFFD", "code", ""),
	} {
		if _, ok := one.values[want.String()]; !ok {
			t.Errorf("no %s", want)
		}
	}
	if of := one.types; of["askbus_asks_total"] != model.MetricTypeCounter || of["askbus_open"] != model.MetricTypeGauge || of["askbus_took_seconds"] != model.MetricTypeHistogram || of["pause_seconds"] != model.MetricTypeSummary {
		t.Errorf("types %v", of)
	}
	if of := other.types; of["askbus_asks"] != model.MetricTypeCounter || of["askbus_took_seconds"] != model.MetricTypeHistogram || of["odd"] != model.MetricTypeGauge || of["odd_total"] != model.MetricTypeUnknown {
		t.Errorf("types in OpenMetrics %v", of)
	}
	bucket := labels.FromStrings("__name__", "askbus_took_seconds_bucket", "tenant", "acme", "le", "1.0").String()
	if e := other.exemplars[bucket]; len(other.exemplars) != 2 || e.Labels.Get("trace_id") != "4bf92f3577b34da6a3ce929d0e0e4736" || e.Value != .5 || e.Ts != 946684800000 {
		t.Errorf("exemplars %v", other.exemplars)
	}
	last := labels.FromStrings("__name__", "askbus_took_seconds_bucket", "tenant", "acme", "le", "+Inf").String()
	// This parser leaves escapes in the labels of exemplars as they are.
	if e := other.exemplars[last]; strings.ReplaceAll(e.Labels.Get("trace_id"), `\"`, `"`) != `"}` || e.Value != 20_000 {
		t.Errorf("exemplars %v", other.exemplars)
	}
}

// readable checks that Prometheus and its libraries read what a running askbus says in both formats.
func readable(t *testing.T, url string) {
	t.Helper()
	scrape := func(accept string) ([]byte, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%d %v", resp.StatusCode, resp.Header)
		}
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return body, resp.Header.Get("Content-Type")
	}
	text, kind := scrape("text/plain;version=0.0.4")
	one := parse(t, text, kind)
	// What Prometheus 3 asks for.
	openText, kind := scrape("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,/;q=0.1")
	if !strings.HasPrefix(kind, "application/openmetrics-text; version=1.0.0;") {
		t.Errorf("Prometheus gets %s", kind)
	}
	other := parse(t, openText, kind)
	if a, b := slices.Sorted(maps.Keys(one.values)), slices.Sorted(maps.Keys(other.values)); len(a) < 100 || !slices.Equal(a, b) {
		t.Errorf("in the text format\n%v\nand in OpenMetrics\n%v", a, b)
	}
	if n := len(families(t, text)); n != len(one.types) {
		t.Errorf("%d families, and %d types", n, len(one.types))
	}
}
