package present

import (
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

func english() *catalogue {
	return &catalogue{
		lang: "en",

		span: englishSpan,
		ago: func(d time.Duration) string {
			if d < 10*time.Second {
				return "just now"
			}
			return englishSpan(d) + " ago"
		},
		until: func(d time.Duration) string {
			if d <= 0 {
				return "now"
			}
			return "in " + englishSpan(d)
		},
		clock: func(at, now time.Time) string {
			if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
				return at.Format("2 Jan 15:04")
			}
			return at.Format("15:04")
		},
		comma: ", ", or: " or ", dot: " · ",

		anAgent: "an agent", you: "you", group: "group {}",
		asks: "{} asks", asked: "{} asked", forAgent: "for {}",
		session: "session {}", branch: "branch {}", tenant: "tenant {}", waiting: "waiting {}", noDeadline: "no deadline", agentWaits: "the agent waits", ends: "ends {}",
		shownToo: "Also shown {}.", answerAt: "Answer it at {}",
		several: func(n int) string { return strconv.Itoa(n) + " questions, answered together" },
		step:    "{1} of {2}", urgent: "urgent", high: "high priority",
		onItsWay: "on its way", failed: "could not be shown there",
		looking: "{} is looking at this", answering: "{} is answering",
		over:     "It has ended: nothing is left to decide.",
		onlyThey: "Only {} may decide this.",
		tooWeak:  "This one {}; answer it at a surface where that is known.",
		demands:  "It {}.",
		excluded: "You asked this, so somebody else has to decide.",
		noPerson: "Whoever asked may not decide this, and it is not known who you are here. Answer where you sign in.",
		notAsker: "Whoever asked may not decide this.",
		needs:    ask.Needs,
		unproven: "Only {} may decide this, and this surface does not prove who you are.",
		readOnly: "You may read this, not decide it.",
		forThem:  "For {} to decide.",
		expires:  "If nobody answers by then, it expires and the agent is told so. Nothing is decided.",
		defaults: "If nobody answers by then, these defaults hold, marked as nobody’s answer:",
		place:    ask.SurfaceWords,

		recommended: "recommended", cancels: "Ends the whole ask without an answer.", endsAsk: "ends the whole ask",
		optional: "optional", required: "required",
		other: "Other", noAnswer: "No answer", yes: "Yes", no: "No",
		unknown:     "This question is of the kind “{}”, which this version does not know yet. Reply to the whole ask in your own words, or answer it where a newer askbus runs.",
		howTo:       (*ask.Question).HowTo,
		severalHow:  "Answer with one line a question, such as {}=…",
		limits:      englishLimits,
		needsAnswer: "This one needs an answer.", yourAnswer: "Your answer {}.",
		again: func(n int) string {
			if n == 1 {
				return "Not sent yet: one question needs another look."
			}
			return fmt.Sprintf("Not sent yet: %d questions need another look.", n)
		},

		ending:   func(o *ask.Outcome, principal, clock string) string { return o.EndingFor(principal, "at "+clock) },
		answered: "Already answered", declined: "Declined", withdrawn: "Taken back by the agent", gaveUp: "The agent gave up", expired: "Expired", aborted: "Ended by an operator",
		gistDeclined: "Declined", gistWithdrawn: "Withdrawn by the agent", gistGaveUp: "Given up: the agent no longer waits", gistAborted: "Ended by an operator", gistNobody: "Nobody answered in time",
		gistAnswered: "Answered", gistDefault: "Nobody answered; default: {}", quoted: "“{}”", nothing: "no answer",
		first: "{1} is first: {2}, {3}, {4}",

		keyChoose: "choose an option, 0 is the tenth", keyOther: "Other, in your words", keySend: "send", keyNote: "add a note",
		keyReply: "reply in your own words", keyDecline: "decline, with a reason", keyContext: "what the agent is doing",
		keyPreview: "read the preview in full", keyFind: "find an option in a long list", keyMove: "next and previous ask",

		page: englishPages(),
	}
}

// englishSpan says a length of time in the one unit that matters. The inbox's
// app.js says it in the same words when it ticks.
func englishSpan(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// englishLimits says how an answer must look.
func englishLimits(q *ask.Question) string {
	l := &q.Limits
	if l.Message != "" {
		return line(l.Message)
	}
	switch q.Kind {
	case ask.KindChoice:
		if q.Multiple {
			return englishItems(q)
		}
	case ask.KindText:
		switch {
		case l.MinLength > 0 && l.MaxLength > 0:
			return fmt.Sprintf("%d to %d characters.", l.MinLength, l.MaxLength)
		case l.MinLength > 1:
			return fmt.Sprintf("At least %d characters.", l.MinLength)
		case l.MaxLength > 0:
			return fmt.Sprintf("At most %d characters.", l.MaxLength)
		}
	case ask.KindNumber:
		kind := "A number"
		if l.Integer {
			kind = "A whole number"
		}
		switch {
		case l.Min != nil && l.Max != nil:
			return kind + " from " + number(*l.Min) + " to " + number(*l.Max) + "."
		case l.Min != nil:
			return kind + ", at least " + number(*l.Min) + "."
		case l.Max != nil:
			return kind + ", at most " + number(*l.Max) + "."
		}
		return kind + "."
	case ask.KindDate:
		switch {
		case l.MinDate != "" && l.MaxDate != "":
			return line(l.MinDate + " to " + l.MaxDate + ".")
		case l.MinDate != "":
			return line(l.MinDate + " or later.")
		case l.MaxDate != "":
			return line(l.MaxDate + " or earlier.")
		}
	case ask.KindBoolean:
	}
	return ""
}

func englishItems(q *ask.Question) string {
	least, most := q.MinItems, q.MaxItems
	if least == 0 && !q.Optional {
		least = 1
	}
	switch {
	case most > 0 && least == most:
		return fmt.Sprintf("Choose %d.", most)
	case most > 0 && least > 0:
		return fmt.Sprintf("Choose %d to %d.", least, most)
	case most > 0:
		return fmt.Sprintf("Choose up to %d.", most)
	case least > 1:
		return fmt.Sprintf("Choose at least %d.", least)
	}
	return "Choose as many as fit."
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
