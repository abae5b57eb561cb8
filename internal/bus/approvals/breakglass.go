package approvals

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// BreakGlass is a role whose people may decide alone, in an emergency, an ask that
// needs votes: [ask.BreakGlassRole].
type BreakGlass struct {
	Name     string   `json:"name"`
	Tenants  []string `json:"tenants"` // where it holds: names, or patterns with *; none: every tenant
	From     []string `json:"from"`
	MinProof string   `json:"min_proof"` // default passkey: a sign-in
	Reason   Reason   `json:"reason"`

	version string
}

// Reason says what a reason has to be.
type Reason struct {
	Prompt  string `json:"prompt"`
	Pattern string `json:"pattern"` // RE2; none: any text
}

func (f *File) checkBreakGlass(fault func(string, ...any)) {
	if n := len(f.BreakGlass); n > ask.MaxBreakGlass {
		fault("break_glass: %d roles; give at most %d", n, ask.MaxBreakGlass)
	}
	checkName := named(fault)
	for i := range f.BreakGlass {
		r, at := &f.BreakGlass[i], fmt.Sprintf("break_glass[%d]", i)
		checkName(at, r.Name)
		r.check(f, at, fault)
	}
}

func (r *BreakGlass) check(f *File, at string, fault func(string, ...any)) {
	checkPatterns(at+".tenants", r.Tenants, fault)
	if n := len(r.From); n == 0 || n > ask.MaxBreakGlassFrom {
		fault("%s.from: %d entries; give 1 to %d, such as group:incident-commanders: nobody has a role by default", at, n, ask.MaxBreakGlassFrom)
	}
	for i, entry := range r.From {
		schedule, _, scheduled := ask.ScheduleOf(entry)
		group, grouped := strings.CutPrefix(entry, "group:")
		switch {
		case len(entry) > ask.MaxName || grouped && group == "":
			fault("%s.from[%d]: %.80q is empty or too long", at, i, entry)
		case scheduled && !slices.ContainsFunc(f.Schedules, func(s Schedule) bool { return s.Name == schedule && entry == "schedule:"+schedule }):
			fault("%s.from[%d]: %.80q is none of the schedules of this file", at, i, entry)
		case !scheduled && !grouped && (assertion.CheckAsker([]string{entry}) != nil || !(ask.By{Principal: entry}).IsPerson()):
			fault("%s.from[%d]: %.80q is neither group:<name>, schedule:<name> nor the principal of a person, such as oidc:id.example.com#mei@example.com", at, i, entry)
		}
	}
	r.MinProof = cmp.Or(r.MinProof, ask.ProofPasskey)
	if allowed := ask.MinProofs()[1:]; !slices.Contains(allowed, r.MinProof) { // somebody at the agent's host is nobody in particular
		fault("%s.min_proof: %.40q is not one of %s", at, r.MinProof, strings.Join(allowed, ", "))
	}
	if len(r.Reason.Prompt) > ask.MaxLabel || len(r.Reason.Pattern) > ask.MaxLabel {
		fault("%s.reason: prompt and pattern have at most %d bytes each", at, ask.MaxLabel)
	}
	if _, err := regexp.Compile(r.Reason.Pattern); err != nil {
		fault("%s.reason.pattern: %.80q is not a regular expression (RE2): %s", at, r.Reason.Pattern, err)
	}
	r.version = digest(r)
}

// Words describes the role in one line for people.
func (r *BreakGlass) Words() string {
	where := "every tenant"
	if len(r.Tenants) > 0 {
		where = "tenant " + strings.Join(r.Tenants, ", ")
	}
	return fmt.Sprintf("%s, version %s: %s of %s may decide alone, proved by %s or as strongly", r.Name, r.version, strings.Join(r.From, ", "), where, r.MinProof)
}

// Roles returns the break-glass roles that hold in a tenant.
func (f *File) Roles(tenant string) (roles []ask.BreakGlassRole) {
	for i := range f.BreakGlass {
		if r := &f.BreakGlass[i]; matches(r.Tenants, tenant) {
			roles = append(roles, ask.BreakGlassRole{
				Name: r.Name, Version: r.version, From: slices.Clone(r.From), MinProof: r.MinProof, ReasonPrompt: r.Reason.Prompt, ReasonPattern: r.Reason.Pattern,
			})
		}
	}
	return roles
}
