package storecheck

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
)

const (
	blocksFile = "blocks"
	// CleanFile is the exact list of block files, which a server writes when it has stopped.
	CleanFile = "clean-stop"
)

// block describes a block file. It is remembered outside of the store, so that
// its absence can be judged. The server removes a file when all its messages
// are gone. An outcome goes only after it expires, and a question only after
// its outcome is stored.
type block struct {
	Number        int       `json:"block"`
	Size          int64     `json:"size"`
	Sealed        bool      `json:"sealed,omitempty"` // the server writes to a later one; the contents are known
	Outcomes      int       `json:"outcomes,omitempty"`
	OutcomesUntil time.Time `json:"outcomes_until,omitzero"` // when the last of its outcomes expires
	Asks          int       `json:"asks,omitempty"`
	AsksUntil     time.Time `json:"asks_until,omitzero"` // until when each of its asks has a question or an outcome

	first, last uint64
	end         int64 // start of the first unreadable record
}

func (b *block) add(r record) {
	b.last = max(b.last, r.seq)
	if r.removed {
		return
	}
	b.first = cmp.Or(b.first, r.seq)
	switch _, kind, _, _ := subject.ParseLedger(r.subject); kind {
	case subject.Outcome:
		b.Outcomes++
		if ttl, ok := lifetime(r.get("Nats-TTL")); ok {
			b.OutcomesUntil = later(b.OutcomesUntil, r.time.Add(ttl))
		}
	case subject.Question:
		b.Asks++
		until := r.outlived()
		if b.AsksUntil.IsZero() || until.Before(b.AsksUntil) {
			b.AsksUntil = until
		}
	}
}

// lifetime parses a TTL as JetStream does.
func lifetime(s string) (time.Duration, bool) {
	if d, err := time.ParseDuration(s); err == nil {
		return d.Truncate(time.Second), true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Duration(n) * time.Second, err == nil && n > 0
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// blockList has the files of each stream, as stored in one of two files.
type blockList struct {
	At      time.Time          `json:"at"`
	Streams map[string][]block `json:"streams"`
	Configs map[string]string  `json:"configs,omitempty"` // each stream's, as the server wrote it
}

// readBlocks reads a list; nil if there is none.
func readBlocks(dir, name string) (*blockList, error) {
	var l *blockList
	err := load(dir, name, &l)
	return l, err
}

// Follower keeps the list of block files up to date while the server runs.
type Follower struct {
	dir     string
	streams string // their directory
	list    blockList
	seen    map[string]time.Time // when a stream's directory was last changed
	read    map[string]time.Time // likewise, of its configuration
}

// NewFollower starts with the block files that an inspection found.
func NewFollower(dir string, found map[string]*scanned) *Follower {
	f := &Follower{dir: dir, streams: StreamsDir(dir), list: blockList{Streams: map[string][]block{}, Configs: map[string]string{}}, seen: map[string]time.Time{}, read: map[string]time.Time{}}
	for name, s := range found {
		for i, b := range s.blocks {
			b.Sealed = i < len(s.blocks)-1
			f.list.Streams[name] = append(f.list.Streams[name], b)
		}
	}
	return f
}

// Look writes the list when a file was added or removed. The list may lag: it
// records only facts that stay true.
func (f *Follower) Look(now time.Time) {
	names, err := StreamNames(f.streams)
	if err != nil {
		return // the next look retries
	}
	changed := false
	for _, name := range names {
		dir := filepath.Join(f.streams, name)
		changed = f.configured(dir, name, now) || changed
		info, err := os.Stat(filepath.Join(dir, "msgs"))
		// A directory that was just changed may change again with the same
		// time.
		if err != nil || info.ModTime().Equal(f.seen[name]) && now.Sub(info.ModTime()) > 2*time.Second {
			continue
		}
		blocks, err := f.blocks(dir, name)
		if err != nil {
			continue
		}
		f.seen[name] = info.ModTime()
		same := func(a, b block) bool { return a.Number == b.Number && a.Sealed == b.Sealed }
		if !slices.EqualFunc(blocks, f.list.Streams[name], same) {
			f.list.Streams[name], changed = blocks, true
		}
	}
	for name := range f.list.Streams {
		if !slices.Contains(names, name) {
			delete(f.list.Streams, name)
			delete(f.list.Configs, name)
			changed = true
		}
	}
	if changed {
		f.list.At = now
		_ = save(f.dir, blocksFile, f.list) // it may lag
	}
}

// configured reads a stream's configuration if it may have changed, and reports
// whether it has.
func (f *Follower) configured(dir, name string, now time.Time) (changed bool) {
	info, err := os.Stat(filepath.Join(dir, sumFile)) // the server writes it last
	if err != nil || info.ModTime().Equal(f.read[name]) && now.Sub(info.ModTime()) > 2*time.Second {
		return false
	}
	config, ok := readConfig(dir, name)
	if !ok {
		return false // it is being written
	}
	f.read[name] = info.ModTime()
	changed = f.list.Configs[name] != string(config)
	f.list.Configs[name] = string(config)
	return changed
}

// blocks lists a stream's files. It reads a file once, when it is complete.
func (f *Follower) blocks(dir, name string) ([]block, error) {
	numbers, err := blockNumbers(dir)
	if err != nil {
		return nil, err
	}
	known := map[int]block{}
	for _, b := range f.list.Streams[name] {
		known[b.Number] = b
	}
	blocks := make([]block, len(numbers))
	for i, n := range numbers {
		b, ok := known[n]
		if last := i == len(numbers)-1; last || ok && b.Sealed {
			b.Number, b.Sealed = n, !last
		} else if b, err = scanBlock(dir, name, n); err != nil {
			return nil, err
		} else {
			b.Sealed = true
		}
		blocks[i] = b
	}
	return blocks, nil
}

// Stopped writes the exact list, after the server has stopped.
func (f *Follower) Stopped(now time.Time) error {
	exact := blockList{At: now, Streams: map[string][]block{}, Configs: map[string]string{}}
	names, err := StreamNames(f.streams)
	if err != nil {
		return err
	}
	for _, name := range names {
		dir := filepath.Join(f.streams, name)
		blocks, err := f.blocks(dir, name)
		if err != nil {
			return err
		}
		if config, ok := readConfig(dir, name); ok {
			exact.Configs[name] = string(config)
		}
		for _, b := range blocks {
			info, err := os.Stat(blockPath(dir, b.Number))
			if err != nil {
				return err
			}
			b.Size = info.Size()
			exact.Streams[name] = append(exact.Streams[name], b)
		}
	}
	return save(f.dir, CleanFile, exact)
}
