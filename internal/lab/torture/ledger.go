package torture

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// reader reads the streams of the ledger in order, on its own connection.
type reader struct {
	js   jetstream.JetStream
	h    *history
	mine func(life string) bool
	n    int
	next []uint64 // by partition

	// late is the maximum delay of the server's timer.
	late time.Duration

	retention time.Duration
	readAt    []time.Duration // by partition: when it was last up to date
	unread    []Span          // longer than the retention: outcomes may have expired unread
}

// newReader waits until the ledger exists.
func newReader(ctx context.Context, nc *nats.Conn, d *driver) (*reader, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		return nil, err
	}
	r := &reader{js: js, h: d.h, mine: d.mine, retention: d.retention}
	for {
		s, err := js.Stream(ctx, subject.Stream(0))
		if err == nil {
			if r.n, err = strconv.Atoi(s.CachedInfo().Config.Metadata["askbus.partitions"]); err != nil {
				return nil, fmt.Errorf("torture: read the ledger's partitions: %w", err)
			}
			break
		}
		if !until(ctx, time.Now().Add(100*time.Millisecond)) {
			return nil, fmt.Errorf("torture: read the ledger: %w", err)
		}
	}
	r.next, r.readAt = make([]uint64, r.n), make([]time.Duration, r.n)
	for p := range r.n { // what lies there from earlier runs is of no interest
		for r.next[p] == 0 {
			s, err := js.Stream(ctx, subject.Stream(p))
			if err == nil {
				r.next[p], r.readAt[p] = s.CachedInfo().State.LastSeq+1, r.h.now()
			} else if !until(ctx, time.Now().Add(100*time.Millisecond)) {
				return nil, fmt.Errorf("torture: read the ledger: %w", err)
			}
		}
	}
	return r, nil
}

// follow reads new messages until ctx ends. Messages are read in order within the retention, so a
// reader that sees a second outcome has seen the first. The checker learns of gaps longer than
// that.
func (r *reader) follow(ctx context.Context) {
	for ctx.Err() == nil {
		idle := true
		for p := range r.n {
			n, err := r.some(ctx, p)
			idle = idle && (n == 0 || err != nil)
		}
		if idle {
			until(ctx, time.Now().Add(200*time.Millisecond))
		}
	}
}

// catchUp reads all available messages.
func (r *reader) catchUp(ctx context.Context) error {
	for p := range r.n {
		for {
			n, err := r.some(ctx, p)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
}

const readAtOnce = 2000

// some reads the next outcomes of a partition.
func (r *reader) some(ctx context.Context, p int) (int, error) {
	one, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	began := r.h.now()
	c, err := r.js.CreateConsumer(one, subject.Stream(p), jetstream.ConsumerConfig{
		FilterSubject: subject.LedgerAll(p, subject.Key{}, subject.Outcome), DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: r.next[p], AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: 5 * time.Second, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return 0, err
	}
	n := int(min(c.CachedInfo().NumPending, readAtOnce))
	if n == 0 {
		r.readTo(p, began)
		return 0, nil
	}
	batch, err := c.Fetch(n, jetstream.FetchMaxWait(2*time.Second))
	if err != nil {
		return 0, err
	}
	got := 0
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return got, err
		}
		r.next[p] = meta.Sequence.Stream + 1
		got++
		r.outcome(&nats.Msg{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()}, meta.Sequence.Stream, meta.Timestamp)
	}
	if got == n && n < readAtOnce {
		r.readTo(p, began)
	}
	return got, batch.Error()
}

// readTo records that everything stored until then was read.
func (r *reader) readTo(p int, then time.Duration) {
	if now := r.h.now(); now-r.readAt[p] > r.retention {
		r.unread = append(r.unread, Span{r.readAt[p], now})
	}
	r.readAt[p] = then
}

func (r *reader) outcome(m *nats.Msg, seq uint64, at time.Time) {
	k, kind, _, ok := subject.ParseLedger(m.Subject)
	if !ok || kind != subject.Outcome {
		return
	}
	s, err := cloudevent.ReadOutcome(m, k)
	if err != nil || !r.mine(s.Ask.Title) {
		return
	}
	e := Event{Who: "ledger", Op: OpStored, Key: k, Life: s.Ask.Title, Truth: r.h.truth(s.End), Seq: seq}
	if s.End.Status == ask.StatusExpired {
		e.Late = at.Sub(s.End.At)
		r.late = max(r.late, e.Late)
	}
	r.h.add(e)
}

// ghosts records every question that still exists although its outcome is stored. found is the
// count before the brokers had time to remove them; one that remains after patience is a violation.
func (r *reader) ghosts(ctx context.Context, patience time.Duration) (found int) {
	end := time.Now().Add(patience)
	for first := true; ; first = false {
		left, err := r.lookForGhosts(ctx)
		if first && err == nil {
			found = len(left)
		}
		if err == nil && len(left) == 0 || ctx.Err() != nil {
			return found
		}
		if time.Now().After(end) {
			if err == nil {
				for _, g := range left {
					r.h.add(g)
				}
			}
			return found
		}
		until(ctx, time.Now().Add(300*time.Millisecond))
	}
}

func (r *reader) lookForGhosts(ctx context.Context) ([]Event, error) {
	var left []Event
	for p := range r.n {
		s, err := r.js.Stream(ctx, subject.Stream(p))
		if err != nil {
			return nil, err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject.LedgerStream(p)))
		if err != nil {
			return nil, err
		}
		for subj := range info.State.Subjects {
			k, kind, _, ok := subject.ParseLedger(subj)
			if _, ended := info.State.Subjects[strings.TrimSuffix(subj, subject.Question)+subject.Outcome]; !ok || kind != subject.Question || !ended {
				continue
			}
			q, err := s.GetLastMsgForSubject(ctx, subj)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			o, err := s.GetLastMsgForSubject(ctx, subject.LedgerOutcome(p, k))
			if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && o.Sequence < q.Sequence {
				continue // asked again
			}
			if err != nil {
				return nil, err
			}
			read, err := cloudevent.ReadQuestion(&nats.Msg{Subject: subj, Header: q.Header, Data: q.Data}, k)
			if err == nil && r.mine(read.Ask.Title) {
				left = append(left, Event{Who: "ledger", Op: OpGhost, Key: k, Life: read.Ask.Title, Seq: q.Sequence})
			}
		}
	}
	return left, nil
}
