package responder

import (
	"context"
	"time"
)

// Beat sets how often a server says that it lives, before it runs.
func (s *Server) Beat(every time.Duration) { s.beat = every }

// AloneAt is Alone, saying at this pace that it lives.
func (r *Responder) AloneAt(ctx context.Context, account string, beat time.Duration, f func(ctx context.Context)) {
	r.alone(ctx, account, beat, f)
}
