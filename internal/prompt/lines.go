package prompt

import (
	"bufio"
	"context"
	"io"
)

// maxLine bounds one typed line, in bytes; what is longer ends the input.
const maxLine = 256 << 10

// Lines are the lines that somebody types. They are read ahead by one, so that
// waiting for the next one can end.
type Lines struct {
	lines chan string
	end   error // once lines is closed
}

// Read begins to read lines. Its goroutine ends with r, or when the line that
// was typed last is never asked for: with the process.
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

// Next is the next line. The error is ctx's, or [io.EOF] after the last one.
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
