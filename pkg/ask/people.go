package ask

// People says which principals belong to one person: the person's name by
// principal, from a list of the operator. Nil: there is no list.
type People map[string]string

// excludes reports whether a principal is another one of somebody whom the ask
// excludes.
func (p People) excludes(a *Ask, principal string) bool {
	name := p[principal]
	if name == "" {
		return false
	}
	for _, other := range a.Exclude {
		if p[other] == name {
			return true
		}
	}
	for _, other := range a.Asker {
		if a.ExcludeAsker && p[other] == name {
			return true
		}
	}
	return false
}

// NeedsPerson reports whether it matters which principals are one person: more
// than one has to vote, or somebody is excluded.
func (a *Ask) NeedsPerson() bool {
	return a.ExcludeAsker || len(a.Exclude) > 0 || a.Approval != nil && a.Approval.several()
}

// ExcludedAs returns why a person may not decide an ask, as far as a list of
// people says: linked is whether the ask excludes them by another principal,
// unknown whether the list does not have them, and who they are matters.
func (a *Ask) ExcludedAs(by By, people People) (linked, unknown bool) {
	if people == nil || !a.NeedsPerson() {
		return false, false
	}
	if by.For != nil {
		if linked, unknown = a.ExcludedAs(*by.For, people); linked || unknown {
			return linked, unknown
		}
	}
	return people.excludes(a, by.Principal), people[by.Principal] == ""
}
