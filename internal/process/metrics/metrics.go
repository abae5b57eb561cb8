// Package metrics counts the work of a process, for Prometheus.
//
// A nil [Broker] counts nothing, so callers need not check whether metrics are
// on. Labels are bounded: see [Most]. docs/metrics.md lists every name; a test
// compares it with a live endpoint.
package metrics

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Set holds the metrics of one process.
type Set struct {
	reg *prometheus.Registry

	mu    sync.Mutex
	plain []*func(io.Writer)
}

// New makes the metrics of every role: those of the Go runtime and of the
// process.
func New() *Set {
	s := &Set{reg: prometheus.NewRegistry()}
	s.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// Build records the role and version of this process.
func (s *Set) Build(role, version string) {
	s.gauge("askbus_build_info", "1, labelled with the role and version of this process.", prometheus.Labels{"role": role, "version": version}, func() float64 { return 1 })
}

// Certificate reports when the TLS certificate of the listeners expires.
func (s *Set) Certificate(ends func() time.Time) {
	s.gauge("askbus_tls_certificate_expires_timestamp_seconds", "When the TLS certificate of new connections expires, in Unix time.", nil, func() float64 { return float64(ends().Unix()) })
}

// AuditReports counts what a part of this process could not report to the
// audit, until remove.
func (s *Set) AuditReports(part string, lost func() int64) (remove func()) {
	c := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "askbus_audit_reports_lost_total", Help: "Reports to the audit that this process could not send.", ConstLabels: prometheus.Labels{"part": part},
	}, func() float64 { return float64(lost()) })
	s.reg.MustRegister(c)
	return func() { s.reg.Unregister(c) }
}

// AuditLog reports the size of the log that proves the audit, and when it last had every record.
func (s *Set) AuditLog(size, current func() int64) {
	s.gauge("askbus_audit_log_leaves", "Leaves of the log of the audit.", nil, func() float64 { return float64(size()) })
	s.gauge("askbus_audit_log_current_timestamp_seconds", "When the log last had every record and its checkpoint was published, in Unix time.", nil, func() float64 { return float64(current()) })
}

// gauge adds a number that is read for each scrape.
func (s *Set) gauge(name, help string, labels prometheus.Labels, read func() float64) {
	s.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read))
}

// Text adds metrics that a part writes itself, in Prometheus's text format, until remove.
func (s *Set) Text(write func(io.Writer)) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain = append(s.plain, &write)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.plain = slices.DeleteFunc(s.plain, func(one *func(io.Writer)) bool { return one == &write })
	}
}

// Handler serves the metrics, with exemplars for clients that accept
// OpenMetrics.
func (s *Set) Handler() http.Handler {
	alone := promhttp.HandlerFor(s.reg, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4})
	// Parts write no end mark, so their text can only follow the plain format.
	first := promhttp.HandlerFor(s.reg, promhttp.HandlerOpts{DisableCompression: true, MaxRequestsInFlight: 4})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		plain := slices.Clone(s.plain)
		s.mu.Unlock()
		if len(plain) == 0 {
			alone.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "text/plain;version=0.0.4")
		first.ServeHTTP(w, r)
		var b bytes.Buffer
		for _, write := range plain {
			(*write)(&b)
		}
		_, _ = io.Copy(w, &b)
	})
}

// exemplar returns the trace of a sampled W3C traceparent; nil: none.
func exemplar(traceparent string) prometheus.Labels {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 || len(parts[1]) != 32 || parts[3] != "01" {
		return nil
	}
	return prometheus.Labels{"trace_id": parts[1]}
}
