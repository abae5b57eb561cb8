package telemetry_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/telemetry"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

const (
	agents = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

func TestARequestsSpanIsBelowItsCallers(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	var carried string
	h := telemetry.HTTP(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { carried = r.Header.Get("Traceparent") }))
	for _, c := range []struct{ method, path, sent, name, trace string }{
		{"POST", "/v1/asks", parent, "askbus http POST /v1/asks", agents},
		{"POST", "/v1/asks/s1/secret-id/answer", parent, "askbus http POST /v1/asks", agents},
		{"POST", "/mcp", parent, "askbus http POST /mcp", agents},
		{"POST", "/t/token-in-a-path/mcp", "", "askbus http POST /t", ""},
		{"POST", "/mcp", strings.Repeat("0", 200), "askbus http POST /mcp", ""},
		{"GET", "/v1/asks/s1/a1", parent, "", ""},
		{"GET", "/ws", parent, "", ""},
	} {
		before := len(spans.Ended())
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody)
		r.Header.Set("Traceparent", c.sent)
		h.ServeHTTP(httptest.NewRecorder(), r)
		ended := spans.Ended()[before:]
		if c.name == "" {
			if len(ended) != 0 || carried != c.sent {
				t.Errorf("%s %s: %v, carried %q", c.method, c.path, ended, carried)
			}
			continue
		}
		if len(ended) != 1 || ended[0].Name() != c.name || (ended[0].SpanContext().TraceID().String() == agents) != (c.trace == agents) || !strings.Contains(carried, ended[0].SpanContext().SpanID().String()) {
			t.Errorf("%s %s: %v, carried %q", c.method, c.path, ended, carried)
		}
	}
	if next := http.Handler(http.NewServeMux()); telemetry.HTTP(nil, next) != next {
		t.Error("without a provider the handler is not next itself")
	}
}

func TestAToolsSpanIsBelowItsCaller(t *testing.T) {
	t.Parallel()
	if telemetry.Tools(nil) != nil {
		t.Error("without a provider tools have no spans")
	}
	spans := tracetest.NewSpanRecorder()
	begin := telemetry.Tools(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)))
	_, end := begin(t.Context(), "ask_human", parent)
	end(errors.New("refused"))
	if s := spans.Ended(); len(s) != 1 || s[0].Name() != "askbus tool ask_human" || s[0].SpanContext().TraceID().String() != agents || s[0].Status().Description != "refused" {
		t.Errorf("%v", s)
	}
}
