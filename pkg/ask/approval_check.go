package ask

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validateDeciders checks who is excluded, or the only one who may decide.
func (a *Ask) validateDeciders(f *faults) {
	switch {
	case a.Only == "":
	case a.Only != OnlyAsker:
		f.add("/only", FaultNotOneOf, clip(a.Only), []string{OnlyAsker})
	case a.ExcludeAsker:
		f.add("/only", FaultContradicts, "exclude_asker")
	case len(a.Asker) == 0:
		f.add("/asker", FaultOnlyNoAsker)
	}
	if n := len(a.Exclude); n > MaxAudience {
		f.add("/exclude", FaultTooMany, n, "entries", MaxAudience)
	}
	for i, principal := range a.Exclude {
		at := "/exclude/" + strconv.Itoa(i)
		if strings.TrimSpace(principal) == "" || collective(principal) {
			f.add(at, FaultEmptyPrincipal)
		}
		f.principal(at, principal)
	}
}

// validateApproval checks that votes can decide the ask, and that the approval
// can be reached.
func (a *Ask) validateApproval(f *faults) {
	p := a.Approval
	if p == nil {
		return
	}
	a.validateVotable(f)
	for i, one := range p.all() {
		at := "/approval"
		if i > 0 {
			at += "/and/" + strconv.Itoa(i-1)
		}
		before := len(*f)
		one.validate(f, at)
		if len(*f) == before {
			a.validateReach(f, at, one)
		}
	}
}

// validate checks an approval by itself: all but its options, and whether it can
// be reached.
func (p *Approval) validate(f *faults, at string) {
	switch n := len(p.AnyOf); {
	case n == 0:
		f.add(at+"/any_of", FaultMissing, "alternatives")
	case n > MaxAlternatives:
		f.add(at+"/any_of", FaultTooMany, n, "entries", MaxAlternatives)
		return
	}
	for i := range p.AnyOf {
		validateAlternative(f, at+"/any_of/"+strconv.Itoa(i), &p.AnyOf[i])
	}
	if p.Deny != nil {
		validatePeople(f, at+"/deny", p.Deny.Need, p.Deny.From)
	}
	switch p.After {
	case "":
	case AfterAll:
		p.validateAfterAll(f, at)
	default:
		f.add(at+"/after", FaultNotOneOf, clip(string(p.After)), names(AfterAll))
	}
	if p.Fresh != 0 && (p.Fresh < time.Second || p.Fresh > MaxTimeout) {
		f.add(at+"/fresh", FaultOutOfRange, p.Fresh, "1s", "720h")
	}
}

// CheckPolicy fills in the defaults of an approval that a policy demands of any
// ask, and checks it. The error is an [*Error] whose faults name the fields.
func (p *Approval) CheckPolicy() error {
	p.normalize(&Question{})
	var f faults
	if len(p.ApproveOptions)+len(p.DenyOptions) > 0 {
		f.add("/approve_options", FaultForeignOptions, "policy")
	}
	p.validate(&f, "")
	return InvalidError("policy", f)
}

// validateVotable checks that the ask is one required question that votes can
// answer, and that silence does not approve it.
func (a *Ask) validateVotable(f *faults) {
	p := a.Approval
	if n := len(a.Questions); n != 1 {
		f.add("/questions", FaultApprovalQuestions, n)
		return
	}
	q := &a.Questions[0]
	if q.Optional {
		f.add("/questions/0/required", FaultApprovalOptional)
	}
	switch {
	case q.Kind == KindBoolean:
		for name, ids := range map[string][]string{"approve_options": p.ApproveOptions, "deny_options": p.DenyOptions} {
			if len(ids) > 0 {
				f.add("/approval/"+name, FaultForeignOptions, q.Kind)
			}
		}
		if q.Default != nil && q.Default.Boolean != nil && *q.Default.Boolean {
			f.add("/questions/0/default", FaultApprovalDefault)
		}
		return
	case q.Kind != KindChoice:
		f.add("/questions/0/kind", FaultApprovalKind, q.Kind)
		return
	case q.Multiple:
		f.add("/questions/0/multiple", FaultApprovalKind, "multiple")
	}
	if !q.NoOther {
		f.add("/questions/0/allow_other", FaultApprovalOther)
	}
	if len(p.ApproveOptions) == 0 {
		f.add("/approval/approve_options", FaultMissing, "options")
	}
	p.validateOptions(f, q)
	if q.Default != nil && slices.ContainsFunc(q.Default.Selected, func(id string) bool { return slices.Contains(p.ApproveOptions, id) }) {
		f.add("/questions/0/default", FaultApprovalDefault)
	}
}

// validateOptions checks that each option is declared once, as one that
// approves or one that denies.
func (p *Approval) validateOptions(f *faults, q *Question) {
	declared := make(map[string]bool, len(q.Options))
	for _, list := range []struct {
		name string
		ids  []string
	}{{"approve_options", p.ApproveOptions}, {"deny_options", p.DenyOptions}} {
		for i, id := range list.ids {
			at := "/approval/" + list.name + "/" + strconv.Itoa(i)
			o := q.Option(id)
			switch {
			case i >= MaxOptions:
				f.add("/approval/"+list.name, FaultTooMany, len(list.ids), "options", MaxOptions)
				return
			case o == nil:
				f.add(at, FaultUnknownOption, clip(id), q.optionIDs())
			case declared[id]:
				f.add(at, FaultChosenTwice, clip(id))
			case o.Cancels && list.name == "approve_options":
				f.add(at, FaultApprovalCancels, clip(id))
			}
			declared[id] = true
		}
	}
	for i := range q.Options {
		if !declared[q.Options[i].ID] && len(p.ApproveOptions) > 0 {
			f.add("/approval/deny_options", FaultApprovalUndeclared, clip(q.Options[i].ID))
		}
	}
}

func validateAlternative(f *faults, at string, alt *Alternative) {
	if len(alt.AllOf) > 0 {
		if alt.Need != 0 || len(alt.From) > 0 {
			f.add(at+"/all_of", FaultGivenTogether, "need and from")
		}
		if n := len(alt.AllOf); n > MaxAlternatives {
			f.add(at+"/all_of", FaultTooMany, n, "entries", MaxAlternatives)
			return
		}
		for i, one := range alt.AllOf {
			validatePeople(f, at+"/all_of/"+strconv.Itoa(i), one.Need, one.From)
		}
	} else {
		validatePeople(f, at, alt.Need, alt.From)
	}
	if alt.need() > MaxVoters && alt.Distinct {
		f.add(at+"/distinct", FaultApprovalUnreachable, alt.need(), MaxVoters)
	}
	if alt.Reason != "" && alt.Reason != ReasonRequired {
		f.add(at+"/reason", FaultNotOneOf, clip(alt.Reason), []string{ReasonRequired})
	}
	for name, text := range map[string]string{"reason_prompt": alt.ReasonPrompt, "reason_pattern": alt.ReasonPattern} {
		if text != "" && alt.Reason == "" {
			f.add(at+"/reason", FaultMissing, ReasonRequired)
		}
		f.length(at+"/"+name, text, MaxVoteReason)
	}
	if _, err := regexp.Compile(alt.ReasonPattern); err != nil {
		f.add(at+"/reason_pattern", FaultBadPattern, err)
	}
	if alt.MinProof != "" && !slices.Contains(MinProofs(), alt.MinProof) {
		f.add(at+"/min_proof", FaultNotOneOf, clip(alt.MinProof), MinProofs())
	}
}

func validatePeople(f *faults, at string, need int, from []string) {
	if need < 1 || need > MaxVoters {
		f.add(at+"/need", FaultOutOfRange, need, 1, MaxVoters)
	}
	f.people(at+"/from", from)
}

// people adds what is wrong with a list of groups, schedules and principals.
func (f *faults) people(at string, list []string) {
	if n := len(list); n > MaxAudience {
		f.add(at, FaultTooMany, n, "entries", MaxAudience)
		return
	}
	for i, entry := range list {
		at := at + "/" + strconv.Itoa(i)
		if strings.TrimSpace(entry) == "" || entry == "group:" || entry == schedulePrefix {
			f.add(at, FaultEmptyAudience)
		}
		f.principal(at, entry)
	}
}

// principal adds what is wrong with a principal. Nobody of OpenID Connect is named without the provider: an entry
// from before ADR 0189 would let nobody decide, or exclude nobody.
func (f *faults) principal(at, principal string) {
	f.length(at, principal, MaxName)
	if who, of := strings.CutPrefix(principal, ProofOIDC+":"); of && !strings.Contains(who, "#") {
		f.add(at, FaultNoProvider, clip(principal))
	}
}

// validateAfterAll checks that the approval names people, not groups.
func (p *Approval) validateAfterAll(f *faults, at string) {
	for i := range p.AnyOf {
		for _, one := range p.AnyOf[i].factors() {
			if len(one.From) == 0 || slices.ContainsFunc(one.From, collective) {
				f.add(at+"/after", FaultApprovalGroups)
				return
			}
		}
	}
	if n := len(p.named()); n > MaxVoters {
		f.add(at+"/after", FaultTooMany, n, "people", MaxVoters)
	}
}

// validateReach refuses an alternative that the people whom it names can never
// reach.
func (a *Ask) validateReach(f *faults, at string, p *Approval) {
	for i := range p.AnyOf {
		if need, most, ok := a.reachable(&p.AnyOf[i], nil); !ok {
			f.add(at+"/any_of/"+strconv.Itoa(i), FaultApprovalUnreachable, need, most)
		}
	}
	if p.Deny != nil && len(p.Deny.From) > 0 {
		alt := Alternative{Need: p.Deny.Need, From: p.Deny.From}
		if need, most, ok := a.reachable(&alt, nil); !ok {
			f.add(at+"/deny", FaultApprovalUnreachable, need, most)
		}
	}
}

// blocked reports whether an approval has no alternative that the people who have
// not denied can reach.
func (a *Ask) blocked(denials []Vote) bool {
	if len(denials) == 0 {
		return false
	}
	against := make(map[string]bool, len(denials))
	for i := range denials {
		against[a.Voter(denials[i].By.Principal)] = true
	}
	return slices.ContainsFunc(a.Approval.all(), func(p *Approval) bool {
		return !slices.ContainsFunc(p.AnyOf, func(alt Alternative) bool {
			_, _, ok := a.reachable(&alt, against)
			return ok
		})
	})
}

// reachable reports whether as many people as the alternative needs may vote for
// it, other than those against. Groups may have any number of members. If not,
// it returns how many a factor needs, and has at most.
func (a *Ask) reachable(alt *Alternative, against map[string]bool) (need, most int, ok bool) {
	factors := alt.factors()
	var people []string
	var fits [][]bool
	at := make(map[string]int)
	for i, f := range factors {
		named, bounded := a.candidates(f.From)
		if !bounded {
			continue
		}
		for _, who := range named {
			if against[who] {
				continue
			}
			n, known := at[who]
			if !known {
				n = len(people)
				at[who] = n
				people, fits = append(people, who), append(fits, make([]bool, len(factors)))
			}
			fits[n][i] = true
		}
	}
	got := fill(factors, fits, alt.Distinct)
	for i, f := range factors {
		if _, bounded := a.candidates(f.From); bounded && got[i] < f.Need {
			return f.Need, got[i], false
		}
	}
	return 0, 0, true
}

// candidates returns the people whom a list names and who may decide the ask;
// bounded is false if they cannot be counted. A group is taken to have every
// member that it can have.
func (a *Ask) candidates(from []string) (people []string, bounded bool) {
	pool, bounded := from, len(from) > 0 && !slices.ContainsFunc(from, collective)
	for _, list := range [][]string{a.Audience, a.only()} {
		switch {
		case len(list) == 0 || slices.ContainsFunc(list, collective):
		case !bounded:
			pool, bounded = list, true
		default:
			pool = slices.DeleteFunc(slices.Clone(pool), func(principal string) bool { return !slices.Contains(list, principal) })
		}
	}
	if !bounded {
		return nil, false
	}
	for _, principal := range pool {
		by := By{Principal: principal}
		if who := a.Voter(principal); by.person() && !a.Excludes(by) && !slices.Contains(people, who) {
			people = append(people, who)
		}
	}
	return people, true
}
