package storecheck

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server/avl"
)

const indexFile = "index.db"

// index is the content of the server's own index of a stream. After a clean
// stop it is complete, after a crash up to two minutes old, and that of a very
// large stream may be as old as the last clean stop.
type index struct {
	subjects map[string][2]int // the first and the last block that contain it
	blocks   map[int]indexed
	last     int     // the block that was written to
	tail     [8]byte // its end
}

// indexed is a block in the index.
type indexed struct{ first, last, live uint64 }

// readIndex reads a stream's index; ok is false if there is no readable one.
func readIndex(dir, stream string) (index, bool) {
	x := index{subjects: map[string][2]int{}, blocks: map[int]indexed{}}
	data, err := os.ReadFile(filepath.Join(dir, "msgs", indexFile))
	if err != nil || len(data) < 32 {
		return x, false
	}
	key := sha256.Sum256([]byte(stream))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		return x, false
	}
	body := data[:len(data)-recordHash]
	_, _ = h.Write(body) // never fails
	if !bytes.Equal(h.Sum(nil), data[len(body):]) || body[0] != 11 || body[1] != 4 {
		return x, false
	}
	r := reader{left: body[2:]}
	return x, x.read(&r) && !r.bad
}

func (x *index) read(r *reader) bool {
	for range 6 { // messages, bytes, and the first and last sequence and time
		r.uint()
	}
	for range r.count() {
		name := string(r.take(r.count()))
		r.uint() // messages
		first := r.count()
		x.subjects[name] = [2]int{first, r.count()}
		if r.bad {
			return false
		}
	}
	for range r.count() {
		n := r.count()
		r.uint() // bytes
		b := indexed{first: r.uint()}
		r.uint() // time
		b.last = r.uint()
		r.uint() // time
		removed := r.uint()
		r.uint() // messages with a TTL
		r.uint() // schedules
		b.live = b.last - b.first + 1
		if removed > 0 && !r.bad {
			_, size, err := avl.Decode(r.left)
			if err != nil {
				return false
			}
			r.take(size)
			b.live -= min(removed, b.live)
		}
		if r.bad {
			return false
		}
		x.blocks[n] = b
	}
	x.last = r.count()
	copy(x.tail[:], r.take(8))
	return !r.bad
}

// current reports whether nothing was written since.
func (x *index) current(s *scanned) bool {
	if len(s.blocks) == 0 || s.blocks[len(s.blocks)-1].Number != x.last {
		return false
	}
	data, err := os.ReadFile(blockPath(s.dir, x.last))
	return err == nil && len(data) >= 8 && bytes.Equal(data[len(data)-8:], x.tail[:])
}

// questions lists the subjects of questions that were only in this block.
func (x *index) questions(n int) []string {
	var names []string
	for name, at := range x.subjects {
		if _, kind, _, ok := subject.ParseLedger(name); ok && kind == subject.Question && at == [2]int{n, n} {
			names = append(names, name)
		}
	}
	return names
}

// reader reads varints; signed ones have the same length.
type reader struct {
	left []byte
	bad  bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.left)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.left = r.left[n:]
	return v
}

// count reads a number that cannot exceed the number of bytes left.
func (r *reader) count() int {
	v := r.uint()
	if v > 1<<31-1 {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.left) {
		r.bad = true
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}
