package exchange

import (
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// TokenProvider is the provider's name for API tokens.
const TokenProvider = "api-token"

// tokenPrefix is how API tokens begin.
const tokenPrefix = "askb_"

// Proof is the content of a verified token.
type Proof struct {
	Provider string // name
	Subject  string // the subject at the provider
	Claims   map[string]any
	Expires  time.Time

	Tenant   string   // of an API token, which itself says what it grants
	Sessions []string // likewise
	Asker    []string // likewise
}

// Token returns the proof of an API token that may ask. asker are the principals
// for whom it does.
func Token(id, tenant string, sessions, asker []string, expires time.Time) Proof {
	return Proof{Provider: TokenProvider, Subject: id, Expires: expires, Tenant: tenant, Sessions: sessions, Asker: asker}
}

// Grant describes the credential to issue.
type Grant struct {
	Role, Type, Tenant, Session string
	Life                        time.Duration
	Note                        string // for the list of credentials
	May                         assertion.Set
}

// noteFor begins the notes of exchanged credentials in the list.
const noteFor = "for "

// ParseTokenNote returns the id of the API token for which a credential was
// exchanged, from its note.
func ParseTokenNote(note string) (id string, ok bool) {
	return strings.CutPrefix(note, noteFor+TokenProvider+" ")
}

// Decide returns what a proof grants for a session; an empty session means the
// only one. The error is an [*ask.Error].
func (r *Rules) Decide(p Proof, session string, now time.Time) (Grant, error) {
	g := Grant{Note: noteFor + p.Provider + " " + p.Subject}
	patterns, life := p.Sessions, defaultLife
	if p.Provider == TokenProvider {
		g.Role, g.Tenant, g.May.Asker = roleAgent, p.Tenant, p.Asker
	} else {
		rule, err := r.find(p)
		if err != nil {
			return Grant{}, err
		}
		if g.Tenant, patterns, err = rule.covers(p); err != nil {
			return Grant{}, err
		}
		if g.May.Asker, err = rule.asker(p); err != nil {
			return Grant{}, err
		}
		g.Role, g.Type, life = rule.Role, rule.Type, time.Duration(rule.Life)
	}
	var err error
	if g.Session, err = choose(patterns, session, g.Role == roleResponder); err != nil {
		return Grant{}, err
	}
	if !ask.ValidToken(g.Tenant) || g.Session != "" && !ask.ValidToken(g.Session) {
		return Grant{}, ask.Refuse(ask.CodeForbidden, "the rule derives tenant %.80q and session %.80q from the token: use 1 to %d of A-Z a-z 0-9 _ -", g.Tenant, g.Session, ask.MaxToken)
	}
	if g.Life = min(life, p.Expires.Sub(now)); g.Life < time.Second {
		return Grant{}, tooOld(p.Expires, now)
	}
	return g, nil
}

// find returns the first rule that matches. The error is an [*ask.Error].
func (r *Rules) find(p Proof) (*Rule, error) {
next:
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.Provider != p.Provider {
			continue
		}
		for name, want := range rule.Match {
			if !matches(claim(p.Claims, name), want) {
				continue next
			}
		}
		return rule, nil
	}
	return nil, ask.Refuse(ask.CodeForbidden, "no rule of this bus matches the token of %.200q from %s", p.Subject, p.Provider)
}

// covers returns the tenant and the session patterns of a proof that a rule
// matches. The error is an [*ask.Error].
func (r *Rule) covers(p Proof) (tenant string, sessions []string, err error) {
	if tenant, err = fill(r.Tenant, p.Claims); err != nil {
		return "", nil, ask.Refuse(ask.CodeForbidden, "%s", err)
	}
	for _, s := range r.Sessions {
		filled, err := fill(s, p.Claims)
		if err != nil {
			return "", nil, ask.Refuse(ask.CodeForbidden, "%s", err)
		}
		sessions = append(sessions, filled)
	}
	return tenant, sessions, nil
}

// asker returns the principals of the person for whom the holder of a proof asks.
// The error is an [*ask.Error].
func (r *Rule) asker(p Proof) (principals []string, err error) {
	for _, template := range r.Asker {
		principal, err := fillPrincipal(template, p.Claims)
		if err == nil {
			err = assertion.CheckAsker([]string{principal})
		}
		if err != nil {
			return nil, ask.Refuse(ask.CodeForbidden, "the rule cannot say for whom this token asks: %s", err)
		}
		principals = append(principals, principal)
	}
	return principals, nil
}

// choose returns the one session of a credential.
func choose(patterns []string, session string, tenantWide bool) (string, error) {
	switch {
	case len(patterns) == 0 && session == "" && tenantWide:
		return "", nil
	case len(patterns) == 0 && tenantWide:
		patterns = []string{"*"}
	case session == "" && len(patterns) == 1 && !strings.HasSuffix(patterns[0], "*"):
		return patterns[0], nil
	case session == "":
		return "", ask.InvalidError("credential", []ask.Fault{ask.NewFault("/session", ask.FaultMissingSession, patterns)})
	}
	if !ask.ValidToken(session) {
		return "", ask.InvalidError("credential", []ask.Fault{ask.NewFault("/session", ask.FaultBadToken, ask.Clip(session, 80), ask.MaxToken)})
	}
	for _, p := range patterns {
		if assertion.Match(p, session) {
			return session, nil
		}
	}
	return "", ask.Refuse(ask.CodeForbidden, "this token covers session %s, not session %s", strings.Join(patterns, ", "), session)
}
