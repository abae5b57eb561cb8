package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Files are in a stream of their own: for each file of a session its parts, and
// then a head that describes it. Every message has a TTL, so the server deletes
// what nobody refers to, whether a broker runs or not. An ask that refers to a file
// prolongs it: [Ledger.keepFile]. Everything is read from the leader.

const (
	fileWrites  = 8      // parts that are prolonged at a time
	fileHeaders = 10_000 // messages of files that are counted at a time
)

// uploadLife is how long a file lives that no ask refers to.
const uploadLife = 10 * time.Minute

// StoredFile is what the ledger knows of a file.
type StoredFile struct {
	ask.File
	Expires time.Time `json:"-"`
}

// openFiles creates the stream of files if it is missing.
func (l *Ledger) openFiles(ctx context.Context) error {
	cfg := jetstream.StreamConfig{
		Name: subject.FileStream, Subjects: []string{subject.FileLedger + ".>"}, Storage: jetstream.FileStorage,
		Description: "askbus files of asks and answers; only the broker writes here",
		Replicas:    l.copies, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1,
		MaxBytes: cmp.Or(l.opts.shares.Files, share(subject.FileStream, l.budget.Load())), AllowMsgTTL: true, AllowDirect: true, DenyDelete: true,
	}
	if _, err := l.createBounded(ctx, cfg, minFileBudget, 16); err != nil {
		return err
	}
	s, err := l.stream(ctx, subject.FileStream)
	if err != nil {
		return fmt.Errorf("ledger: open stream %s: %w", subject.FileStream, err)
	}
	l.fileBudget = s.CachedInfo().Config.MaxBytes
	return nil
}

// EnsureFile is [Ledger.File] of a file that will live for half the life of an
// upload at least.
func (l *Ledger) EnsureFile(ctx context.Context, at ask.Session, id string) (StoredFile, error) {
	f, err := l.File(ctx, at, id)
	if now := l.Now(); err == nil && f.Expires.Before(now.Add(l.opts.UploadLife/2)) {
		err = l.keepFile(ctx, at, id, now.Add(l.opts.UploadLife))
	}
	return f, err
}

// FileBudget returns how many bytes all files may have.
func (l *Ledger) FileBudget() int64 { return l.fileBudget }

// PutFilePart stores a part of a file, once: other bytes in its place are
// refused, so nobody changes what somebody else uploads.
func (l *Ledger) PutFilePart(ctx context.Context, at ask.Session, id string, part int, data []byte) error {
	if l.Room() != nil { // what is left is for the ends of pending asks
		return filesFull()
	}
	of := subject.FilePart(at, id, part)
	for try := 0; ; try++ {
		err := l.putFile(ctx, of, data, l.Now().Add(l.opts.UploadLife), 0)
		if !IsRace(err) {
			return err
		}
		m, err := l.last(ctx, subject.FileStream, of)
		switch {
		case err == nil && bytes.Equal(m.Data, data):
			return nil
		case err == nil:
			return ask.Refuse(ask.CodeConflict, "part %d of this file was uploaded with other bytes; try again in ten minutes", part)
		case !errors.Is(err, errNone) || try >= 3:
			return err
		}
	}
}

// putFile writes a message of a file that replaces the one with this sequence; 0:
// none.
func (l *Ledger) putFile(ctx context.Context, of string, data []byte, until time.Time, seq uint64) error {
	msg := nats.NewMsg(of)
	msg.Data = data
	msg.Header.Set(hdrExpectedSeq, strconv.FormatUint(seq, 10))
	msg.Header[hdrExpires] = []string{until.UTC().Format(time.RFC3339)}
	msg.Header.Set(hdrTTL, ttl(max(time.Second, until.Sub(l.Now()))))
	_, err := l.publish(ctx, msg)
	if storageFull(err) {
		return errors.Join(filesFull(), err)
	}
	return err
}

func filesFull() error {
	return ask.Refuse(ask.CodeLedgerFull, "there is no room for files: nothing new is stored until those of ended asks are past their retention; asks without files still work")
}

// File returns what is known of a file; the error is [ask.ErrNotFound] if it was
// not uploaded completely, or is deleted.
func (l *Ledger) File(ctx context.Context, at ask.Session, id string) (StoredFile, error) {
	m, err := l.last(ctx, subject.FileStream, subject.FileHead(at, id))
	if errors.Is(err, errNone) {
		if err := l.confirmLeaderOf(ctx, subject.FileStream, &l.filesLed); err != nil {
			return StoredFile{}, err
		}
		return StoredFile{}, noFile(id)
	}
	if err != nil {
		return StoredFile{}, err
	}
	f := StoredFile{Expires: expires(m)}
	if !l.Now().Before(f.Expires) {
		return StoredFile{}, noFile(id)
	}
	if err := json.Unmarshal(m.Data, &f); err != nil {
		return StoredFile{}, fmt.Errorf("ledger: file %s: %w", id, err)
	}
	return f, nil
}

func noFile(id string) error {
	return ask.Refuse(ask.CodeNotFound, "no file %s: nobody uploaded it in this session, or it is deleted", ask.Clip(id, 64))
}

func expires(m message) time.Time {
	at, _ := time.Parse(time.RFC3339, m.Header.Get(hdrExpires)) // without one it is over
	return at
}

// FilePart returns the bytes of a part of a file.
func (l *Ledger) FilePart(ctx context.Context, at ask.Session, id string, part int) ([]byte, error) {
	m, err := l.last(ctx, subject.FileStream, subject.FilePart(at, id, part))
	if errors.Is(err, errNone) {
		return nil, noFile(id)
	}
	return m.Data, err
}

// PutFile completes an upload: check is given all bytes of the file. If they are
// refused, they are deleted.
func (l *Ledger) PutFile(ctx context.Context, at ask.Session, f ask.File, check func(data []byte) error) (StoredFile, error) {
	if known, err := l.File(ctx, at, f.ID); err == nil {
		known.Name = f.Name
		return known, l.keepFile(ctx, at, f.ID, l.Now().Add(l.opts.UploadLife))
	} else if !errors.Is(err, ask.ErrNotFound) {
		return StoredFile{}, err
	}
	data := make([]byte, 0, f.Size)
	for part := 0; int64(len(data)) < f.Size; part++ {
		m, err := l.last(ctx, subject.FileStream, subject.FilePart(at, f.ID, part))
		if errors.Is(err, errNone) {
			return StoredFile{}, ask.InvalidError("upload", []ask.Fault{ask.NewFault("/size", ask.FaultCutFile, part)})
		}
		if err != nil {
			return StoredFile{}, err
		}
		data = append(data, m.Data...)
		if want := min(f.Size, int64(part+1)*wire.MaxFilePart); int64(len(data)) != want { // else a part would not be kept
			return StoredFile{}, errors.Join(ask.InvalidError("upload", []ask.Fault{ask.NewFault("/size", ask.FaultCutFile, part)}), l.removeFile(ctx, at, f.ID))
		}
	}
	if err := check(data); err != nil {
		return StoredFile{}, errors.Join(err, l.removeFile(ctx, at, f.ID))
	}
	until := l.Now().Add(l.opts.UploadLife)
	if err := l.keepParts(ctx, at, &f, until); err != nil {
		return StoredFile{}, err
	}
	head, err := json.Marshal(f)
	if err != nil {
		return StoredFile{}, err
	}
	if err := l.putFile(ctx, subject.FileHead(at, f.ID), head, until, 0); err != nil && !IsRace(err) {
		return StoredFile{}, err
	}
	return StoredFile{f, until}, nil
}

// removeFile deletes a file.
func (l *Ledger) removeFile(ctx context.Context, at ask.Session, id string) error {
	body := struct {
		Filter string `json:"filter"`
	}{subject.FileAny(at, id)}
	return l.api(ctx, "STREAM.PURGE."+subject.FileStream, body, nil)
}

// keepFile makes a file live until a time at least: its parts, and then its head,
// so that the head is the first to expire. A tenth of the life of an upload is no
// difference. Repeating it is harmless.
func (l *Ledger) keepFile(ctx context.Context, at ask.Session, id string, until time.Time) error {
	f, err := l.File(ctx, at, id)
	if err != nil || !f.Expires.Before(until.Add(-l.opts.UploadLife/10)) {
		return err
	}
	if err := l.keepParts(ctx, at, &f.File, until); err != nil {
		return err
	}
	return l.keepMessage(ctx, subject.FileHead(at, id), until)
}

// KeepFileAsked is [Ledger.keepFile] until the retention of an ask with this
// deadline is over.
func (l *Ledger) KeepFileAsked(ctx context.Context, at ask.Session, id string, deadline time.Time) error {
	now := l.Now()
	return l.keepFile(ctx, at, id, now.Add(l.outlive(deadline, now)))
}

func (l *Ledger) keepParts(ctx context.Context, at ask.Session, f *ask.File, until time.Time) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fileWrites)
	for part := range int(f.Size+wire.MaxFilePart-1) / wire.MaxFilePart {
		g.Go(func() error { return l.keepMessage(ctx, subject.FilePart(at, f.ID, part), until) })
	}
	return g.Wait()
}

// keepMessage writes a message again that would expire earlier. The
// compare-and-set keeps the later of two times.
func (l *Ledger) keepMessage(ctx context.Context, of string, until time.Time) error {
	for try := 0; ; try++ {
		m, err := l.last(ctx, subject.FileStream, of)
		if errors.Is(err, errNone) {
			return ask.Refuse(ask.CodeNotFound, "a part of the file is deleted; upload it again")
		}
		if err != nil || !expires(m).Before(until.Add(-l.opts.UploadLife/10)) {
			return err
		}
		if err = l.putFile(ctx, of, m.Data, until, m.Seq); !IsRace(err) {
			return err
		}
		if err := backOff(ctx, try); err != nil {
			return err
		}
	}
}

// fileBytes returns how many bytes the files of a session have, or of a tenant
// without one, also of uploads that are not complete.
func (l *Ledger) fileBytes(ctx context.Context, of ask.Session) (sum int64, err error) {
	filter := subject.FileAny(of, "")
	if n, err := l.count(ctx, subject.FileStream, filter); err != nil || n == 0 {
		return 0, err
	}
	err = l.eachHeader(ctx, subject.FileStream, filter, 1, fileHeaders, func(m message) error {
		n, _ := strconv.ParseInt(m.Header.Get(nats.MsgSize), 10, 64) // the server sets it
		sum += n
		return nil
	})
	return sum, err
}
