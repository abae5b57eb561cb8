package board

import (
	"context"

	"github.com/nats-io/nats.go"
)

const (
	// maxWaiting bounds the bytes of the messages that wait for a slow screen,
	// each counted with waitingOverhead: its header as a map, and its pointers.
	maxWaiting      = 16 << 20
	waitingOverhead = 1 << 10

	// maxArrived bounds the messages that the connection has delivered and
	// that are not counted yet.
	maxArrived = 1024
)

// waiting is a message for a slow screen.
type waiting struct {
	*nats.Msg
	lost bool // messages were dropped since the previous one was taken
	last bool // no other one waits
}

// wait takes messages from arrived at once, and sends them in their order. It
// drops those that arrive while maxWaiting bytes wait. It returns when ctx ends.
func wait(ctx context.Context, arrived <-chan *nats.Msg, to chan<- waiting) {
	var (
		queue []*nats.Msg
		bytes int
		lost  bool
	)
	size := func(m *nats.Msg) int { return waitingOverhead + m.Size() }
	for {
		var next waiting
		var ready chan<- waiting
		if len(queue) > 0 {
			next, ready = waiting{queue[0], lost, len(queue) == 1}, to
		}
		select {
		case m := <-arrived:
			if len(arrived) >= cap(arrived)-1 { // the connection drops messages when it is full
				lost = true
			}
			if bytes+size(m) > maxWaiting && len(queue) > 0 {
				lost = true
				continue
			}
			queue = append(queue, m)
			bytes += size(m)
		case ready <- next:
			queue[0] = nil
			queue, lost = queue[1:], false
			bytes -= size(next.Msg)
		case <-ctx.Done():
			return
		}
	}
}
