package lifecycle

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// decideBreakGlass ends an ask with the answer of one person whose role allows that,
// whatever the votes. The role must be in the ask, as it was when it was asked, and
// with the operator now: what was taken away holds at once, what was added since only
// for new asks.
func decideBreakGlass(s *State, c Reply, now time.Time) (Effect, error) {
	r := c.Reply
	if s.End != nil && s.End.BreakGlass != nil && own(s.End, r) {
		return Tell{}, nil // our own earlier attempt won
	}
	switch {
	case s.End != nil:
		return nil, resolved(s.End)
	case !s.Known():
		return nil, notFound()
	case !s.Left.IsZero():
		return nil, left()
	case !s.Ask.Breakable():
		return nil, ask.InvalidError("answer", []ask.Fault{ask.NewFault("/break_glass", ask.FaultNothingToBreak)})
	}
	r.By = s.Ask.WithOnCall(r.By, s.OnCall)
	role, err := s.breakGlass(r, c.MinProof)
	if err != nil {
		return nil, err
	}
	v, err := s.Ask.AnswerOf(r)
	if err != nil {
		return nil, err
	}
	from := role.Entry(r.By)
	v.By = s.called(r.By)
	v.By.Groups = slices.DeleteFunc(slices.Clone(r.By.Groups), func(g string) bool { return "group:"+g != from })
	o := decision(s, s.Votes(), v, now)
	if o.Status == ask.StatusCancelled {
		o.Reason = cmp.Or(o.Reason, r.BreakGlass.Reason)
	}
	o.BreakGlass = &ask.BreakGlass{Reason: r.BreakGlass.Reason, Role: role.Name, Version: role.Version, From: from, Principal: r.By.Principal, Proof: r.By.Proof}
	return Resolve{o}, nil
}

// breakGlass returns the operator's role with which a person decides the ask alone, or
// a refusal.
func (s *State) breakGlass(r ask.Reply, minProof string) (*ask.BreakGlassRole, error) {
	by := r.By
	switch {
	case by.For != nil || !by.IsPerson():
		return nil, noRole("nothing says which person decides here, and a stand-in has no break-glass")
	case !by.Proves(s.Ask.MinProof):
		return nil, unproven(by, s.Ask.MinProof, "this ask")
	case !by.Proves(minProof):
		return nil, unproven(by, minProof, "the tenant's policy")
	case s.Ask.Excludes(by):
		return nil, excluded(s.Ask, by)
	case s.Ask.IsAsker(by, s.People):
		return nil, ask.Refuse(ask.CodeForbidden, "%s asked, and nobody decides alone what they asked for: somebody else has to", by.Principal).At("/by/principal", ask.FaultIsTheAsker)
	case excludedAs(s, by) != nil:
		return nil, excludedAs(s, by)
	case len(s.Ask.Asker) > 0 && s.People.List != nil && s.People.Of(by.Principal) == "": // they may be the asker
		return nil, notListed(by)
	}
	var refusal error
	for i := range s.Ask.BreakGlass {
		then := &s.Ask.BreakGlass[i]
		at := slices.IndexFunc(s.BreakGlass, func(now ask.BreakGlassRole) bool { return now.Name == then.Name })
		if at < 0 || then.Entry(by) == "" || s.BreakGlass[at].Entry(by) == "" {
			continue
		}
		now := &s.BreakGlass[at]
		err := check(then, by, r.BreakGlass.Reason)
		if err == nil {
			err = check(now, by, r.BreakGlass.Reason)
		}
		if err == nil {
			return now, nil
		}
		refusal = cmp.Or(refusal, err)
	}
	if refusal == nil {
		refusal = noRole(by.Principal + " has no break-glass role for this ask" + s.roles())
	}
	return nil, refusal
}

// check refuses a proof that is too weak for a role, and a reason that does not meet it.
func check(role *ask.BreakGlassRole, by ask.By, reason string) error {
	if !by.Proves(role.MinProof) {
		return unproven(by, role.MinProof, "break-glass")
	}
	return ask.InvalidError("answer", role.CheckReason(reason))
}

// roles names those who have a role.
func (s *State) roles() string {
	var all []string
	for i := range s.Ask.BreakGlass {
		all = append(all, s.Ask.BreakGlass[i].Name)
	}
	if len(all) == 0 {
		return ": this bus has none"
	}
	return ", which are " + strings.Join(all, ", ")
}

func noRole(why string) error {
	return ask.Refuse(ask.CodeForbidden, "%s", why).At("/by/principal", ask.FaultMayNotBreakGlass)
}
