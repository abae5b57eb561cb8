package mcpserver

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Maximum silence of a stream: at first, so that a client sees headers early, and between comments.
// Node's fetch times out after 300 s of silence, many proxies after 60 s or less.
const (
	firstBeat = 3 * time.Second
	nextBeats = 15 * time.Second
	retry     = 5 * time.Second // before a client whose stream broke off resumes it; some try only twice
)

// beating serves a request and keeps its event stream from being silent for long: the SDK writes
// nothing before its first event. The first comment is an event without data, if it has an id.
func beating(w http.ResponseWriter, r *http.Request, next http.Handler, id string) {
	b := &beat{w: w, header: http.Header{}, between: true, id: id}
	if !streamed(r) {
		next.ServeHTTP(b, r)
		return
	}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		t := time.NewTimer(firstBeat)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				b.beat()
				t.Reset(nextBeats)
			}
		}
	})
	defer done.Wait()
	defer close(stop)
	next.ServeHTTP(b, r)
}

// beat is a response into which a second goroutine writes comments. It has no Unwrap, so that its
// lock cannot be bypassed.
type beat struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	header  http.Header // owned by the handler until it is sent
	sent    bool
	between bool   // two events
	id      string // of an event that is not sent yet
}

func (b *beat) Header() http.Header { return b.header }

// WriteHeader sends the header, unless a comment has already started the stream.
func (b *beat) WriteHeader(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.send(status)
}

func (b *beat) send(status int) {
	if b.sent {
		return
	}
	b.sent = true
	maps.Copy(b.w.Header(), b.header)
	b.w.WriteHeader(status)
}

func (b *beat) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.send(http.StatusOK)
	if len(p) > 0 {
		b.between = bytes.HasSuffix(p, []byte("\n\n"))
	}
	return b.w.Write(p)
}

// Flush lets the SDK stream.
func (b *beat) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
}

func (b *beat) flush() {
	if f, ok := b.w.(http.Flusher); ok {
		f.Flush()
	}
}

// beat writes a comment, or the event without data, between two events of the stream.
func (b *beat) beat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.sent {
		// The handler may still write its header map, so do not read it.
		b.sent = true
		b.w.Header().Set("Content-Type", "text/event-stream")
		b.w.Header().Set("Cache-Control", "no-cache, no-transform")
		b.w.Header().Set("X-Accel-Buffering", "no")
		b.w.WriteHeader(http.StatusOK)
	}
	if !b.between || !strings.HasPrefix(b.w.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	text := ": still waiting\n"
	if b.id != "" {
		text = "id: " + b.id + "\nretry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\ndata:\n\n"
		b.id = ""
	}
	_, _ = b.w.Write([]byte(text)) // a disconnect is detected elsewhere
	b.flush()
}
