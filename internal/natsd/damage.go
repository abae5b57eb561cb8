package natsd

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/internal/subject"
	"github.com/minio/highwayhash"
)

// Damage is one fault of a store: what is lost if the store is used without it.
type Damage struct {
	Stream    string   `json:"stream"`
	File      string   `json:"file,omitempty"`
	What      string   `json:"what"`
	First     uint64   `json:"first,omitempty"`     // the lowest sequence that may be lost; 0: unknown
	Last      uint64   `json:"last,omitempty"`      // the highest
	Asks      []string `json:"asks,omitempty"`      // tenant/session/id of asks whose question or outcome is lost
	Uncertain []string `json:"uncertain,omitempty"` // asks that existed when the server last wrote its index, and may have ended and expired since

	kind  damageKind
	block int
}

type damageKind int

const (
	unreadable damageKind = iota // records of a block file
	missing                      // a block file
	shorter                      // a stream, at its end
	noStream                     // a stream's directory
	badConfig                    // a stream's configuration
)

// inspection is the result of reading a store.
type inspection struct {
	dir     string
	account string            // the owner of the store
	seqs    map[string]uint64 // the last known sequence of each stream
	found   map[string]*scanned
	damages []Damage
}

// inspect reads a store without changing it, and compares it with what is
// remembered of it. In a cluster a stream may be shorter than before: the
// server fetches the rest from its peers.
func inspect(dir string, alone bool) (*inspection, error) {
	i := &inspection{dir: dir}
	m, err := readMark(dir)
	if err != nil {
		return nil, err
	}
	i.seqs = m.Streams
	if i.account, err = ownAccount(dir, m.Account); err != nil {
		return nil, err
	}
	exact, err := readBlocks(dir, cleanFile)
	if err != nil {
		return nil, err
	}
	known, err := readBlocks(dir, blocksFile)
	if err != nil {
		return nil, err
	}
	if i.found, err = scanStore(dir); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(i.found)) {
		s := i.found[name]
		i.checkConfig(name, s)
		before := len(i.damages)
		switch {
		case exact != nil:
			i.compare(name, s, exact.Streams[name])
		case known != nil && known.Streams[name] != nil:
			i.judge(name, s, known.Streams[name], later(time.Now(), known.At))
		default:
			i.indexed(name, s)
		}
		i.checkRecords(name, s, alone && exact == nil || !alone, alone)
		if had := i.seqs[name]; alone && s.last < had && len(i.damages) == before {
			i.add(Damage{Stream: name, What: fmt.Sprintf("stream %s had reached %d, but ends at %d", name, had, s.last), First: s.last + 1, Last: had, kind: shorter})
		}
	}
	i.checkStreams(exact, alone)
	return i, nil
}

// ownAccount returns the ledger's account according to the keys. A store of
// another account would look empty.
func ownAccount(dir, noted string) (string, error) {
	keys, err := identity.LoadKeys(dir)
	if err != nil {
		return noted, nil //nolint:nilerr // a store without keys can be checked; it does not start
	}
	own := keys.Accounts[identity.Ledger]
	others := slices.DeleteFunc(storeAccounts(dir), func(name string) bool { return name == own })
	if noted != "" && noted != own && !slices.Contains(others, noted) {
		others = append(others, noted)
	}
	if len(others) == 0 {
		return own, nil
	}
	if slices.Contains(others, oldAccount) {
		return "", fmt.Errorf("the store in %s was written by an askbus whose credentials were passwords; stop every askbus there and run \"askbus auth init --dir %s\" once; the asks stay as they are", dir, dir)
	}
	return "", fmt.Errorf("the store in %s belongs to account %s, and the keys in %s are of account %s, to which it would look empty; restore that directory from the same backup as the store", dir, strings.Join(others, ", "), filepath.Join(dir, "auth"), own)
}

func (i *inspection) add(d Damage) { i.damages = append(i.damages, d) }

// checkStreams finds missing streams.
func (i *inspection) checkStreams(exact *blockList, alone bool) {
	had := map[string]uint64{}
	if alone {
		maps.Copy(had, i.seqs)
	}
	if exact != nil {
		for name := range exact.Streams {
			had[name] = i.seqs[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if i.found[name] == nil {
			i.add(Damage{
				Stream: name, File: filepath.Join(streamsDir(i.dir), name), What: fmt.Sprintf("stream %s is missing; it had reached %d", name, had[name]),
				First: min(1, had[name]), Last: had[name], kind: noStream,
			})
		}
	}
}

// checkConfig checks that the server can read a stream's configuration.
func (i *inspection) checkConfig(name string, s *scanned) {
	path := filepath.Join(s.dir, "meta.inf")
	meta, err := os.ReadFile(path)
	sum, errSum := os.ReadFile(filepath.Join(s.dir, "meta.sum"))
	key := sha256.Sum256([]byte(name))
	if h, errKey := highwayhash.New64(key[:]); err == nil && errSum == nil && errKey == nil {
		_, _ = h.Write(meta) // never fails
		if bytes.Equal([]byte(hex.EncodeToString(h.Sum(nil))), sum) {
			return
		}
	}
	d := Damage{Stream: name, File: path, What: fmt.Sprintf("stream %s cannot be read: its configuration %s is damaged or missing", name, path), kind: badConfig}
	for _, b := range s.blocks {
		d.Last = max(d.Last, b.last)
		if b.first > 0 && (d.First == 0 || b.first < d.First) {
			d.First = b.first
		}
	}
	i.add(d)
}

// checkRecords finds files with unreadable records. The end of the last file
// may be a write cut off by a crash, if nothing is missing.
func (i *inspection) checkRecords(name string, s *scanned, crashed, alone bool) {
	for at, b := range s.blocks {
		torn := crashed && at == len(s.blocks)-1 && (!alone || s.last >= i.seqs[name])
		if b.end == b.Size || torn {
			continue
		}
		d := Damage{
			Stream: name, File: blockPath(s.dir, b.Number), kind: unreadable, block: b.Number, First: b.last + 1, Last: i.seqs[name],
			What: fmt.Sprintf("%s cannot be read at byte %d of %d", blockPath(s.dir, b.Number), b.end, b.Size),
		}
		if at == len(s.blocks)-1 {
			d.What += fmt.Sprintf("; stream %s had reached %d, and only %d can be read", name, i.seqs[name], s.last)
		} else if next := s.blocks[at+1].first; next > 0 {
			d.Last = next - 1
		}
		i.add(d)
	}
}

// compare finds changes since a clean stop: there must be none.
func (i *inspection) compare(name string, s *scanned, exact []block) {
	for at, b := range exact {
		have, ok := s.block(b.Number)
		switch {
		case !ok:
			i.missing(name, s, b.Number, at == len(exact)-1)
		case have.Size < b.Size && have.end == have.Size:
			i.add(Damage{
				Stream: name, File: blockPath(s.dir, b.Number), kind: shorter, block: b.Number, First: have.last + 1,
				What: fmt.Sprintf("%s has %d bytes, but had %d", blockPath(s.dir, b.Number), have.Size, b.Size),
			})
		}
	}
}

// judge finds, after a crash, what the server cannot have removed.
func (i *inspection) judge(name string, s *scanned, known []block, now time.Time) {
	var x index
	var read bool
	for _, b := range known {
		if _, ok := s.block(b.Number); ok {
			continue
		}
		if !b.Sealed { // it was being written to: only its last known sequence counts
			if s.last < i.seqs[name] {
				i.missing(name, s, b.Number, true)
			}
			continue
		}
		if !read {
			x, _ = readIndex(s.dir, name)
			read = true
		}
		lost := now.Before(b.OutcomesUntil)
		if !lost && b.Asks > 0 && now.Before(b.AsksUntil) {
			// Each of its questions has a later outcome, or is lost.
			outcomes := 0
			for _, later := range s.blocks {
				if later.Number > b.Number {
					outcomes += later.Outcomes
				}
			}
			lost = outcomes < b.Asks || len(i.unanswered(name, s, x.questions(b.Number))) > 0
		}
		if lost {
			i.missing(name, s, b.Number, false)
		}
	}
}

// indexed finds, without remembered blocks, what the server's index still has.
// The removal of a message is recorded after it, except for a block's last one.
func (i *inspection) indexed(name string, s *scanned) {
	x, ok := readIndex(s.dir, name)
	if !ok || !x.current(s) {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(x.blocks)) {
		if _, ok := s.block(n); !ok && x.blocks[n].live > 1 {
			i.missing(name, s, n, n == x.last)
		}
	}
}

func (s *scanned) block(n int) (block, bool) {
	at, ok := slices.BinarySearchFunc(s.blocks, n, func(b block, n int) int { return cmp.Compare(b.Number, n) })
	if !ok {
		return block{}, false
	}
	return s.blocks[at], true
}

// missing reports that a block file is missing, with its contents as far as the
// rest tells.
func (i *inspection) missing(name string, s *scanned, n int, end bool) {
	path := blockPath(s.dir, n)
	d := Damage{Stream: name, File: path, What: path + " is missing", kind: missing, block: n, First: 1}
	for _, b := range s.blocks {
		switch {
		case b.Number < n:
			d.First = max(d.First, b.last+1)
		case d.Last == 0 && b.first > 0:
			d.Last = b.first - 1
		}
	}
	if end {
		d.Last = max(d.Last, i.seqs[name])
	}
	i.add(d)
}

// unanswered lists the asks among subjects of which neither question nor
// outcome is left.
func (i *inspection) unanswered(name string, s *scanned, subjects []string) []string {
	gone := map[string]bool{}
	for _, sub := range subjects {
		if k, kind, _, ok := subject.ParseLedger(sub); ok && kind != subject.Receipt {
			gone[k.Tenant+"/"+k.Session+"/"+k.ID] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if err := s.asks(name, func(id string) { delete(gone, id) }); err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(gone))
}

// asks calls visit with the ask of each readable question and outcome of a
// stream.
func (s *scanned) asks(name string, visit func(id string)) error {
	for _, b := range s.blocks {
		data, err := os.ReadFile(blockPath(s.dir, b.Number))
		if err != nil {
			return err
		}
		if err := eachReadable(data, name, b.Number, func(r record) {
			if k, kind, _, ok := subject.ParseLedger(r.subject); ok && kind != subject.Receipt && !r.removed {
				visit(k.Tenant + "/" + k.Session + "/" + k.ID)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// name names the asks of each damage: those in the server's index of which
// nothing is left.
func (i *inspection) name() {
	for at := range i.damages {
		d := &i.damages[at]
		s := i.found[d.Stream]
		if s == nil {
			continue
		}
		if d.kind == badConfig {
			d.Asks = i.held(d.Stream, s)
			continue
		}
		x, ok := readIndex(s.dir, d.Stream)
		if !ok {
			continue
		}
		var in []string
		for sub, blocks := range x.subjects {
			if d.kind == shorter && d.block == 0 || blocks[0] <= d.block && d.block <= blocks[1] {
				in = append(in, sub)
			}
		}
		lost := i.unanswered(d.Stream, s, in)
		if x.current(s) || i.stoppedClean() {
			d.Asks = lost
		} else {
			d.Uncertain = lost
		}
	}
}

func (i *inspection) stoppedClean() bool {
	l, err := readBlocks(i.dir, cleanFile)
	return err == nil && l != nil
}

// held lists the asks in the readable part of a stream.
func (i *inspection) held(name string, s *scanned) []string {
	asks := map[string]bool{}
	if err := s.asks(name, func(id string) { asks[id] = true }); err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(asks))
}

// err says what is wrong, and what to do.
func (i *inspection) err(alone bool) error {
	if len(i.damages) == 0 {
		return nil
	}
	var what []string
	for at, d := range i.damages {
		if at == 5 {
			what = append(what, fmt.Sprintf("and %d more", len(i.damages)-at))
			break
		}
		what = append(what, d.What)
	}
	if alone {
		return corrupt(i.dir, strings.Join(what, "; "))
	}
	return fmt.Errorf("the store of this node in %s is corrupt: %s; nothing was changed: run \"askbus ledger repair --from-peers --dir %s\", which moves the damaged streams aside, and start the node again: the other nodes have their contents. Do one node at a time: wait until it has caught up before you stop the next", i.dir, strings.Join(what, "; "), i.dir)
}

func corrupt(dir, what string) error {
	return fmt.Errorf("the store in %s is corrupt: %s; nothing was changed: restore the directory from a backup, all of it, with high-water, blocks and clean-stop, which record what must be there; or see with \"askbus ledger check --dir %s\" what is lost, and continue without it by \"askbus ledger repair --accept-loss --dir %s\", which keeps the damaged files", dir, what, dir, dir)
}

// replicas returns how many copies a stream's configuration asks for; 0 if it
// cannot be read.
func replicas(stream string) int {
	data, err := os.ReadFile(filepath.Join(stream, "meta.inf"))
	var c struct {
		Replicas int `json:"num_replicas"`
	}
	if err != nil || json.Unmarshal(data, &c) != nil {
		return 0
	}
	return c.Replicas
}
