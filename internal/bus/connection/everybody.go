package connection

import (
	"context"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
)

// Everybody sends an empty request and yields the data of each reply, until none comes within first or,
// after one has come, within then. The last may be an error: it cannot ask, or ctx has ended.
func Everybody(ctx context.Context, nc *nats.Conn, subj, inbox string, first, then time.Duration) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		sub, err := nc.SubscribeSync(inbox)
		if err == nil {
			defer sub.Unsubscribe() //nolint:errcheck // the connection may be closed
			err = nc.PublishRequest(subj, inbox, nil)
		}
		for wait := first; err == nil; wait = then {
			one, cancel := context.WithTimeout(ctx, wait)
			m, silence := sub.NextMsgWithContext(one)
			cancel()
			if err = ctx.Err(); err == nil && (silence != nil || len(m.Data) == 0 || !yield(m.Data, nil)) { // no data: nobody listens there
				return
			}
		}
		yield(nil, err)
	}
}
