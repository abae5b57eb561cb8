package ledger

import (
	"bufio"
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
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A backup is what a reader of the streams sees, message by message, while
// everything goes on. JetStream's own snapshot is not used: it copies block by
// block and takes the list of deleted messages last, so that of an ask that is
// answered meanwhile neither the question nor the outcome may be in it.
//
// Reading in order to the very end keeps every ask: a question that was gone
// when the reader came to its place ended by an outcome that was stored before
// that, behind everything that was there then, and so is still to come.

// BackupFormat is the number of the file's layout.
const BackupFormat = 1

// Lines of a backup, one JSON document each, compressed together.
type (
	backupLine struct {
		Head *BackupHead  `json:"askbus_backup,omitempty"` // the first
		Desk *backupDesk  `json:"desk,omitempty"`
		Msg  *backupEntry `json:"message,omitempty"`
		End  *backupEnd   `json:"end,omitempty"` // the last
	}
	// BackupHead says what a backup is of.
	BackupHead struct {
		Format     int       `json:"format"`
		Protocol   int       `json:"protocol"`
		Partitions int       `json:"partitions"`
		Replicas   int       `json:"replicas"`
		Retention  string    `json:"retention"`
		Margin     string    `json:"margin"`
		At         time.Time `json:"at"` // when it began, by the clock of who made it
	}
	// backupDesk is a durable consumer: how far a posting surface has come.
	backupDesk struct {
		Stream string                   `json:"stream"`
		Floor  uint64                   `json:"floor"` // everything up to this sequence is settled
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

// Backup writes everything that a ledger holds to w, over a connection with the
// rights of maintenance, while brokers run. [ReadBackup] reads it.
func Backup(ctx context.Context, nc *nats.Conn, w io.Writer, log *slog.Logger) (Summary, error) {
	l, has, err := attach(ctx, nc, log)
	if err != nil {
		return Summary{}, err
	}
	b := newBackupWriter(w)
	b.line(backupLine{Head: &BackupHead{
		Format: BackupFormat, Protocol: Protocol, Partitions: has.Partitions, Replicas: has.Replicas,
		Retention: has.Retention.String(), Margin: has.Margin.String(), At: time.Now().UTC(),
	}})
	names := []string{subject.StateStream}
	for p := range l.n {
		names = append(names, subject.Stream(p))
	}
	// The audit is read last: what ends meanwhile is in the streams before, or in it.
	if _, err := l.js.Stream(ctx, subject.AuditStream); err == nil {
		names = append(names, subject.AuditStream)
	}
	for _, name := range names {
		// Desks first: what is settled while messages are read is handed out again.
		if err := l.desks(ctx, name, func(d *backupDesk) { b.line(backupLine{Desk: d}) }); err != nil {
			return Summary{}, err
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

// attach is a ledger for reading, whose streams are there already.
func attach(ctx context.Context, nc *nats.Conn, log *slog.Logger) (*Ledger, Settings, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*attempt))
	if err != nil {
		return nil, Settings{}, fmt.Errorf("ledger: %w", err)
	}
	s, err := js.Stream(ctx, subject.Stream(0))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, Settings{}, fmt.Errorf("ledger: there is none: stream %s is not there: %w", subject.Stream(0), err)
	}
	if err != nil {
		return nil, Settings{}, fmt.Errorf("ledger: open stream %s: %w", subject.Stream(0), err)
	}
	has, err := readSettings(s.CachedInfo().Config.Metadata)
	if err != nil {
		return nil, Settings{}, err
	}
	l := &Ledger{nc: nc, js: js, n: has.Partitions, copies: has.Replicas, opts: Options{Logger: log}}
	return l, has, nil
}

// desks reads how far the durable consumers of a stream have come.
func (l *Ledger) desks(ctx context.Context, stream string, tell func(*backupDesk)) error {
	s, err := l.js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("ledger: open stream %s: %w", stream, err)
	}
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		if c.Config.Durable != "" {
			tell(&backupDesk{Stream: stream, Floor: c.AckFloor.Stream, Config: c.Config})
		}
	}
	if err := list.Err(); err != nil {
		return fmt.Errorf("ledger: list consumers of %s: %w", stream, err)
	}
	return nil
}

const (
	copyBatch = 500
	copyBytes = 4 << 20
)

// everything reads a stream from its first to its very last message. A replica
// that is behind gives fewer; the leader says when there are no more.
func (l *Ledger) everything(ctx context.Context, stream string, take func(message) error) error {
	next := uint64(1)
	for try := 0; ; {
		body := struct {
			Seq   uint64 `json:"seq"`
			Batch int    `json:"batch"`
			Bytes int    `json:"max_bytes"`
			Next  string `json:"next_by_subj"`
		}{next, copyBatch, copyBytes, ">"}
		msgs, status, err := l.collect(ctx, "$JS.API.DIRECT.GET."+stream, body, copyBatch+1)
		if err == nil && status != statusEnd && status != statusNone {
			err = fmt.Errorf("ledger: read %s: status %s", stream, status)
		}
		if err != nil {
			if try++; try > 5 || backOff(ctx, try) != nil {
				return err
			}
			continue
		}
		for _, m := range msgs {
			found, err := directMessage(m)
			if err != nil {
				return err
			}
			if err := take(found); err != nil {
				return err
			}
			next, try = found.Seq+1, 0
		}
		if len(msgs) > 0 {
			continue
		}
		_, err = l.first(ctx, stream, ">", next)
		if errors.Is(err, errNone) {
			return l.confirmLeaderOf(ctx, stream, new(atomic.Int64))
		}
		if try++; try > 20 || backOff(ctx, try) != nil {
			return errors.Join(fmt.Errorf("ledger: %s: a replica does not catch up", stream), err)
		}
	}
}

// stored are the headers of a message without those that only say where it lay.
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

// partitionOf is the partition of a stream's name; ok is false for others.
func partitionOf(stream string, n int) (p int, ok bool) {
	for p := range n {
		if subject.Stream(p) == stream {
			return p, true
		}
	}
	return 0, false
}

// isAudit reports whether a ledger subject is of the audit.
func isAudit(subj string) bool { return strings.HasPrefix(subj, subject.AuditLedger+".") }

// isState reports whether a ledger subject is of shared state.
func isState(subj string) bool { return strings.HasPrefix(subj, subject.StateLedger+".") }
