package ledger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// The server puts work whose AckWait is over, or that was given back, in a queue
// that it forgets whenever a question of the partition is stored or ends (seen
// in nats-server 2.15.2, consumer.purge); then it waits for another AckWait.
// So that this is not a whole lease, AckWait is short, and the lease is the
// delay of a negative acknowledgement: it says when to redeliver.

// requeueAfter is how long the server takes to queue forgotten work again.
const requeueAfter = 5 * time.Second

// requeue returns the AckWait of the consumers of work.
func (l *Ledger) requeue() time.Duration { return min(l.opts.Lease, requeueAfter) }

// redeliverIn returns the acknowledgement that leaves a message where it is for
// this long.
func redeliverIn(d time.Duration) string { return fmt.Sprintf(`-NAK {"delay": %d}`, d.Nanoseconds()) }

// hold begins the leases of messages that were requested at began, and returns
// those that are with nobody else. The AckWait of the others may have been over
// before their leases began: they are redelivered, at the latest after a lease.
func (w *Work) hold(ctx context.Context, msgs []*nats.Msg, began time.Time) []*nats.Msg {
	if w.l.opts.Lease <= w.l.requeue() {
		return msgs
	}
	ours := make([]*nats.Msg, len(msgs))
	var all sync.WaitGroup
	for i, m := range msgs {
		all.Go(func() {
			_, err := w.l.send(ctx, &nats.Msg{Subject: m.Reply, Data: []byte(redeliverIn(w.l.opts.Lease))})
			if err == nil && time.Since(began) < w.l.requeue()*5/6 {
				ours[i] = m
			}
		})
	}
	all.Wait()
	return slices.DeleteFunc(ours, func(m *nats.Msg) bool { return m == nil })
}
