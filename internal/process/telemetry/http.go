package telemetry

import (
	"context"
	"net/http"
	"strings"

	"github.com/askbus/askbus/internal/process/tracing"
	"go.opentelemetry.io/otel/trace"
)

// HTTP serves each request that changes something within a span, whose parent is
// the request's traceparent. It replaces the request's traceparent with the
// span's. Reads have no span, nor do WebSockets, which may last for days. Without
// a provider HTTP returns next.
func HTTP(p trace.TracerProvider, next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	t := tracing.New(p)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		parent := r.Header.Get("Traceparent")
		if len(parent) > maxTrace {
			parent = ""
		}
		ctx, end := t.Start(r.Context(), "http "+r.Method+" "+route(r.URL.Path), tracing.Serves, parent, tracing.Ask{})
		defer end(nil)
		r = r.Clone(ctx)
		r.Header.Set("Traceparent", t.Carry(ctx))
		next.ServeHTTP(w, r)
	})
}

// maxTrace is the maximum length of a traceparent; a longer one is ignored.
const maxTrace = 128

// route returns the part of a path without ids and tokens, for a span's name.
func route(path string) string {
	parts := strings.SplitN(path, "/", 4)
	switch {
	case len(parts) > 2 && parts[1] == "v1":
		return "/v1/" + parts[2]
	case len(parts) > 1:
		return "/" + parts[1]
	}
	return "/"
}

// Tools returns a function that starts the span of an MCP tool, for the options of
// mcpserver; nil without a provider.
func Tools(p trace.TracerProvider) func(ctx context.Context, tool, traceparent string) (context.Context, func(error)) {
	if p == nil {
		return nil
	}
	t := tracing.New(p)
	return func(ctx context.Context, tool, traceparent string) (context.Context, func(error)) {
		return t.Start(ctx, "tool "+tool, tracing.Serves, traceparent, tracing.Ask{})
	}
}
