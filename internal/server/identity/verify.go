package identity

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/nats-io/jwt/v2"
)

// Verifier checks senders' JWTs against their account. It caches a bounded
// number of results. It is safe for concurrent use.
//
// Safety: a JWT is accepted only if a signing key of the account signed it,
// with its scope's permissions, for the key that NATS authenticated, and only
// until it expires or is revoked. Without an account every JWT is refused.
type Verifier struct {
	source func() (string, error)      // the account's JWT
	heard  func(user string) time.Time // see Hear

	mu      sync.Mutex
	account *jwt.AccountClaims
	token   string // of the account
	read    time.Time
	known   map[string]verified // by user
}

type verified struct {
	token   string
	grant   assertion.Grant
	claims  *jwt.UserClaims
	expires time.Time
}

// Bounds of a verifier.
const (
	maxVerified = 4096
	maxToken    = 4096        // bytes of a JWT
	rereadEvery = time.Second // the account, at most this often
)

// NewVerifier makes a verifier. source returns the account's current JWT; it is
// called about once a second while there are requests.
func NewVerifier(source func() (token string, err error)) *Verifier {
	return &Verifier{source: source, known: map[string]verified{}}
}

// Hear makes the verifier also count what was revoked since the account was
// signed: at returns when a user was, or the zero time. Call it before the first
// use.
func (v *Verifier) Hear(at func(user string) time.Time) { v.heard = at }

// heardRevoked reports whether a user's credentials of a time are known to be
// revoked elsewhere.
func (v *Verifier) heardRevoked(user string, at time.Time) bool {
	return v.heard != nil && !at.Truncate(time.Second).After(v.heard(user))
}

// BusAccount returns a source for the JWT of [Bus] in a directory.
func BusAccount(dir string) func() (string, error) {
	return func() (string, error) { return read(dir, Bus+".jwt") }
}

// errUnsigned is the only reply to a forgery.
var errUnsigned = errors.New("it was not signed by a key of this bus; get one from \"askbus auth\"")

// Verify returns what a JWT grants to the user whose key NATS checked. The
// error is shown to the sender.
func (v *Verifier) Verify(token, user string, now time.Time) (assertion.Grant, error) {
	if len(token) > maxToken {
		return assertion.Grant{}, fmt.Errorf("it has %d bytes; the maximum is %d", len(token), maxToken)
	}
	account, held, ok, err := v.look(token, user)
	if err != nil {
		return assertion.Grant{}, err
	}
	if !ok {
		if held, err = verify(account, token, user); err != nil {
			return assertion.Grant{}, err
		}
		v.keep(account, user, held)
	}
	switch {
	case !now.Before(held.expires):
		return assertion.Grant{}, fmt.Errorf("it expired at %s", held.expires.UTC().Format(time.RFC3339))
	case account.IsClaimRevoked(held.claims), v.heardRevoked(user, time.Unix(held.claims.IssuedAt, 0)):
		return assertion.Grant{}, errors.New("it was revoked")
	}
	return held.grant, nil
}

// Revoked reports whether a user's credentials that were in use at a time have
// been revoked since. Without an account nothing has.
func (v *Verifier) Revoked(user string, at time.Time) bool {
	account, _, _, err := v.look("", user)
	return err == nil && user != "" && (account.Revocations.IsRevoked(user, at) || v.heardRevoked(user, at))
}

// look returns the current account, and the cached result of a user.
func (v *Verifier) look(token, user string) (*jwt.AccountClaims, verified, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.read) >= rereadEvery {
		v.read = time.Now()
		if err := v.reread(); err != nil && v.account == nil {
			return nil, verified{}, false, fmt.Errorf("this broker cannot check it: %w", err)
		}
	}
	if v.account == nil {
		return nil, verified{}, false, errors.New("this broker cannot check it: it has no keys of the account")
	}
	held, ok := v.known[user]
	return v.account, held, ok && held.token == token, nil
}

// reread reads the account's JWT. If it is invalid, the previous one stays.
func (v *Verifier) reread() error {
	token, err := v.source()
	if err != nil || token == v.token {
		return err
	}
	account, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return fmt.Errorf("the account's JWT is damaged: %w", err)
	}
	v.account, v.token = account, token
	clear(v.known) // a key may be gone
	return nil
}

func (v *Verifier) keep(account *jwt.AccountClaims, user string, held verified) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.account != account {
		return // signed again since
	}
	if len(v.known) >= maxVerified {
		for old := range v.known { // any one: it is checked again
			delete(v.known, old)
			break
		}
	}
	v.known[user] = held
}

// verify checks a JWT's signature and scope.
func verify(account *jwt.AccountClaims, token, user string) (verified, error) {
	claims, err := jwt.DecodeUserClaims(token) // checks the signature of the issuer in the JWT
	if err != nil {
		return verified{}, errUnsigned
	}
	if claims.Subject != user {
		return verified{}, errors.New("it is another user's: send the JWT of the connection's own credential")
	}
	if claims.IssuerAccount != account.Subject {
		return verified{}, errUnsigned
	}
	scope, ok := account.SigningKeys.GetScope(claims.Issuer)
	named, scoped := scope.(*jwt.UserScope)
	if !ok || !scoped {
		return verified{}, errUnsigned
	}
	if claims.Expires == 0 {
		return verified{}, errors.New("it never expires; every credential of this bus does")
	}
	held := verified{token: token, claims: claims, expires: time.Unix(claims.Expires, 0), grant: assertion.Grant{Scope: named.Role, Assertions: assertion.FromTags(claims.Tags)}}
	for _, t := range claims.Tags {
		name, value, _ := strings.Cut(t, ":")
		switch name {
		case "type":
			held.grant.Type = value
		case "tenant":
			held.grant.Tenant = value
		case "session":
			held.grant.Session = value
		}
	}
	return held, nil
}
