package chat

import (
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Mark is the sign before a [Verdict]. Its zero value has none.
type Mark int

// The marks.
const (
	MarkAnswered Mark = iota + 1
	MarkDeclined
	MarkExpired
	MarkEnded
)

// Verdict returns how an ask ended in one line without the time and the place, such as "Mei chose
// PostgreSQL". Clean makes a text literal, on one line, and cuts it to a number of bytes.
func Verdict(o *ask.Outcome, e *card.End, clean func(s string, most int) string) (Mark, string) {
	who, gist := clean(e.Who, 80), clean(e.Gist, 160)
	because := ""
	if e.Reason != "" {
		because = e.Say(": ") + clean(e.Reason, 160)
	}
	switch o.Status {
	case ask.StatusAnswered:
		switch {
		case o.Source == ask.SourcePolicy:
			return MarkAnswered, e.Say("A policy answered %s", gist)
		case who == "":
			return MarkAnswered, e.Say("Answered: %s", gist)
		case e.Detailed && len(e.Lines) > 1:
			return MarkAnswered, e.Say("%s answered", who)
		case len(o.Answers) > 0 && len(o.Answers[0].Selected) > 0:
			return MarkAnswered, e.Say("%s chose %s", who, gist)
		}
		return MarkAnswered, e.Say("%s answered %s", who, gist)
	case ask.StatusCancelled:
		if o.CancelledBy != nil {
			return MarkDeclined, e.Say("%s ended it: %s", who, gist) + because
		}
		return MarkDeclined, e.Say("%s declined", who) + because
	case ask.StatusExpired:
		if e.Answers {
			return MarkExpired, e.Say("Nobody answered in time") + e.Say("; the declared default holds, not a person's answer: %s", gist)
		}
		return MarkExpired, e.Say("Nobody answered in time")
	case ask.StatusWithdrawn, ask.StatusAborted:
		return MarkEnded, clean(e.Lead, 80) + because
	}
	return 0, clean(e.Sentence, 200)
}
