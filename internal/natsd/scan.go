package natsd

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

	"github.com/minio/highwayhash"
)

// What follows reads the server's block files before the server does: the
// server cuts a file at the first record that it cannot read, and goes on
// without what lay behind, with no error. A half-written record at the very end
// is what a crash leaves of a write that nobody was told of; anything else is
// damage. Layout: filestore.go of nats-server 2.14 and 2.15.

const (
	recordHead = 22 // length, sequence, time, length of the subject
	recordHash = 8
	headersBit = 1 << 31
	mostRecord = 32 << 20
	eraseBit   = 1 << 63
	tombBit    = 1 << 62
)

// scanned is what the block files of a stream hold.
type scanned struct {
	last uint64 // the highest sequence
	torn string // the file whose end cannot be read, if there is one
}

// scanStore reads every stream of a store, by name.
func scanStore(dir string) (map[string]scanned, error) {
	root := filepath.Join(dir, storeDir, "jetstream", "$G", "streams")
	entries, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the store: %w", err)
	}
	found := map[string]scanned{}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if found[e.Name()], err = scanStream(dir, root, e.Name()); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func scanStream(dir, root, name string) (scanned, error) {
	var s scanned
	files, err := filepath.Glob(filepath.Join(root, name, "msgs", "*.blk"))
	if err != nil {
		return s, fmt.Errorf("cannot read the store: %w", err)
	}
	number := func(path string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
		if err != nil {
			return 0
		}
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return s, fmt.Errorf("cannot read the store: %w", err)
		}
		key := sha256.Sum256([]byte(name + "-" + strconv.Itoa(number(path))))
		h, err := highwayhash.New64(key[:])
		if err != nil {
			return s, fmt.Errorf("cannot check the store: %w", err)
		}
		last, end := scanBlock(data, h)
		s.last = max(s.last, last)
		if end < len(data) {
			if i < len(files)-1 {
				return s, corrupt(dir, fmt.Sprintf("%s cannot be read at byte %d of %d", path, end, len(data)))
			}
			s.torn = fmt.Sprintf("%s cannot be read at byte %d of %d", path, end, len(data))
		}
	}
	return s, nil
}

// scanBlock returns the highest sequence of a block, and where the first record
// starts that cannot be read.
func scanBlock(data []byte, h hash.Hash64) (last uint64, end int) {
	for end < len(data) {
		rest := data[end:]
		if len(rest) < recordHead {
			return last, end
		}
		length, subject := binary.LittleEndian.Uint32(rest), int(binary.LittleEndian.Uint16(rest[20:]))
		headers := length&headersBit != 0
		size := int(length &^ headersBit)
		start := subject
		if headers {
			start += 4
		}
		if size < recordHead || size > len(rest) || size > mostRecord || start > size-recordHead-recordHash {
			return last, end
		}
		body := rest[recordHead:size]
		h.Reset()
		for _, part := range [][]byte{rest[4:20], body[:subject], body[start : len(body)-recordHash]} {
			_, _ = h.Write(part) // never fails
		}
		if !bytes.Equal(h.Sum(nil), body[len(body)-recordHash:]) {
			return last, end
		}
		last = max(last, binary.LittleEndian.Uint64(rest[4:])&^(eraseBit|tombBit))
		end += size
	}
	return last, end
}
