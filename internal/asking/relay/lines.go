package relay

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// maxLine bounds a line that is parsed as a message. A longer one is forwarded unparsed.
const maxLine = 16 << 20

// sink collects the lines for one side, from several senders.
type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sink) write(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.w.Write(line)
	return err
}

// errClosed reports that a side accepts no more lines.
var errClosed = errors.New("the other side takes no more")

// copyLines forwards lines until from ends. For every line, each returns what to forward instead,
// nil for nothing, and what to do afterwards.
func copyLines(from io.Reader, to *sink, each func(line []byte) (pass []byte, after func())) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, long, err := readLine(r)
		if long {
			err = copyLong(r, to, line)
		} else if len(line) > 0 {
			pass, after := each(line)
			if failed := to.write(pass); failed != nil {
				return errClosed
			}
			if after != nil {
				after()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line with its end, or the beginning of a line that is too long.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, false, err
		}
		if len(line) >= maxLine {
			return line, true, nil
		}
	}
}

// copyLong forwards the rest of a line without buffering it; no other line is written in between.
func copyLong(r *bufio.Reader, to *sink, begun []byte) error {
	to.mu.Lock()
	defer to.mu.Unlock()
	if _, err := to.w.Write(begun); err != nil {
		return errClosed
	}
	var err error
	for err == nil {
		var part []byte
		part, err = r.ReadSlice('\n')
		_, failed := to.w.Write(part)
		switch {
		case failed != nil:
			return errClosed
		case err == nil:
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			err = nil
		}
	}
	return err
}
