package chat

import (
	"context"
	"sync"
	"time"
)

// workFor bounds one piece of [Work].
const workFor = 2 * time.Minute

// Work is what continues after its request was acknowledged.
type Work struct{ sync.WaitGroup }

// Do does it, with a context that outlives the request's.
func (w *Work) Do(ctx context.Context, f func(context.Context)) {
	w.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workFor)
		defer cancel()
		f(ctx)
	})
}

// InTime does something as [Work.Do] does, and waits for its result, up to a time. What takes longer continues, and its
// result goes to late.
func InTime[T any](ctx context.Context, w *Work, within time.Duration, do func(context.Context) T, late func(context.Context, T)) (result T, ok bool) {
	done := make(chan T, 1)
	w.Do(ctx, func(ctx context.Context) { done <- do(ctx) })
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-timer.C:
	}
	w.Do(ctx, func(ctx context.Context) { late(ctx, <-done) })
	return result, false
}
