package ask

import (
	"slices"
	"time"
)

// Tally is how far the votes on an ask have come.
type Tally struct {
	Decision Choice // [ChoiceApprove] or [ChoiceDeny]; empty: undecided
	Option   string // of an approved choice, or of the one that is nearest: the option's id
	// Have of Need votes are there for the alternative that lacks least.
	// Missing is what each approval that is not reached lacks, in each of its
	// alternatives: the one that lacks least is first.
	Have, Need int
	Missing    [][][]Factor
	Approvals  []Vote // that count, in the order in which they were given
	Denials    []Vote
	DenyNeed   int      // denials that deny the ask
	Awaited    []string // the people who have not voted and are waited for: see [AfterAll]
	// Blocked means that the ask can no longer be approved unless somebody
	// who denied it changes that vote.
	Blocked bool
}

// Tally counts votes. A vote that is too old at now does not count. The ask must
// have an approval.
func (a *Ask) Tally(votes []Vote, now time.Time) Tally {
	p := a.Approval
	all := p.all()
	options := []string{""}
	if len(p.ApproveOptions) > 0 {
		options = p.ApproveOptions
	}
	counts := make([]count, len(all))
	t := Tally{DenyNeed: p.denials()}
	denied := false
	for i, one := range all {
		c := a.count(one, votes, now)
		counts[i] = c
		t.Awaited = append(t.Awaited, c.awaited...)
		t.Denials = union(votes, t.Denials, c.denials)
		t.DenyNeed = min(t.DenyNeed, one.denials())
		denied = denied || len(c.denials) >= one.denials()
	}
	least := -1
	for _, option := range options {
		lack := 0
		best := make([]reached, len(all))
		for i, one := range all {
			best[i] = one.best(counts[i].byOption[option])
			lack += best[i].need - best[i].have
		}
		if least >= 0 && lack >= least {
			continue
		}
		least = lack
		t.Option, t.Missing, t.Approvals = option, nil, nil
		far := best[0] // the one that lacks most is told in numbers
		for _, r := range best {
			if r.need-r.have > far.need-far.have {
				far = r
			}
			if len(r.missing) > 0 {
				t.Missing = append(t.Missing, r.missing)
			}
			t.Approvals = union(votes, t.Approvals, r.counted)
		}
		t.Have, t.Need = far.have, far.need
	}
	switch {
	case len(t.Awaited) > 0:
	case denied:
		t.Decision = ChoiceDeny
	case least == 0:
		t.Decision = ChoiceApprove
	}
	if t.Decision == "" {
		t.Blocked = a.blocked(t.Denials)
	}
	return t
}

// union returns the votes that are in one of two lists, in the order of all.
func union(all, one, other []Vote) (both []Vote) {
	if len(one) == 0 {
		return other
	}
	in := func(list []Vote, v Vote) bool {
		return slices.ContainsFunc(list, func(o Vote) bool { return o.AnswerID == v.AnswerID && o.By.Principal == v.By.Principal })
	}
	for _, v := range all {
		if in(one, v) || in(other, v) {
			both = append(both, v)
		}
	}
	return both
}

// count is what votes say about one approval.
type count struct {
	byOption map[string][]Vote // that approve
	denials  []Vote
	awaited  []string
}

// last says which votes count, as far as people do: of each person the last that
// stands, and of each who is away the last of them or of a stand-in.
func (a *Ask) last(votes []Vote) []bool {
	counts := make([]bool, len(votes))
	voted, seats := make(map[string]bool, len(votes)), make(map[string]bool, len(votes))
	for i := len(votes) - 1; i >= 0; i-- {
		v := &votes[i]
		who, seat := a.VoterOf(v), a.SeatOf(v)
		if v.Stands() && !voted[who] && !seats[seat] {
			counts[i], voted[who], seats[seat] = true, true, true
		}
	}
	return counts
}

// count reads the votes for one approval: those that stand and are fresh, and of
// each person the last.
func (a *Ask) count(p *Approval, votes []Vote, now time.Time) count {
	c := count{byOption: map[string][]Vote{}}
	last := a.last(votes)
	voted := make(map[string]bool, len(votes))
	for i, v := range votes {
		if p.Fresh > 0 && now.Sub(v.At) > p.Fresh || !last[i] {
			continue
		}
		voted[a.SeatOf(&v)], voted[a.Voter(v.By.seat().Principal)] = true, true
		switch {
		case v.Choice == ChoiceApprove:
			c.byOption[v.Option] = append(c.byOption[v.Option], v)
		case p.deniers(v.By):
			c.denials = append(c.denials, v)
		}
	}
	if p.After == AfterAll {
		for _, principal := range p.named() {
			if !voted[a.Voter(principal)] {
				c.awaited = append(c.awaited, principal)
			}
		}
	}
	return c
}

// reached is how far votes for one option have come for one approval.
type reached struct {
	have, need int
	missing    [][]Factor // in each alternative, this one first; none if it lacks nothing
	counted    []Vote
}

// best returns how far the votes have come for the alternative that lacks least.
func (p *Approval) best(votes []Vote) (best reached) {
	for i := range p.AnyOf {
		alt := &p.AnyOf[i]
		have, missing, counted := alt.lacks(votes)
		if i == 0 || alt.need()-have < best.need-best.have {
			best.have, best.need, best.counted = have, alt.need(), counted
			best.missing = slices.Insert(best.missing, 0, missing)
		} else {
			best.missing = append(best.missing, missing)
		}
	}
	if best.have == best.need {
		best.missing = nil
	}
	return best
}

// lacks returns how many votes the alternative has, what it lacks, and the votes
// that count for it.
func (alt *Alternative) lacks(votes []Vote) (have int, missing []Factor, counted []Vote) {
	factors := alt.factors()
	fits := make([][]bool, 0, len(votes)) // of each vote that counts: in which factors
	for _, v := range votes {
		in := make([]bool, len(factors))
		some := false
		for i, f := range factors {
			in[i] = v.By.Proves(alt.MinProof) && alt.reasoned(v.Reason) && lists(f.From, v.By)
			some = some || in[i]
		}
		if some {
			fits, counted = append(fits, in), append(counted, v)
		}
	}
	for i, n := range fill(factors, fits, alt.Distinct) {
		have += n
		if lack := factors[i].Need - n; lack > 0 {
			missing = append(missing, Factor{lack, factors[i].From})
		}
	}
	return have, missing, counted
}

// fill returns how many people each factor gets, at most what it needs. fits
// says for each person which factors it fits. If people are distinct, each is in
// one factor at most, such that as many as possible are used.
func fill(factors []Factor, fits [][]bool, distinct bool) []int {
	got := make([]int, len(factors))
	if !distinct {
		for _, in := range fits {
			for i := range factors {
				if in[i] && got[i] < factors[i].Need {
					got[i]++
				}
			}
		}
		return got
	}
	people := make([][]int, len(factors)) // in each factor
	var place func(person int, seen []bool) bool
	place = func(person int, seen []bool) bool {
		for i := range factors {
			if seen[i] || !fits[person][i] {
				continue
			}
			seen[i] = true
			if len(people[i]) < factors[i].Need {
				people[i] = append(people[i], person)
				return true
			}
			for j, other := range people[i] {
				if place(other, seen) {
					people[i][j] = person
					return true
				}
			}
		}
		return false
	}
	for person := range fits {
		place(person, make([]bool, len(factors)))
	}
	for i := range factors {
		got[i] = len(people[i])
	}
	return got
}
