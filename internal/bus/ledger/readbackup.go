package ledger

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Summary counts the contents of a backup or a ledger.
type Summary struct {
	Partitions int `json:"partitions"`
	Pending    int `json:"pending"`  // asks
	Ended      int `json:"ended"`    // asks, with their outcomes
	Receipts   int `json:"receipts"` // of surfaces
	State      int `json:"state"`    // entries of shared state
	Files      int `json:"files"`    // uploaded files
	Audit      int `json:"audit"`    // records and copies
	Messages   int `json:"messages"`
}

// picture is the content of a ledger, ask by ask: the messages that count. A
// reader that was overtaken sees an ask twice, as a question and as its
// outcome.
type picture struct {
	asks     map[ask.Key]*pictured
	receipts map[string]uint64 // subject -> sequence of the last one
	state    map[string]uint64
	files    map[string]uint64
	audit    int
	messages int
}

// pictured is one ask.
type pictured struct {
	life     string
	stream   string
	question uint64   // sequence; 0: none
	outcome  uint64   // of the first; 0: none
	data     [32]byte // digest of the message that counts
}

func newPicture() *picture {
	return &picture{asks: map[ask.Key]*pictured{}, receipts: map[string]uint64{}, state: map[string]uint64{}, files: map[string]uint64{}}
}

// add adds the next message of a stream. Of an ask the first outcome of its
// last life counts, else the last question.
func (p *picture) add(e *backupEntry) error {
	p.messages++
	if isAudit(e.Subject) {
		p.audit++
		return nil
	}
	if isState(e.Subject) {
		p.state[e.Subject] = e.Seq
		return nil
	}
	if subject.IsFile(e.Subject) {
		p.files[e.Subject] = e.Seq
		return nil
	}
	k, kind, _, ok := subject.ParseLedger(e.Subject)
	if !ok {
		return fmt.Errorf("ledger: invalid subject %q", e.Subject)
	}
	if kind == subject.Receipt {
		p.receipts[e.Subject] = e.Seq
		return nil
	}
	life := e.Header.Get(cloudevent.HeaderLife)
	a := p.asks[k]
	switch {
	case kind == subject.Question && (a == nil || a.life != life || a.outcome == 0):
		p.asks[k] = &pictured{life: life, stream: e.Stream, question: e.Seq, data: sha256.Sum256(e.Data)}
	case kind == subject.Outcome && (a == nil || a.life == life && a.outcome == 0):
		p.asks[k] = &pictured{life: life, stream: e.Stream, outcome: e.Seq, data: sha256.Sum256(e.Data)}
	}
	return nil
}

func (p *picture) counts(e *backupEntry) bool {
	if isAudit(e.Subject) {
		return false // decided when all asks have been read
	}
	if isState(e.Subject) {
		return p.state[e.Subject] == e.Seq
	}
	if subject.IsFile(e.Subject) {
		return p.files[e.Subject] == e.Seq
	}
	k, kind, _, _ := subject.ParseLedger(e.Subject)
	a := p.asks[k]
	switch {
	case a == nil:
		return false
	case kind == subject.Receipt:
		return p.receipts[e.Subject] == e.Seq
	case kind == subject.Outcome:
		return a.outcome == e.Seq
	}
	return a.outcome == 0 && a.question == e.Seq
}

func (p *picture) summary(partitions int) Summary {
	s := Summary{Partitions: partitions, Receipts: len(p.receipts), State: len(p.state), Audit: p.audit, Messages: p.messages}
	for subj := range p.files {
		if strings.HasSuffix(subj, ".head") {
			s.Files++
		}
	}
	for _, a := range p.asks {
		if a.outcome != 0 {
			s.Ended++
		} else {
			s.Pending++
		}
	}
	return s
}

// BackupFile is a backup that was read and checked once.
type BackupFile struct {
	Head    BackupHead
	Summary Summary

	from      io.ReadSeeker
	consumers []*backupConsumer
	picture   *picture
}

// ReadBackup reads a backup and checks that it is complete.
func ReadBackup(r io.ReadSeeker) (*BackupFile, error) {
	f := &BackupFile{from: r, picture: newPicture()}
	if err := f.each(f.picture.add); err != nil {
		return nil, err
	}
	f.Summary = f.picture.summary(f.Head.Partitions)
	return f, nil
}

// maxLine bounds a line: a message with its headers, in Base64.
const maxLine = 16 << 20

// each reads the file from the beginning. It records consumers the first time.
func (f *BackupFile) each(take func(*backupEntry) error) error {
	if _, err := f.from.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("ledger: read the backup: %w", err)
	}
	zip, err := gzip.NewReader(bufio.NewReaderSize(f.from, 1<<20))
	if err != nil {
		return fmt.Errorf("ledger: not a backup of askbus: %w", err)
	}
	first := f.Head.Format == 0
	sum, lines, messages := sha256.New(), bufio.NewScanner(zip), 0
	lines.Buffer(make([]byte, 1<<20), maxLine)
	for lines.Scan() {
		var l backupLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("ledger: the backup is damaged after %d messages: %w", messages, err)
		}
		switch {
		case l.End != nil:
			if got := hex.EncodeToString(sum.Sum(nil)); got != l.End.Sum || messages != l.End.Messages {
				return fmt.Errorf("ledger: the backup is damaged: checksum %.12s… of %d messages, want %.12s… of %d", got, messages, l.End.Sum, l.End.Messages)
			}
			if lines.Scan() || lines.Err() != nil {
				return errors.New("ledger: the backup is damaged: something follows its end")
			}
			return nil
		case l.Head != nil:
			if f.Head = *l.Head; f.Head.Format != backupFormat || f.Head.Protocol != wire.Protocol() {
				return fmt.Errorf("ledger: the backup has format %d of protocol %d; this version reads %d of %d", f.Head.Format, f.Head.Protocol, backupFormat, wire.Protocol())
			}
		case f.Head.Format == 0:
			return errors.New("ledger: not a backup of askbus")
		case l.Consumer != nil && first:
			f.consumers = append(f.consumers, l.Consumer)
		case l.Msg != nil:
			messages++
			if err := take(l.Msg); err != nil {
				return err
			}
		}
		_, _ = sum.Write(append(bytes.Clone(lines.Bytes()), '\n')) // never fails
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("ledger: the backup is damaged after %d messages: %w", messages, err)
	}
	return fmt.Errorf("ledger: the backup is truncated after %d messages", messages)
}

// left returns the rest of the TTL with which a message was stored. ok is false
// if it has expired.
func (e *backupEntry) left(now time.Time) (ttl time.Duration, limited, ok bool) {
	v := e.Header.Get(hdrTTL)
	if v == "" || v == "never" {
		return 0, false, true
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, false, true
	}
	d -= now.Sub(e.At)
	return d, true, d > 0
}
