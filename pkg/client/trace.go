package client

import "context"

type traceKey struct{}

// WithTrace returns a context whose calls carry a W3C traceparent, such as
// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".
func WithTrace(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceparent)
}

func traceOf(ctx context.Context) string {
	traceparent, _ := ctx.Value(traceKey{}).(string)
	return traceparent
}
