package chat

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// StepNotice is a message that tells people of a step of an ask's ladder.
type StepNotice struct {
	Ref     string // of the card to reply to; empty: To
	To      Target // where it is posted, if it replies to no card
	Mention []string
	Words   string // in the language of the card
	Rank    responder.Rank
}

// Told returns an ask for those whom steps of a ladder name, as routes decide about it, and whether the steps remind those
// who were asked.
func Told(a *ask.Ask, steps []ask.Step) (told ask.Ask, remind bool) {
	told = ask.Ask{Tenant: a.Tenant, Session: a.Session, Agent: a.Agent, Priority: a.Priority, Metadata: a.Metadata}
	for i := range steps {
		remind = remind || steps[i].Remind
		for _, entry := range steps[i].Tell {
			if !slices.Contains(told.Audience, entry) {
				told.Audience = append(told.Audience, entry)
			}
		}
	}
	return told, remind
}

// Escalate tells people of steps of an ask's ladder with say: below the ask's cards, and, if a route other than the
// default is for those people, there. It mentions those whom the routes know. A card that is gone is no error.
func (s *Surface) Escalate(ctx context.Context, rec *ask.Record, steps []ask.Step, places []ask.Place, gone func(error) bool, say func(StepNotice) error) error {
	told, remind := Told(&rec.Ask, steps)
	tell := told.Audience
	routes, l := s.Routes(), s.Language(&rec.Ask)
	c := StepNotice{Words: l.Say("Nobody has decided this yet: %s", card.Heading(&rec.Ask)), Rank: responder.Rank{Urgent: rec.Ask.Priority == ask.PriorityUrgent, At: steps[len(steps)-1].At}}
	if alone := s.alone(l, rec); alone != "" {
		c.Words = alone
	}
	if c.Mention = routes.Notify(Target{}, &told).Mention; remind {
		c.Mention = routes.Notify(Target{Mention: c.Mention}, &rec.Ask).Mention
	}
	if len(rec.Ask.Escalate) == 0 && rec.Outcome == nil { // nobody of those saw a notification: it is between them and us
		for _, entry := range tell {
			if member, ok := routes.person(entry); ok {
				c.To, c.Mention = Target{Person: member}, nil
				if err := say(c); err != nil && !gone(err) {
					return err
				}
			}
		}
		return nil
	}
	for _, at := range places {
		if c.Ref = at.Ref; c.Ref == "" {
			continue
		}
		if err := say(c); err != nil && !gone(err) {
			return err
		}
	}
	to, here := routes.Decide(&told), routes.Decide(&rec.Ask)
	elsewhere := cmp.Or(to.Channel, to.Person) != cmp.Or(here.Channel, here.Person) && cmp.Or(to.Channel, to.Person) != cmp.Or(routes.Default.Channel, routes.Default.Person)
	if len(tell) == 0 || !elsewhere {
		return nil
	}
	c.Ref, c.To = "", to.Target
	if err := say(c); err != nil {
		if !gone(err) {
			return err
		}
		s.Log.WarnContext(ctx, "a route's target cannot be posted to: its people are told below the card only", slog.String("ask_id", rec.Ask.ID), slog.String("route", to.Why))
	}
	return nil
}

// alone says that one person decided an ask alone, and which; empty: nobody did.
func (s *Surface) alone(l *lang.Language, rec *ask.Record) string {
	if rec.Outcome == nil || rec.Outcome.BreakGlass == nil {
		return ""
	}
	return l.Say("%[1]s. It was: %[2]s", s.Card(l, rec).End.Alone, card.Heading(&rec.Ask))
}
