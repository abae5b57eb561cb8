package httpserver

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// linger bounds the time for the unread rest of a body, so that a small rest does not close the
// connection.
const linger = 100 * time.Millisecond

// bodies limits the size and time of every body. A request without a body has no deadline: it may
// wait as long as its handler does.
func bodies(next http.Handler, limits Limits) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(limits.BodyTimeout)) // net/http's own connections have deadlines
		b := &body{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), control: control}
		copied := *r // net/http keeps the original, whose body it knows
		copied.Body = b
		next.ServeHTTP(w, &copied)
		if !b.ended {
			_ = control.SetReadDeadline(time.Now().Add(linger))
		}
	})
}

// body removes the deadline at its end, because the handler may wait then.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	ended   bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
