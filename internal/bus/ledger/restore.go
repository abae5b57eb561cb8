package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Restored counts what was restored.
type Restored struct {
	Summary
	Expired int `json:"expired"` // outcomes and entries that had expired
}

// Restore writes a backup into an empty ledger over a connection with the
// ledger's rights, and then compares the result with the backup. Options may
// set other partitions and replicas than before: an ask's partition is
// recomputed from its tenant and session. No broker may run.
//
// The server's timers start with the questions: asks that are overdue by then
// expire at once. Outcomes keep the rest of their retention. Posting surfaces
// continue where they were; their receipts prevent a second post.
func Restore(ctx context.Context, nc *nats.Conn, f *BackupFile, opts Options) (Restored, error) {
	if err := f.settings(&opts); err != nil {
		return Restored{}, err
	}
	opts.restores = true
	l, err := Open(ctx, nc, opts)
	if err != nil {
		return Restored{}, err
	}
	if err := l.empty(ctx); err != nil {
		return Restored{}, err
	}
	if _, err := l.publish(ctx, nats.NewMsg(halfRestored)); err != nil {
		return Restored{}, err
	}
	r := &restore{l: l, f: f, now: l.Now(), consumers: map[string]bool{}}
	if r.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(10*time.Second), jetstream.WithPublishAsyncMaxPending(256)); err != nil {
		return Restored{}, fmt.Errorf("ledger: %w", err)
	}
	if err := f.each(func(e *backupEntry) error { return r.put(ctx, e) }); err != nil {
		return Restored{}, err
	}
	if err := r.finish(ctx); err != nil {
		return Restored{}, err
	}
	if err := r.audit(ctx); err != nil {
		return Restored{}, err
	}
	done, err := r.compare(ctx)
	if err != nil {
		return Restored{}, err
	}
	over := nats.NewMsg(halfRestored)
	over.Header.Set(hdrTTL, "1s")
	_, err = l.publish(ctx, over)
	return done, err
}

// halfRestored is the subject of a message in shared state that a restore stores first. At its end it replaces it by one
// that does not last.
const halfRestored = subject.StateLedger + ".restore"

// whole returns an error if a restore into this ledger was cut off.
func (l *Ledger) whole(ctx context.Context) error {
	m, err := l.last(ctx, subject.StateStream, halfRestored)
	if errors.Is(err, errNone) || err == nil && m.Header.Get(hdrTTL) != "" {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("ledger: a restore that began at %s did not end, and asks are missing: restore the backup into a fresh directory or account", m.Time.Format(time.RFC3339))
	}
	return err
}

// settings sets the options that are not set from the backup.
func (f *BackupFile) settings(opts *Options) error {
	retention, err := time.ParseDuration(f.Head.Retention)
	if err != nil {
		return fmt.Errorf("ledger: the backup's retention: %w", err)
	}
	margin, err := time.ParseDuration(f.Head.Margin)
	if err != nil {
		return fmt.Errorf("ledger: the backup's margin: %w", err)
	}
	opts.Retention, opts.Margin, opts.Audit, opts.shares = retention, margin, f.Head.Audit, f.Head.Shares
	opts.Partitions = cmp.Or(opts.Partitions, f.Head.Partitions)
	opts.Replicas = cmp.Or(opts.Replicas, f.Head.Replicas)
	return nil
}

// empty returns an error if the ledger is not empty.
func (l *Ledger) empty(ctx context.Context) error {
	for _, name := range l.streams() {
		m, err := l.first(ctx, name, ">", 1)
		if err == nil && subject.IsLedgerFirst(m.Subject) {
			_, err = l.first(ctx, name, ">", firstWork)
		}
		if !errors.Is(err, errNone) {
			return errors.Join(fmt.Errorf("ledger: the ledger is not empty: stream %s holds messages; restore into a fresh directory or account", name), err)
		}
	}
	return nil
}

// restoredTTL is the minimum TTL of restored messages: they must not expire
// between writing and comparing.
const restoredTTL = 10 * time.Minute

// restore is the state of one restore.
type restore struct {
	l         *Ledger
	js        jetstream.JetStream
	f         *BackupFile
	now       time.Time
	consumers map[string]bool // by stream and consumer: created
	acks      []jetstream.PubAckFuture
	expired   []string
	audited   int // records and copies that the audit has again
}

// put writes one message, if it counts.
func (r *restore) put(ctx context.Context, e *backupEntry) error {
	if !r.f.picture.counts(e) {
		return nil
	}
	left, limited, ok := e.left(r.now)
	if !ok {
		r.expired = append(r.expired, e.Subject)
		return nil
	}
	msg := &nats.Msg{Subject: e.Subject, Header: maps.Clone(e.Header), Data: e.Data}
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	question := false
	if !isState(e.Subject) && !subject.IsFile(e.Subject) {
		k, kind, typ, _ := subject.ParseLedger(e.Subject)
		p, stream := r.l.place(k)
		question = kind == subject.Question
		switch kind {
		case subject.Question:
			msg.Subject = subject.LedgerQuestion(p, k)
			msg.Header.Set(hdrScheduleTarget, subject.LedgerOutcome(p, k))
		case subject.Outcome:
			msg.Subject = subject.LedgerOutcome(p, k)
			if err := r.consumersUpTo(ctx, e, p, stream); err != nil {
				return err
			}
		default:
			msg.Subject = subject.LedgerReceipt(p, k, typ)
		}
	}
	for name := range msg.Header {
		if strings.HasPrefix(name, "Nats-Expected-") || strings.HasPrefix(name, "Nats-Batch-") || !question && strings.HasPrefix(name, "Nats-Schedule") || name == hdrRollup {
			delete(msg.Header, name) // they applied to the original write only
		}
	}
	if limited {
		msg.Header.Set(hdrTTL, ttl(max(left, restoredTTL)))
	}
	return r.publish(ctx, msg)
}

// audit writes the records of the audit. The server copies what is in the
// ledger again, so only copies of other messages are written.
func (r *restore) audit(ctx context.Context) error {
	gone := r.gone()
	err := r.f.each(func(e *backupEntry) error {
		tenant, kind, ok := subject.ParseLedgerAudit(e.Subject)
		if !ok {
			return nil
		}
		msg := &nats.Msg{Subject: subject.LedgerAudit(tenant, kind), Header: nats.Header{}, Data: e.Data}
		for name, values := range e.Header {
			if !strings.HasPrefix(name, "Nats-") {
				msg.Header[name] = values
			}
		}
		if kind != subject.AuditRecord {
			src, ok := audit.SourceOf(e.Header)
			if !ok {
				return nil
			}
			k, _, _, _ := subject.ParseLedger(src.Subject)
			if e.Header.Get(audit.HeaderRestored) == "" && r.f.picture.copies(k, src) && !gone[k] {
				r.audited++
				return nil
			}
			msg.Header[audit.HeaderRestored] = []string{src.String()}
		}
		r.audited++
		return r.publish(ctx, msg)
	})
	return errors.Join(err, r.acknowledged(ctx))
}

// copies reports whether the server will copy this message from the restored
// ledger: it is the one of its ask that counts, not one that was written before
// the votes of now.
func (p *picture) copies(k ask.Key, src audit.Source) bool {
	a := p.asks[k]
	return a != nil && a.stream == src.Stream && strconv.FormatUint(max(a.outcome, a.question), 10) == src.Seq
}

// gone returns the asks whose outcomes had expired.
func (r *restore) gone() map[ask.Key]bool {
	gone := map[ask.Key]bool{}
	for _, s := range r.expired {
		if k, kind, _, ok := subject.ParseLedger(s); ok && kind == subject.Outcome {
			gone[k] = true
		}
	}
	return gone
}

// publish stores a message; its acknowledgement is read later.
func (r *restore) publish(ctx context.Context, msg *nats.Msg) error {
	ack, err := r.js.PublishMsgAsync(msg)
	if err != nil {
		return fmt.Errorf("ledger: restore %s: %w", msg.Subject, err)
	}
	if r.acks = append(r.acks, ack); len(r.acks) < 256 {
		return nil
	}
	return r.acknowledged(ctx)
}

// acknowledged waits until all messages so far are stored.
func (r *restore) acknowledged(ctx context.Context) error {
	for _, ack := range r.acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("ledger: restore %s: %w; the restore is incomplete: start again in a fresh directory or account", ack.Msg().Subject, err)
		case <-ctx.Done():
			return fmt.Errorf("ledger: restore %s: %w", ack.Msg().Subject, ctx.Err())
		}
	}
	r.acks = r.acks[:0]
	return nil
}

// consumersUpTo creates the consumers of outcomes that had not settled this one:
// they get what is stored from now on.
func (r *restore) consumersUpTo(ctx context.Context, e *backupEntry, p int, stream string) error {
	for _, c := range r.f.consumers {
		if c.Stream != e.Stream || c.Floor >= e.Seq || c.Config.DeliverPolicy != jetstream.DeliverNewPolicy || r.consumers[stream+"/"+c.Config.Durable] {
			continue
		}
		if err := r.acknowledged(ctx); err != nil {
			return err
		}
		if err := r.consumer(ctx, c, p, stream); err != nil {
			return err
		}
	}
	return nil
}

func (r *restore) consumer(ctx context.Context, c *backupConsumer, p int, stream string) error {
	r.consumers[stream+"/"+c.Config.Durable] = true
	cfg := c.Config
	cfg.Replicas = 0 // as the stream
	if from, ok := partitionOf(c.Stream, r.f.Head.Partitions); ok {
		cfg.FilterSubject = strings.Replace(cfg.FilterSubject, partitionSubject(from), partitionSubject(p), 1)
	}
	if _, err := r.js.CreateConsumer(ctx, stream, cfg); err != nil {
		return fmt.Errorf("ledger: make consumer %s of %s: %w", cfg.Durable, stream, err)
	}
	return nil
}

func partitionSubject(p int) string { return strings.TrimSuffix(subject.LedgerStream(p), ">") }

// finish creates the remaining consumers.
func (r *restore) finish(ctx context.Context) error {
	if err := r.acknowledged(ctx); err != nil {
		return err
	}
	for _, c := range r.f.consumers {
		if _, ok := partitionOf(c.Stream, r.f.Head.Partitions); !ok {
			continue
		}
		for p := range r.l.n {
			stream := subject.Stream(p)
			if r.consumers[stream+"/"+c.Config.Durable] || r.l.n == r.f.Head.Partitions && stream != c.Stream {
				continue
			}
			if err := r.consumer(ctx, c, p, stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare reads everything back. A pending ask may have expired since: the
// server's timer then copied its question.
func (r *restore) compare(ctx context.Context) (Restored, error) {
	has := newPicture()
	for _, name := range r.l.streams() {
		err := r.l.everything(ctx, name, func(m message) error {
			return has.add(&backupEntry{Stream: name, Seq: m.Seq, Subject: m.Subject, Header: m.Header, Data: m.Data})
		})
		if err != nil {
			return Restored{}, err
		}
	}
	gone := r.gone()
	for k, was := range r.f.picture.asks {
		is := has.asks[k]
		switch {
		case gone[k] && is == nil:
		case is == nil:
			return Restored{}, fmt.Errorf("ledger: ask %s is missing after the restore", k)
		case is.data != was.data || is.life != was.life || was.outcome != 0 && is.outcome == 0:
			return Restored{}, fmt.Errorf("ledger: ask %s differs from the backup after the restore", k)
		}
	}
	if len(has.asks)+len(gone) != len(r.f.picture.asks) {
		return Restored{}, fmt.Errorf("ledger: %d asks exist after restoring %d", len(has.asks), len(r.f.picture.asks)-len(gone))
	}
	s := has.summary(r.l.n)
	s.Audit, s.Messages = r.audited, s.Messages+r.audited
	return Restored{Summary: s, Expired: len(r.expired)}, nil
}
