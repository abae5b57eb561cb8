// Package exposition counts, and writes what was counted in the formats that Prometheus scrapes: its text
// format 0.0.4, and OpenMetrics 1.0 with exemplars.
//
// It is what askbus needs of client_golang, without protobuf: see ADR 0183. tools/alerttest reads what it
// writes with Prometheus's own parsers.
package exposition

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Desc describes a metric. A number whose name ends with _total is a counter, as OpenMetrics wants it; any
// other number is a gauge.
type Desc struct {
	Name, Help string
	Labels     []string // names

	kind string // histogram or summary; empty: a number
}

// Registry holds the metrics of a process. Its zero value is empty. It is safe for concurrent use.
type Registry struct {
	mu  sync.Mutex
	all []*func(*Scrape)
}

// Collect adds figures that are read for each scrape, until remove.
func (r *Registry) Collect(read func(*Scrape)) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, &read)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = slices.DeleteFunc(r.all, func(one *func(*Scrape)) bool { return one == &read })
	}
}

// Scrape reads all figures.
func (r *Registry) Scrape() *Scrape {
	r.mu.Lock()
	all := slices.Clone(r.all)
	r.mu.Unlock()
	s := &Scrape{families: map[string]*family{}}
	for _, read := range all {
		(*read)(s)
	}
	return s
}

// Scrape holds the figures of one scrape.
type Scrape struct{ families map[string]*family }

// family is the series of a name.
type family struct {
	*Desc
	series map[string][]sample // by their labels as text
}

// sample is a line.
type sample struct {
	suffix   string
	bound    *float64 // of the label le or quantile
	value    float64
	count    bool // value is one, which OpenMetrics writes without a point
	exemplar *exemplar
}

// exemplar is an observation with its trace.
type exemplar struct {
	trace     string
	value, at float64
}

// Number adds a number; values are those of its labels. Of several with the same labels the first stays.
func (s *Scrape) Number(d *Desc, value float64, values ...string) {
	s.add(d, d.text(values), sample{value: value})
}

// Summary adds a summary: quantiles from the least value to the greatest, at equal distances.
func (s *Scrape) Summary(d *Desc, quantiles []float64, sum float64, count int64) {
	of, samples := *d, []sample{}
	of.kind = "summary"
	for i, q := range quantiles {
		at := float64(i) / float64(len(quantiles)-1)
		samples = append(samples, sample{bound: &at, value: q})
	}
	s.add(&of, "", append(samples, sample{suffix: "_sum", value: sum}, sample{suffix: "_count", value: float64(count), count: true})...)
}

func (s *Scrape) add(d *Desc, labels string, samples ...sample) {
	f := s.families[d.Name]
	if f == nil {
		f = &family{d, map[string][]sample{}}
		s.families[d.Name] = f
	}
	if _, ok := f.series[labels]; !ok {
		f.series[labels] = samples
	}
}

var (
	escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`)            //nolint:gochecknoglobals // a constant
	quoted  = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`) //nolint:gochecknoglobals // a constant
)

// text returns the labels with these values, sorted by name.
func (d *Desc) text(values []string) string {
	if len(values) != len(d.Labels) {
		panic(fmt.Sprintf("%s has the labels %q, and not %d", d.Name, d.Labels, len(values)))
	}
	pairs := make([]string, len(values))
	for i, name := range d.Labels {
		pairs[i] = pair(name, values[i])
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func pair(name, value string) string {
	return name + `="` + quoted.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

// Text writes the figures in OpenMetrics, or else in the text format.
func (s *Scrape) Text(openMetrics bool) []byte {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		f := s.families[name]
		about, kind, help := name, f.kind, escaped.Replace(f.Help)
		switch {
		case kind != "":
		case strings.HasSuffix(name, "_total"):
			kind = "counter"
		default:
			kind = "gauge"
		}
		if openMetrics {
			help = quoted.Replace(f.Help)
			if kind == "counter" { // its family is named without the suffix
				if about = strings.TrimSuffix(name, "_total"); s.families[about] != nil {
					about, kind = name, "unknown" // a gauge has that name, as in go_memstats_alloc_bytes
				}
			}
		}
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", about, help, about, kind)
		for _, labels := range slices.Sorted(maps.Keys(f.series)) {
			for i := range f.series[labels] {
				b = f.line(b, labels, &f.series[labels][i], openMetrics)
			}
		}
	}
	if openMetrics {
		b = append(b, "# EOF\n"...)
	}
	return b
}

// line appends a sample.
func (f *family) line(b []byte, labels string, of *sample, openMetrics bool) []byte {
	b = append(append(b, f.Name...), of.suffix...)
	if of.bound != nil {
		name := "le"
		if f.kind == "summary" {
			name = "quantile"
		}
		if labels != "" {
			labels += ","
		}
		labels += pair(name, string(number(nil, *of.bound, openMetrics)))
	}
	if labels != "" {
		b = append(append(append(b, '{'), labels...), '}')
	}
	b = number(append(b, ' '), of.value, openMetrics && !of.count)
	if openMetrics && of.exemplar != nil {
		b = append(append(append(b, " # {"...), pair("trace_id", of.exemplar.trace)...), "} "...)
		b = number(append(number(b, of.exemplar.value, true), ' '), of.exemplar.at, true)
	}
	return append(b, '\n')
}

// number appends a number. A float of OpenMetrics has a point or an exponent.
func number(b []byte, v float64, float bool) []byte {
	from := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	if float && !bytes.ContainsAny(b[from:], ".eIN") { // +Inf, NaN
		b = append(b, ".0"...)
	}
	return b
}

// Plain is the content type of the text format. Every name of askbus is the same in each scheme of escaping.
const Plain = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

// Negotiate returns which format an Accept header prefers, and its content type.
func Negotiate(accept string) (contentType string, openMetrics bool) {
	contentType = Plain
	best := 0.0
	for clause := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(clause)
		if err != nil {
			continue
		}
		q, err := strconv.ParseFloat(params["q"], 64)
		if err != nil {
			q = 1
		}
		version := params["version"]
		switch {
		case q <= best:
		case media == "application/openmetrics-text" && (version == "" || version == "0.0.1" || version == "1.0.0"):
			version = cmp.Or(version, "0.0.1")
			best, openMetrics, contentType = q, true, "application/openmetrics-text; version="+version+"; charset=utf-8; escaping=underscores"
		case media == "text/plain" && (version == "" || version == "0.0.4"):
			best, openMetrics, contentType = q, false, Plain
		}
	}
	return contentType, openMetrics
}
