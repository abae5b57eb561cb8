// Package token makes, stores and checks the bearer tokens of the HTTP APIs.
//
// A token is askb_<id>_<secret>. Its secret is shown once; shared state has only its SHA-256, which
// is enough for 32 random bytes. The package decides what a token may do ([Token.MayAsk],
// [Token.MayAnswer], [Token.MaySee]); its callers find out what a request is for. Operators issue
// and revoke ([Issuer]); gateways check ([Store]). Safety: a replica rejects a token as soon as it
// learns of its revocation, which takes less than a second, and at most a minute while it cannot
// reach the broker.
package token

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// Role is the purpose of a token.
type Role string

// The roles.
const (
	Agent     Role = "agent"     // asks for its sessions; never answers
	Host      Role = "host"      // reports what the dialog of one session's host answered; see host.go
	Screen    Role = "screen"    // answers for the named sessions
	Responder Role = "responder" // answers for a whole tenant
	Operator  Role = "operator"  // asks, answers and sees, in every tenant
)

// Roles returns all roles.
func Roles() []Role { return []Role{Agent, Host, Screen, Responder, Operator} }

// Every is the pattern for every session of the tenant.
const Every = "*"

// Token is a stored token: everything but its secret.
type Token struct {
	ID        string     `json:"id"`
	Hash      string     `json:"hash"` // "sha256:" and the hex digest of the secret
	Role      Role       `json:"role"`
	Tenant    string     `json:"tenant"`
	Sessions  []string   `json:"sessions,omitempty"`  // exact names, or a prefix and *; of agents and screens; one exact name of a host
	Principal string     `json:"principal,omitempty"` // principal of its answers; default token:<id>; os:<user> of a host, none of an agent
	Name      string     `json:"name,omitempty"`      // display name
	Groups    []string   `json:"groups,omitempty"`    // matched by an ask's audience
	Asker     []string   `json:"asker,omitempty"`     // principals of the person for whom an agent or an operator asks; of an operator by default its principal
	Created   time.Time  `json:"created"`
	Expires   time.Time  `json:"expires,omitzero"`    // zero: never, for that of an address without tokens
	Endpoints []Endpoint `json:"endpoints,omitempty"` // where it is valid; none: everywhere
}

// MayAsk reports whether the token may ask in a session, and read its asks.
func (t *Token) MayAsk(tenant, session string) bool {
	switch t.Role {
	case Operator:
		return true
	case Agent:
		return t.Tenant == tenant && t.covers(session)
	case Host, Screen, Responder:
	}
	return false
}

// MayAnswer reports whether the token may answer asks of a session.
func (t *Token) MayAnswer(tenant, session string) bool {
	switch t.Role {
	case Operator:
		return true
	case Responder:
		return t.Tenant == tenant
	case Screen:
		return t.Tenant == tenant && t.covers(session)
	case Agent, Host:
	}
	return false
}

// MaySee reports whether the token may read asks of a session.
func (t *Token) MaySee(tenant, session string) bool {
	return t.MayAsk(tenant, session) || t.MayAnswer(tenant, session)
}

func (t *Token) covers(session string) bool {
	return slices.ContainsFunc(t.Sessions, func(p string) bool {
		begin, open := strings.CutSuffix(p, Every)
		return p == session || open && strings.HasPrefix(session, begin)
	})
}

// Session returns the only session of the token, if it has only one.
func (t *Token) Session() (string, bool) {
	if len(t.Sessions) == 1 && !strings.HasSuffix(t.Sessions[0], Every) {
		return t.Sessions[0], true
	}
	return "", false
}

// Named returns the sessions of the token; none if it has patterns, or every session.
func (t *Token) Named() []string {
	if slices.ContainsFunc(t.Sessions, func(p string) bool { return strings.HasSuffix(p, Every) }) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(t.Sessions)))
}

// By returns the principal of this token's answers. The name is only for display. Only tokens of
// people's roles act as the principal that they were issued for.
func (t *Token) By(name string) ask.By {
	by := ask.By{Name: name, Proof: "token"}
	if t.Role.person() {
		by.Principal, by.Groups = t.Principal, t.Groups
	}
	by.Principal = cmp.Or(by.Principal, "token:"+t.ID)
	by.Name = cmp.Or(by.Name, t.Name)
	return by
}

// Expired reports whether the token has expired.
func (t *Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Scope describes what the token may do.
func (t *Token) Scope() string {
	sessions := "session " + strings.Join(t.Sessions, ", ")
	switch {
	case slices.Contains(t.Sessions, Every):
		sessions = "every session"
	case len(t.Sessions) > 1:
		sessions = "sessions " + strings.Join(t.Sessions, ", ")
	}
	switch t.Role {
	case Agent:
		return fmt.Sprintf("asks for %s of tenant %s", sessions, t.Tenant)
	case Host:
		return fmt.Sprintf("reports the answers of the host's dialog for %s of tenant %s, in addition to an agent's token", sessions, t.Tenant)
	case Screen:
		return fmt.Sprintf("answers for %s of tenant %s", sessions, t.Tenant)
	case Responder:
		return "answers for every session of tenant " + t.Tenant
	case Operator:
		return "asks and answers in every tenant"
	}
	return "nothing"
}

// Validate returns an error for a token that must not be issued.
func (t *Token) Validate() error {
	switch t.Role {
	case Agent, Screen:
		if len(t.Sessions) == 0 {
			return fmt.Errorf("the role %s needs its sessions; %q means every session of the tenant", t.Role, Every)
		}
	case Host:
		if _, one := t.Session(); !one {
			return fmt.Errorf("the role %s is for exactly one session; name it, without %q", t.Role, Every)
		}
	case Responder, Operator:
		if len(t.Sessions) > 0 {
			return fmt.Errorf("the role %s has no sessions; use the role screen to answer for some", t.Role)
		}
	default:
		return fmt.Errorf("unknown role %q; use one of %q", t.Role, Roles())
	}
	if !ask.ValidToken(t.Tenant) {
		return fmt.Errorf("invalid tenant %q; use 1 to %d of A-Z a-z 0-9 _ -", t.Tenant, ask.MaxToken)
	}
	for _, s := range t.Sessions {
		if begin := strings.TrimSuffix(s, Every); s != Every && !ask.ValidToken(begin) {
			return fmt.Errorf("invalid session %q; use 1 to %d of A-Z a-z 0-9 _ -, and * at the end only", s, ask.MaxToken)
		}
	}
	for _, e := range t.Endpoints {
		if !slices.Contains(allEndpoints(), e) {
			return fmt.Errorf("unknown endpoint %.40q; use http, ws, mcp, hook, nats or a2a", e)
		}
	}
	if err := t.validatePerson(); err != nil {
		return err
	}
	if len(t.Asker) > 0 && t.Role != Agent && t.Role != Operator {
		return fmt.Errorf("a token of the role %s does not ask, so it has no asker", t.Role)
	}
	if err := assertion.CheckAsker(t.Asker); err != nil {
		return err
	}
	if len(t.Groups) > ask.MaxGroups {
		return fmt.Errorf("%d groups are too many; give at most %d", len(t.Groups), ask.MaxGroups)
	}
	for _, s := range append([]string{t.Principal, t.Name}, t.Groups...) {
		if len([]rune(s)) > ask.MaxName {
			return fmt.Errorf("%.40q… is longer than %d characters", s, ask.MaxName)
		}
	}
	return nil
}
