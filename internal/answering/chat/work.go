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
