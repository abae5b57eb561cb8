package ask

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of break-glass.
const (
	MaxBreakGlass     = 8  // roles of one ask
	MaxBreakGlassFrom = 20 // entries of the people of one role
)

// BreakGlassRole is a role of the operator whose people may decide an ask with an
// approval alone, in an emergency. The broker copies it into the ask, so that
// surfaces know whom to offer it; that the operator still has it is read when
// somebody does.
type BreakGlassRole struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`   // changes with the content of the role
	From     []string `json:"from"`      // "group:<name>", "schedule:<name>" or principals; never everybody
	MinProof string   `json:"min_proof"` // as [Ask.MinProof]
	// ReasonPrompt says what the reason is to say, and ReasonPattern (RE2) what it must match; both may be empty.
	ReasonPrompt  string `json:"reason_prompt,omitempty"`
	ReasonPattern string `json:"reason_pattern,omitempty"`
}

// BreakGlass says that one person decides an ask alone, whatever the votes. In a
// [Reply] it has the reason only; the broker sets the rest in the outcome.
type BreakGlass struct {
	Reason    string `json:"reason"`
	Role      string `json:"role,omitempty" wire:"broker"`
	Version   string `json:"version,omitempty" wire:"broker"` // of the role when it was used
	From      string `json:"from,omitempty" wire:"broker"`    // the entry of the role that names the person, such as "group:incident-commanders"
	Principal string `json:"principal,omitempty" wire:"broker"`
	Proof     string `json:"proof,omitempty" wire:"broker"`
}

// Entry returns which entry of the role names a person; empty: none does.
func (r *BreakGlassRole) Entry(by By) string {
	for _, entry := range r.From {
		if isNamed(entry, by) {
			if schedule, _, ok := ScheduleOf(entry); ok {
				return schedulePrefix + schedule
			}
			return entry
		}
	}
	return ""
}

// CheckReason returns what is wrong with a reason, or nil.
func (r *BreakGlassRole) CheckReason(reason string) []Fault {
	const at = "/break_glass/reason"
	if n := utf8.RuneCountInString(reason); n > MaxVoteReason {
		return []Fault{NewFault(at, FaultTooLong, n, MaxVoteReason)}
	}
	if strings.TrimSpace(reason) == "" {
		return []Fault{NewFault(at, FaultBreakGlassReason, r.ReasonPrompt)}
	}
	if re, err := regexp.Compile(r.ReasonPattern); err != nil || !re.MatchString(reason) {
		return []Fault{NewFault(at, FaultBreakGlassPattern, clip(reason), r.ReasonPattern)}
	}
	return nil
}

// Breakable reports whether the roles of the operator hold for an ask: it has an
// approval, nothing in it forbids break-glass, and it is not the asker's alone.
func (a *Ask) Breakable() bool {
	return a.Approval != nil && a.Only == "" && !slices.ContainsFunc(a.Approval.all(), func(p *Approval) bool { return p.NoBreakGlass })
}

// IsAsker reports whether a person asked, as far as the ask and the list of people
// say.
func (a *Ask) IsAsker(by By, people People) bool {
	return slices.ContainsFunc(a.Asker, func(asker string) bool {
		return asker == by.Principal || people.Of(asker) != "" && people.Of(asker) == people.Of(by.Principal)
	})
}

// MayBreakGlass returns the role with which a person may decide an ask alone, or
// nil, as a surface can say: the broker also knows who is one person, and what the
// operator has changed since. The asker, who is excluded, and who only stands in for
// somebody may never.
func (a *Ask) MayBreakGlass(by By) *BreakGlassRole {
	if !a.Breakable() || by.For != nil || !by.ProvesPrincipal() || !by.person() || !by.Proves(a.MinProof) || a.Excludes(by) || a.IsAsker(by, People{}) {
		return nil
	}
	for i := range a.BreakGlass {
		if r := &a.BreakGlass[i]; r.Entry(by) != "" && by.Proves(r.MinProof) {
			return r
		}
	}
	return nil
}

// Alone returns how one person decided the ask alone; empty: nobody did.
func (o *Outcome) Alone() Choice {
	switch {
	case o.BreakGlass == nil:
		return ""
	case o.Status == StatusCancelled:
		return ChoiceDeny
	case o.Ask != nil && o.Ask.Approval != nil && len(o.Answers) == 1 && !o.Ask.Approves(&o.Answers[0]):
		return ChoiceDeny
	}
	return ChoiceApprove
}

// AloneStep returns whom a surface tells that one person decided alone, as if it were
// a step of a ladder after all others: those who may decide the ask, who were told of
// it, and who have voted.
func (o *Outcome) AloneStep() Step {
	step := Step{N: MaxSteps + 1, At: o.At, Remind: true, Tell: o.Escalated.told()}
	for i := range o.Votes {
		if who := o.Votes[i].By.Principal; !slices.Contains(step.Tell, who) {
			step.Tell = append(step.Tell, who)
		}
	}
	return step
}
