package prompt

import (
	"bufio"
	"context"
	"io"
)

// maxLine bounds a typed line in bytes; a longer one ends the input.
const maxLine = 256 << 10

// Lines reads typed lines. It reads one line ahead, so that waiting for the next one can be
// cancelled.
type Lines struct {
	lines chan string
	end   error // set before lines is closed
}

// Read starts reading lines. Its goroutine ends with r, or with the process if the last line is
// never taken.
func Read(r io.Reader) *Lines {
	l := &Lines{lines: make(chan string)}
	go func() {
		defer close(l.lines)
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxLine)
		for s.Scan() {
			l.lines <- s.Text()
		}
		if l.end = s.Err(); l.end == nil {
			l.end = io.EOF
		}
	}()
	return l
}

// Next returns the next line. The error is ctx's, or [io.EOF] after the last line.
func (l *Lines) Next(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case s, ok := <-l.lines:
		if !ok {
			return "", l.end
		}
		return s, nil
	}
}
