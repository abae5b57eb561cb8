// Package tracing makes the spans of asks with the standard OpenTelemetry
// interfaces, and carries a trace as the W3C traceparent of events.
//
// A nil [Tracer] makes none and costs a comparison. Spans within seconds of a
// question belong to its trace; hours later, an answer or a withdrawal begins a
// new trace that links to it. Backends keep the parts of an open trace in memory,
// draw it by its time and decide about sampling at its end, so a trace or a span
// over a night is of no use: for the same reason reads (get, wait, list, next)
// have none. A wait that ends with an outcome adds a short span at that moment
// (told).
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans. A nil one makes none.
type Tracer struct {
	spans trace.Tracer
	carry propagation.TraceContext
}

const header = "traceparent"

// New makes a tracer; nil without a provider.
func New(p trace.TracerProvider) *Tracer {
	if p == nil {
		return nil
	}
	return &Tracer{spans: p.Tracer("github.com/askbus/askbus")}
}

// Kinds of spans.
const (
	Sends  = trace.SpanKindProducer
	Serves = trace.SpanKindServer
	Works  = trace.SpanKindConsumer
	Inside = trace.SpanKindInternal
)

// Ask names the ask of a span. A span must not contain texts of questions or
// answers.
type Ask struct{ Tenant, Session, ID, Responder string }

// Start begins a span below a traceparent, else below the context's span. End
// it with its error.
func (t *Tracer) Start(ctx context.Context, name string, kind trace.SpanKind, parent string, of Ask) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	if parent != "" {
		ctx = t.remote(ctx, parent)
	}
	attrs := make([]attribute.KeyValue, 0, 4)
	for _, a := range []struct{ key, value string }{{"askbus.tenant", of.Tenant}, {"askbus.session", of.Session}, {"askbus.ask_id", of.ID}, {"askbus.responder", of.Responder}} {
		if a.value != "" {
			attrs = append(attrs, attribute.String(a.key, a.value))
		}
	}
	ctx, span := t.spans.Start(ctx, "askbus "+name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

func (t *Tracer) remote(ctx context.Context, traceparent string) context.Context {
	return t.carry.Extract(ctx, propagation.MapCarrier{header: traceparent})
}

// Link links the context's span to another trace, unless it is part of it.
func (t *Tracer) Link(ctx context.Context, traceparent string) {
	if t == nil || traceparent == "" {
		return
	}
	span := trace.SpanFromContext(ctx)
	other := trace.SpanContextFromContext(t.remote(context.Background(), traceparent)) //nolint:contextcheck // only to parse
	if span.IsRecording() && other.IsValid() && other.TraceID() != span.SpanContext().TraceID() {
		span.AddLink(trace.Link{SpanContext: other})
	}
}

// Carry returns the traceparent of the context's span, or "".
func (t *Tracer) Carry(ctx context.Context) string {
	if t == nil {
		return ""
	}
	c := propagation.MapCarrier{}
	t.carry.Inject(ctx, c)
	return c[header]
}
