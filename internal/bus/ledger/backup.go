package ledger

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A backup reads the streams message by message while brokers run. JetStream's
// own snapshot is not used: it copies block by block and takes the list of
// deleted messages last, so that it may contain neither the question nor the
// outcome of an ask that is answered meanwhile.
//
// Reading in order to the end keeps every ask: a question that is gone when the
// reader gets there was removed by an outcome stored later, which the reader
// has not passed yet.

// backupFormat is the number of the file's layout.
const backupFormat = 2

// Lines of a backup, one JSON document each, compressed together.
type (
	backupLine struct {
		Head     *BackupHead     `json:"askbus_backup,omitempty"` // the first
		Consumer *backupConsumer `json:"consumer,omitempty"`
		Msg      *backupEntry    `json:"message,omitempty"`
		End      *backupEnd      `json:"end,omitempty"` // the last
	}
	// BackupHead describes the source of a backup.
	BackupHead struct {
		Format     int       `json:"format"`
		Protocol   int       `json:"protocol"`
		Partitions int       `json:"partitions"`
		Replicas   int       `json:"replicas"`
		Retention  string    `json:"retention"`
		Margin     string    `json:"margin"`
		At         time.Time `json:"at"` // when it began, by the servers' clocks: see [Ledger.serversTime]

		Audit  AuditSettings `json:"audit"` // zero in backups of before, as the shares
		Shares Shares        `json:"shares"`
	}
	// backupConsumer is a durable consumer: the progress of a posting surface.
	backupConsumer struct {
		Stream string                   `json:"stream"`
		Floor  uint64                   `json:"floor"` // all messages up to this sequence are settled
		Config jetstream.ConsumerConfig `json:"config"`
	}
	backupEntry struct {
		Stream  string      `json:"stream"`
		Seq     uint64      `json:"seq"`
		At      time.Time   `json:"at"`
		Subject string      `json:"subject"`
		Header  nats.Header `json:"header,omitempty"`
		Data    []byte      `json:"data,omitempty"`
	}
	backupEnd struct {
		Messages int    `json:"messages"`
		Sum      string `json:"sha256"` // of all lines before
	}
)

// Backup writes everything that a ledger holds to w, over a connection with
// maintenance rights, while brokers run. [ReadBackup] reads it.
func Backup(ctx context.Context, nc *nats.Conn, w io.Writer, log *slog.Logger) (Summary, error) {
	l, has, err := attach(ctx, nc, log)
	if err != nil {
		return Summary{}, err
	}
	at, err := l.serversTime(ctx)
	audited, errAudit := SetAudit(ctx, nc, AuditSettings{}, false)
	shares, errShares := SetShares(ctx, nc, 0)
	if err := errors.Join(l.whole(ctx), err, errAudit, errShares); err != nil {
		return Summary{}, err
	}
	b := newBackupWriter(w)
	b.line(backupLine{Head: &BackupHead{
		Format: backupFormat, Protocol: wire.Protocol(), Partitions: has.Partitions, Replicas: has.Replicas,
		Retention: has.Retention.String(), Margin: has.Margin.String(), At: at, Audit: audited, Shares: shares,
	}})
	names := l.streams()
	// The audit is read last: an ask that ends meanwhile is in the streams read
	// before, or in it.
	if _, err := l.js.Stream(ctx, subject.AuditStream); err == nil {
		names = append(names, subject.AuditStream)
	}
	for _, name := range names {
		// Consumers first: work settled while messages are read is handed out
		// again.
		all, err := l.durables(ctx, name)
		if err != nil {
			return Summary{}, err
		}
		for _, c := range all {
			b.line(backupLine{Consumer: &backupConsumer{Stream: name, Floor: c.AckFloor.Stream, Config: c.Config}})
		}
	}
	for _, name := range names {
		err := l.everything(ctx, name, func(m message) error {
			b.messages++
			b.line(backupLine{Msg: &backupEntry{Stream: name, Seq: m.Seq, At: m.Time, Subject: m.Subject, Header: stored(m.Header), Data: m.Data}})
			return b.err
		})
		if err != nil {
			return Summary{}, fmt.Errorf("ledger: back up %s: %w", name, err)
		}
	}
	if err := b.close(); err != nil {
		return Summary{}, fmt.Errorf("ledger: write the backup: %w", err)
	}
	return Summary{Partitions: has.Partitions, Messages: b.messages}, nil
}

// streamOver looks up a stream over a connection that no broker uses.
func streamOver(ctx context.Context, nc *nats.Conn, name string) (jetstream.JetStream, jetstream.Stream, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*attempt))
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	s, err := openStream(ctx, js, name)
	return js, s, err
}

// openStream looks up a stream.
func openStream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("ledger: open stream %s: %w", name, err)
	}
	return s, nil
}

// attach opens an existing ledger for reading.
func attach(ctx context.Context, nc *nats.Conn, log *slog.Logger) (*Ledger, Settings, error) {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	js, s, err := streamOver(ctx, nc, subject.Stream(0))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, Settings{}, fmt.Errorf("ledger: no ledger here: stream %s does not exist: %w", subject.Stream(0), jetstream.ErrStreamNotFound)
	}
	if err != nil {
		return nil, Settings{}, err
	}
	l := &Ledger{nc: nc, js: js, opts: Options{Logger: log}}
	has, err := l.held(s)
	l.n = has.Partitions
	return l, has, err
}

// serversTime returns the median of what the servers of the partitions say. The machine that makes a backup, whose name
// has the time, may have a wrong clock: the newest by name would not be the newest. A server with a wrong clock leads
// few of them.
func (l *Ledger) serversTime(ctx context.Context) (time.Time, error) {
	began := time.Now()
	ahead := make([]time.Duration, l.n)
	for p := range l.n {
		var err error
		ahead[p], err = eachTry(ctx, func(ctx context.Context) (time.Duration, error) {
			by, _, err := l.ahead(ctx, subject.Stream(p))
			return by, err
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	slices.Sort(ahead)
	return began.Add(ahead[l.n/2]).UTC(), nil
}

// streams returns the names of the streams that a ledger consists of, without
// the audit's.
func (l *Ledger) streams() []string {
	names := []string{subject.StateStream}
	for p := range l.n {
		names = append(names, subject.Stream(p))
	}
	return append(names, subject.FileStream) // last: a file is stored before the ask that refers to it
}

// durables returns the durable consumers of a stream.
func (l *Ledger) durables(ctx context.Context, stream string) (all []*jetstream.ConsumerInfo, err error) {
	s, err := openStream(ctx, l.js, stream)
	if err != nil {
		return nil, err
	}
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		if c.Config.Durable != "" {
			all = append(all, c)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("ledger: list consumers of %s: %w", stream, err)
	}
	return all, nil
}

const (
	copyBatch = 500
	copyBytes = 4 << 20
)

// How often a backup of a stream reads to what is its end by then. A round
// misses what is replaced ahead of it: a question by its outcome, which is
// stored before the second round begins, or an entry of the shared state by its
// next value, or a question by the same one with another vote, again and again.
// So asks are followed further, but only half as far again: it would never be
// over while more is stored than can be read.
const (
	roundsOfAsks  = 2
	roundsOfState = 50   // each as short as what was stored in the one before
	followed      = 1000 // messages that are followed in any case
)

// everything reads what a stream held when it was called, in its present state;
// of what was stored since, it reads a part.
func (l *Ledger) everything(ctx context.Context, stream string, take func(message) error) error {
	next, rounds := uint64(1), roundsOfAsks
	if stream == subject.StateStream {
		rounds = roundsOfState
	}
	read := 0
	counted := func(m message) error {
		read++
		return take(m)
	}
	most := 0 // messages in all
	for round := 0; ; round++ {
		last, err := l.lastSequence(ctx, stream)
		if err == nil {
			err = l.confirmLeaderOf(ctx, stream, new(atomic.Int64))
		}
		if err != nil {
			return err
		}
		switch {
		case last < next:
			return nil
		case round == rounds:
			most = read + read/2 + followed
		}
		if round >= rounds && (stream == subject.StateStream || read >= most) {
			l.opts.Logger.WarnContext(ctx, "more is stored than can be read: what is written again and again meanwhile may be missing", slog.String("stream", stream))
			return nil
		}
		if round >= rounds {
			last = min(last, next+uint64(most-read))
		}
		if next, err = l.upTo(ctx, stream, next, last, counted); err != nil {
			return err
		}
	}
}

// upTo reads a stream from next to at least last, and returns where it would
// continue. A lagging replica returns fewer messages; the leader says whether
// there are more.
func (l *Ledger) upTo(ctx context.Context, stream string, next, last uint64, take func(message) error) (uint64, error) {
	for try := 0; next <= last; {
		body := struct {
			Seq   uint64 `json:"seq"`
			Batch int    `json:"batch"`
			Bytes int    `json:"max_bytes"`
			Next  string `json:"next_by_subj"`
		}{next, copyBatch, copyBytes, ">"}
		msgs, err := l.batch(ctx, stream, body, copyBatch+1)
		if err != nil {
			if try++; try > 5 || backOff(ctx, try) != nil {
				return next, err
			}
			continue
		}
		for _, m := range msgs {
			if !subject.IsLedgerFirst(m.Subject) && m.Subject != halfRestored { // every ledger has its own
				if err := take(m); err != nil {
					return next, err
				}
			}
			next, try = m.Seq+1, 0
		}
		if len(msgs) > 0 {
			continue
		}
		more, err := l.first(ctx, stream, ">", next)
		if errors.Is(err, errNone) || err == nil && more.Seq > last {
			return last + 1, nil
		}
		if try++; try > 20 || backOff(ctx, try) != nil {
			return next, errors.Join(fmt.Errorf("ledger: %s: a replica is not catching up", stream), err)
		}
	}
	return next, nil
}

// stored returns the headers of a message without those of its position.
func stored(h nats.Header) nats.Header {
	for _, name := range []string{"Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Num-Pending", "Nats-Last-Sequence", "Nats-UpTo-Sequence"} {
		delete(h, name)
	}
	return h
}

type backupWriter struct {
	zip      *gzip.Writer
	buf      *bufio.Writer
	sum      hash.Hash
	messages int
	err      error // the first
}

func newBackupWriter(w io.Writer) *backupWriter {
	buf := bufio.NewWriterSize(w, 1<<20)
	return &backupWriter{zip: gzip.NewWriter(buf), buf: buf, sum: sha256.New()}
}

func (b *backupWriter) line(l backupLine) {
	data, err := json.Marshal(l)
	if err == nil {
		data = append(data, '\n')
		_, _ = b.sum.Write(data) // never fails
		_, err = b.zip.Write(data)
	}
	if b.err == nil {
		b.err = err
	}
}

func (b *backupWriter) close() error {
	b.line(backupLine{End: &backupEnd{Messages: b.messages, Sum: hex.EncodeToString(b.sum.Sum(nil))}})
	return errors.Join(b.err, b.zip.Close(), b.buf.Flush())
}

// partitionOf returns the partition of a stream's name; ok is false for other
// streams.
func partitionOf(stream string, n int) (p int, ok bool) {
	for p := range n {
		if subject.Stream(p) == stream {
			return p, true
		}
	}
	return 0, false
}

// isAudit reports whether a ledger subject belongs to the audit.
func isAudit(subj string) bool { return strings.HasPrefix(subj, subject.AuditLedger+".") }

// isState reports whether a ledger subject belongs to shared state.
func isState(subj string) bool { return strings.HasPrefix(subj, subject.StateLedger+".") }
