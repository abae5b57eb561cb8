package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// afterwards is how long an expired token is kept, so that lists and refusals
// can say that it has expired.
const afterwards = 24 * time.Hour

// DefaultLife is how long a token is good when nothing is said, MostLife how long
// it can be. No token is good for ever: one that nobody remembers must end by
// itself.
const (
	DefaultLife = 90 * 24 * time.Hour
	MostLife    = 366 * 24 * time.Hour
)

// Issuer issues, lists and revokes tokens, with an operator's credential.
type Issuer struct {
	tokens, uses *state.Bucket
}

// NewIssuer makes one over an operator's connection. It sends nothing.
func NewIssuer(nc *nats.Conn) *Issuer {
	return &Issuer{state.Open(nc, state.Operator(), state.Tokens), state.Open(nc, state.Operator(), state.TokenUses)}
}

// Used is a token and when it was last used, to a minute; zero: not yet.
type Used struct {
	Token
	Last time.Time
}

type use struct {
	At time.Time `json:"at"`
}

// Issue makes a token, keeps it, and returns it with its secret. One without an
// expiry gets the default.
func (i *Issuer) Issue(ctx context.Context, t Token) (Token, string, error) {
	now := time.Now()
	if t.Created.IsZero() {
		t.Created = now.UTC().Truncate(time.Second)
	}
	if t.Expires.IsZero() {
		t.Expires = t.Created.Add(DefaultLife)
	}
	if t.Expires.Sub(now) > MostLife {
		return Token{}, "", fmt.Errorf("a token is good for at most %s", MostLife)
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
		return fmt.Errorf("keep token: %w", err)
	}
	return nil
}

// Import keeps tokens that were issued elsewhere, and says how many were not
// known before.
func (i *Issuer) Import(ctx context.Context, tokens []Token) (imported int, err error) {
	for j := range tokens {
		err := i.keep(ctx, &tokens[j])
		switch {
		case err == nil:
			imported++
		case !errors.Is(err, ask.ErrConflict):
			return imported, err
		}
	}
	return imported, nil
}

// List is every token, in the order of issue.
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
	slices.SortStableFunc(tokens, func(a, b Used) int { return a.Created.Compare(b.Created) })
	return tokens, nil
}

// Revoke takes a token away, by its id or by itself.
func (i *Issuer) Revoke(ctx context.Context, idOrToken string) (Token, error) {
	id := idOrToken
	if of, _, ok := split(idOrToken); ok {
		id = of
	}
	unknown := fmt.Errorf("no token has the id %q; \"askbus token list\" shows them", id)
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
		gone = Token{ID: id} // it goes, whatever it is
	}
	if err := i.tokens.Delete(ctx, k); err != nil {
		return Token{}, err
	}
	_ = i.uses.Delete(ctx, k) // it ends by itself, too
	return gone, nil
}
