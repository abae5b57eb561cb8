package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Rules says which issuers' tokens are trusted, and what they grant.
type Rules struct {
	NATSURL   string     `json:"nats_url,omitempty"` // where the holders of credentials reach the bus; default: the issuer's address
	Providers []Provider `json:"issuers"`
	Rules     []Rule     `json:"rules"`
}

// Provider is a trusted issuer of tokens. Its keys come from a file, from a
// URL, or from its discovery document.
type Provider struct {
	Name     string   `json:"name"`
	Issuer   string   `json:"issuer"`           // the claim iss, exactly
	Audience string   `json:"audience"`         // one of the claim aud
	Scopes   []string `json:"scopes,omitempty"` // all of them must be in the claim scope (or scp)
	JWKSFile string   `json:"jwks_file,omitempty"`
	JWKSURL  string   `json:"jwks_url,omitempty"`
	// TokenReview lets the API server of this process's cluster verify the
	// tokens.
	TokenReview bool `json:"token_review,omitempty"`
}

// Rule says what a token with matching claims grants. The first match counts.
type Rule struct {
	Provider string            `json:"issuer"`             // the name of an issuer
	Match    map[string]string `json:"match"`              // claim -> value; a * at its end matches any rest
	Role     string            `json:"role,omitempty"`     // agent (default) or responder
	Type     string            `json:"type,omitempty"`     // responder
	Tenant   string            `json:"tenant"`             // {claim} is replaced by the claim's value
	Sessions []string          `json:"sessions,omitempty"` // likewise; a * at the end matches any rest
	Asker    []string          `json:"asker,omitempty"`    // of an agent: the principals of the person for whom it asks, such as "oidc:id.example.com#{email}"
	Life     wire.Duration     `json:"life,omitempty"`     // maximum life of a credential; default 1 h
}

// The roles that a rule may give: those that many processes have.
const (
	roleAgent     = "agent"
	roleResponder = "responder"
)

// Bounds of rules and of what they grant.
const (
	maxRules    = 64 << 10 // bytes
	defaultLife = time.Hour
	mostLife    = 24 * time.Hour
)

// ParseRules parses rules in YAML. Relative paths are relative to dir, and an
// issuer without an audience gets the given one, if any. The error names every
// fault with its place.
func ParseRules(data []byte, dir, audience string) (*Rules, error) {
	if len(data) > maxRules {
		return nil, fmt.Errorf("the file has %d bytes; the maximum is %d", len(data), maxRules)
	}
	var r Rules
	if err := file.DecodeYAML(data, &r); err != nil {
		return nil, err
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	names, issuers := map[string]bool{}, map[string]bool{}
	for i := range r.Providers {
		p := &r.Providers[i]
		at := fmt.Sprintf("issuers[%d]", i)
		if p.Name == "" || p.Name == TokenProvider || names[p.Name] {
			fault("%s.name: %q is empty, taken or reserved; names must be unique", at, p.Name)
		}
		if p.Issuer == "" || issuers[p.Issuer] {
			fault("%s.issuer: %q is empty or listed twice; use the exact claim iss", at, p.Issuer)
		}
		names[p.Name], issuers[p.Issuer] = true, true
		p.Audience = cmp.Or(p.Audience, audience)
		if p.Audience == "" {
			fault("%s.audience: missing; name the audience that tokens for askbus have, such as askbus", at)
		}
		for j, scope := range p.Scopes {
			if scope == "" || strings.ContainsAny(scope, " \"\\") {
				fault("%s.scopes[%d]: invalid %q: use a scope of the issuer, without spaces", at, j, scope)
			}
		}
		p.check(at, dir, fault)
	}
	for i := range r.Rules {
		rule, at := &r.Rules[i], fmt.Sprintf("rules[%d]", i)
		if !names[rule.Provider] {
			fault("%s.issuer: %q is not the name of one of the issuers", at, rule.Provider)
		}
		rule.check(at, fault)
	}
	return &r, errors.Join(faults...)
}

// check checks the source of the keys.
func (p *Provider) check(at, dir string, fault func(string, ...any)) {
	switch {
	case p.TokenReview && (p.JWKSFile != "" || p.JWKSURL != ""):
		fault("%s: token_review asks the API server, which needs no jwks_file and no jwks_url; use one of the three", at)
	case p.TokenReview:
	case p.JWKSFile != "" && p.JWKSURL != "":
		fault("%s: jwks_file and jwks_url are both set; use one of them", at)
	case p.JWKSFile != "":
		if !filepath.IsAbs(p.JWKSFile) {
			p.JWKSFile = filepath.Join(dir, p.JWKSFile)
		}
	case p.JWKSURL != "":
		if !secure(p.JWKSURL) {
			fault("%s.jwks_url: %q is not an https address", at, p.JWKSURL)
		}
	case !secure(p.Issuer):
		fault("%s.issuer: %q is not an https address, so its keys cannot be found; set jwks_file", at, p.Issuer)
	}
}

// secure reports whether an address cannot be tampered with on the way.
func secure(address string) bool {
	u, err := url.Parse(address)
	return err == nil && httpserver.SecureURL(u)
}

func (r *Rule) check(at string, fault func(string, ...any)) {
	if len(r.Match) == 0 {
		fault("%s.match: missing; name at least one claim, otherwise every holder of a token from that issuer is admitted", at)
	}
	for claim, want := range r.Match {
		if claim == "" || want == "" || want == "*" || strings.Contains(strings.TrimSuffix(want, "*"), "*") {
			fault("%s.match: %q: %q is invalid; give a value, or a prefix followed by *", at, claim, want)
		}
	}
	r.Role = cmp.Or(r.Role, roleAgent)
	switch r.Role {
	case roleAgent:
		if len(r.Sessions) == 0 || r.Type != "" {
			fault("%s: an agent needs sessions and no type", at)
		}
	case roleResponder:
		if !ask.ValidToken(r.Type) {
			fault("%s.type: invalid %q: use A-Z a-z 0-9 _ -", at, r.Type)
		}
	default:
		fault("%s.role: %q cannot be given for a token; use agent or responder", at, r.Role)
	}
	if !validTemplate(r.Tenant) {
		fault("%s.tenant: invalid %q: use A-Z a-z 0-9 _ - and {claim}", at, r.Tenant)
	}
	for i, s := range r.Sessions {
		if s != "*" && !validTemplate(strings.TrimSuffix(s, "*")) {
			fault("%s.sessions[%d]: invalid %q: use A-Z a-z 0-9 _ - and {claim}, and * at the end", at, i, s)
		}
	}
	if len(r.Asker) > 0 && r.Role != roleAgent {
		fault("%s.asker: a %s does not ask, so it has no asker", at, r.Role)
	}
	for i, template := range r.Asker {
		if err := assertion.CheckAsker([]string{hole.ReplaceAllString(template, "x")}); err != nil {
			fault("%s.asker[%d]: %s", at, i, err)
		}
	}
	if len(r.Asker) > ask.MaxAskers {
		fault("%s.asker: %d principals; use at most %d", at, len(r.Asker), ask.MaxAskers)
	}
	switch life := time.Duration(r.Life); {
	case life == 0:
		r.Life = wire.Duration(defaultLife)
	case life < time.Minute || life > mostLife:
		fault("%s.life: %s; use 1m to %s", at, life, mostLife)
	}
}
