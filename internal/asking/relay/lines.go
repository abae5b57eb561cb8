package relay

import (
	"bufio"
	"errors"
	"io"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
)

// maxLine bounds a line that is parsed as a message. A longer one is forwarded unparsed.
const maxLine = 16 << 20

// errClosed reports that a side accepts no more lines.
var errClosed = errors.New("the other side takes no more")

// copyLines forwards lines until from ends. For every line, each returns what to forward instead,
// nil for nothing, and what to do afterwards.
func copyLines(from io.Reader, to *jsonrpc.Sink, each func(line []byte) (pass []byte, after func())) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, long, err := jsonrpc.ReadLine(r, maxLine)
		if long {
			err = copyLong(r, to, line)
		} else if len(line) > 0 {
			pass, after := each(line)
			if to.WriteLine(pass) != nil {
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

// copyLong forwards the rest of a line without buffering it; no other line is written in between.
func copyLong(r *bufio.Reader, to *jsonrpc.Sink, begun []byte) error {
	to.Lock()
	defer to.Unlock()
	if _, err := to.To.Write(begun); err != nil {
		return errClosed
	}
	var err error
	for err == nil {
		var part []byte
		part, err = r.ReadSlice('\n')
		_, failed := to.To.Write(part)
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
