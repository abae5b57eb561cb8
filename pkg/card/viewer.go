package card

import (
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// Viewer is the person who looks at a card, and where. The zero value is an unknown person who
// reads English and whose time zone is that of now.
type Viewer struct {
	By   ask.By // as proven by the surface
	Lang string // a language tag such as "zh-CN"; unknown and empty: English
	Zone *time.Location
	// Shared says that several people read the card, such as a channel's: it says who may answer, instead
	// of whether this viewer may. By is then nobody.
	Shared bool
	// Access is what the person may decide, like the Viewer of package responder; nil: everything.
	Access ask.Access

	// Linked are further principals that this person has, in chats.
	Linked []string
	// StandIns returns who is away now and has this person as stand-in; nil: nobody.
	StandIns func(ask.By) []ask.StandIn

	Surface string // responder type of this surface, which "also shown" omits
	Inbox   string // URL of the web inbox, for [Card.Link]; optional
}

// Attention says that a person looks at an ask at a time. It may be lost, and locks nothing.
type Attention struct {
	By        ask.By
	Answering bool // they have started an answer
}

func (v Viewer) words() *lang.Language { return lang.Of(v.Lang) }

// zoned converts a time to the viewer's time zone.
func (v Viewer) zoned(at, now time.Time) time.Time {
	if v.Zone != nil {
		return at.In(v.Zone)
	}
	return at.In(now.Location())
}

// who returns a person's name for this viewer.
func (v Viewer) who(by *ask.By) string {
	switch {
	case by == nil:
		return ""
	case v.is(by):
		you := *by
		you.Name = v.words().Say("you")
		return line(you.Called(v.words().Tag))
	}
	return line(by.Called(v.words().Tag))
}

func (v Viewer) is(by *ask.By) bool {
	return by != nil && by.Principal != "" && (by.Principal == v.By.Principal || slices.Contains(v.Linked, by.Principal))
}

// Name returns a person's name.
func Name(by ask.By) string {
	by.Responder = ""
	return line(by.Words())
}

// May is what a person may do with an ask.
type May struct {
	Answer  bool
	Decline bool
	Why     string // why they may only look
}

// May returns what this viewer may do with an ask.
func (v Viewer) May(r *ask.Record) May {
	may, _ := v.as(r)
	return may
}

// as returns what this viewer may do, and as whom: perhaps as the stand-in of
// somebody.
func (v Viewer) as(r *ask.Record) (May, ask.By) {
	may := v.may(r)
	if may.Answer || v.StandIns == nil || v.By.Principal == "" {
		return may, v.By
	}
	own := v
	if as, ok := r.Ask.As(v.By, v.StandIns(v.By), time.Time{}); ok {
		if own.By = as; own.may(r).Answer {
			return May{Answer: true, Decline: true}, as
		}
	}
	return may, v.By
}

// may is May without those who are away.
func (v Viewer) may(r *ask.Record) May {
	w, a := v.words(), &r.Ask
	switch {
	case r.State == ask.StateResolved || r.Outcome != nil:
		return May{Why: w.Say("It has ended: nothing is left to decide.")}
	case v.Shared:
		return May{Answer: true, Decline: true}
	case v.By.Principal != "" && !v.By.Proves(a.MinProof):
		return May{Why: w.Say("This one %s; answer it at a surface where that is known.", ask.Needs(w.Tag, a.MinProof))}
	case !v.Access.Decides(v.By, a.Key(), a.Audience):
		return May{Why: w.Say("You may read this, not decide it.")}
	case a.Excludes(v.By) && slices.Contains(a.Asker, v.By.Principal):
		return May{Why: w.Say("You asked this, so somebody else has to decide.")}
	case a.Excludes(v.By):
		return May{Why: w.Say("The asker may not decide this, and it is not known who you are here. Answer where you sign in.")}
	case a.Approval != nil && !v.By.ProvesPrincipal():
		return May{Why: w.Say("Here people's votes count, and this surface does not prove who you are.")}
	case a.Approval != nil && !a.Approval.MayVote(v.By):
		return May{Why: w.Say("Only the votes of %s count here.", line(a.Approval.Who(w.Tag)))}
	case len(a.Audience) > 0 && !v.By.ProvesPrincipal():
		return May{Why: w.Say("Only %s may decide this, and this surface does not prove who you are.", audience(a, w))}
	case !a.Allows(v.By):
		return May{Why: w.Say("Only %s may decide this.", audience(a, w))}
	}
	return May{Answer: true, Decline: true}
}

// audience describes who may decide.
func audience(a *ask.Ask, w *lang.Language) string {
	listed := ask.Unresolved(a.Audience)
	names := make([]string, len(listed))
	for i, entry := range listed {
		if schedule, _, ok := ask.ScheduleOf(entry); ok {
			names[i] = w.Say("schedule %s", line(schedule))
		} else if group, ok := strings.CutPrefix(entry, "group:"); ok {
			names[i] = w.Say("group %s", line(group))
		} else {
			names[i] = line(entry)
		}
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], w.Say(", ")) + w.Say(" or ") + names[last]
	}
	return strings.Join(names, "")
}
