package access

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// requestTokens are the tokens that a request depends on, and end it when they end.
type requestTokens struct {
	end context.CancelCauseFunc

	mu    sync.Mutex
	stops []func()

	asker atomic.Pointer[string] // the id of the caller's token
}

// token returns the id of the caller's token, or "" before it is verified.
func (b *requestTokens) token() string {
	if id := b.asker.Load(); id != nil {
		return *id
	}
	return ""
}

// atEnd calls stop when the request has ended.
func (b *requestTokens) atEnd(stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = append(b.stops, stop)
}

type requestTokensKey struct{}

// tokensOf returns the tokens of a request behind [Control.Guard]; nil: it is another.
func tokensOf(r *http.Request) *requestTokens {
	b, _ := r.Context().Value(requestTokensKey{}).(*requestTokens)
	return b
}

// withTokens returns a request whose context ends with the tokens bound to it. Call release.
func withTokens(r *http.Request) (_ *http.Request, release func()) {
	ctx, end := context.WithCancelCause(r.Context())
	b := &requestTokens{end: end}
	return r.WithContext(client.ForToken(context.WithValue(ctx, requestTokensKey{}, b), b.token)), func() {
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
	b := tokensOf(r)
	if b == nil {
		return
	}
	b.atEnd(a.tokens.OnEnd(t, func(why state.Ending) {
		switch {
		case why == state.Gone:
			b.end(refuseEnded())
		case !a.stopping.Load(): // otherwise the requests in progress complete
			b.end(ask.Refusal(ask.CodeUnavailable, ask.FaultTokensUnchecked))
		}
	}))
}

// Ended returns the refusal with which the gateway ended a request, or its socket, early:
// [ask.CodeUnauthorized] if its token is not valid any more, [ask.CodeUnavailable] if that cannot
// be checked. It is nil if the gateway did not end it.
func Ended(ctx context.Context) *ask.Error {
	why, _ := errors.AsType[*ask.Error](context.Cause(ctx))
	return why
}

func refuseEnded() error {
	return ask.Refusal(ask.CodeUnauthorized, ask.FaultTokenEnded)
}

// Stop refuses all further requests, because the process ends. Requests in progress go on.
func (a *Control) Stop() { a.stopping.Store(true) }

func refuseStopping() *ask.Error {
	return ask.Refusal(ask.CodeUnavailable, ask.FaultStopping)
}
