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

// packing is a response whose client takes gzip; see [Server.render].
type packing struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (p packing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// leastPacked is the size from which a page is worth it, in bytes.
const leastPacked = 1 << 10

// deflaters are kept because each has most of a megabyte.
//
//nolint:gochecknoglobals // a pool
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // the level is known
	return w
}}

// segment compresses data to a part of a deflate stream. It ends at a byte and
// refers to nothing before it, so that the same bytes go into any number of
// streams.
func segment(data []byte) []byte {
	var out bytes.Buffer
	w, _ := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	_, _ = w.Write(data) // to memory
	_ = w.Flush()
	return out.Bytes()
}

// gzipped is a whole gzip file.
func gzipped(data []byte, level int) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, level) // the levels are known
	_, _ = w.Write(data)                     // to memory
	_ = w.Close()
	return out.Bytes()
}

// packed is a gzip stream made of segments: it holds a checksum, not the window
// and tables of a compressor.
type packed struct {
	crc  uint32
	size uint32
}

// head begins the stream.
func (p *packed) head() []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} }

// add notes what a segment was made of.
func (p *packed) add(data []byte) {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, data)
	p.size += uint32(len(data)) //nolint:gosec // modulo 2^32, as gzip has it
}

// tail ends the stream.
func (p *packed) tail() []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{3, 0}, p.crc), p.size)
}
