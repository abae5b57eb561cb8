package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// sse writes server-sent events.
type sse struct {
	w     http.ResponseWriter
	out   bytes.Buffer
	begun bool // something was sent
}

var errWrite = errors.New("the client does not take it")

func eventHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
}

// event adds an event; without a name it is a "message". JSON has no line breaks of its own.
func (s *sse) event(name string, data []byte) {
	if name != "" {
		fmt.Fprintf(&s.out, "event: %s\n", name)
	}
	fmt.Fprintf(&s.out, "data: %s\n\n", data)
}

// beat sends a comment.
func (s *sse) beat() error {
	s.out.WriteString(":\n\n")
	return s.flush()
}

// flush sends what was added. A client that does not take it in time is cut off, and may resume.
func (s *sse) flush() error {
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeWithin)) // some tests' ResponseWriters have none
	s.begun = true
	_, err := s.out.WriteTo(s.w)
	s.out.Reset()
	if err == nil {
		err = control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	_ = control.SetWriteDeadline(time.Time{})
	return nil
}
