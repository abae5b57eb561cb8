package auditlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/process/file"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// The files of a log, beside its tiles.
const (
	stateFile      = "state.json"
	checkpointFile = "checkpoint"
	lockFile       = "lock"
)

// Run is a part of the log: the leaf at First says why it begins, and those after it are the records of
// the audit from Seq on, without a gap.
type Run struct {
	First int64     `json:"first"` // index of its first leaf
	Seq   uint64    `json:"seq"`   // of its first record
	Why   string    `json:"why"`   // [Began], [Gap] or [Rejoined]
	At    time.Time `json:"at"`
}

// Why a run begins.
const (
	Began    = "began"    // the log began
	Gap      = "gap"      // the records before were gone before the log had them
	Rejoined = "rejoined" // an operator said that the audit's end was lost, or that it was restored
)

func (r *Run) leaf() []byte {
	return fmt.Appendf(nil, "%s\n%s\nnext %d\n", audit.LeafVersion, r.Why, r.Seq)
}

// maxRuns bounds the runs of a log. One ends only when an operator intervenes, or records were lost.
const maxRuns = 10_000

// saved is what a log remembers.
type saved struct {
	Size int64     `json:"size"` // leaves
	Root tlog.Hash `json:"root"`
	Next uint64    `json:"next"` // sequence of the next record
	Runs []Run     `json:"runs"`
}

// Log is a log that this process extends. It is not safe for concurrent use.
type Log struct {
	dir  tiles
	lock *os.File
	saved
}

// ErrNoLog means that a directory holds no log.
var ErrNoLog = errors.New("there is no audit log here")

// ErrOpen means that another process extends the log.
var ErrOpen = errors.New("another process extends this log")

// Open opens the log of a directory to extend it, or, with begin, makes one in an empty directory. The
// error is [ErrNoLog] or [ErrOpen], or says what is wrong with it.
func Open(dir string, begin bool) (*Log, error) {
	l := &Log{dir: tiles(dir)}
	if begin {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it is to be published
			return nil, err
		}
	}
	var err error
	if l.lock, err = file.Lock(filepath.Join(dir, lockFile), false); err != nil {
		switch {
		case os.IsNotExist(err):
			err = ErrNoLog
		case errors.Is(err, file.ErrLocked):
			err = ErrOpen
		}
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	l.saved, err = load(dir)
	switch {
	case errors.Is(err, ErrNoLog) && begin:
		err = nil
	case err == nil && begin:
		err = errors.New("there is a log already; leave --begin out")
	}
	if err == nil && l.Size > 0 { // so that no damaged tree is extended
		_, err = l.hashes().ReadHashes([]int64{tlog.StoredHashIndex(0, l.Size-1)})
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return l, nil
}

// Close lets others extend the log.
func (l *Log) Close() { _ = l.lock.Close() }

func load(dir string) (s saved, err error) {
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if os.IsNotExist(err) {
		return s, ErrNoLog
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

func (l *Log) hashes() tlog.HashReader {
	return tlog.TileHashReader(tlog.Tree{N: l.Size, Hash: l.Root}, l.dir)
}

// Append adds records, which are those of the audit from [Log.Next] on; a gap before one is recorded. It
// is on the disk when Append returns.
func (l *Log) Append(records []audit.Raw, now time.Time) error {
	leaves := make([]tlog.Hash, 0, len(records)+1)
	next, runs := l.Next, l.Runs
	begin := func(why string, seq uint64) {
		r := Run{First: l.Size + int64(len(leaves)), Seq: seq, Why: why, At: now.UTC().Truncate(time.Second)}
		runs, leaves = append(slices.Clip(runs), r), append(leaves, tlog.RecordHash(r.leaf()))
	}
	var text []byte
	for i := range records {
		m := &records[i]
		switch {
		case len(runs) == 0:
			begin(Began, m.Seq)
		case m.Seq > next:
			begin(Gap, m.Seq)
		case m.Seq < next:
			return fmt.Errorf("record %d comes again", m.Seq)
		}
		text = m.AppendLeaf(text[:0])
		leaves = append(leaves, tlog.RecordHash(text))
		next = m.Seq + 1
	}
	return l.add(leaves, saved{Next: next, Runs: runs})
}

// Rejoin begins a run at the first record that the audit now holds and the log does not, or of which it
// holds another.
func (l *Log) Rejoin(seq uint64, now time.Time) error {
	r := Run{First: l.Size, Seq: seq, Why: Rejoined, At: now.UTC().Truncate(time.Second)}
	return l.add([]tlog.Hash{tlog.RecordHash(r.leaf())}, saved{Next: seq, Runs: append(slices.Clip(l.Runs), r)})
}

// add appends leaves and writes the tiles that they change, then the state.
func (l *Log) add(leaves []tlog.Hash, to saved) error {
	if len(to.Runs) > maxRuns {
		return fmt.Errorf("the log has %d runs, the maximum: begin another in a new directory", maxRuns)
	}
	fresh, old := map[int64]tlog.Hash{}, l.hashes()
	r := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		var left []int64
		for i, x := range indexes {
			h, ok := fresh[x]
			if found[i] = h; !ok {
				left = append(left, x)
			}
		}
		if len(left) == 0 {
			return found, nil
		}
		read, err := old.ReadHashes(left)
		if err != nil {
			return nil, err
		}
		for i, x := range indexes {
			if _, ok := fresh[x]; !ok {
				found[i], read = read[0], read[1:]
			}
		}
		return found, nil
	})
	to.Size = l.Size
	for _, leaf := range leaves {
		hashes, err := tlog.StoredHashesForRecordHash(to.Size, leaf, r)
		if err != nil {
			return err
		}
		for i, h := range hashes {
			fresh[tlog.StoredHashIndex(0, to.Size)+int64(i)] = h
		}
		to.Size++
	}
	var err error
	if to.Root, err = tlog.TreeHash(to.Size, r); err != nil {
		return err
	}
	changed := tlog.NewTiles(height, l.Size, to.Size)
	for _, t := range changed {
		data, err := tlog.ReadTileData(t, r)
		if err != nil {
			return err
		}
		if err := replace(l.dir.path(t), data); err != nil {
			return err
		}
	}
	data, err := json.Marshal(&to)
	if err == nil {
		err = replace(filepath.Join(string(l.dir), stateFile), data)
	}
	if err != nil {
		return err
	}
	l.saved = to
	for _, t := range changed {
		if err := l.dir.narrower(t); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file, with its directories, so that a power cut leaves the old or the new one.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it is to be published
		return err
	}
	if err := file.Replace(path, data, 0o644); err != nil {
		return err
	}
	return file.SyncDir(dir)
}

// Checkpoint signs what the log holds and stores that in it.
func (l *Log) Checkpoint(by note.Signer) ([]byte, error) {
	text := fmt.Sprintf("%s\n%d\n%s\n", by.Name(), l.Size, l.Root)
	signed, err := note.Sign(&note.Note{Text: text}, by)
	if err != nil {
		return nil, err
	}
	return signed, replace(filepath.Join(string(l.dir), checkpointFile), signed)
}

// Has reports whether the log's leaf of a record is this one. It is false for a record that the log does
// not hold.
func (l *Log) Has(m *audit.Raw) (bool, error) {
	index := index(l.Runs, l.Size, m.Seq)
	if index < 0 {
		return false, nil
	}
	h, err := l.hashes().ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
	return err == nil && h[0] == tlog.RecordHash(m.AppendLeaf(nil)), err
}

// index returns the index of the last leaf of a record; below 0: there is none.
func index(runs []Run, size int64, seq uint64) int64 {
	for i := len(runs) - 1; i >= 0; i-- {
		if r := &runs[i]; seq >= r.Seq {
			if at := r.First + 1 + int64(seq-r.Seq); at < size { //nolint:gosec // a sequence of one log
				return at
			}
			return -1
		}
		size = runs[i].First
	}
	return -1
}
