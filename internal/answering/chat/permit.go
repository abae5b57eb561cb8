package chat

import (
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// ShownWhole sets how the chat says whether its message has all of what a pending ask permits: nothing of the card is left
// out or shortened in it. What it does not show whole is not permitted there, whatever button or words come. It is set
// before anything is served.
func (s *Surface) ShownWhole(whole func(c *card.Card, rec *ask.Record) bool) { s.whole = whole }

// uncut returns the card of an ask as if there were room for all of it.
func (s *Surface) uncut(v card.Viewer, rec *ask.Record, now time.Time) *card.Card {
	c := card.New(rec, v, now, s.lookers.others(rec.Ask.Key())...)
	c.Compact()
	return c
}

// maxDescription is how much of an option's description every chat shows.
const maxDescription = 200

// withholds reports whether an ask is a permission that its message does not show whole.
func (s *Surface) withholds(rec *ask.Record, now time.Time) bool {
	if s.whole == nil || rec.Outcome != nil || !rec.Ask.Permits() {
		return false
	}
	c := s.uncut(s.shared(s.Language(&rec.Ask)), rec, now)
	for i := range c.Questions {
		for j := range c.Questions[i].Options {
			if len(c.Questions[i].Options[j].Description) > maxDescription {
				return true
			}
		}
	}
	return !s.whole(c, rec)
}

// Withheld returns why answers do not count: they permit what the message of the ask does not show whole. It is "" if they
// do.
func (s *Surface) Withheld(l *lang.Language, rec *ask.Record, answers []ask.Answer) string {
	now := s.Clock.Now()
	if !s.withholds(rec, now) || rec.Ask.Refuses(answers) {
		return ""
	}
	link := s.LinkTo(rec.Ask.Key())
	c := card.New(rec, s.shared(l), now)
	if c.Withhold(link != ""); link != "" {
		return c.Withheld + " " + link
	}
	return c.Withheld
}
