package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// afterwards is how long an expired token is kept, so that lists and refusals can name it.
const afterwards = 24 * time.Hour

// DefaultLife is the default lifetime of a token, MostLife the maximum. Every token expires, so
// that a forgotten one ends by itself.
const (
	DefaultLife = 90 * 24 * time.Hour
	MostLife    = 366 * 24 * time.Hour
)

// Issuer issues, lists and revokes tokens with an operator's credential.
type Issuer struct {
	tokens, uses *state.Bucket
}

// NewIssuer makes an issuer on an operator's connection. It sends nothing.
func NewIssuer(nc *nats.Conn) *Issuer {
	return &Issuer{state.Open(nc, state.Operator(), state.Tokens), state.Open(nc, state.Operator(), state.TokenUses)}
}

// Used is a token with its last use, to the minute; zero: unused.
type Used struct {
	Token
	Last time.Time
}

type use struct {
	At time.Time `json:"at"`
}

// Issue makes and stores a token and returns it with its secret. Without an expiry it sets the
// default.
func (i *Issuer) Issue(ctx context.Context, t Token) (Token, string, error) {
	now := time.Now()
	if t.Created.IsZero() {
		t.Created = now.UTC().Truncate(time.Second)
	}
	if t.Expires.IsZero() {
		t.Expires = t.Created.Add(DefaultLife)
	}
	if t.Expires.Sub(now) > MostLife {
		return Token{}, "", fmt.Errorf("a token is valid for at most %s", MostLife)
	}
	made, secret, err := New(t)
	if err != nil {
		return Token{}, "", err
	}
	return made, secret, i.keep(ctx, &made)
}

func (i *Issuer) keep(ctx context.Context, t *Token) error {
	ttl := time.Duration(0)
	if !t.Expires.IsZero() {
		ttl = max(time.Second, time.Until(t.Expires)+afterwards)
	}
	if _, err := i.tokens.Create(ctx, state.Key{Name: t.ID}, t, ttl); err != nil {
		return fmt.Errorf("store token: %w", err)
	}
	return nil
}

// List returns all tokens in the order of issue.
func (i *Issuer) List(ctx context.Context) ([]Used, error) {
	entries, err := i.tokens.List(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := i.uses.List(ctx)
	if err != nil {
		return nil, err
	}
	last := map[string]time.Time{}
	for j := range uses {
		var u use
		if json.Unmarshal(uses[j].Value, &u) == nil {
			last[uses[j].Key.Name] = u.At
		}
	}
	tokens := make([]Used, 0, len(entries))
	for j := range entries {
		t, err := decode(entries[j].Value)
		if err != nil {
			return nil, fmt.Errorf("token %s is damaged: %w", entries[j].Key.Name, err)
		}
		tokens = append(tokens, Used{t, last[t.ID]})
	}
	sort.SliceStable(tokens, func(i, j int) bool { return tokens[i].Created.Before(tokens[j].Created) })
	return tokens, nil
}

// Revoke revokes a token, named by its id or by the token itself.
func (i *Issuer) Revoke(ctx context.Context, idOrToken string) (Token, error) {
	id := idOrToken
	if of, _, ok := split(idOrToken); ok {
		id = of
	}
	unknown := fmt.Errorf("no token %q; \"askbus token list\" shows them", id)
	if !ask.ValidToken(id) {
		return Token{}, unknown
	}
	k := state.Key{Name: id}
	e, err := i.tokens.Get(ctx, k)
	if errors.Is(err, ask.ErrNotFound) {
		return Token{}, unknown
	}
	if err != nil {
		return Token{}, err
	}
	gone, err := decode(e.Value)
	if err != nil {
		gone = Token{ID: id} // delete it, whatever it is
	}
	if err := i.tokens.Delete(ctx, k); err != nil {
		return Token{}, err
	}
	_ = i.uses.Delete(ctx, k) // expires anyway
	return gone, nil
}
