package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options says where to send spans. Without an endpoint nothing is traced.
type Options struct {
	Endpoint string // of a collector, such as http://127.0.0.1:4318
	Headers  string // name=value,name=value, as in OTEL_EXPORTER_OTLP_HEADERS
	Service  string
	Version  string
	Logger   *slog.Logger
}

// Provider returns a tracer provider; without an endpoint it is nil, and stop
// does nothing. stop sends the remaining spans. The root of a trace decides
// whether it is sampled; traces that begin here are.
func Provider(o Options) (p trace.TracerProvider, stop func(context.Context), err error) {
	if o.Endpoint == "" {
		return nil, func(context.Context) {}, nil
	}
	e, err := newExporter(o.Endpoint, o.Headers, o.Service, o.Version)
	if err != nil {
		return nil, nil, err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(logged{e, o.Logger}, sdk.WithMaxQueueSize(4096)), sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", o.Service))))
	return provider, func(ctx context.Context) {
		if err := provider.Shutdown(ctx); err != nil {
			o.Logger.WarnContext(ctx, "cannot send the last spans", slog.Any("error", err))
		}
	}, nil
}

// logged logs failed exports. Spans that do not fit into the queue are dropped.
type logged struct {
	sdk.SpanExporter
	log *slog.Logger
}

// ExportSpans implements [sdk.SpanExporter].
func (l logged) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := l.SpanExporter.ExportSpans(ctx, spans); err != nil {
		l.log.WarnContext(ctx, "spans were dropped", slog.Int("spans", len(spans)), slog.Any("error", err))
	}
	return nil
}

// Handler adds trace_id and span_id to log records within a span.
func Handler(h slog.Handler) slog.Handler { return traced{h} }

type traced struct{ slog.Handler }

// Handle implements [slog.Handler].
func (t traced) Handle(ctx context.Context, r slog.Record) error {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		r.AddAttrs(slog.String("trace_id", at.TraceID().String()), slog.String("span_id", at.SpanID().String()))
	}
	if err := t.Handler.Handle(ctx, r); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

// WithAttrs implements [slog.Handler].
func (t traced) WithAttrs(a []slog.Attr) slog.Handler { return traced{t.Handler.WithAttrs(a)} }

// WithGroup implements [slog.Handler].
func (t traced) WithGroup(name string) slog.Handler { return traced{t.Handler.WithGroup(name)} }
