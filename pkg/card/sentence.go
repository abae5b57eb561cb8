package card

import (
	"errors"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// Part is a part of a sentence, which a surface may style or make literal.
type Part int

// The parts.
const (
	PartWho  Part = iota + 1 // who acted: "Mei", "You", "Jo for Mei"
	PartWhat                 // what they said, or how the votes stand: "PostgreSQL"
	PartWhen                 // time and place: " at 10:02 on Slack"
	PartWhy                  // the reason: "too risky"
)

// maxReason bounds the reason in a sentence; [End.Rest] has a longer one.
const maxReason = 160

// Tell returns the sentence that says how the ask ended: "Mei chose PostgreSQL at 10:02 on Slack". Every surface
// says this sentence of that event, with parts in its own style.
func (e *End) Tell(style func(p Part, s string) string) string { return e.tell(style, true) }

// TellShort returns the sentence of [End.Tell] without time and place, which the surface shows beside it: "Mei
// chose PostgreSQL".
func (e *End) TellShort(style func(p Part, s string) string) string { return e.tell(style, false) }

func (e *End) tell(style func(p Part, s string) string, whole bool) string {
	w, when := e.words, ""
	styled := func(p Part, s string) lang.Styled { return lang.Styled{Text: s, As: style(p, s)} }
	who, what := lang.Styled{}, styled(PartWhat, e.what)
	switch {
	case e.Mine:
		who = styled(PartWho, capital(e.Who))
	case e.Who != "":
		who = styled(PartWho, e.Who)
	}
	if whole {
		if when = w.Say(" at %s|clock", e.At.Words); e.Where != "" && e.Who != "" {
			when = w.Say(" at %[1]s %[2]s|clock, place", e.At.Words, e.Where)
		}
		when = style(PartWhen, when)
	}
	because := ""
	if e.Reason != "" {
		because = w.Say(": ") + style(PartWhy, ask.Clip(line(e.Reason), maxReason))
	}
	switch e.kind {
	case endChose:
		return w.Say("%[1]s chose %[2]s%[3]s|who, what, when", who, what, when)
	case endAnswered:
		return w.Say("%[1]s answered %[2]s%[3]s|who, what, when", who, what, when)
	case endAnsweredAll:
		return w.Say("%[1]s answered%[2]s|who, when", who, when)
	case endNobodys:
		return w.Say("Answered%[2]s: %[1]s|what, when", what, when)
	case endPolicy:
		return w.Say("A policy, not a person, answered %[1]s%[2]s|what, when", what, when)
	case endVotes:
		said := style(PartWhat, capital(e.votes)) + when
		if e.what != "" {
			said += w.Say(": ") + what.As
		}
		return said + because
	case endAlone:
		said := w.Say("Approved%s|when", when)
		if e.denied {
			said = w.Say("Denied%s|when", when)
		}
		if e.what != "" {
			said += w.Say(": ") + what.As
		}
		return said + w.Say(" · ") + style(PartWhy, ask.Clip(e.Alone, 2*maxReason))
	case endDeclined:
		return w.Say("%[1]s declined%[2]s|who, when", who, when) + because
	case endCancelled:
		return w.Say("%[1]s ended it with “%[2]s”%[3]s|who, what, when", who, what, when) + because
	case endGaveUp:
		return w.Say("Withdrawn%s: the agent no longer waits|when", when)
	case endWithdrawn:
		return w.Say("Withdrawn by the agent%s|when", when) + because
	case endAborted:
		return w.Say("Withdrawn by an operator%s|when", when) + because
	case endTooFew:
		return w.Say("Expired%[2]s: not enough votes: %[1]s|votes, when", style(PartWhat, e.votes), when)
	case endDefault:
		return w.Say("Expired%[2]s: nobody answered in time; the declared default holds, not a person's answer: %[1]s|what, when", what, when)
	case endExpired:
		return w.Say("Expired%s: nobody answered in time|when", when)
	case endUnknown:
	}
	return w.Say("Ended%s|when", when) + because
}

// ending is one way in which an ask ends, with a sentence of its own.
type ending int

const (
	endUnknown ending = iota // a status of a later version
	endExpired
	endDefault
	endTooFew // votes
	endChose
	endAnswered
	endAnsweredAll // several questions, whose answers are in the lines
	endNobodys     // answered, and it is not known by whom
	endPolicy
	endVotes // decided by them
	endAlone // decided by one person instead (break-glass)
	endDeclined
	endCancelled // by an option
	endGaveUp
	endWithdrawn
	endAborted
)

// endingOf says which sentence tells how the ask ended.
func endingOf(a *ask.Ask, o *ask.Outcome) ending {
	voted, reply := a.Approval != nil, o.Response != ""
	switch o.Status {
	case ask.StatusAnswered:
		switch {
		case voted:
			return endVotes
		case o.Source == ask.SourcePolicy:
			return endPolicy
		case o.By == nil:
			return endNobodys
		case len(a.Questions) > 1 && len(o.Answers) > 0, len(o.Answers) == 0 && !reply:
			return endAnsweredAll
		case len(o.Answers) > 0 && len(o.Answers[0].Selected) > 0:
			return endChose
		}
		return endAnswered
	case ask.StatusCancelled:
		switch {
		case voted:
			return endVotes
		case cancelLabel(a, o) != "":
			return endCancelled
		}
		return endDeclined
	case ask.StatusWithdrawn:
		if o.GaveUp() {
			return endGaveUp
		}
		return endWithdrawn
	case ask.StatusAborted:
		return endAborted
	case ask.StatusExpired:
		switch {
		case len(o.Answers) > 0:
			return endDefault
		case voted:
			return endTooFew
		}
		return endExpired
	}
	return endUnknown
}

// Late returns the sentence for a viewer whose answer came after the end, such as "Too late: Mei chose PostgreSQL at
// 10:02 in Telegram".
func (e *End) Late() string {
	if e.Mine {
		return e.words.Say("Answered already: %s.", e.Sentence)
	}
	return e.words.Say("Too late: %s.", e.Sentence)
}

// Rest returns the reason if the sentence has only its beginning.
func (e *End) Rest() string {
	if short := line(e.Reason); len(short) > maxReason {
		return e.Reason
	}
	return ""
}

// Voted returns the sentence for a viewer whose vote is stored. The record has the votes from before.
func (v Viewer) Voted(r *ask.Record, votes []ask.Vote, now time.Time) string {
	cast := *r
	cast.Votes = votes
	progress := line(cast.Progress(v.Lang, now))
	own := func(one ask.Vote) bool {
		return one.Stands() && v.By.Principal != "" && r.Ask.Voter(one.By.Principal) == r.Ask.Voter(v.By.Principal)
	}
	before, after := slices.IndexFunc(r.Votes, own), slices.IndexFunc(votes, own)
	switch {
	case before < 0:
		return v.Say("Your vote is stored; the question stays open: %s.", progress)
	case after >= 0 && sameVote(&r.Votes[before], &votes[after]):
		return v.Say("Your vote is the same as before; the question stays open: %s.", progress)
	}
	return v.Say("Your vote is changed; the question stays open: %s.", progress)
}

// sameVote reports whether two votes of a person say the same.
func sameVote(a, b *ask.Vote) bool {
	return a.Choice == b.Choice && a.Option == b.Option && a.Declined == b.Declined && a.Reason == b.Reason && slices.Equal(a.Files, b.Files)
}

// VoteTakenBack returns the sentence for a viewer who took their vote back. The votes are those that are left.
func (v Viewer) VoteTakenBack(r *ask.Record, votes []ask.Vote, now time.Time) string {
	left := *r
	left.Votes = votes
	return v.Say("Your vote is taken back; the question stays open: %s.", line(left.Progress(v.Lang, now)))
}

// NoVote returns the sentence for a viewer who has no vote to take back.
func (v Viewer) NoVote() string { return v.Say("You have no vote to take back.") }

// Snoozed returns the sentence for a viewer who snoozed an ask.
func (v Viewer) Snoozed(until, now time.Time) string {
	return v.Say("Snoozed, back %s", v.When(until, now, Until).Words)
}

// NotMoved says why an ask was not snoozed or handed over. To is the person or group that was typed.
func (v Viewer) NotMoved(e *ask.Error, to string) string {
	if !errors.Is(e, ask.ErrInvalid) || len(e.Faults) == 0 {
		return v.Say("Not done: %s.", line(v.why(e)))
	}
	words := e.Faults[0].In(v.Lang)
	switch e.Faults[0].Pointer {
	case "/to":
		return v.Say("Not handed over: “%s” %s.", ask.Clip(line(to), 80), words)
	case "/word":
		return v.Say("Not handed over: the note %s.", words)
	}
	return v.Say("Not snoozed: this %s.", words)
}

// why returns why a request as a whole was refused. The detail says more than its
// faults, in English if it is not from the catalogue.
func (v Viewer) why(e *ask.Error) string {
	if told := e.In(v.Lang); told.Detail != e.Detail || len(e.Faults) == 0 || v.words().Tag == lang.English {
		return told.Detail
	}
	return e.Faults[0].In(v.Lang)
}

// HandedOver returns the sentence that says who handed an ask over to whom, a person or a group, with their note.
func (v Viewer) HandedOver(to, by ask.By, note string) string {
	you := v.words().Say("you")
	whom, who := line(to.Called(v.Lang)), line(by.Called(v.Lang))
	if v.is(&to) {
		whom = you
	}
	if v.is(&by) {
		who = you
	}
	if note = line(note); note != "" {
		return v.Say("Handed to %[1]s by %[2]s: “%[3]s”", whom, who, note)
	}
	return v.Say("Handed to %[1]s by %[2]s", whom, who)
}

// capital writes the first letter of a sentence.
func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}
