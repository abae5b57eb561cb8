package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/ask"
)

// The roles of a rule.
const (
	RoleReader    = "reader"    // sees
	RoleResponder = "responder" // sees and decides
)

// Rules say what people may see and decide, depending on the claims of their
// sign-in. A person gets what all matching rules grant; without a matching rule
// they are not admitted.
type Rules struct {
	Rules []Rule `json:"rules"`
}

// Rule grants something to the people whom it matches.
type Rule struct {
	Name      string              `json:"name,omitempty"` // for logs and people
	When      map[string][]string `json:"when"`           // claim -> patterns; all claims must match, each with one value. {}: everybody
	Role      string              `json:"role"`           // "reader" or "responder"
	Tenants   []string            `json:"tenants"`        // patterns; "*" is every tenant
	Sessions  []string            `json:"sessions,omitempty"`
	Audiences []string            `json:"audiences,omitempty"`
}

// ReadRules reads a rules file.
func ReadRules(name string) (*Rules, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	r, err := ParseRules(data)
	if err != nil {
		return nil, fmt.Errorf("rules in %s: %w", name, err)
	}
	return r, nil
}

// ParseRules reads rules in YAML.
func ParseRules(data []byte) (*Rules, error) {
	r := &Rules{}
	if err := file.DecodeYAML(data, r); err != nil {
		return nil, err
	}
	if len(r.Rules) == 0 {
		return nil, errors.New("no rules: nobody could sign in")
	}
	for i := range r.Rules {
		if err := r.Rules[i].check(); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return r, nil
}

// GroupRules grants everything to the members of these groups; "*" means
// everybody at the provider.
func GroupRules(claim string, groups []string) *Rules {
	rule := Rule{Role: RoleResponder, Tenants: []string{"*"}, When: map[string][]string{claim: groups}}
	if slices.Contains(groups, "*") {
		rule.When = map[string][]string{}
	}
	return &Rules{Rules: []Rule{rule}}
}

func (r *Rule) check() error {
	switch {
	case r.When == nil:
		return errors.New(`"when" is missing: name claims and values, or {} for everybody who can sign in`)
	case r.Role != RoleReader && r.Role != RoleResponder:
		return fmt.Errorf("role is %q: use reader or responder", r.Role)
	case len(r.Tenants) == 0:
		return errors.New(`"tenants" is missing: name them, or ["*"] for every tenant`)
	}
	for claim, patterns := range r.When {
		if len(patterns) == 0 {
			return fmt.Errorf(`"when" has no value for %q`, claim)
		}
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil || p == "" {
				return fmt.Errorf("invalid pattern %q for claim %q: use a value, or * and ? as in *@example.com", p, claim)
			}
		}
	}
	g := r.grant()
	return g.Check()
}

func (r *Rule) grant() ask.Grant {
	return ask.Grant{Tenants: r.Tenants, Sessions: r.Sessions, Audiences: r.Audiences, ReadOnly: r.Role == RoleReader}
}

// Access returns what the rules grant to a person with these claims. The error
// is [ask.ErrForbidden] if no rule matches.
func (r *Rules) Access(claims Claims) (ask.Access, error) {
	var access ask.Access
	for i := range r.Rules {
		if r.Rules[i].matches(claims) {
			access = append(access, r.Rules[i].grant())
		}
	}
	if len(access) == 0 {
		return nil, Tell(ask.CodeForbidden, "no rule of this inbox lets you in")
	}
	return access, nil
}

func (r *Rule) matches(claims Claims) bool {
	for claim, patterns := range r.When {
		if !slices.ContainsFunc(claims.All(claim), func(value string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return p == value || wild(p, value) })
		}) {
			return false
		}
	}
	return true
}

// wild matches a pattern in which * matches anything, including "/", because
// group names may be paths.
func wild(pattern, value string) bool {
	const slash = "\x00"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(value, "/", slash))
	return ok && err == nil
}

// Claims are a provider's claims about a person.
type Claims map[string]any

// All returns the values of a claim as text: one, or a list. A name that is not
// a claim is read as a path, as in realm_access.roles. An unverified e-mail
// address has no value.
func (c Claims) All(name string) []string {
	value, ok := c[name]
	if !ok {
		value = any(map[string]any(c))
		for part := range strings.SplitSeq(name, ".") {
			m, isMap := value.(map[string]any)
			if !isMap {
				return nil
			}
			value = m[part]
		}
	}
	if name == "email" && !c.verified() {
		return nil
	}
	switch v := value.(type) {
	case string:
		return []string{v}
	case bool, float64, json.Number:
		return []string{fmt.Sprint(v)}
	case []string:
		return v
	case []any:
		var all []string
		for _, one := range v {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// One returns the value of a claim that has exactly one.
func (c Claims) One(name string) string {
	if all := c.All(name); len(all) == 1 {
		return all[0]
	}
	return ""
}

func (c Claims) verified() bool {
	switch v := c["email_verified"].(type) {
	case bool:
		return v
	case string:
		return v == "true"
	}
	return false
}
