package auditlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Report is what [Verify] found.
type Report struct {
	Size    int64     `json:"size"`             // leaves that the checkpoint covers
	Root    string    `json:"root"`             // in base64
	Same    int64     `json:"same"`             // records of the audit that are as they were
	Dropped int64     `json:"dropped"`          // records that only the log has, before the oldest of the audit: the audit's retention, or somebody, removed them
	Oldest  time.Time `json:"oldest,omitzero"`  // when the oldest record of the audit was stored
	Before  int64     `json:"before"`           // records of before the log began
	Newer   int64     `json:"newer"`            // records that the checkpoint does not cover yet
	Breaks  []Run     `json:"breaks,omitempty"` // where records were lost, or an operator rejoined the log
	Faults  []string  `json:"faults"`           // what was changed, added or removed, at most [MaxFaults]
	Faulty  int64     `json:"faulty"`           // how many faults there are
}

// MaxFaults bounds the faults that a report lists.
const MaxFaults = 100

func (r *Report) fault(form string, args ...any) {
	if r.Faulty++; len(r.Faults) < MaxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(form, args...))
	}
}

// OpenCheckpoint checks the signature of a checkpoint, and returns its tree.
func OpenCheckpoint(signed []byte, by note.Verifier) (tlog.Tree, error) {
	n, err := note.Open(signed, note.VerifierList(by))
	if err != nil {
		return tlog.Tree{}, fmt.Errorf("the checkpoint is not signed by %s: %w", by.Name(), err)
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) < 4 || lines[0] != by.Name() {
		return tlog.Tree{}, fmt.Errorf("the checkpoint is of another log than %s", by.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	root, err2 := tlog.ParseHash(lines[2])
	if err = errors.Join(err, err2); err != nil || size < 0 {
		return tlog.Tree{}, fmt.Errorf("the checkpoint has no size and root: %w", err)
	}
	return tlog.Tree{N: size, Hash: root}, nil
}

// log is a log that this process only reads.
type log struct {
	tree   tlog.Tree
	signed []byte
	runs   []Run
	hashes tlog.HashReader

	near []tlog.Hash // leaves that were read last, from at on
	at   int64
}

func read(dir string, by note.Verifier) (l log, err error) {
	if l.signed, err = os.ReadFile(filepath.Join(dir, checkpointFile)); os.IsNotExist(err) {
		return l, fmt.Errorf("%s: %w", dir, ErrNoLog)
	}
	if err == nil {
		l.tree, err = OpenCheckpoint(l.signed, by)
	}
	if err != nil {
		return l, err
	}
	s, err := load(dir)
	if err != nil {
		return l, fmt.Errorf("%s: %w", stateFile, err)
	}
	for _, r := range s.Runs { // the state may be ahead
		if r.First < l.tree.N {
			l.runs = append(l.runs, r)
		}
	}
	l.hashes = tlog.TileHashReader(l.tree, tiles(dir))
	return l, nil
}

// leaf returns the hash of a leaf, which is proven to be in the tree. It reads those of a whole tile.
func (l *log) leaf(index int64) (tlog.Hash, error) {
	const width = 1 << height
	if index < l.at || index >= l.at+int64(len(l.near)) {
		l.at, l.near = index/width*width, nil
		indexes := make([]int64, min(width, l.tree.N-l.at))
		for i := range indexes {
			indexes[i] = tlog.StoredHashIndex(0, l.at+int64(i))
		}
		read, err := l.hashes.ReadHashes(indexes)
		if err != nil {
			return tlog.Hash{}, fmt.Errorf("leaves from %d on: %w", l.at, err)
		}
		l.near = read
	}
	return l.near[index-l.at], nil
}

// Verify checks the log of a directory, and every record that the audit holds against it. Older are
// checkpoints that were published before: the log must have grown out of each. With kept, records
// younger than that must not be gone from the audit. The error says why it could not check; what is
// wrong is in the report.
func Verify(ctx context.Context, dir string, by note.Verifier, from Reader, older [][]byte, kept time.Duration) (Report, error) {
	l, err := read(dir, by)
	if err != nil {
		return Report{}, err
	}
	r := Report{Size: l.tree.N, Root: l.tree.Hash.String(), Faults: []string{}}
	if err := l.whole(ctx); err != nil {
		r.fault("the log itself was changed: %v", err)
		return r, nil
	}
	for _, signed := range older {
		was, err := OpenCheckpoint(signed, by)
		if err != nil {
			return r, err
		}
		if was.N > l.tree.N {
			r.fault("an older checkpoint has %d leaves, and the log has %d: its end was cut off", was.N, l.tree.N)
		} else if now, err := tlog.TreeHash(was.N, l.hashes); err != nil {
			return r, err
		} else if now != was.Hash {
			r.fault("the first %d leaves are not those of an older checkpoint: the log was made again", was.N)
		}
	}
	for i := range l.runs {
		run := &l.runs[i]
		h, err := l.leaf(run.First)
		if err != nil {
			return r, err
		}
		if h != tlog.RecordHash(run.leaf()) {
			r.fault("%s was changed: leaf %d does not begin a run at record %d", stateFile, run.First, run.Seq)
			return r, nil
		}
		if run.Why != Began {
			r.Breaks = append(r.Breaks, *run)
		}
	}
	return r, l.compare(ctx, &r, from, kept)
}

// whole reads every tile, which the tree's root authenticates.
func (l *log) whole(ctx context.Context) error {
	if (l.tree.N > 0) != (len(l.runs) > 0 && l.runs[0].First == 0) {
		return fmt.Errorf("%s does not say where it begins", stateFile)
	}
	for at := int64(0); at < l.tree.N && ctx.Err() == nil; at += 1 << height {
		if _, err := l.leaf(at); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// compare reads the audit and compares each record with its leaf.
func (l *log) compare(ctx context.Context, r *Report, from Reader, kept time.Duration) error {
	if len(l.runs) == 0 {
		return nil
	}
	last := &l.runs[len(l.runs)-1]
	end := last.Seq + uint64(l.tree.N-last.First-1) //nolint:gosec // behind the last record that the tree has
	next := uint64(0)                               // expected; 0: the oldest
	missing := func(seq uint64) {                   // up to it
		gone := int64(0)
		for s := next; s < min(seq, end); s++ {
			if index(l.runs, l.tree.N, s) >= 0 {
				gone++
			}
		}
		if gone > 0 {
			r.fault("%d records were removed, from %d to %d", gone, next, min(seq, end)-1)
		}
	}
	var text []byte
	for at := uint64(1); ; {
		found, err := from(ctx, at, batch)
		if err != nil {
			return fmt.Errorf("read the audit: %w", err)
		}
		for i := range found {
			m := &found[i]
			at = m.Seq + 1
			if next == 0 {
				r.Oldest = m.At.UTC()
				for s := l.runs[0].Seq; s < min(m.Seq, end); s++ {
					if index(l.runs, l.tree.N, s) >= 0 {
						r.Dropped++
					}
				}
			} else if m.Seq > next {
				missing(m.Seq)
			}
			next = at
			leaf := index(l.runs, l.tree.N, m.Seq)
			switch {
			case m.Seq >= end:
				r.Newer++
			case m.Seq < l.runs[0].Seq:
				r.Before++
			case leaf < 0:
				r.fault("record %d was added: the log has none there", m.Seq)
			default:
				h, err := l.leaf(leaf)
				if err != nil {
					return err
				}
				if text = m.AppendLeaf(text[:0]); h != tlog.RecordHash(text) {
					r.fault("record %d was changed", m.Seq)
				} else {
					r.Same++
				}
			}
		}
		if len(found) == 0 {
			break
		}
	}
	switch {
	case next == 0:
		r.Dropped = int64(end - l.runs[0].Seq) //nolint:gosec // a count
	case next < end:
		missing(end)
	}
	if kept > 0 && r.Dropped > 0 && (r.Oldest.IsZero() || time.Since(r.Oldest) < kept) {
		r.fault("%d records are gone from the audit before its oldest of %s, which is younger than %s", r.Dropped, r.Oldest.Format(time.RFC3339), kept)
	}
	return nil
}

// Evidence is what proves some records to somebody who has only the log's public key. Values may be taken
// out of it: the others are still proven.
type Evidence struct {
	Format     string   `json:"format"` // [EvidenceFormat]
	Checkpoint string   `json:"checkpoint"`
	Records    []Proven `json:"records"`
}

// EvidenceFormat is the format of [Evidence].
const EvidenceFormat = "askbus.audit.evidence.v1"

// Proven is a record with its place in the log.
type Proven struct {
	Index  int64         `json:"index"` // of its leaf
	Leaf   string        `json:"leaf"`
	Proof  []tlog.Hash   `json:"proof"` // of RFC 6962, that the leaf is in the checkpoint's tree
	Fields []audit.Field `json:"fields"`
}

// ErrNotYet means that no checkpoint covers a record.
var ErrNotYet = errors.New("no checkpoint covers it yet; try again in a minute")

// Prove returns the evidence of records, without the values that hide accepts.
func Prove(dir string, by note.Verifier, records []audit.Raw, hide func(path string) bool) (Evidence, error) {
	l, err := read(dir, by)
	if err != nil {
		return Evidence{}, err
	}
	e := Evidence{Format: EvidenceFormat, Checkpoint: string(l.signed), Records: []Proven{}}
	for i := range records {
		m := &records[i]
		leaf := m.AppendLeaf(nil)
		p := Proven{Index: index(l.runs, l.tree.N, m.Seq), Leaf: string(leaf), Fields: []audit.Field{}}
		if p.Index < 0 {
			return Evidence{}, fmt.Errorf("record %d: %w", m.Seq, ErrNotYet)
		}
		h, err := l.leaf(p.Index)
		if err != nil {
			return Evidence{}, err
		}
		if h != tlog.RecordHash(leaf) {
			return Evidence{}, fmt.Errorf("record %d was changed since the log has it", m.Seq)
		}
		if p.Proof, err = tlog.ProveRecord(l.tree.N, p.Index, l.hashes); err != nil {
			return Evidence{}, fmt.Errorf("record %d: %w", m.Seq, err)
		}
		for _, f := range m.Fields() {
			if !hide(f.Path) {
				p.Fields = append(p.Fields, f)
			}
		}
		e.Records = append(e.Records, p)
	}
	return e, nil
}

// ParseEvidence parses evidence, and nothing else beside it.
func ParseEvidence(data []byte) (e Evidence, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number is hashed as it was written
	d.DisallowUnknownFields()
	if err = d.Decode(&e); err != nil {
		return Evidence{}, err
	}
	if _, err = d.Token(); !errors.Is(err, io.EOF) {
		return Evidence{}, errors.New("something follows the evidence")
	}
	return e, nil
}

// Check returns an error unless each record was in the log when the holder of the key signed the checkpoint,
// each value is as it was recorded, and none is there twice: records are in the order of the log, values in that of
// their leaf.
func (e *Evidence) Check(by note.Verifier) error {
	if e.Format != EvidenceFormat {
		return fmt.Errorf("this is no %s", EvidenceFormat)
	}
	tree, err := OpenCheckpoint([]byte(e.Checkpoint), by)
	if err != nil {
		return err
	}
	if len(e.Records) == 0 {
		return errors.New("it proves no record")
	}
	for i := range e.Records {
		p := &e.Records[i]
		if !strings.HasPrefix(p.Leaf, audit.LeafVersion+"\nrecord ") {
			return fmt.Errorf("leaf %d is not a record", p.Index)
		}
		if i > 0 && p.Index <= e.Records[i-1].Index {
			return fmt.Errorf("leaf %d is there twice, or not in the order of the log", p.Index)
		}
		if err := tlog.CheckRecord(p.Proof, tree.N, tree.Hash, p.Index, tlog.RecordHash([]byte(p.Leaf))); err != nil {
			return fmt.Errorf("leaf %d is not in the log: %w", p.Index, err)
		}
		for j := range p.Fields {
			if j > 0 && p.Fields[j].Line <= p.Fields[j-1].Line {
				return fmt.Errorf("leaf %d: %s is there twice, or not in the order of the leaf", p.Index, p.Fields[j].Path)
			}
			if err := p.Fields[j].Check([]byte(p.Leaf)); err != nil {
				return fmt.Errorf("leaf %d: %w", p.Index, err)
			}
		}
	}
	return nil
}
