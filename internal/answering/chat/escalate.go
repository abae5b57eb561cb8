package chat

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Note is a message without controls: it tells people of a step of an ask's ladder, brings a digest, or a person a link.
type Note struct {
	Ref     string   // of the card to reply to; empty: To
	To      Target   // where it is posted, if it replies to no card
	Lines   []string // each is one line of other people's words, cut to what a note has
	Step    bool     // it is about a step, and rings; else, without a link, it is a digest, whose first line is a title
	Link    string   // of the ask for a step, which a reply to its card does not need; else it is what the words are about
	Mention []string
	Rank    responder.Rank
	Key     string // in 22 characters, the same on every replica, for chats that take a message of a key once; empty: none
}

// maxStep is the most characters of the words of a step.
const maxStep = 400

// PrivateNote returns a note that brings a person a link.
func (s *Surface) PrivateNote(person, words, link string) *Note {
	return &Note{To: Target{Person: person}, Lines: []string{words}, Link: link, Rank: s.Now()}
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

// Escalate tells people of steps of the ladder of a post's ask with notes: below the ask's cards, and, if a route other than the
// default is for those people, there. It mentions those whom the routes know. A card that is gone is no error. It implements
// [responder.Escalator].
func (s *Surface) Escalate(ctx context.Context, post responder.Post, rec ask.Record, steps []ask.Step, places []ask.Place) ([]ask.Place, error) {
	return nil, s.escalate(ctx, &post, &rec, steps, places)
}

func (s *Surface) escalate(ctx context.Context, post *responder.Post, rec *ask.Record, steps []ask.Step, places []ask.Place) error {
	gone := func(err error) bool { return s.gone(err) || s.hopeless(err) }
	told, remind := Told(&rec.Ask, steps)
	tell := told.Audience
	routes, l := s.Routes(), s.Language(&rec.Ask)
	last := &steps[len(steps)-1]
	c := Note{Step: true, Link: post.Link, Rank: responder.Rank{Urgent: rec.Ask.Priority == ask.PriorityUrgent, At: last.At}}
	words := cmp.Or(s.alone(l, rec), l.Say("Nobody has decided this yet: %s", card.Heading(&rec.Ask)))
	c.Lines = []string{ask.Clip(OneLine(words), maxStep)}
	n := 0
	say := func(c Note) error {
		c.To.Language = l.Tag
		c.Key = fmt.Sprintf("%.16s-%d-%d", strings.TrimPrefix(post.Key, "askbus-"), last.N, n)
		n++
		return s.note(ctx, &c)
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
		if err := say(c); err != nil {
			if !gone(err) {
				return err
			}
			s.Log.WarnContext(ctx, "nobody can be told below a card", slog.String("ask_id", rec.Ask.ID), slog.String("error", err.Error()))
		}
	}
	to, here := routes.Decide(&told), routes.Decide(&rec.Ask)
	elsewhere := !to.Nowhere && !to.At(here.Target) && !to.At(routes.Default)
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
