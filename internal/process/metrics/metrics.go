// Package metrics counts the work of a process, for Prometheus.
//
// A nil [Broker] counts nothing, so callers need not check whether metrics are
// on. Labels are bounded: see [Most]. docs/metrics.md lists every name; a test
// compares it with a live endpoint.
package metrics

import (
	"compress/gzip"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/metrics/exposition"
)

// Set holds the metrics of one process.
type Set struct {
	reg  exposition.Registry
	http handled
}

// New makes the metrics of every role: those of the Go runtime and of the
// process.
func New() *Set {
	s := &Set{}
	s.reg.Collect(process)
	s.http = newHandled(&s.reg)
	return s
}

// Build records the role and version of this process.
func (s *Set) Build(role, version string) {
	s.number("askbus_build_info", "1, labelled with the role and version of this process.", func() float64 { return 1 }, "role", role, "version", version)
}

// Certificate reports when the TLS certificate of the listeners expires.
func (s *Set) Certificate(ends func() time.Time) {
	s.number("askbus_tls_certificate_expires_timestamp_seconds", "When the TLS certificate of new connections expires, in Unix time.", func() float64 { return float64(ends().Unix()) })
}

// AuditReports counts what a part of this process could not report to the
// audit, until remove.
func (s *Set) AuditReports(part string, lost func() int64) (remove func()) {
	return s.number("askbus_audit_reports_lost_total", "Reports to the audit that this process could not send.", func() float64 { return float64(lost()) }, "part", part)
}

// AuditLog reports the size of the log that proves the audit, and when it last had every record.
func (s *Set) AuditLog(size, current func() int64) {
	s.number("askbus_audit_log_leaves", "Leaves of the log of the audit.", func() float64 { return float64(size()) })
	s.number("askbus_audit_log_current_timestamp_seconds", "When the log last had every record and its checkpoint was published, in Unix time.", func() float64 { return float64(current()) })
}

// number adds a number that is read for each scrape, with names and values of labels, until remove.
func (s *Set) number(name, help string, read func() float64, labels ...string) (remove func()) {
	d, values := exposition.Desc{Name: name, Help: help}, []string(nil)
	for one := range slices.Chunk(labels, 2) {
		d.Labels, values = append(d.Labels, one[0]), append(values, one[1])
	}
	return s.reg.Collect(func(to *exposition.Scrape) { to.Number(&d, read(), values...) })
}

// figure is a number without labels.
type figure struct {
	name, help string
	value      float64
}

func report(to *exposition.Scrape, all ...figure) {
	for _, f := range all {
		to.Number(&exposition.Desc{Name: f.name, Help: f.help}, f.value)
	}
}

// Collect adds metrics that a part reads for each scrape, until remove.
func (s *Set) Collect(read func(*exposition.Scrape)) (remove func()) { return s.reg.Collect(read) }

// Handler serves the metrics, with exemplars for clients that accept
// OpenMetrics. It answers four scrapes at once.
func (s *Set) Handler() http.Handler {
	turns := make(chan struct{}, 4)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			http.Error(w, "Limit of concurrent requests reached (4), try again later.", http.StatusServiceUnavailable)
			return
		}
		kind, openMetrics := exposition.Negotiate(r.Header.Get("Accept"))
		text := s.reg.Scrape().Text(openMetrics)
		h := w.Header()
		h.Add("Vary", "Accept")
		h.Add("Vary", "Accept-Encoding")
		h.Set("Content-Type", kind)
		if !gzipped(r.Header.Get("Accept-Encoding")) {
			_, _ = w.Write(text) //nolint:gosec // figures as text, and not a page
			return
		}
		h.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(text)
		_ = z.Close()
	})
}

// gzipped reports whether a client accepts gzip.
func gzipped(accept string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		name, q, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";q=")
		if share, err := strconv.ParseFloat(q, 64); strings.EqualFold(name, "gzip") {
			return err != nil || share > 0
		}
	}
	return false
}

// sampled returns the trace of a W3C traceparent; empty: it was not sampled.
func sampled(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 || len(parts[1]) != 32 || parts[3] != "01" {
		return ""
	}
	return parts[1]
}
