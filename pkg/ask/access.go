package ask

import (
	"fmt"
	"path"
	"slices"
)

// Access says which asks a person may see and which of them they may decide:
// the union of its grants. A nil Access allows everything; an empty one allows
// nothing.
type Access []Grant

// Grant allows some of the asks. Patterns follow [path.Match], such as
// "deploy-*".
type Grant struct {
	Tenants  []string `json:"tenants,omitempty"`  // patterns; none: every tenant
	Sessions []string `json:"sessions,omitempty"` // patterns; none: every session
	// Audiences are patterns of audience entries, such as "group:platform". An
	// ask with an audience is then visible only if one of its entries matches
	// or the person is in the audience. None: every audience.
	Audiences []string `json:"audiences,omitempty"`
	ReadOnly  bool     `json:"read_only,omitempty"` // may see, but not decide
}

// Check returns an error for an invalid pattern.
func (g *Grant) Check() error {
	for field, patterns := range map[string][]string{"tenants": g.Tenants, "sessions": g.Sessions, "audiences": g.Audiences} {
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil || p == "" {
				return fmt.Errorf("invalid pattern %q in %s: use a name, or * and ? as in deploy-*", p, field)
			}
		}
	}
	return nil
}

// Sees reports whether a person with this access may see an ask.
func (a Access) Sees(by By, k Key, audience []string) bool {
	return a == nil || slices.ContainsFunc(a, func(g Grant) bool { return g.covers(by, k, audience) })
}

// Decides reports whether a person with this access may decide an ask. It does
// not check the ask's own audience; [Ask.Allows] does.
func (a Access) Decides(by By, k Key, audience []string) bool {
	return a == nil || slices.ContainsFunc(a, func(g Grant) bool { return !g.ReadOnly && g.covers(by, k, audience) })
}

func (g *Grant) covers(by By, k Key, audience []string) bool {
	if !matches(g.Tenants, k.Tenant) || !matches(g.Sessions, k.Session) {
		return false
	}
	if len(audience) == 0 || len(g.Audiences) == 0 {
		return true
	}
	named := Ask{Audience: audience}
	return named.Allows(by) || slices.ContainsFunc(audience, func(entry string) bool { return matches(g.Audiences, entry) })
}

// matches reports whether one of the patterns matches, or there is none.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
