package storecheck

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/minio/highwayhash"
)

// This file reads the block files before the server does: the server cuts a
// file at the first unreadable record and continues without the rest, with no
// error. A partial record at the very end is left by a crash during an
// unacknowledged write; anything else is damage. Layout: filestore.go of
// nats-server 2.14 and 2.15.

const (
	recordHead = 22 // length, sequence, time, length of the subject
	recordHash = 8
	headersBit = 1 << 31
	mostRecord = 32 << 20
	eraseBit   = 1 << 63
	tombBit    = 1 << 62
)

// scanned is the content of a stream's block files.
type scanned struct {
	dir    string // of the stream
	last   uint64 // the highest sequence
	blocks []block
}

// record is one message of a block file.
type record struct {
	seq     uint64
	removed bool // a tombstone or an erased message
	time    time.Time
	subject string
	header  []byte
	raw     []byte // the whole record, as on disk
}

// StreamsDir returns the directory of the ledger's streams, which is named by
// the key of its account.
func StreamsDir(dir string) string {
	account := "" // of no store
	if keys, err := identity.LoadKeys(dir); err == nil {
		account = keys.Accounts[identity.Ledger]
	} else if names := rights.StoreAccounts(dir); len(names) == 1 {
		account = names[0]
	}
	return filepath.Join(rights.AccountsDir(dir), account, "streams")
}

// StreamNames returns the streams that have a directory.
func StreamNames(streams string) ([]string, error) {
	entries, err := os.ReadDir(streams)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the store: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// scanStore reads every stream of a store, by name.
func scanStore(dir string) (map[string]*scanned, error) {
	streams := StreamsDir(dir)
	names, err := StreamNames(streams)
	if err != nil {
		return nil, err
	}
	found := map[string]*scanned{}
	for _, name := range names {
		s := &scanned{dir: filepath.Join(streams, name)}
		if err := s.read(name); err != nil {
			return nil, err
		}
		found[name] = s
	}
	return found, nil
}

// read reads all block files of a stream.
func (s *scanned) read(stream string) error {
	numbers, err := blockNumbers(s.dir)
	if err != nil {
		return fmt.Errorf("cannot read the store: %w", err)
	}
	s.blocks, s.last = nil, 0
	for _, n := range numbers {
		b, err := scanBlock(s.dir, stream, n)
		if err != nil {
			return fmt.Errorf("cannot read the store: %w", err)
		}
		s.last = max(s.last, b.last)
		s.blocks = append(s.blocks, b)
	}
	return nil
}

// blockNumbers returns the numbers of a stream's block files, in order.
func blockNumbers(stream string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(stream, "msgs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".blk"); ok {
			if n, err := strconv.Atoi(name); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	slices.SortFunc(numbers, cmp.Compare)
	return numbers, nil
}

func blockPath(stream string, n int) string {
	return filepath.Join(stream, "msgs", strconv.Itoa(n)+".blk")
}

// scanBlock reads one block file.
func scanBlock(dir, stream string, n int) (block, error) {
	b := block{Number: n}
	data, err := os.ReadFile(blockPath(dir, n))
	if err != nil {
		return b, err
	}
	h, err := blockHash(stream, n)
	if err != nil {
		return b, err
	}
	b.Size = int64(len(data))
	for b.end < b.Size {
		r, ok := readRecord(data[b.end:], h)
		if !ok {
			break
		}
		b.end += int64(len(r.raw))
		b.add(r)
	}
	return b, nil
}

func blockHash(stream string, n int) (hash.Hash64, error) {
	key := sha256.Sum256([]byte(stream + "-" + strconv.Itoa(n)))
	return highwayhash.New64(key[:])
}

// readRecord reads the record at the start of data, if it is complete.
func readRecord(data []byte, h hash.Hash64) (record, bool) {
	if len(data) < recordHead {
		return record{}, false
	}
	length, subject := binary.LittleEndian.Uint32(data), int(binary.LittleEndian.Uint16(data[20:]))
	size := int(length &^ headersBit)
	start := subject
	if length&headersBit != 0 {
		start += 4
	}
	if size < recordHead || size > len(data) || size > mostRecord || start > size-recordHead-recordHash {
		return record{}, false
	}
	body := data[recordHead:size]
	h.Reset()
	for _, part := range [][]byte{data[4:20], body[:subject], body[start : len(body)-recordHash]} {
		_, _ = h.Write(part) // never fails
	}
	if !bytes.Equal(h.Sum(nil), body[len(body)-recordHash:]) {
		return record{}, false
	}
	seq := binary.LittleEndian.Uint64(data[4:])
	r := record{
		seq: seq &^ (eraseBit | tombBit), removed: seq&(eraseBit|tombBit) != 0, subject: string(body[:subject]), raw: data[:size],
		time: time.Unix(0, int64(binary.LittleEndian.Uint64(data[12:]))), //nolint:gosec // as written
	}
	if start > subject {
		header := int(binary.LittleEndian.Uint32(body[subject:]))
		if header <= len(body)-start-recordHash {
			r.header = body[start : start+header]
		}
	}
	return r, true
}

// get returns the value of a header, empty if there is none.
func (r record) get(name string) string {
	_, rest, ok := bytes.Cut(r.header, []byte("\r\n"+name+":"))
	if !ok {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strings.TrimSpace(string(value))
}
