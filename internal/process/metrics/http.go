package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/process/metrics/exposition"
)

// handled counts the HTTP requests of each part of this process.
type handled struct {
	requests    *exposition.Vec[*exposition.Counter]
	open, limit *exposition.Vec[*exposition.Gauge]
	took        *exposition.Vec[*exposition.Histogram]
}

func newHandled(to *exposition.Registry) handled {
	return handled{
		requests: to.Counters("askbus_http_requests_total", "HTTP requests that were answered.", "code", "part"),
		open:     to.Gauges("askbus_http_open_requests", "HTTP requests under way: waits, streams and sockets stay for long.", "part"),
		limit:    to.Gauges("askbus_http_max_requests", "HTTP requests that may be under way.", "part"),
		took: to.Histograms("askbus_http_response_seconds", "From an HTTP request to the first byte of its response; a held one gets it when it ends.",
			[]float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "part"),
	}
}

// HTTP counts the requests of a part of this process, such as "gateway", that
// has most of them under way at once.
func (s *Set) HTTP(part string, most int, h http.Handler) http.Handler {
	open, took := s.http.open.With(part), s.http.took.With(part)
	s.http.limit.With(part).Set(float64(most))
	s.http.requests.With("200", part) // so that the first is an increase
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Add(-1)
		answer := &watched{ResponseWriter: w, begin: time.Now(), took: took, code: http.StatusOK}
		h.ServeHTTP(answer, r)
		s.http.requests.With(strconv.Itoa(answer.code), part).Inc()
	})
}

// watched is a ResponseWriter that sees the code of a response, and when it begins.
type watched struct {
	http.ResponseWriter
	begin time.Time
	took  *exposition.Histogram
	begun bool
	code  int
}

// Unwrap is for [http.ResponseController].
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *watched) WriteHeader(code int) {
	if final := code >= 200 || code == http.StatusSwitchingProtocols; final && !w.begun {
		w.begun, w.code = true, code
		w.took.Observe(time.Since(w.begin).Seconds(), "")
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements [http.ResponseWriter].
func (w *watched) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher].
func (w *watched) Flush() { _ = w.FlushError() }

// FlushError is for [http.ResponseController].
func (w *watched) FlushError() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Credential reports when a credential with which this process connected expires. A zero time of ends
// means that it is not known now. Of several with one name the first is reported.
func (s *Set) Credential(name string, ends func() time.Time) {
	s.number("askbus_credential_expires_timestamp_seconds", "When a credential of this process expires, in Unix time.", func() float64 { return unix(ends()) }, "credential", name)
}

// Exchanges returns a function that counts a token for which an issuer gave no credential, by the
// problem's code.
func (s *Set) Exchanges() (refused func(code string)) {
	c := s.reg.Counters("askbus_exchange_refusals_total", "Tokens that were not swapped for a credential, by the problem's code.", "code")
	for _, code := range []string{"forbidden", "unauthorized"} {
		c.With(code) // so that the first is an increase
	}
	return func(code string) { c.With(code).Inc() }
}
