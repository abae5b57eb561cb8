package cli

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// following returns the options of a connection to the directory's own bus at an address: before each attempt to
// reconnect it takes the one that context.json has now, because the bus may have been started again at another. The
// connection is given to it once it is made.
func (a *App) following(at string) (opts []nats.Option, made func(*nats.Conn)) {
	var conn atomic.Pointer[nats.Conn]
	if ctx, err := ReadContext(a.Dir); err != nil || a.NATS.URL != "" || ctx.NATSURL != at {
		return nil, func(*nats.Conn) {} // it was named, or is another bus
	}
	return []nats.Option{nats.CustomReconnectDelay(func(int) time.Duration {
		nc := conn.Load()
		if ctx, err := ReadContext(a.Dir); nc != nil && err == nil && ctx.NATSURL != "" && ctx.NATSURL != at {
			if nc.SetServerPool([]string{ctx.NATSURL}) == nil {
				at = ctx.NATSURL
			}
		}
		return 100*time.Millisecond + rand.N(200*time.Millisecond) //nolint:gosec // so that not all come at once
	})}, conn.Store
}
