package ask

import (
	"fmt"
	"path"
	"slices"
)

// Access is which asks somebody may see, and which of these they may decide: the
// union of its grants. A nil Access is everything; an empty one is nothing.
type Access []Grant

// Grant allows part of the asks. Patterns are those of [path.Match], such as
// "deploy-*".
type Grant struct {
	Tenants  []string `json:"tenants,omitempty"`  // patterns; none: every tenant
	Sessions []string `json:"sessions,omitempty"` // patterns; none: every session
	// Audiences are patterns of audience entries, such as "group:platform". An ask
	// that names an audience is then seen only when one of its entries matches, or
	// when the person is in it. None: every audience.
	Audiences []string `json:"audiences,omitempty"`
	ReadOnly  bool     `json:"read_only,omitempty"` // may see, but not decide
}

// Check reports a pattern that cannot be read.
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

// Sees reports whether somebody with this access may see an ask.
func (a Access) Sees(by By, k Key, audience []string) bool {
	return a == nil || slices.ContainsFunc(a, func(g Grant) bool { return g.covers(by, k, audience) })
}

// Decides reports whether the access lets somebody decide an ask. The ask's own
// audience is for [Ask.Allows] to check.
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
