package web

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// accepts reports whether the client of a request takes gzip.
func accepts(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(one, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") {
			continue
		}
		q, given := strings.CutPrefix(strings.TrimSpace(weight), "q=")
		v, err := strconv.ParseFloat(q, 64)
		return !given || err == nil && v > 0
	}
	return false
}

// packing marks a response whose client accepts gzip; see [Server.render].
type packing struct{ http.ResponseWriter }

// Unwrap supports [http.ResponseController].
func (p packing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// leastPacked is the minimum size of a page that is compressed, in bytes.
const leastPacked = 1 << 10

// deflaters pools compressors: each holds almost a megabyte.
//
//nolint:gochecknoglobals // a pool
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // a valid level
	return w
}}

// segment compresses data to a part of a deflate stream. It ends at a byte
// boundary and refers to nothing before it, so the same bytes can be part of
// any number of streams.
func segment(data []byte) []byte {
	var out bytes.Buffer
	w, _ := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	_, _ = w.Write(data) // writes to memory
	_ = w.Flush()
	return out.Bytes()
}

// gzipped returns a complete gzip file.
func gzipped(data []byte, level int) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, level) // valid levels
	_, _ = w.Write(data)                     // writes to memory
	_ = w.Close()
	return out.Bytes()
}

// packed is a gzip stream made of segments. It holds a checksum, but no
// compressor's window and tables.
type packed struct {
	crc  uint32
	size uint32
}

// head returns the gzip header.
func (p *packed) head() []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} }

// add updates the checksum and size with a segment's uncompressed data.
func (p *packed) add(data []byte) {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, data)
	p.size += uint32(len(data)) //nolint:gosec // modulo 2^32, as in the gzip trailer
}

// tail returns the end of the stream.
func (p *packed) tail() []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{3, 0}, p.crc), p.size)
}
