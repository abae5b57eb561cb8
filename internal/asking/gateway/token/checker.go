package token

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Checker checks single tokens with the issuer's credential. It asks the broker each time, so that
// a revoked token is rejected at once. While Run runs it also follows all of them.
type Checker struct {
	tokens, uses *state.Bucket
	cache        *state.Cache
	ended        chan struct{}
	log          *slog.Logger
}

// NewChecker makes a checker on the issuer's connection. It sends nothing.
func NewChecker(nc *nats.Conn, log *slog.Logger) *Checker {
	c := &Checker{tokens: state.Open(nc, state.Issuer(), state.Tokens), uses: state.Open(nc, state.Issuer(), state.TokenUses), ended: make(chan struct{}, 1), log: log}
	c.cache = state.NewCache(c.tokens, state.CacheOptions{Logger: log, Changed: func(_, e *state.Entry) {
		if e == nil {
			select {
			case c.ended <- struct{}{}:
			default:
			}
		}
	}})
	return c
}

// Run follows the tokens until ctx ends.
func (c *Checker) Run(ctx context.Context) error { return c.cache.Run(ctx) }

// Ended signals that one or more tokens were revoked or have expired.
func (c *Checker) Ended() <-chan struct{} { return c.ended }

// Gone reports whether a token is no longer stored. A token that cannot be looked up is not gone,
// and one that was just issued is looked up at the broker.
func (c *Checker) Gone(ctx context.Context, id string) bool {
	_, err := c.cache.Lookup(ctx, state.Key{Name: id})
	return errors.Is(err, ask.ErrNotFound)
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
