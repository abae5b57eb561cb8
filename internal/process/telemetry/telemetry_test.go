package telemetry_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/telemetry"
	"github.com/askbus/askbus/internal/process/tracing"
)

func TestWithoutAnEndpointNothingIsTraced(t *testing.T) {
	t.Parallel()
	p, stop, err := telemetry.Provider(telemetry.Options{})
	if p != nil || err != nil {
		t.Errorf("%v %v", p, err)
	}
	stop(t.Context())
	for _, o := range []telemetry.Options{{Endpoint: "collector:4318"}, {Endpoint: "http://c:4318", Headers: "novalue"}} {
		if _, _, err := telemetry.Provider(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestSpansArriveAsOTLP(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/v1/traces/"} {
		spansArriveAt(t, path)
	}
}

func spansArriveAt(t *testing.T, path string) {
	t.Helper()
	got := make(chan []byte, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "a b" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		got <- body
	}))
	defer collector.Close()
	p, stop, err := telemetry.Provider(telemetry.Options{Endpoint: collector.URL + path, Headers: "x-key=a%20b", Service: "askbus", Version: "v1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	tracer := tracing.New(p)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	var log bytes.Buffer
	logger := slog.New(telemetry.Handler(slog.NewTextHandler(&log, nil)))
	ctx, end := tracer.Start(t.Context(), "ask", tracing.Sends, parent, tracing.Ask{Tenant: "acme", ID: "a1"})
	logger.InfoContext(ctx, "asked")
	end(io.EOF)
	later, endLater := tracer.Start(t.Context(), "answer", tracing.Sends, "", tracing.Ask{})
	tracer.Link(later, parent)
	tracer.Link(later, tracer.Carry(later)) // itself: no link
	endLater(nil)
	stop(t.Context())
	var sent struct {
		Resources []struct {
			Scopes []struct {
				Spans []struct {
					Trace  string `json:"traceId"`
					Parent string `json:"parentSpanId"`
					Name   string `json:"name"`
					Kind   int    `json:"kind"`
					Links  []struct {
						Trace string `json:"traceId"`
					} `json:"links"`
					Status struct {
						Code int `json:"code"`
					} `json:"status"`
				} `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	body := <-got
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	spans := sent.Resources[0].Scopes[0].Spans
	if len(spans) != 2 || spans[0].Trace != "4bf92f3577b34da6a3ce929d0e0e4736" || spans[0].Parent != "00f067aa0ba902b7" || spans[0].Name != "askbus ask" || spans[0].Kind != 4 || spans[0].Status.Code != 2 {
		t.Errorf("%s", body)
	}
	if len(spans[1].Links) != 1 || spans[1].Links[0].Trace != spans[0].Trace || spans[1].Trace == spans[0].Trace {
		t.Errorf("the answer links to the ask: %s", body)
	}
	if !strings.Contains(log.String(), "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=") {
		t.Errorf("log: %s", &log)
	}
}

// TestANilTracerDoesNothing is not parallel: it counts allocations.
func TestANilTracerDoesNothing(t *testing.T) {
	var tracer *tracing.Tracer
	if tracing.New(nil) != nil {
		t.Error("a tracer of nothing")
	}
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		ctx, end := tracer.Start(ctx, "ask", tracing.Sends, "", tracing.Ask{Tenant: "acme"})
		tracer.Link(ctx, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		_ = tracer.Carry(ctx)
		end(nil)
	})
	if n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}
