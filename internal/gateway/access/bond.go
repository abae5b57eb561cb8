package access

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// ErrEnded is the cause of a request, or its socket, that ends early because one of its tokens
// became invalid.
var ErrEnded = errors.New("the token was revoked, has expired, or cannot be checked just now")

// bond ends a request with its tokens.
type bond struct {
	end context.CancelCauseFunc

	mu    sync.Mutex
	stops []func()

	asker atomic.Pointer[string] // the id of the caller's token
}

// token returns the id of the caller's token, or "" before it is verified.
func (b *bond) token() string {
	if id := b.asker.Load(); id != nil {
		return *id
	}
	return ""
}

// names remembers the caller's token for the asks of a request.
func names(r *http.Request, t *token.Token) {
	if b, ok := r.Context().Value(bondKey{}).(*bond); ok {
		b.asker.Store(&t.ID)
	}
}

type bondKey struct{}

// bonded returns a request whose context ends with the tokens bound to it. Call release.
func bonded(r *http.Request) (_ *http.Request, release func()) {
	ctx, end := context.WithCancelCause(r.Context())
	b := &bond{end: end}
	return r.WithContext(client.ForToken(context.WithValue(ctx, bondKey{}, b), b.token)), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, stop := range b.stops {
			stop()
		}
		end(nil)
	}
}

// bind ends a request when a token becomes invalid.
func (a *Control) bind(r *http.Request, t *token.Token) {
	b, ok := r.Context().Value(bondKey{}).(*bond)
	if !ok {
		return
	}
	stop := a.tokens.OnEnd(t, func() { b.end(ErrEnded) })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = append(b.stops, stop)
}

// Ended reports whether a request ended with its token.
func Ended(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrEnded) }

func refuseEnded() error { return ask.Refuse(ask.CodeUnauthorized, "%s", ErrEnded) }
