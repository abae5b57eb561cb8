package ask

import (
	"slices"
	"time"
)

// StandIn says that one person decides for another one, who is away.
type StandIn struct {
	Tenant string // whose asks; empty: of every tenant
	// Absent is who is away, with the groups and the proof of when they said so.
	Absent By
	By     string // the principal of who stands in
	// Also are other principals of that person, by the operator's list of people of
	// when it was said. Screens show asks to all of them; the broker looks again.
	Also  []string
	Since time.Time
	Until time.Time
}

// Is reports whether a person stands in, under one of their principals.
func (s *StandIn) Is(by By) bool {
	return s.By == by.Principal || slices.Contains(s.Also, by.Principal)
}

// holds reports whether the stand-in is one for asks of a tenant at a time.
func (s *StandIn) holds(by By, tenant string, now time.Time) bool {
	return s.Is(by) && (s.Tenant == "" || s.Tenant == tenant) && now.Before(s.Until)
}

// Standing returns a person as the stand-in of somebody. What is known of the absent is
// kept as far as it gives rights and names them.
func (b By) Standing(absent By) By {
	absent.For, absent.Responder = nil, ""
	b.For = &absent
	return b
}

// seat returns whose rights count: of who acts, or of whom they stand in for. There
// are no chains, so that is never a stand-in.
func (b By) seat() By {
	if b.For != nil {
		return *b.For
	}
	return b
}

// As returns a person as they may decide an ask: themselves, or as the stand-in of
// somebody. It checks what [Ask.Allows] and the ask's proof do.
func (a *Ask) As(b By, standIns []StandIn, now time.Time) (By, bool) {
	may := func(self By) bool { return self.Proves(a.MinProof) && a.Allows(self) }
	if may(b) {
		return b, true
	}
	for _, self := range b.Selves(a.Tenant, standIns, now)[1:] {
		if may(self) {
			return self, true
		}
	}
	return b, false
}

// Selves returns a person, and then as the stand-in of each of those who are away:
// in this order somebody may decide an ask of a tenant.
func (b By) Selves(tenant string, standIns []StandIn, now time.Time) []By {
	all := []By{b}
	for i := range standIns {
		if s := &standIns[i]; s.holds(b, tenant, now) {
			all = append(all, b.Standing(s.Absent))
		}
	}
	return all
}
