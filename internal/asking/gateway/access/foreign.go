package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
)

// isForeign reports whether a bearer is the token of another issuer, which counts
// for MCP only: a client of MCP cannot ask for a token of ours, and every other
// program has an exchange.
func (a *Control) isForeign(r *http.Request, secret string) bool {
	return a.opts.Foreign != nil && !strings.HasPrefix(secret, token.Prefix) && token.EndpointAt(r.URL.Path) == token.MCP && inHeader(r)
}

// inHeader reports whether a request has its token in a header. OAuth forbids one
// in a path, because proxies log paths.
func inHeader(r *http.Request) bool {
	_, path := r.Context().Value(tokenKey{}).(string)
	return !path
}

// foreign makes an agent's token of the token of another issuer, and ends the
// request when that expires. The error is an [*ask.Error].
func (a *Control) foreign(r *http.Request, secret string) (token.Token, error) {
	t, err := a.opts.Foreign(r.Context(), secret)
	if err == nil {
		err = foreignFits(&t)
	}
	if err != nil {
		if _, refused := errors.AsType[*ask.Error](err); !refused {
			a.opts.Logger.ErrorContext(r.Context(), "tokens of another issuer cannot be checked", slog.Any("error", err))
			err = ask.Refusal(ask.CodeUnavailable, ask.FaultTokensUnchecked)
		}
		return token.Token{}, err
	}
	if b := tokensOf(r); b != nil {
		timer := time.AfterFunc(t.Expires.Sub(a.opts.Now()), func() { b.end(refuseEnded()) })
		b.atEnd(func() { timer.Stop() })
	}
	return t, nil
}

// foreignFits refuses what rules must not make of a token: it asks, it says for
// which sessions, and it ends.
func foreignFits(t *token.Token) error {
	if t.Role != token.Agent || t.Expires.IsZero() {
		return fmt.Errorf("the token of another issuer became one of the role %s until %s", t.Role, t.Expires)
	}
	if err := t.Validate(); err != nil {
		return ask.Refusal(ask.CodeForbidden, ask.FaultBadRule, err)
	}
	return nil
}
