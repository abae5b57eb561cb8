package access

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

const (
	maxLarge  = 6               // bodies with files that are in memory at a time
	largeWait = 5 * time.Second // for one of these places
)

// mayHoldFiles reports whether the dialect of a request has a place for files.
func mayHoldFiles(r *http.Request) bool {
	name := r.URL.Query().Get("dialect")
	if name == "" {
		return r.URL.Path == a2aPath
	}
	d, _ := dialect.Lookup(name)
	return d.HoldsFiles()
}

// BodyWithFiles is Body for requests that may hold files. A body that is larger than
// others takes one of a few places, of which one token has at most half, until the caller
// has stored its files, and calls stored, which may be called again.
func (a *Control) BodyWithFiles(w http.ResponseWriter, r *http.Request, c *Caller) (body []byte, stored func(), err error) {
	stored = func() {}
	r.Body = &largeBody{ReadCloser: r.Body, left: maxBody, take: func() error {
		release, err := a.large.acquire(&c.Token)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), largeWait)
		defer cancel()
		select {
		case a.places <- struct{}{}:
			stored = sync.OnceFunc(func() { <-a.places; release() })
			return nil
		case <-ctx.Done():
			release()
			return ask.Refusal(ask.CodeUnavailable, ask.FaultTooManyAtOnce, maxLarge, "files", "this_gateway")
		}
	}}
	if body, err = a.Body(w, r); err != nil {
		stored()
		return nil, func() {}, err
	}
	return body, stored, nil
}

// largeBody calls take before it reads more than left bytes.
type largeBody struct {
	io.ReadCloser
	left int
	take func() error
}

func (b *largeBody) Read(p []byte) (int, error) {
	if b.left <= 0 && b.take != nil {
		if err := b.take(); err != nil {
			return 0, err
		}
		b.take = nil
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}
