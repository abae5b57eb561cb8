package storecheck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
)

// Damage is one fault of a store: what is lost if the store is used without it.
type Damage struct {
	Stream    string   `json:"stream"`
	File      string   `json:"file,omitempty"`
	What      string   `json:"what"`
	First     uint64   `json:"first,omitempty"`     // the lowest sequence that may be lost; 0: unknown
	Last      uint64   `json:"last,omitempty"`      // the highest
	Asks      []string `json:"asks,omitempty"`      // tenant/session/id of asks of which neither question nor outcome is left
	Outcomes  []string `json:"outcomes,omitempty"`  // asks whose stored outcome is lost; those that are not in Asks are pending again
	Votes     []string `json:"votes,omitempty"`     // pending asks of which only an earlier state is left: without the votes that were given since
	Whole     bool     `json:"whole,omitempty"`     // nothing is lost: the repair writes the file again
	Uncertain []string `json:"uncertain,omitempty"` // asks that existed when the server last wrote its index, and may have ended and expired since

	kind   damageKind
	block  int
	config []byte // with which a stream's configuration can be written again; then nothing is lost
}

type damageKind int

const (
	unreadable damageKind = iota // records of a block file
	missing                      // a block file
	shorter                      // a stream, at its end
	noStream                     // a stream's directory
	badConfig                    // a stream's configuration
)

// Inspection is the result of reading a store.
type Inspection struct {
	dir     string
	Account string            // the owner of the store
	Seqs    map[string]uint64 // the last known sequence of each stream
	Found   map[string]*scanned
	configs map[string]string // remembered, of each stream
	damages []Damage
	begun   []string // directories of streams that were being made when the server was killed
}

// Inspect reads a store without changing it, and compares it with what is
// remembered of it. In a cluster a stream may be shorter than before: the
// server fetches the rest from its peers.
func Inspect(dir string, alone bool) (*Inspection, error) {
	i := &Inspection{dir: dir}
	m, err := readMark(dir)
	if err != nil {
		return nil, err
	}
	i.Seqs = m.Streams
	if i.Account, err = ownAccount(dir, m.Account); err != nil {
		return nil, err
	}
	exact, err := readBlocks(dir, CleanFile)
	if err != nil {
		return nil, err
	}
	known, err := readBlocks(dir, blocksFile)
	if err != nil {
		return nil, err
	}
	i.configs = configsOf(known, exact)
	if i.Found, err = scanStore(dir); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(i.Found)) {
		s := i.Found[name]
		if i.beginning(name, s) {
			delete(i.Found, name)
			i.begun = append(i.begun, s.dir)
			continue
		}
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
		if had := i.Seqs[name]; alone && s.last < had && len(i.damages) == before {
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
	others := slices.DeleteFunc(rights.StoreAccounts(dir), func(name string) bool { return name == own })
	if noted != "" && noted != own && !slices.Contains(others, noted) {
		others = append(others, noted)
	}
	if len(others) == 0 {
		return own, nil
	}
	return "", fmt.Errorf("the store in %s belongs to account %s, and the keys in %s are of account %s, to which it would look empty; restore that directory from the same backup as the store", dir, strings.Join(others, ", "), filepath.Join(dir, "auth"), own)
}

func (i *Inspection) add(d Damage) { i.damages = append(i.damages, d) }

// checkStreams finds missing streams.
func (i *Inspection) checkStreams(exact *blockList, alone bool) {
	had := map[string]uint64{}
	if alone {
		maps.Copy(had, i.Seqs)
	}
	if exact != nil {
		for name := range exact.Streams {
			had[name] = i.Seqs[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if i.Found[name] == nil {
			i.add(Damage{
				Stream: name, File: filepath.Join(StreamsDir(i.dir), name), What: fmt.Sprintf("stream %s is missing; it had reached %d", name, had[name]),
				First: min(1, had[name]), Last: had[name], kind: noStream,
			})
		}
	}
}

// beginning reports whether a stream was being made when the server was killed: it has no configuration and nothing else,
// and nobody remembers it.
func (i *Inspection) beginning(name string, s *scanned) bool {
	_, whole := readConfig(s.dir, name)
	_, noted := i.Seqs[name]
	return !whole && !noted && i.configs[name] == "" && !slices.ContainsFunc(s.blocks, func(b block) bool { return b.Size > 0 })
}

// RemoveBegun removes such streams: the server could neither read them nor make them again.
func (i *Inspection) RemoveBegun() error {
	for _, dir := range i.begun {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// checkConfig checks that the server can read a stream's configuration.
func (i *Inspection) checkConfig(name string, s *scanned) {
	if _, ok := readConfig(s.dir, name); ok {
		return
	}
	path := filepath.Join(s.dir, configFile)
	d := Damage{Stream: name, File: path, What: fmt.Sprintf("stream %s cannot be read: its configuration %s or its checksum %s is damaged or missing", name, path, sumFile), kind: badConfig}
	if d.config = i.config(name, s); d.config != nil {
		d.Whole = true
		i.add(d)
		return
	}
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
func (i *Inspection) checkRecords(name string, s *scanned, crashed, alone bool) {
	for at, b := range s.blocks {
		torn := crashed && at == len(s.blocks)-1 && (!alone || s.last >= i.Seqs[name])
		if b.end == b.Size || torn {
			continue
		}
		d := Damage{
			Stream: name, File: blockPath(s.dir, b.Number), kind: unreadable, block: b.Number, First: b.last + 1, Last: i.Seqs[name],
			What: fmt.Sprintf("%s cannot be read at byte %d of %d", blockPath(s.dir, b.Number), b.end, b.Size),
		}
		if at == len(s.blocks)-1 {
			d.What += fmt.Sprintf("; stream %s had reached %d, and only %d can be read", name, i.Seqs[name], s.last)
		} else if next := s.blocks[at+1].first; next > 0 {
			d.Last = next - 1
		}
		i.add(d)
	}
}

// compare finds changes since a clean stop: there must be none.
func (i *Inspection) compare(name string, s *scanned, exact []block) {
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
func (i *Inspection) judge(name string, s *scanned, known []block, now time.Time) {
	var x index
	var read bool
	for _, b := range known {
		if _, ok := s.block(b.Number); ok {
			continue
		}
		if !b.Sealed { // it was being written to: only its last known sequence counts
			if s.last < i.Seqs[name] {
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
func (i *Inspection) indexed(name string, s *scanned) {
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
func (i *Inspection) missing(name string, s *scanned, n int, end bool) {
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
		d.Last = max(d.Last, i.Seqs[name])
	}
	i.add(d)
}

// unanswered lists the asks among subjects of which neither question nor
// outcome is left.
func (i *Inspection) unanswered(name string, s *scanned, subjects []string) []string {
	if len(subjects) == 0 {
		return nil
	}
	had := known{map[string]bool{}, map[string]bool{}}
	for _, sub := range subjects {
		had.add(sub)
	}
	c, err := s.contents(name, time.Now())
	if err != nil {
		return nil
	}
	_, asks := had.missing(c)
	return asks
}

// Err says what is wrong, and what to do.
func (i *Inspection) Err(alone bool) error {
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
		return Corrupt(i.dir, strings.Join(what, "; "))
	}
	return fmt.Errorf("the store of this node in %s is corrupt: %s; nothing was changed: run \"askbus ledger repair --from-peers --dir %s\", which moves the damaged streams aside, and start the node again: the other nodes have their contents. Do one node at a time: wait until it has caught up before you stop the next", i.dir, strings.Join(what, "; "), i.dir)
}

// Corrupt returns the error for a damaged store, with the commands that check and repair it.
func Corrupt(dir, what string) error {
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
