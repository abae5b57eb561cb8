package chat

import (
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Explain returns what to tell a person about the error of their answer to an ask at a surface of a
// type, or "" if there is none.
func Explain(typ string, l *lang.Language, rec *ask.Record, err error, now time.Time) string {
	e, _ := errors.AsType[*ask.Error](err)
	view := func() *card.Card { return card.New(rec, card.Viewer{Surface: typ, Lang: l.Tag}, now) }
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ask.ErrVoted):
		voted := *rec
		voted.Votes = e.Votes
		return l.Say("Your vote is stored; the question stays open: %s.", voted.Progress(l.Tag, now))
	case e != nil && e.Outcome != nil:
		return First(typ, l, rec, e.Outcome, now)
	case errors.Is(err, ask.ErrForbidden):
		if c := view(); c.ForThem != "" {
			return l.Say("You may not answer this one. %s The question stays open.", c.ForThem)
		}
		return l.Say("You may not answer this one: %s. The question stays open.", e.Detail)
	case errors.Is(err, ask.ErrInvalid):
		var parts []string
		for _, again := range view().Faults(e.Faults) {
			parts = append(parts, again.Why)
		}
		return l.Say("Not stored: %s The question stays open.", strings.Join(parts, " "))
	case errors.Is(err, ask.ErrResolved):
		return l.Say("Somebody else answered first; this question has ended.")
	}
	return l.Say("Your answer was not stored: askbus cannot be reached. The question stays open; please try again in a moment.")
}

// First tells a person who was too late how the ask ended.
func First(typ string, l *lang.Language, rec *ask.Record, o *ask.Outcome, now time.Time) string {
	ended := *rec
	ended.State, ended.Outcome = ask.StateResolved, o
	end := card.NewEnd(&ended, card.Viewer{Surface: typ, Lang: l.Tag}, now)
	if end.First != "" {
		return l.Say("%s. Your answer was no longer needed.", end.First)
	}
	return l.Say("This question was %s.", end.Sentence)
}

// Lost returns what a control says whose ask was read with an error, or in another life: told is for
// the person, in their language; shown is for everybody, in that of the card, and empty if the card is
// not known to be outdated.
func Lost(person, card *lang.Language, err error) (told, shown string) {
	switch {
	case errors.Is(err, ask.ErrNotFound):
		return person.Say("This question no longer exists; it ended long ago."), card.Say("This question ended long ago.")
	case err != nil:
		return person.Say("Your answer was not stored: askbus cannot be reached. The question stays open; please click again in a moment."), ""
	}
	return person.Say("This question was asked again; please answer the newer card. Nothing was stored."), card.Say("This question was asked again; see the newer card.")
}
