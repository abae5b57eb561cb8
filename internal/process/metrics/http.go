package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// HTTP counts the requests of a part of this process, such as "gateway", that
// has most of them under way at once.
func (s *Set) HTTP(part string, most int, h http.Handler) http.Handler {
	of := prometheus.Labels{"part": part}
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "askbus_http_requests_total", Help: "HTTP requests that were answered.", ConstLabels: of}, []string{"code"})
	open := prometheus.NewGauge(prometheus.GaugeOpts{Name: "askbus_http_open_requests", Help: "HTTP requests under way: waits, streams and sockets stay for long.", ConstLabels: of})
	limit := prometheus.NewGauge(prometheus.GaugeOpts{Name: "askbus_http_max_requests", Help: "HTTP requests that may be under way.", ConstLabels: of})
	limit.Set(float64(most))
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "askbus_http_response_seconds", Help: "From an HTTP request to the first byte of its response; a held one gets it when it ends.", ConstLabels: of,
		Buckets: []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, nil)
	s.reg.MustRegister(requests, open, limit, took)
	requests.WithLabelValues("200") // so that the first is an increase
	took.WithLabelValues()
	return promhttp.InstrumentHandlerInFlight(open, promhttp.InstrumentHandlerCounter(requests, promhttp.InstrumentHandlerTimeToWriteHeader(took, h)))
}

// Credential reports when a credential with which this process connected expires. A zero time of ends
// means that it is not known now. Of several with one name the first is reported.
func (s *Set) Credential(name string, ends func() time.Time) {
	of := prometheus.Labels{"credential": name}
	g := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "askbus_credential_expires_timestamp_seconds", Help: "When a credential of this process expires, in Unix time.", ConstLabels: of}, func() float64 { return unix(ends()) })
	_ = s.reg.Register(g) // another connection with this credential
}

// Exchanges returns a function that counts a token for which an issuer gave no credential, by the
// problem's code.
func (s *Set) Exchanges() (refused func(code string)) {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "askbus_exchange_refusals_total", Help: "Tokens that were not swapped for a credential, by the problem's code."}, []string{"code"})
	s.reg.MustRegister(c)
	for _, code := range []string{"forbidden", "unauthorized"} {
		c.WithLabelValues(code) // so that the first is an increase
	}
	return func(code string) { c.WithLabelValues(code).Inc() }
}
