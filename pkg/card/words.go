package card

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// newCatalogue builds the catalogue of a language.
func newCatalogue(l *lang.Language) *catalogue {
	say := func(text string) string { return l.Say(text) }
	return &catalogue{
		Language: l,

		span: func(d time.Duration) string { return span(l, d) },
		ago: func(d time.Duration) string {
			if d < 10*time.Second {
				return say("just now")
			}
			return l.Say("%s ago", span(l, d))
		},
		until: func(d time.Duration) string {
			if d <= 0 {
				return say("now")
			}
			return l.Say("in %s", span(l, nearest(d)))
		},
		clock: func(at, now time.Time) string {
			if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
				return at.Format(say("2 Jan 15:04"))
			}
			return at.Format("15:04")
		},
		comma: say(", "), or: say(" or "), dot: say(" · "),

		anAgent: say("an agent"), you: say("you"), group: say("group %s"),
		asks: say("%s asks"), asked: say("%s asked"), forAgent: say("for %s"),
		session: say("session %s"), branch: say("branch %s"), tenant: say("tenant %s"), waiting: say("waiting %s"), ends: say("ends %s"),
		shownToo: say("Also shown %s."), answerAt: say("Answer it at %s"),
		several: func(n int) string { return l.Say("%d questions, answered together", n) },
		step:    say("%[1]s of %[2]s"), urgent: say("urgent"), high: say("high priority"),
		onItsWay: say("on its way"), failed: say("could not be shown there"),
		looking: say("%s is looking at this"), answering: say("%s is answering"),
		over:     say("It has ended: nothing is left to decide."),
		onlyThey: say("Only %s may decide this."),
		tooWeak:  say("This one %s; answer it at a surface where that is known."),
		demands:  say("It %s."),
		needs:    func(minProof string) string { return ask.Needs(l.Tag, minProof) },
		unproven: say("Only %s may decide this, and this surface does not prove who you are."),
		excluded: say("You asked this, so somebody else has to decide."),
		noPerson: say("The asker may not decide this, and it is not known who you are here. Answer where you sign in."),
		notAsker: say("The asker may not decide this."),
		approved: say("approved"), denied: say("denied"), tookBack: say("took the vote back"), declinedIt: say("declined"),
		agentWaits: say("the agent waits"), summaryGaveUp: say("Withdrawn: the agent no longer waits"),
		readOnly: say("You may read this, not decide it."),
		forThem:  say("For %s to decide."),
		expires:  say("If nobody answers in time, it expires and the agent is told so. Nothing is decided."),
		defaults: say("If nobody answers in time, these defaults apply, marked as nobody’s answer:"),
		place:    func(responder string) string { return ask.SurfaceWordsIn(l.Tag, responder) },

		recommended: say("recommended"), destructive: say("destructive"), cancels: say("Ends the whole ask without an answer."), endsAsk: say("ends the whole ask"), asideMark: say(" (%s)"), colon: say(": "),
		optional: say("optional"), required: say("required"),
		other: say("Other"), noAnswer: say("No answer"), yes: say("Yes"), no: say("No"),
		unknown:     say("This question is of the kind “%s”, which this version does not know yet. Reply to the whole ask in your own words, or answer it where a newer askbus runs."),
		howTo:       func(q *ask.Question) string { return q.HowToIn(l.Tag) },
		severalHow:  say("Answer with one line a question, such as %s=…"),
		limits:      func(q *ask.Question) string { return limits(l, q) },
		needsAnswer: say("This one needs an answer."), which: say("Which question does this answer? Begin with its id, such as “%s=…”."),
		again: func(n int) string { return l.Say("Not sent yet: %d questions need another look.", n) },

		summaryDeclined: say("Declined"), summaryWithdrawn: say("Withdrawn by the agent"), summaryAborted: say("Withdrawn by an operator"), summaryNobody: say("Nobody answered in time"),
		summaryAnswered: say("Answered"), summaryDefault: say("Nobody answered; default: %s"), quoted: say("“%s”"), nothing: say("no answer"),

		keyChoose: say("choose an option, 0 is the tenth"), keyOther: say("Other, in your words"), keySend: say("send"), keyNote: say("add a note"), keyReason: say("add a reason"), keyTakeBack: say("take the vote back"),
		keyReply: say("reply in your own words"), keyDecline: say("decline, with a reason"), keyContext: say("what the agent is doing"),
		keyPreview: say("read the preview in full"), keyFind: say("find an option in a long list"), keyMove: say("next and previous ask"),
	}
}

// left is the time that is left, with seconds in the last hour.
func (w *catalogue) left(d time.Duration) string {
	if d = max(0, d).Truncate(time.Second); d < time.Hour {
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return w.span(nearest(d))
}

// nearest rounds the time that is left to the unit in which [span] shows it: of 1 h 59 min are left 2 h,
// not 1 h.
func nearest(d time.Duration) time.Duration {
	const day = 24 * time.Hour
	for _, unit := range []struct{ of, below time.Duration }{{time.Second, time.Minute}, {time.Minute, time.Hour}, {time.Hour, 2 * day}} {
		if r := d.Round(unit.of); r < unit.below {
			return r
		}
	}
	return d.Round(day)
}

// span formats a duration in its largest unit. The inbox's page.js formats durations in the same
// way.
func span(l *lang.Language, d time.Duration) string {
	switch {
	case d < time.Minute:
		return l.Say("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return l.Say("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return l.Say("%d h", int(d.Hours()))
	}
	return l.Say("%d days", int(d.Hours()/24))
}

// limits describes the limits of an answer.
func limits(w *lang.Language, q *ask.Question) string {
	l := &q.Limits
	if l.Message != "" {
		return line(l.Message)
	}
	switch q.Kind {
	case ask.KindChoice:
		if q.Multiple {
			return items(w, q)
		}
	case ask.KindText:
		switch {
		case l.MinLength > 0 && l.MaxLength > 0:
			return w.Say("%s to %s characters.", strconv.Itoa(l.MinLength), strconv.Itoa(l.MaxLength))
		case l.MinLength > 1:
			return w.Say("At least %s characters.", strconv.Itoa(l.MinLength))
		case l.MaxLength > 0:
			return w.Say("At most %s characters.", strconv.Itoa(l.MaxLength))
		}
	case ask.KindNumber:
		return numberLimits(w, l)
	case ask.KindDate:
		switch {
		case l.MinDate != "" && l.MaxDate != "":
			return line(w.Say("%s to %s.", l.MinDate, l.MaxDate))
		case l.MinDate != "":
			return line(w.Say("%s or later.", l.MinDate))
		case l.MaxDate != "":
			return line(w.Say("%s or earlier.", l.MaxDate))
		}
	case ask.KindBoolean:
	}
	return ""
}

func numberLimits(w *lang.Language, l *ask.Limits) string {
	kind := w.Say("A number")
	if l.Integer {
		kind = w.Say("A whole number")
	}
	switch {
	case l.Min != nil && l.Max != nil:
		return w.Say("%s from %s to %s.", kind, number(*l.Min), number(*l.Max))
	case l.Min != nil:
		return w.Say("%s, at least %s.", kind, number(*l.Min))
	case l.Max != nil:
		return w.Say("%s, at most %s.", kind, number(*l.Max))
	}
	return w.Say("%s.", kind)
}

func items(w *lang.Language, q *ask.Question) string {
	least, most := q.MinItems, q.MaxItems
	if least == 0 && !q.Optional {
		least = 1
	}
	switch {
	case most > 0 && least == most:
		return w.Say("Choose %d.", most)
	case most > 0 && least > 0:
		return w.Say("Choose %d to %d.", least, most)
	case most > 0:
		return w.Say("Choose up to %d.", most)
	case least > 1:
		return w.Say("Choose at least %d.", least)
	}
	return w.Say("Choose as many as fit.")
}

// actor names the person who acted, and the surface: "Mei on Slack".
func actor(l *lang.Language, by ask.By, you string) string {
	name := cmp.Or(by.Called(l.Tag), l.Say("somebody"))
	if you != "" && by.Principal == you {
		by.Name = l.Say("you")
		name = by.Called(l.Tag)
	}
	if by.Responder == "" {
		return name
	}
	return l.Say("%s %s|who, where", name, ask.SurfaceWordsIn(l.Tag, by.Responder))
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
