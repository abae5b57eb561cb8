package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Holder is what an issuer's token lets its holder ask for directly, without an
// exchange.
type Holder struct {
	ID       string // the same for each token of one subject of one issuer
	Subject  string
	Tenant   string
	Sessions []string // as rules have them
	Expires  time.Time
}

// Holder verifies an issuer's token and returns what its holder may ask for.
// If the error is not an [*ask.Error], the token cannot be checked.
func (s *Source) Holder(ctx context.Context, raw string) (Holder, error) {
	if err := tooLong(raw); err != nil {
		return Holder{}, err
	}
	p, err := s.verify(ctx, raw)
	if err != nil {
		return Holder{}, err
	}
	rules, _ := s.current()
	rule, err := rules.find(p)
	if err != nil {
		return Holder{}, err
	}
	if rule.Role != roleAgent {
		return Holder{}, ask.Refuse(ask.CodeForbidden, "the rule for this token gives the role %s; only an agent may ask here", rule.Role)
	}
	h := Holder{Subject: p.Subject, Expires: p.Expires}
	if h.Tenant, h.Sessions, err = rule.covers(p); err != nil {
		return Holder{}, err
	}
	sum := sha256.Sum256([]byte(p.Provider + "\x00" + p.Subject))
	h.ID = "o" + hex.EncodeToString(sum[:8])
	return h, nil
}

// Issuers returns the trusted issuers, in the order of the rules.
func (s *Source) Issuers() []string {
	rules, _ := s.current()
	var all []string
	for _, p := range rules.Providers {
		all = append(all, p.Issuer)
	}
	return all
}

// Scopes returns the scopes that tokens need, of all issuers.
func (s *Source) Scopes() []string {
	rules, _ := s.current()
	var all []string
	for _, p := range rules.Providers {
		for _, scope := range p.Scopes {
			if !slices.Contains(all, scope) {
				all = append(all, scope)
			}
		}
	}
	return all
}
