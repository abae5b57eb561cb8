package storecheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
)

// Report is the result of [Check] or [Repair].
type Report struct {
	Dir     string   `json:"dir"`
	Cluster bool     `json:"cluster,omitempty"` // it is a node of a cluster
	Damages []Damage `json:"damages"`
	Aside   string   `json:"moved_to,omitempty"` // where the damaged files are now
}

// Check reads the store of a stopped server and reports its damage, without
// changing anything. For a cluster's node it reports only what the peers do not
// replace on their own.
func Check(dir string) (Report, error) {
	i, done, err := open(dir)
	if err != nil {
		return Report{}, err
	}
	defer done()
	return Report{Dir: dir, Cluster: Clustered(dir), Damages: i.damages}, nil
}

// Clustered reports whether the store belongs to a cluster's node.
func Clustered(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(rights.AccountsDir(dir), "*", "_js_", "_meta_")) // the pattern is valid
	return len(found) > 0
}

// Exists returns an error if the directory has no store.
func Exists(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, versionFile)); err != nil {
		return fmt.Errorf("there is no store in %s; set --dir to the server's", dir)
	}
	return nil
}

// open locks and inspects a store.
func open(dir string) (*Inspection, func(), error) {
	if err := Exists(dir); err != nil {
		return nil, nil, err
	}
	lock, err := Lock(dir)
	if err != nil {
		return nil, nil, err
	}
	i, err := Inspect(dir, !Clustered(dir))
	if err != nil {
		_ = lock.Close()
		return nil, nil, err
	}
	i.name()
	return i, func() { _ = lock.Close() }, nil
}

// Repair makes the store of a stopped server start again. With fromPeers it
// moves the damaged streams aside, and the other nodes of the cluster replace
// them; otherwise it keeps what can be read. Damaged files are kept in a dated
// directory next to the store.
func Repair(dir string, fromPeers bool) (Report, error) {
	i, done, err := open(dir)
	if err != nil {
		return Report{}, err
	}
	defer done()
	r := Report{Dir: dir, Cluster: Clustered(dir), Damages: i.damages}
	if fromPeers && !r.Cluster {
		return Report{}, fmt.Errorf("the store in %s does not belong to a cluster's node and has no peers; restore it from a backup, or keep what is left with --accept-loss", dir)
	}
	if len(r.Damages) == 0 {
		return r, nil
	}
	if fromPeers {
		for _, d := range i.damages {
			if s := i.Found[d.Stream]; s != nil && d.config == nil && replicas(s.dir) == 1 {
				return Report{}, fmt.Errorf("stream %s has no other copy, so no peer can replace it; restore it from a backup, or keep what is left with --accept-loss", d.Stream)
			}
		}
	}
	m, err := newMender(i)
	if err != nil {
		return Report{}, fmt.Errorf("repair: %w", err)
	}
	r.Aside = m.aside
	if err := m.mend(fromPeers); err != nil {
		return r, fmt.Errorf("repair: %w; moved files are in %s", err, r.Aside)
	}
	after, err := Inspect(dir, !r.Cluster)
	if err == nil {
		err = after.Err(!r.Cluster)
	}
	if err != nil {
		return r, fmt.Errorf("repair: damage remains: %w", err)
	}
	how := "continued without what cannot be read"
	if fromPeers {
		how = "left to the other nodes"
	}
	return r, NoteMaintenance(dir, Maintenance{Repair: true, Note: how + "; damaged files are in " + filepath.Base(r.Aside) + ": " + damaged(r.Damages)})
}

// damaged describes damage in one line.
func damaged(list []Damage) string {
	what := make([]string, len(list))
	for i := range list {
		what[i] = list[i].Stream + ": " + list[i].What
	}
	return strings.Join(what, "; ")
}

// mender repairs one store.
type mender struct {
	*Inspection
	aside string
}

// newMender makes the directory for the damaged files.
func newMender(i *Inspection) (mender, error) {
	m := mender{i, filepath.Join(i.dir, "damaged-"+time.Now().UTC().Format("20060102T150405.000Z"))}
	return m, os.Mkdir(m.aside, 0o700)
}

func (m mender) mend(fromPeers bool) error {
	streams := map[string][]Damage{}
	for _, d := range m.damages {
		streams[d.Stream] = append(streams[d.Stream], d)
	}
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		s, damages := m.Found[name], streams[name]
		if at := slices.IndexFunc(damages, func(d Damage) bool { return d.config != nil }); at >= 0 {
			if err := m.rebuild(name, s, damages[at].config); err != nil {
				return err
			}
			if damages = slices.Delete(damages, at, at+1); len(damages) == 0 {
				continue
			}
		}
		whole := fromPeers || slices.ContainsFunc(damages, func(d Damage) bool { return d.kind == badConfig })
		switch {
		case s == nil:
			delete(m.Seqs, name)
		case whole:
			if err := os.Rename(s.dir, filepath.Join(m.aside, name)); err != nil {
				return err
			}
			delete(m.Seqs, name)
		default:
			if err := m.stream(name, s, damages); err != nil {
				return err
			}
		}
	}
	return m.remember()
}

// MendAudit drops the damaged part of the audit, and keeps its damaged files:
// the audit is written without syncing, so a power cut loses its last records,
// and its faults must not stop answers. If other streams are damaged as well,
// everything is left to [Repair].
func (i *Inspection) MendAudit(alone bool, log *slog.Logger) error {
	var what []string
	for _, d := range i.damages {
		if d.Stream != subject.AuditStream {
			return nil
		}
		what = append(what, d.What)
	}
	if len(what) == 0 {
		return nil
	}
	m, err := newMender(i)
	if err != nil {
		return fmt.Errorf("repair the audit: %w", err)
	}
	s := i.Found[subject.AuditStream]
	if err := m.mend(!alone && s != nil && replicas(s.dir) > 1); err != nil {
		return fmt.Errorf("repair the audit: %w; moved files are in %s", err, m.aside)
	}
	log.Error("the audit has lost records, and continues without them", slog.String("damage", strings.Join(what, "; ")), slog.String("kept", m.aside))
	i.damages = nil
	if err := NoteMaintenance(i.dir, Maintenance{Repair: true, Note: "the audit continued without what cannot be read; damaged files are in " + filepath.Base(m.aside) + ": " + strings.Join(what, "; ")}); err != nil {
		log.Warn("the audit will have no record of this", slog.Any("error", err))
	}
	return nil
}

// stream keeps the readable part of a stream.
func (m mender) stream(name string, s *scanned, damages []Damage) error {
	aside := filepath.Join(m.aside, name)
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	for _, d := range damages {
		if d.kind == unreadable {
			if err := salvage(s.dir, aside, name, d.block); err != nil {
				return err
			}
		}
	}
	// Files that the server derived; it derives them again.
	derived, err := filepath.Glob(filepath.Join(s.dir, "msgs", "*.db"))
	if err != nil {
		return err
	}
	for _, path := range derived {
		if err := os.Rename(path, filepath.Join(aside, filepath.Base(path))); err != nil {
			return err
		}
	}
	if err := s.read(name); err != nil {
		return err
	}
	if had := m.Seqs[name]; s.last < had {
		next := 1
		for _, d := range damages {
			next = max(next, d.block+1)
		}
		if len(s.blocks) > 0 {
			next = max(next, s.blocks[len(s.blocks)-1].Number+1)
		}
		if err := writeTombstone(s.dir, name, next, had); err != nil {
			return err
		}
	}
	return file.SyncDir(filepath.Join(s.dir, "msgs"))
}

// salvage moves a block file aside and writes its readable records.
func salvage(dir, aside, stream string, n int) error {
	path := blockPath(dir, n)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var good bytes.Buffer
	if err := eachReadable(data, stream, n, func(r record) { good.Write(r.raw) }); err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(aside, filepath.Base(path)), data); err != nil {
		return err
	}
	if good.Len() == 0 {
		return os.Remove(path)
	}
	return writeSynced(path, good.Bytes())
}

// eachReadable calls visit for every readable record of a block file, including
// those after unreadable ones.
func eachReadable(data []byte, stream string, n int, visit func(record)) error {
	h, err := blockHash(stream, n)
	if err != nil {
		return err
	}
	var last uint64
	for at := 0; at < len(data); {
		r, ok := readRecord(data[at:], h)
		if !ok {
			at += nextRecord(data[at:], h, last)
			continue
		}
		last = max(last, r.seq)
		visit(r)
		at += len(r.raw)
	}
	return nil
}

// nextRecord finds the start of the record after an unreadable one: by its
// length if that is valid, else the first that follows the last sequence.
func nextRecord(data []byte, h hash.Hash64, last uint64) int {
	if len(data) >= recordHead {
		size := int(binary.LittleEndian.Uint32(data) &^ headersBit)
		if size >= recordHead && size < len(data) {
			if _, ok := readRecord(data[size:], h); ok {
				return size
			}
		}
	}
	for at := 1; at+recordHead <= len(data); at++ {
		size := int(binary.LittleEndian.Uint32(data[at:]) &^ headersBit)
		if size < recordHead || size > mostSalvaged {
			continue
		}
		if r, ok := readRecord(data[at:], h); ok && !r.removed && r.seq > last {
			return at
		}
	}
	return len(data)
}

// mostSalvaged bounds the length of records that are searched for after damage.
const mostSalvaged = 2 << 20

// writeTombstone writes a block file that marks a sequence as used and removed,
// as the server does: no sequence is reused.
func writeTombstone(dir, stream string, n int, seq uint64) error {
	h, err := blockHash(stream, n)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32(nil, recordHead+recordHash)
	b = binary.LittleEndian.AppendUint64(b, seq|tombBit)
	b = binary.LittleEndian.AppendUint64(b, uint64(time.Now().UnixNano()))
	b = binary.LittleEndian.AppendUint16(b, 0)
	_, _ = h.Write(b[4:20]) // never fails
	return writeSynced(blockPath(dir, n), h.Sum(b))
}

// remember removes lost files and sequences from the records.
func (m mender) remember() error {
	found, err := scanStore(m.dir)
	if err != nil {
		return err
	}
	for _, name := range []string{CleanFile, blocksFile, MarkFile} {
		err := os.Rename(filepath.Join(m.dir, name), filepath.Join(m.aside, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := save(m.dir, MarkFile, Marked{Account: m.Account, Streams: m.Seqs}); err != nil {
		return err
	}
	f := NewFollower(m.dir, found)
	f.list.At, f.list.Configs = time.Now(), m.configs
	return save(m.dir, blocksFile, f.list)
}

// Words describes a damage for people.
func (d Damage) Words() string {
	s := d.Stream + ": " + d.What
	switch {
	case d.Whole:
		s += "; the repair writes it again, and nothing is lost"
	case d.First > 0 && d.Last >= d.First:
		s += "; the remaining messages of sequences " + strconv.FormatUint(d.First, 10) + " to " + strconv.FormatUint(d.Last, 10)
	case d.First > 0:
		s += "; the remaining messages of the sequences from " + strconv.FormatUint(d.First, 10) + " on"
	}
	return s
}
