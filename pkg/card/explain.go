package card

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Explain returns what to tell this viewer about the error of their answer to an ask: who was first, what
// to correct, or why they may not answer. It is empty without an error.
func (v Viewer) Explain(r *ask.Record, err error, now time.Time) string {
	e, _ := errors.AsType[*ask.Error](err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ask.ErrVoted) && e != nil:
		return v.Voted(r, e.Votes, now)
	case e != nil && e.Outcome != nil:
		return v.Late(r, e.Outcome, now)
	case errors.Is(err, ask.ErrForbidden):
		c := New(r, v, now)
		switch {
		case faulty(e, ask.FaultNotLinked):
			return v.Say("You may not answer this one: the operator's list of people does not name %s. Link it on the page “Your chats” of the inbox, or ask an operator. The question stays open.", line(v.By.Principal))
		case c.BreakGlass != nil && ofVote(e):
			return strings.TrimSpace(c.BreakGlass.Elsewhere() + " " + c.Link)
		case (ofVote(e) || faulty(e, ask.FaultIsTheAsker) && slices.Contains(r.Ask.Asker, v.By.Principal)) && v.May(r).Why != "":
			return v.Say("You may not answer this one. %s The question stays open.", v.May(r).Why)
		case ofVote(e) && c.ForThem != "":
			return v.Say("You may not answer this one. %s The question stays open.", c.ForThem)
		}
		if e == nil {
			return v.Say("You may not answer this one: %s. The question stays open.", line(err.Error()))
		}
		return v.Say("You may not answer this one: %s. The question stays open.", line(v.why(e)))
	case errors.Is(err, ask.ErrInvalid) && e != nil:
		var parts []string
		for _, again := range New(r, v, now).Faults(e.Faults) {
			parts = append(parts, again.Why)
		}
		return v.Say("Not stored: %s The question stays open.", strings.Join(parts, " "))
	case errors.Is(err, ask.ErrResolved):
		return v.Say("Somebody else answered first; this question has ended.")
	}
	return v.Say("Your answer was not stored: askbus cannot be reached. The question stays open; please try again in a moment.")
}

// Late returns what to tell this viewer, who answered after the ask ended.
func (v Viewer) Late(r *ask.Record, o *ask.Outcome, now time.Time) string {
	ended := *r
	ended.State, ended.Outcome = ask.StateResolved, o
	return NewEnd(&ended, v, now).Late()
}

// Gone returns what a control says whose ask could not be read, or is not the one that it was drawn for: told
// to the viewer who used it, and shown in its place to everybody, which is empty if the control may still be
// good. It tells [ask.ErrNotFound] and [ask.ErrAskedAgain] from other errors.
func (v Viewer) Gone(err error) (told, shown string) {
	switch {
	case errors.Is(err, ask.ErrNotFound):
		return v.Say("This question no longer exists; it ended long ago."), v.Say("This question ended long ago.")
	case errors.Is(err, ask.ErrAskedAgain):
		return v.Say("This question was asked again; please answer the newer card. Nothing was stored."), v.Say("This question was asked again; see the newer card.")
	}
	return v.Say("Your answer was not stored: askbus cannot be reached. The question stays open; please click again in a moment."), ""
}

// ofVote reports whether a vote was refused because of whose it is. What was decided alone is refused in other words,
// as after the role was taken away, and so is whom the ask excludes.
func ofVote(e *ask.Error) bool {
	return e == nil || len(e.Faults) == 0 || faulty(e, ask.FaultMayNotVote)
}

func faulty(e *ask.Error, code ask.FaultCode) bool {
	return e != nil && slices.ContainsFunc(e.Faults, func(f ask.Fault) bool { return f.Code == code })
}
