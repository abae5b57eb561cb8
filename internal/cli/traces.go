package cli

import (
	"context"
	"os"
	"time"

	"github.com/askbus/askbus/internal/process/telemetry"
	"github.com/askbus/askbus/pkg/client"
	"go.opentelemetry.io/otel/trace"
)

// Tracing returns the provider of this process's spans; nil: no tracing. [App.stopTracing] sends
// the remaining ones.
func (a *App) Tracing() trace.TracerProvider {
	a.traceOnce.Do(func() {
		p, stop, err := telemetry.Provider(telemetry.Options{Endpoint: a.OTLPEndpoint, Headers: a.OTLPHeaders, Service: "askbus", Version: BuildVersion(), Logger: a.Logger()})
		if err != nil {
			a.Note("askbus: warning: nothing is traced: %v", err)
			return
		}
		a.traces, a.flush = p, stop
	})
	return a.traces
}

// stopTracing sends the remaining spans.
func (a *App) stopTracing(ctx context.Context) {
	if a.flush == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a.flush(ctx)
}

// Traced adds the trace of the parent process to a command, from OpenTelemetry's TRACEPARENT.
func Traced(ctx context.Context) context.Context {
	return client.WithTrace(ctx, os.Getenv("TRACEPARENT"))
}
