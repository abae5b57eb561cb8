package ledger

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

const hdrExpectedLast = "Nats-Expected-Last-Sequence"

// firstWork is the first sequence that can hold work: the one after the message
// of [Ledger.keepFirst].
const firstWork = 2

// keepFirst stores the first message of a new partition, which nothing removes.
//
// It keeps work from being lost. When an ask ends, the server purges its
// question. While a consumer's ack floor is below the stream's first sequence,
// that purge moves the floor of delivery sequences to the removed question (seen
// in nats-server 2.15.2, consumer.purge); when the question delivered next is
// acknowledged, the consumer forgets all earlier ones that were never
// acknowledged, and redelivers none of them. With this message the first
// sequence is always 1, and the floor of a consumer that starts at [firstWork]
// is never below it.
func (l *Ledger) keepFirst(ctx context.Context, p int) error {
	s, err := l.stream(ctx, subject.Stream(p))
	if err != nil {
		return fmt.Errorf("ledger: open stream %s: %w", subject.Stream(p), err)
	}
	if s.CachedInfo().State.LastSeq > 0 {
		return nil
	}
	msg := nats.NewMsg(subject.LedgerFirst(p))
	msg.Header.Set(hdrExpectedLast, "0")
	msg.Header.Set(hdrTTL, "never")
	if _, err := l.publish(ctx, msg); err != nil && !IsRace(err) { // another broker's may be first
		return err
	}
	return nil
}
