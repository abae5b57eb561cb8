package access

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

const (
	maxLarge  = 6               // bodies with files that are in memory at a time
	maxFiles  = 16              // files that are read or sent at a time: each is in memory meanwhile
	placeWait = 5 * time.Second // for one of these places
)

// places are for what is in memory at a time. One token has at most half of them.
type places struct {
	shares *shares
	taken  chan struct{}
}

func newPlaces(n int) *places { return &places{newShares("files", n), make(chan struct{}, n)} }

// take takes a place until leave is called, which may be called again. It waits a while for one.
func (p *places) take(ctx context.Context, t *token.Token) (leave func(), err error) {
	release, err := p.shares.acquire(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	select {
	case p.taken <- struct{}{}:
		return sync.OnceFunc(func() { <-p.taken; release() }), nil
	case <-ctx.Done():
		release()
		return nil, ask.Refusal(ask.CodeUnavailable, ask.FaultTooManyAtOnce, cap(p.taken), "files", "this_gateway")
	}
}

// FilePlace takes a place for a file that is read or sent for a caller, until leave is called.
func (a *Control) FilePlace(ctx context.Context, c *Caller) (leave func(), err error) {
	return a.files.take(ctx, &c.Token)
}

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
	ctx := r.Context()
	r.Body = &largeBody{ReadCloser: r.Body, left: maxBody, take: func() error {
		leave, err := a.large.take(ctx, &c.Token)
		if err == nil {
			stored = leave
		}
		return err
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
