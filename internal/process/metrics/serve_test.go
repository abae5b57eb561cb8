package metrics_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	askbus "github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/process/metrics/exposition"
	"github.com/coder/websocket"
)

// get asks for the metrics.
func get(t *testing.T, h http.Handler, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	for one := range slices.Chunk(headers, 2) {
		r.Header.Set(one[0], one[1])
	}
	h.ServeHTTP(w, r)
	return w
}

func TestAScrapeIsCompressedForWhoTakesIt(t *testing.T) {
	t.Parallel()
	s := askbus.New()
	s.Build("broker", "v1")
	remove := s.Collect(func(to *exposition.Scrape) { to.Number(&exposition.Desc{Name: "askbus_part"}, 1) })
	for accept, compressed := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "": false, "identity": false, "gzip;q=0": false, "gzip; q=0.0, deflate": false} {
		w := get(t, s.Handler(), "Accept-Encoding", accept, "Accept", "text/plain")
		body := io.Reader(w.Body)
		if (w.Header().Get("Content-Encoding") == "gzip") != compressed {
			t.Errorf("%q: %v", accept, w.Header())
		} else if compressed {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		text, err := io.ReadAll(body)
		if err != nil || !strings.Contains(string(text), `askbus_build_info{role="broker",version="v1"} 1`+"\n") || !strings.Contains(string(text), "\naskbus_part 1\n") || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8; escaping=underscores" {
			t.Errorf("%q: %v %v %s", accept, err, w.Header(), text)
		}
	}
	remove()
	w := get(t, s.Handler(), "Accept", "application/openmetrics-text")
	if got := w.Body.String(); strings.Contains(got, "askbus_part") || !strings.HasSuffix(got, "\n# EOF\n") || !strings.Contains(w.Header().Get("Content-Type"), "openmetrics") {
		t.Errorf("%v %s", w.Header(), got)
	}
}

func TestAFifthScrapeAtOnceIsRefused(t *testing.T) {
	t.Parallel()
	s := askbus.New()
	in, out := make(chan struct{}), make(chan struct{})
	s.Collect(func(*exposition.Scrape) { in <- struct{}{}; <-out })
	h, codes := s.Handler(), make(chan int)
	for range 4 {
		go func() { codes <- get(t, h).Code }()
		<-in
	}
	if w := get(t, h); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	close(out)
	for range 4 {
		if code := <-codes; code != http.StatusOK {
			t.Error(code)
		}
	}
	go func() { <-in }()
	if w := get(t, h); w.Code != http.StatusOK {
		t.Errorf("afterwards: %d", w.Code)
	}
}

// The time of a response is that of its first byte, also when it is flushed before anything is written; its
// code is that of the first final header; one that panics is not under way any more.
func TestResponsesAreTimed(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		serve http.HandlerFunc
		want  []string
	}{
		"written": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a"); time.Sleep(time.Hour) },
			[]string{`requests_total{code="200",part="p"} 1`, `response_seconds_bucket{part="p",le="5"} 1`, `response_seconds_sum{part="p"} 3`},
		},
		"flushed": {
			func(w http.ResponseWriter, _ *http.Request) {
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Hour)
			},
			[]string{`response_seconds_sum{part="p"} 3`},
		},
		"flushed by the interface": {func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush() // as the heartbeats of MCP do
			time.Sleep(time.Hour)
		}, []string{`response_seconds_sum{part="p"} 3`}},
		"hints first": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			time.Sleep(time.Second)
			w.WriteHeader(http.StatusTeapot)
		}, []string{`requests_total{code="418",part="p"} 1`, `requests_total{code="200",part="p"} 0`, `response_seconds_sum{part="p"} 4`}},
		"nothing written": {func(http.ResponseWriter, *http.Request) {}, []string{`requests_total{code="200",part="p"} 1`, `response_seconds_count{part="p"} 0`}},
		"panicked":        {func(http.ResponseWriter, *http.Request) { panic("oops") }, []string{`requests_total{code="200",part="p"} 0`}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := askbus.New()
			h := s.HTTP("p", 9, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := scrape(t, s, ""); !strings.Contains(got, `askbus_http_open_requests{part="p"} 1`+"\n") {
					t.Errorf("%s: it is not under way: %s", name, got)
				}
				time.Sleep(3 * time.Second)
				one.serve(w, r)
			}))
			func() {
				defer func() { _ = recover() }()
				get(t, h)
			}()
			got := scrape(t, s, "")
			for _, want := range append(one.want, `open_requests{part="p"} 0`, `max_requests{part="p"} 9`) {
				if !strings.Contains(got, "\naskbus_http_"+want+"\n") {
					t.Errorf("%s: no %s in\n%s", name, want, got)
				}
			}
		})
	}
}

// Dashboards of the Go runtime and of processes find what they look for, and all figures of the runtime are
// those of this Go.
func TestTheRuntimeIsReported(t *testing.T) {
	t.Parallel()
	got := scrape(t, askbus.New(), "")
	for name, least := range map[string]float64{
		"go_goroutines": 1, "go_threads": 1, "go_memstats_alloc_bytes": 1, "go_memstats_alloc_bytes_total": 1, "go_memstats_heap_inuse_bytes": 1, "go_memstats_stack_inuse_bytes": 1, // the runtime counts in batches
		"go_memstats_sys_bytes": 1e6, "go_memstats_mallocs_total": 1, "go_memstats_next_gc_bytes": 1e5, "go_gc_duration_seconds_count": 0, `go_gc_duration_seconds{quantile="0.75"}`: 0, "go_gc_gomemlimit_bytes": 1e6,
		"go_sched_gomaxprocs_threads": 1, "process_cpu_seconds_total": 1e-3, "process_open_fds": 3, "process_max_fds": 16, "process_virtual_memory_max_bytes": 1e6,
		"process_start_time_seconds": float64(time.Now().Add(-time.Hour).Unix()), "process_resident_memory_bytes": 1e6, "process_virtual_memory_bytes": 1e6,
	} {
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(got)
		if m == nil {
			t.Errorf("no %s", name)
			continue
		}
		if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < least {
			t.Errorf("%s is %s", name, m[1])
		}
	}
	var known []string
	for _, d := range metrics.All() {
		known = append(known, d.Name)
	}
	for _, m := range regexp.MustCompile(` (/[a-z/-]+:[a-z]+)`).FindAllStringSubmatch(got, -1) {
		if !slices.Contains(known, m[1]) {
			t.Errorf("this Go has no %s", m[1])
		}
	}
	if !strings.Contains(got, `go_info{version="go1`) {
		t.Error("no version")
	}
}

// A WebSocket takes the connection over, and its response is counted.
func TestAConnectionMayBeTakenOver(t *testing.T) {
	t.Parallel()
	s := askbus.New()
	h, done := s.HTTP("p", 9, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Write(r.Context(), websocket.MessageText, []byte("hello"))
		_ = conn.CloseNow()
	})), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	conn, _, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.Read(t.Context()); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	<-done
	if got := scrape(t, s, ""); !strings.Contains(got, `askbus_http_requests_total{code="101",part="p"} 1`+"\n") {
		t.Error(got)
	}
}
