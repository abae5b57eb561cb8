package token

import (
	"context"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/nats-io/nats.go"
)

// Checker checks single tokens with the issuer's credential. It asks the broker each time, so that
// a revoked token is rejected at once.
type Checker struct {
	tokens, uses *state.Bucket
	log          *slog.Logger
}

// NewChecker makes a checker on the issuer's connection. It sends nothing.
func NewChecker(nc *nats.Conn, log *slog.Logger) *Checker {
	return &Checker{state.Open(nc, state.Issuer(), state.Tokens), state.Open(nc, state.Issuer(), state.TokenUses), log}
}

// Check is [Store.Check] for one use. It also rejects a token that is not valid there.
func (c *Checker) Check(ctx context.Context, secret string, at Endpoint, now time.Time) (Token, error) {
	t, err := find(ctx, secret, now, c.tokens.Get)
	if err != nil {
		return Token{}, err
	}
	if err := t.CheckEndpoint(at); err != nil {
		return Token{}, err
	}
	if _, err := c.uses.Put(ctx, state.Key{Name: t.ID}, use{now.UTC().Truncate(time.Second)}, usesLife); err != nil {
		c.log.WarnContext(ctx, "cannot write the last use of a token", slog.Any("error", err))
	}
	return t, nil
}
