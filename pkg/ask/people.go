package ask

import (
	"slices"
	"time"
)

// People says which principals belong to one person, as a list of the operator and
// the links that people made themselves say it. The zero value says nothing.
type People struct {
	// List has the person's name by principal; nil: there is no list.
	List map[string]string
	// Links has the principal that made the link by the one that is linked, and
	// itself. The list goes before them.
	Links map[string]string
}

// Of returns the person that a principal belongs to; empty: nothing says whose it
// is.
func (p People) Of(principal string) string {
	if name := p.List[principal]; name != "" {
		return name
	}
	account := p.Links[principal]
	if p.List != nil {
		return p.List[account]
	}
	return account
}

// known reports whether anything is said of anybody.
func (p People) known() bool { return p.List != nil || len(p.Links) > 0 }

// excludes reports whether a principal is another one of somebody whom the ask
// excludes.
func (p People) excludes(a *Ask, principal string) bool {
	name := p.Of(principal)
	if name == "" {
		return false
	}
	is := func(other string) bool { return p.Of(other) == name }
	return slices.ContainsFunc(a.Exclude, is) || a.ExcludeAsker && slices.ContainsFunc(a.Asker, is)
}

// NeedsPerson reports whether it matters which principals are one person: more
// than one has to vote, or somebody is excluded.
func (a *Ask) NeedsPerson() bool {
	return a.ExcludeAsker || len(a.Exclude) > 0 || a.Approval != nil && a.Approval.several()
}

// ExcludedAs returns why a person may not decide an ask, as far as it is known who
// is who: linked is whether the ask excludes them by another principal, unknown
// whether the operator's list does not have them, and who they are matters.
func (a *Ask) ExcludedAs(by By, people People) (linked, unknown bool) {
	if !people.known() || !a.NeedsPerson() {
		return false, false
	}
	if by.For != nil {
		if linked, unknown = a.ExcludedAs(*by.For, people); linked || unknown {
			return linked, unknown
		}
	}
	return people.excludes(a, by.Principal), people.List != nil && people.Of(by.Principal) == ""
}

// Link says which member of a chat a person of the inbox is, as that person said.
type Link struct {
	Tenant    string // in whose asks that counts; empty: in all
	Principal string // of the member: "telegram:4711"
	Name      string // as the chat's platform says it, where anybody can choose any
	Account   string // the principal of the person
	Since     time.Time
}
