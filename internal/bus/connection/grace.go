package connection

import (
	"context"
	"time"
)

// WithGrace returns a context that ends a grace period after ctx, so that
// requests under way when ctx ends can complete.
func WithGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return work, func() { stop(); cancel() }
}
