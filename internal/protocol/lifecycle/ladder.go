package lifecycle

import (
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// decideClimb takes the next step of the ladder, if it is due and its calendar is
// open. None follows the end of the ask, or the moment at which its agent left it.
func decideClimb(s *State, now time.Time) Effect {
	if !s.Pending() || !s.Left.IsZero() || now.IsZero() {
		return Tell{}
	}
	next, ok := s.Ask.NextStep(s.AskedAt, s.Escalated())
	if !ok {
		return Tell{}
	}
	if due, ok := s.Ask.StepDue(&next, now); !ok || now.Before(due) {
		return Tell{}
	}
	step := ask.Step{N: next.N, At: now.UTC(), Via: next.Via, Remind: next.Remind}
	step.Tell, step.AsOf = s.whom(next.Tell)
	if !next.Widen || len(s.Ask.Audience) == 0 {
		return Rewrite{Stepped{Step: step}}
	}
	step.Widened = true
	audience := slices.Clip(s.Ask.Audience)
	for _, entry := range step.Tell {
		if !slices.Contains(audience, entry) && !strings.HasPrefix(entry, "schedule:") && len(audience) < ask.MaxAudience {
			audience = append(audience, entry)
		}
	}
	return Rewrite{Stepped{step, audience}}
}

// whom adds to the entries whom a step tells the principals of those who are on
// call now. If a schedule could not be read, it returns since when.
func (s *State) whom(tell []string) (all []string, asOf time.Time) {
	all = slices.Clone(tell)
	for _, entry := range tell {
		name, _, _ := ask.ScheduleOf(entry)
		i := slices.IndexFunc(s.OnCall, func(d ask.Duty) bool { return name != "" && d.Schedule == name })
		if i < 0 {
			continue
		}
		if d := &s.OnCall[i]; !d.AsOf.IsZero() && (asOf.IsZero() || d.AsOf.Before(asOf)) {
			asOf = d.AsOf
		}
		for _, principal := range s.OnCall[i].People {
			if !slices.Contains(all, principal) {
				all = append(all, principal)
			}
		}
	}
	return all, asOf
}

// decideAttend lets the next step wait once more, because somebody who may decide
// the ask, or was told of it, looks at it.
func decideAttend(s *State, c Attend, now time.Time) (Effect, error) {
	switch {
	case s.End != nil:
		return nil, resolved(s.End)
	case !s.Known():
		return nil, notFound()
	case !s.mayAttend(c.By):
		return nil, ask.Refuse(ask.CodeForbidden, "%s may not decide this ask and was not told of it, so its next step does not wait", c.By.Principal)
	}
	next, ok := s.Ask.NextStep(s.AskedAt, s.Escalated())
	if !ok || next.Paused || now.IsZero() {
		return Tell{}, nil
	}
	if due, ok := s.Ask.StepDue(&next, now); !ok || !now.Before(due) {
		return Tell{}, nil
	}
	by := c.By
	by.Groups = nil
	if by.For != nil {
		absent := *by.For
		absent.Groups = nil
		by.For = &absent
	}
	return Rewrite{Looked{ask.Seen{N: next.N, At: now.UTC(), By: by}}}, nil
}

// decideRemind takes a step of an ask that has no ladder, once.
func decideRemind(s *State, c Remind, now time.Time) Effect {
	if !s.Pending() || !s.Left.IsZero() || now.IsZero() || len(s.Ask.Escalate) > 0 || s.Escalated().Last() != nil || len(c.Tell) == 0 {
		return Tell{}
	}
	return Rewrite{Stepped{Step: ask.Step{N: 1, At: now.UTC(), Tell: c.Tell, Via: c.Via}}}
}

func (s *State) mayAttend(by ask.By) bool {
	if s.Ask.Excludes(by) || excludedAs(s, by) != nil {
		return false
	}
	if s.Ask.Allows(by) {
		return true
	}
	e := s.Escalated()
	return e != nil && slices.ContainsFunc(e.Steps, func(step ask.Step) bool { return s.Ask.Tells(&step, by) })
}
