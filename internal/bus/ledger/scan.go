package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// singly is the largest number of messages that are read one by one; beyond it,
// and from the second page on, an ephemeral consumer is cheaper. It also keeps
// what a page of large asks has no room for.
const singly = 8

// read returns up to n messages from a lane's position, and whether there are
// no more. It returns fewer if they are large: about as many as make up most
// bytes.
func (l *Ledger) read(ctx context.Context, ln *lane, n, most int) (batch []message, end bool, err error) {
	stream := subject.Stream(ln.p)
	if ln.reader == nil {
		ln.reader = l.readers.acquire(ctx, stream, ln.filter, ln.next)
	}
	if ln.reader == nil && (!ln.paging || n <= singly) {
		seq, bytes := ln.next, 0
		for range min(n, singly) {
			m, err := l.first(ctx, stream, ln.filter, seq)
			if errors.Is(err, errNone) {
				return batch, true, nil
			}
			if err != nil {
				return nil, false, err
			}
			batch = append(batch, m)
			seq = m.Seq + 1
			if bytes += len(m.Data); bytes >= most {
				return batch, false, nil
			}
		}
		if n <= singly {
			return batch, false, nil
		}
		rest, end, err := l.readOn(ctx, ln, seq, n-singly, most-bytes)
		return append(batch, rest...), end, err
	}
	return l.readOn(ctx, ln, ln.next, n, most)
}

// readOn reads with the lane's reader at seq, or with a new one if there is
// none or its consumer is gone.
func (l *Ledger) readOn(ctx context.Context, ln *lane, seq uint64, n, most int) (batch []message, end bool, err error) {
	for try := 0; ; try++ {
		if ln.reader == nil {
			ln.reader, err = l.newReader(ctx, subject.Stream(ln.p), ln.filter, seq)
		}
		if err == nil {
			batch, end, err = ln.reader.read(ctx, n, most)
		}
		if err == nil && end {
			end, err = l.ends(ctx, ln, seq, batch)
		}
		if err == nil && (end || len(batch) > 0) {
			return batch, end, nil
		}
		ln.reader = nil
		if try >= 3 || backOff(ctx, try) != nil {
			return nil, false, fmt.Errorf("ledger: read %s: %w", ln.filter, errors.Join(ask.ErrUnavailable, err))
		}
		err = nil
	}
}

// ends checks that nothing follows a batch: a list that ends too early looks
// complete, which is worse than one more read for each partition. If something
// follows, the reader is dropped.
func (l *Ledger) ends(ctx context.Context, ln *lane, seq uint64, batch []message) (bool, error) {
	if len(batch) > 0 {
		seq = batch[len(batch)-1].Seq + 1
	}
	_, err := l.first(ctx, subject.Stream(ln.p), ln.filter, seq)
	if errors.Is(err, errNone) {
		return true, nil
	}
	if err == nil {
		ln.reader = nil
	}
	return false, err
}

// headers reads up to n messages without their data, through an ephemeral
// consumer, and whether there are no more. A slow server sends fewer.
func (l *Ledger) headers(ctx context.Context, stream, filter string, seq uint64, n int) (batch []message, end bool, err error) {
	for try := 0; ; try++ {
		batch, end, err = l.headersOnce(ctx, stream, filter, seq, n)
		if err == nil || !IsTemporary(err) || try >= 3 || backOff(ctx, try) != nil {
			break
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("ledger: read %s: %w", filter, err)
	}
	return batch, end, nil
}

// eachHeader calls do for each message that [Ledger.headers] reads, n at a time, from seq to the end.
func (l *Ledger) eachHeader(ctx context.Context, stream, filter string, seq uint64, n int, do func(message) error) error {
	for end := false; !end; {
		var batch []message
		var err error
		if batch, end, err = l.headers(ctx, stream, filter, seq, n); err != nil {
			return err
		}
		for _, m := range batch {
			if err := do(m); err != nil {
				return err
			}
			seq = m.Seq + 1
		}
	}
	return nil
}

func (l *Ledger) headersOnce(ctx context.Context, stream, filter string, seq uint64, n int) ([]message, bool, error) {
	one, cancel := context.WithTimeout(ctx, 2*attempt)
	defer cancel()
	c, err := l.js.CreateConsumer(one, stream, jetstream.ConsumerConfig{
		FilterSubject: filter, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, seq),
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: 5 * time.Second, MemoryStorage: true, Replicas: 1, HeadersOnly: true,
	})
	if err != nil {
		return nil, false, err
	}
	pending := int(min(c.CachedInfo().NumPending, uint64(n)+1)) //nolint:gosec // bounded by n
	want := min(n, pending)
	if want == 0 {
		return nil, true, nil
	}
	fetched, err := c.Fetch(want, jetstream.FetchMaxWait(attempt))
	if err != nil {
		return nil, false, err
	}
	var batch []message
	for m := range fetched.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return nil, false, err
		}
		batch = append(batch, message{
			Msg: &nats.Msg{Subject: m.Subject(), Header: m.Headers()}, Seq: meta.Sequence.Stream, Time: meta.Timestamp,
		})
	}
	if err := fetched.Error(); err != nil {
		return nil, false, err
	}
	if len(batch) == want {
		return batch, pending <= n, nil
	}
	// Some were purged since, or the server did not send them in time.
	next := seq
	if len(batch) > 0 {
		next = batch[len(batch)-1].Seq + 1
	}
	_, err = l.first(ctx, stream, filter, next)
	switch {
	case errors.Is(err, errNone):
		return batch, true, nil
	case err == nil && len(batch) == 0:
		err = fmt.Errorf("no message came: %w", ask.ErrUnavailable)
	}
	return batch, false, err
}
