package ledger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Headers of an atomic batch: its messages are stored in one step, or none is.
const (
	hdrBatch         = "Nats-Batch-Id"
	hdrBatchSequence = "Nats-Batch-Sequence"
	hdrBatchCommit   = "Nats-Batch-Commit"
)

// guardTTL is how long a guard is kept: nobody reads it.
const guardTTL = "1s"

// guard returns a message that can be stored only while a question has this
// version. A message has one compare-and-set, and the end of an ask with votes or
// a ladder needs two: it must not pass a vote that it has not counted, and in a
// cluster only a comparison on exactly the outcome's subject sees an expiry that
// the server is storing. It belongs to no ask, and is not republished.
func guard(p int, k ask.Key, version uint64) *nats.Msg {
	msg := nats.NewMsg(subject.LedgerFirst(p))
	msg.Header.Set(hdrExpectedSeq, strconv.FormatUint(version, 10))
	msg.Header.Set(hdrExpectedSubject, subject.LedgerQuestion(p, k))
	msg.Header.Set(hdrTTL, guardTTL)
	return msg
}

// begin makes a batch of guard and msg, and sends guard. It has no reply: if it
// does not arrive, msg is refused because its batch is incomplete.
func (l *Ledger) begin(guard, msg *nats.Msg) error {
	id := rand.Text()
	for i, m := range []*nats.Msg{guard, msg} {
		m.Header.Set(hdrBatch, id)
		m.Header.Set(hdrBatchSequence, strconv.Itoa(i+1))
	}
	msg.Header.Set(hdrBatchCommit, "1")
	if err := l.nc.PublishMsg(guard); err != nil {
		return fmt.Errorf("ledger: publish %s: %w", msg.Subject, errors.Join(ask.ErrUnavailable, err))
	}
	return nil
}
