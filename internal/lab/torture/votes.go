package torture

import (
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Needs is who may decide an ask.
type Needs struct {
	Group   bool     // only members of the group [insiders]
	Exclude []string // these may not, nor may anybody for them
}

func needsOf(a *ask.Ask) Needs {
	n := Needs{Group: slices.Contains(a.Audience, insiders), Exclude: a.Exclude}
	if a.Approval != nil { // its votes keep only the groups that it names
		n.Group = slices.Contains(a.Approval.AnyOf[0].From, insiders)
	}
	return n
}

// Votes are those in the outcome of an ask that several people decide.
type Votes struct {
	Need, Deny int                 // how many approve it, and how many deny it
	Cast       map[string]string   // what each person said last: an option, "declined", or nothing
	Given      map[string][]string // the answer ids of each person, all of them
	Standing   []Seat              // whose right each vote used that counts
}

// Seat is whose right an answer or a vote used.
type Seat struct {
	By     string
	For    string // who is away; empty: their own right
	Chain  bool   // whom they stand in for stands in for somebody
	Member bool   // whose right it was is in the group
	ID     string // of the answer
	At     time.Duration
}

// whose returns the person whose right it was.
func (s *Seat) whose() string {
	if s.For != "" {
		return s.For
	}
	return s.By
}

func seatOf(by *ask.By, id string, at time.Duration) *Seat {
	s, groups := &Seat{By: by.Principal, ID: id, At: at}, by.Groups
	if by.For != nil {
		s.For, s.Chain, groups = by.For.Principal, by.For.For != nil, by.For.Groups
	}
	s.Member = slices.Contains(groups, insiders[len("group:"):])
	return s
}

// has reports whether an answer was counted as a vote.
func (v *Votes) has(id string) bool {
	for _, ids := range v.Given {
		if slices.Contains(ids, id) {
			return true
		}
	}
	return false
}

// votesOf converts the votes of an outcome. start is the start of the run.
func votesOf(o *ask.Outcome, start time.Time) *Votes {
	if o.Ask == nil || o.Ask.Approval == nil {
		return nil
	}
	p := o.Ask.Approval
	v := &Votes{Need: p.AnyOf[0].Need, Deny: 1, Cast: map[string]string{}, Given: map[string][]string{}}
	if p.Deny != nil {
		v.Deny = p.Deny.Need
	}
	for i := range o.Votes {
		one := &o.Votes[i]
		v.Cast[one.By.Principal] = ""
		if one.Stands() {
			v.Standing = append(v.Standing, *seatOf(&one.By, one.AnswerID, one.At.Sub(start)))
		}
		switch {
		case one.Declined:
			v.Cast[one.By.Principal] = "declined"
		case one.Stands():
			v.Cast[one.By.Principal] = one.Option
		}
		v.Given[one.By.Principal] = append(append(v.Given[one.By.Principal], one.Earlier...), one.AnswerID)
	}
	return v
}
