package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go/jetstream"
)

// reader reads the messages of a partition that match a filter, through an
// ephemeral consumer. Creating one costs more than a page, so it is kept for
// the next page: see [readers].
type reader struct {
	l        *Ledger
	stream   string
	filter   string
	consumer string
	passed   uint64    // number of messages sent by the consumer
	ahead    []message // read, but not taken yet
	err      error     // of reading ahead
}

// inactive is how long the server keeps an idle consumer. Readers are forgotten
// earlier.
const (
	inactive = 10 * time.Second
	forget   = 5 * time.Second
)

// pullBytes is the least that a reader asks for at once: the maximum size of one
// message.
const pullBytes = 1 << 20

// newReader makes a reader from position seq on.
func (l *Ledger) newReader(ctx context.Context, stream, filter string, seq uint64) (*reader, error) {
	one, cancel := context.WithTimeout(ctx, 2*attempt)
	defer cancel()
	c, err := l.js.CreateConsumer(one, stream, jetstream.ConsumerConfig{
		FilterSubject: filter, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, seq),
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: inactive, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return nil, err
	}
	return &reader{l: l, stream: stream, filter: filter, consumer: c.CachedInfo().Name}, nil
}

// read returns up to n messages of about most bytes, and whether the consumer
// reports that there are no more. After an error the reader is unusable:
// messages may have been lost.
func (r *reader) read(ctx context.Context, n, most int) (batch []message, end bool, err error) {
	bytes := 0
	for len(r.ahead) > 0 && len(batch) < n && bytes < most {
		batch, bytes = append(batch, r.ahead[0]), bytes+len(r.ahead[0].Data)
		r.ahead[0] = message{}
		r.ahead = r.ahead[1:]
	}
	if len(batch) >= n || bytes >= most {
		return batch, false, nil
	}
	pull := struct {
		Batch    int  `json:"batch"`
		MaxBytes int  `json:"max_bytes"`
		NoWait   bool `json:"no_wait"`
	}{n - len(batch), max(most-bytes, pullBytes), true}
	msgs, status, err := r.l.collect(ctx, "$JS.API.CONSUMER.MSG.NEXT."+r.stream+"."+r.consumer, pull, pull.Batch)
	if err != nil {
		return nil, false, err
	}
	if status == statusNoServer {
		return nil, false, fmt.Errorf("ledger: read %s: the reader's consumer is gone: %w", r.filter, ask.ErrUnavailable)
	}
	for _, m := range msgs {
		meta, err := m.Metadata()
		if err != nil {
			return nil, false, fmt.Errorf("ledger: read %s: %w", r.filter, err)
		}
		if r.passed++; meta.Sequence.Consumer != r.passed {
			return nil, false, fmt.Errorf("ledger: read %s: got message %d, want %d: %w", r.filter, meta.Sequence.Consumer, r.passed, ask.ErrUnavailable)
		}
		batch = append(batch, message{Msg: m, Seq: meta.Sequence.Stream, Time: meta.Timestamp})
	}
	return batch, status != "" && status != statusPullIsOver, nil
}

// readAhead reads up to n messages for the next read.
func (r *reader) readAhead(ctx context.Context, n int) {
	if len(r.ahead) >= n {
		return
	}
	var batch []message
	if batch, _, r.err = r.read(ctx, n, pageBytes); r.err == nil {
		r.ahead = append(batch, r.ahead...)
	}
}

// size estimates the memory of the messages that were read ahead.
func (r *reader) size() (n int) {
	for i := range r.ahead {
		n += 1024 + len(r.ahead[i].Data)
	}
	return n
}

// putBack returns messages that were read last and not taken.
func (r *reader) putBack(left []found) {
	back := make([]message, len(left), len(left)+len(r.ahead))
	for i := range left {
		back[i] = left[i].msg
	}
	r.ahead = append(back, r.ahead...)
}

// readers keeps the readers of pages for the next page: a cursor finds the one
// at its position. A page without one (at another replica, or too late) is as
// correct, but slower: creating a consumer counts all matching messages, and a
// list of 100,000 asks took a minute with one for each page instead of seconds.
type readers struct {
	mu   sync.Mutex
	kept map[position]*keptReader
	size int // bytes, of all
}

type position struct {
	stream, filter string
	seq            uint64
}

type keptReader struct {
	*reader
	ready chan struct{} // closed when the reader is free
	size  int           // bytes that it has or may read ahead
}

// maxReaders and maxKept bound the kept readers and what they have read ahead,
// in bytes.
const (
	maxReaders = 128
	maxKept    = 32 << 20
)

// acquire returns the reader at seq, or nil.
func (rs *readers) acquire(ctx context.Context, stream, filter string, seq uint64) *reader {
	k := rs.remove(position{stream, filter, seq}, nil)
	if k == nil {
		return nil
	}
	select {
	case <-k.ready:
		if k.err == nil {
			return k.reader
		}
	case <-ctx.Done():
	}
	return nil
}

// keep keeps a reader at seq, unless there is no room. It reads n messages ahead
// while the caller uses its page.
func (rs *readers) keep(ctx context.Context, r *reader, seq uint64, n int) {
	k := &keptReader{r, make(chan struct{}), r.size()}
	if n > len(r.ahead) {
		k.size += pullBytes
	}
	if !rs.put(position{r.stream, r.filter, seq}, k) {
		return
	}
	go func() {
		defer close(k.ready)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attempt)
		defer cancel()
		r.readAhead(ctx, n)
		rs.measured(position{r.stream, r.filter, seq}, k, r.size())
	}()
}

// put reports whether there was room.
func (rs *readers) put(at position, k *keptReader) bool {
	rs.remove(at, nil) // of another list at the same position
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.kept == nil {
		rs.kept = map[position]*keptReader{}
	}
	if len(rs.kept) >= maxReaders || rs.size+k.size > maxKept {
		return false
	}
	rs.kept[at] = k
	rs.size += k.size
	time.AfterFunc(forget, func() { rs.remove(at, k) }) // with the messages that it has read ahead
	return true
}

// remove removes the reader at a position, if it is only or only is nil, and
// returns it.
func (rs *readers) remove(at position, only *keptReader) *keptReader {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	k := rs.kept[at]
	if k == nil || only != nil && k != only {
		return nil
	}
	delete(rs.kept, at)
	rs.size -= k.size
	return k
}

// measured replaces the size that was expected of a reader, if it is still kept.
func (rs *readers) measured(at position, k *keptReader, size int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.kept[at] == k {
		rs.size += size - k.size
		k.size = size
	}
}
