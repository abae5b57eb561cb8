package main

import (
	"context"
	"os"
	"time"

	"github.com/askbus/askbus/internal/telemetry"
	"github.com/askbus/askbus/pkg/client"
	"go.opentelemetry.io/otel/trace"
)

// tracing returns the provider of this process's spans; nil: no tracing. [app.stopTracing] sends
// the remaining ones.
func (a *app) tracing() trace.TracerProvider {
	a.traceOnce.Do(func() {
		p, stop, err := telemetry.Provider(telemetry.Options{Endpoint: a.OTLPEndpoint, Headers: a.OTLPHeaders, Service: "askbus", Version: buildVersion(), Logger: a.log()})
		if err != nil {
			a.say("askbus: warning: nothing is traced: %v", err)
			return
		}
		a.traces, a.flush = p, stop
	})
	return a.traces
}

// stopTracing sends the remaining spans.
func (a *app) stopTracing(ctx context.Context) {
	if a.flush == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a.flush(ctx)
}

// traced adds the trace of the parent process to a command, from OpenTelemetry's TRACEPARENT.
func traced(ctx context.Context) context.Context {
	return client.WithTrace(ctx, os.Getenv("TRACEPARENT"))
}
