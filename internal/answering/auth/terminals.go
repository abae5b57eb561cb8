package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Bounds of terminals.
const (
	CodeLife     = 2 * time.Minute // from confirming a code to redeeming it
	maxTerminals = 20              // of one person
)

// TerminalSecret is the prefix of terminals' secrets, so that scanners can find
// leaked ones.
const TerminalSecret = "askbt_"

// Challenge returns what a terminal shows of its verifier before it has a code
// (PKCE, method S256).
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *Sessions) terminalKey(purpose, secret string) state.Key {
	sum := sha256.Sum256([]byte("askbus terminal " + purpose + "\x00" + secret))
	return state.Key{Tenant: s.opts.Tenant, Name: base64.RawURLEncoding.EncodeToString(sum[:])}
}

// LetIn admits a terminal from a session, as the person of that session: it
// returns a code that works once, within [CodeLife], for the holder of the
// challenge's verifier. client is the terminal's name. The error is
// [ask.ErrNotFound] if the session has ended, and [ask.ErrQuota] if the person
// has too many terminals.
func (s *Sessions) LetIn(ctx context.Context, session, challenge, client string) (code string, err error) {
	parent := s.key(session)
	r, err := s.find(ctx, parent, true)
	if err != nil {
		return "", err
	}
	all, err := s.cache.All()
	if err != nil {
		return "", err
	}
	n := 0
	for i := range all {
		var t record
		if json.Unmarshal(all[i].Value, &t) == nil && t.Parent != "" && t.Principal == r.Principal {
			n++
		}
	}
	if n >= maxTerminals {
		return "", Tell(ask.CodeQuota, "%d terminals are signed in as %s, the maximum; sign one out with \"askbus logout\"", n, r.Principal)
	}
	code, now := rand.Text(), s.opts.Now().UTC()
	t := record{
		Principal: r.Principal, Name: r.Name, Proof: r.Proof, Access: r.Access, Client: fmt.Sprintf("%.200s", client), Created: now, Seen: now, Until: now.Add(CodeLife),
		Subject: r.Subject, Provider: r.Provider, Parent: parent.Name, Challenge: challenge,
	}
	if _, err := s.bucket.Create(ctx, s.terminalKey("code", code), t, CodeLife); err != nil {
		return "", fmt.Errorf("let a terminal in: %w", err)
	}
	return code, nil
}

// errCode is the only reply to an invalid code.
var errCode = ask.Refuse(ask.CodeUnauthorized, "this code is wrong, already used, or older than %d minutes; begin again with \"askbus login\"", int(CodeLife/time.Minute))

// Redeem exchanges a code for a terminal, once, at any replica, and returns its
// secret. The error is [ask.ErrForbidden] if the code is not valid.
func (s *Sessions) Redeem(ctx context.Context, code, verifier string) (secret string, err error) {
	k := s.terminalKey("code", code)
	e, err := s.bucket.Get(ctx, k)
	if errors.Is(err, ask.ErrNotFound) {
		return "", errCode
	}
	if err != nil {
		return "", err
	}
	var r record
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return "", fmt.Errorf("terminal %s: %w", k.Name, err)
	}
	now := s.opts.Now().UTC()
	if r.Challenge == "" || !now.Before(r.Until) || subtle.ConstantTimeCompare([]byte(r.Challenge), []byte(Challenge(verifier))) != 1 {
		return "", errCode
	}
	if err := s.bucket.DeleteRevision(ctx, k, e.Revision); errors.Is(err, ask.ErrConflict) {
		return "", errCode // already redeemed
	} else if err != nil {
		return "", err
	}
	parent, err := s.find(ctx, state.Key{Tenant: s.opts.Tenant, Name: r.Parent}, true)
	if errors.Is(err, ask.ErrNotFound) {
		return "", errCode // signed out since
	}
	if err != nil {
		return "", err
	}
	secret = TerminalSecret + rand.Text() + rand.Text()
	r.Challenge, r.Created, r.Seen, r.Until = "", now, now, parent.end(s.opts.Life)
	if _, err := s.bucket.Create(ctx, s.terminalKey("secret", secret), r, r.ttl(now, s.opts.Idle)); err != nil {
		return "", fmt.Errorf("sign a terminal in: %w", err)
	}
	return secret, nil
}

// Terminal returns the person of a terminal, and the key of its entry. The
// person is that of the session that admitted it, in its current state; this
// counts as activity of both. The error is [ask.ErrNotFound] if the terminal or
// that session has ended.
func (s *Sessions) Terminal(ctx context.Context, secret string) (name string, p Person, err error) {
	k := s.terminalKey("secret", secret)
	t, err := s.find(ctx, k, true)
	if err != nil {
		return "", Person{}, err
	}
	parent, err := s.find(ctx, state.Key{Tenant: k.Tenant, Name: t.Parent}, true)
	if errors.Is(err, ask.ErrNotFound) || err == nil && parent.Principal != t.Principal {
		s.drop(ctx, k)
		return "", Person{}, ask.Refuse(ask.CodeNotFound, "the sign-in that admitted this terminal has ended")
	}
	return k.Name, parent.person(), err
}

// EndTerminal signs a terminal out, at every replica. It is not an error if it
// has already ended.
func (s *Sessions) EndTerminal(ctx context.Context, secret string) error {
	return s.bucket.Delete(ctx, s.terminalKey("secret", secret))
}

// endTerminals ends the terminals that a session admitted. Those that it misses
// are refused as well, because their session is gone.
func (s *Sessions) endTerminals(ctx context.Context, parent string) {
	all, err := s.cache.All()
	for i := range all {
		var t record
		if json.Unmarshal(all[i].Value, &t) == nil && t.Parent == parent {
			err = errors.Join(err, s.bucket.Delete(ctx, all[i].Key))
		}
	}
	if err != nil {
		s.opts.Logger.Warn("cannot remove a terminal of an ended session", slog.Any("error", err))
	}
}

// Terminals are the terminals of people for the issuer of credentials. Use it
// while Run runs. It is safe for concurrent use.
type Terminals struct {
	cache *state.Cache
	ended chan struct{}
	now   func() time.Time
}

// NewTerminals makes Terminals over the issuer's connection. It sends nothing.
func NewTerminals(nc *nats.Conn, now func() time.Time, log *slog.Logger) *Terminals {
	t := &Terminals{ended: make(chan struct{}, 1), now: now}
	t.cache = state.NewCache(state.Open(nc, state.Issuer(), state.Sessions), state.CacheOptions{Now: now, Logger: log, Changed: func(_, e *state.Entry) {
		if e == nil {
			select {
			case t.ended <- struct{}{}:
			default:
			}
		}
	}})
	return t
}

// Run follows the sign-ins until ctx ends.
func (t *Terminals) Run(ctx context.Context) error { return t.cache.Run(ctx) }

// Ended signals that one or more sign-ins have ended.
func (t *Terminals) Ended() <-chan struct{} { return t.ended }

// Person returns the person of a terminal's entry: that of the session that
// admitted it, in its current state. The error is [ask.ErrNotFound] if either
// has ended, and [ask.ErrUnavailable] if that is unknown.
func (t *Terminals) Person(ctx context.Context, tenant, name string) (Person, error) {
	own, err := t.record(ctx, state.Key{Tenant: tenant, Name: name})
	if err != nil {
		return Person{}, err
	}
	if own.Parent == "" || own.Challenge != "" {
		return Person{}, ask.Refuse(ask.CodeNotFound, "this sign-in is not a terminal's")
	}
	parent, err := t.record(ctx, state.Key{Tenant: tenant, Name: own.Parent})
	if err != nil {
		return Person{}, err
	}
	if parent.Parent != "" || parent.Principal != own.Principal {
		return Person{}, ask.Refuse(ask.CodeNotFound, "this terminal does not belong to the sign-in that admitted it")
	}
	return parent.person(), nil
}

func (t *Terminals) record(ctx context.Context, k state.Key) (record, error) {
	r, _, err := lookUp(ctx, t.cache, k)
	if err != nil {
		return record{}, err
	}
	if r.Principal == "" || !t.now().Before(r.end(maxLife)) {
		return record{}, ask.Refuse(ask.CodeNotFound, "this sign-in has ended")
	}
	return r, nil
}

// TerminalTenant returns the tenant of a terminal's credential for a person
// with this access; empty means all. A NATS credential sees and decides
// everything in a tenant, so a person with less access gets none. wanted is the
// tenant that the terminal requests, if any. The same holds for the tenant in which
// somebody may stand in for a person. The error is [ask.ErrForbidden].
func TerminalTenant(access ask.Access, wanted string) (tenant string, err error) {
	var whole []string
	for i := range access {
		g := &access[i]
		switch {
		case g.ReadOnly, len(g.Audiences) > 0, len(g.Sessions) > 0 && !slices.Contains(g.Sessions, "*"):
			continue
		case len(g.Tenants) == 0, slices.Contains(g.Tenants, "*"):
			return wanted, nil
		}
		whole = append(whole, g.Tenants...)
	}
	if access == nil {
		return wanted, nil
	}
	probe := ask.Access{{Tenants: whole}}
	switch {
	case len(whole) == 0:
		return "", Tell(ask.CodeForbidden, "you may see or decide only some asks of a tenant, and a terminal's credential covers all of them; decide in the browser")
	case wanted != "" && probe.Sees(ask.By{}, ask.Key{Tenant: wanted}, nil):
		return wanted, nil
	case wanted == "" && len(whole) == 1 && ask.ValidToken(whole[0]):
		return whole[0], nil
	case wanted == "":
		return "", Tell(ask.CodeForbidden, "you may decide for the tenants %s; choose one with --tenant", strings.Join(whole, ", "))
	}
	return "", Tell(ask.CodeForbidden, "you may not decide everything of tenant %s; a terminal's credential would", wanted)
}
