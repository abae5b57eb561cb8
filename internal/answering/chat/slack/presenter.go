package slack

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interface.
type presenter struct{ *App }

// Present posts an ask's card. If the route's target no longer exists (an archived channel, a
// deactivated person) it posts to the default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	var attention []string
	places, err := p.Surface.Present(ctx, &post.Ask, func(to chat.Target) (at ask.Place, err error) {
		at, attention, err = p.presentAt(ctx, post, to)
		return at, err
	})
	if err != nil {
		return nil, err
	}
	p.Shown(post, places, attention)
	for _, at := range post.Tried { // another card may still appear there
		places = append(places, ask.Place{Ref: at.Ref})
	}
	return places, nil
}

func (p presenter) presentAt(ctx context.Context, post responder.Post, to chat.Target) (at ask.Place, attention []string, err error) {
	channel, err := p.channel(ctx, to)
	if err != nil {
		return at, nil, err
	}
	thread := ""
	if to.Threads != "" {
		thread = p.sessions.Thread(ctx, &post.Ask, channel)
	}
	a := p.asked(chat.Pending(&post), post.Link)
	if to.Person == "" {
		a.Mentions = to.Mention
	}
	a.Replies = p.replies(channel)
	if thread == "" {
		a.Earlier = p.earlier(ctx, channel, &post.Ask)
	}
	payload := map[string]string{"key": post.Key, "ask": post.Ask.Key().String(), "life": post.Life}
	r := chat.RankOf(&post)
	broadcast := r.Urgent || to.Threads == chat.ThreadsBroadcast || len(a.Mentions) == 0
	drawn := pendingCard(a)
	ts, err := p.api.post(ctx, r, channel, thread, broadcast, drawn, payload)
	if thread != "" && code(err) == "thread_not_found" { // the thread's first message was deleted
		p.sessions.Deleted(&post.Ask, channel)
		thread = ""
		ts, err = p.api.post(ctx, r, channel, "", false, drawn, payload)
	}
	if err != nil {
		return at, nil, err
	}
	m := message{Channel: channel, ID: ts, Thread: thread}
	p.sessions.Posted(&post.Ask, m)
	p.remind(ctx, a, m)
	p.attach(ctx, &post, chat.Whole(a.Card, drawn.Cut, a.Link), m)
	return ask.Place{Ref: m.Ref(), Where: p.where(m)}, a.Card.Attention, nil
}

// where returns a link to a message, built without a call.
func (p presenter) where(m message) string {
	base := p.Identity().URL
	if base == "" {
		return "#" + m.Channel
	}
	link := base + "archives/" + m.Channel + "/p" + strings.ReplaceAll(m.ID, ".", "")
	if m.Thread != "" {
		link += "?thread_ts=" + m.Thread + "&cid=" + m.Channel
	}
	return link
}

// asked returns the data of a card. A card is shared: it says who may answer, and the click is
// checked.
func (s *App) asked(rec *ask.Record, link string) asked {
	return s.askedIn(s.Language(&rec.Ask), rec, link)
}

// askedIn is asked in a language, for a message to one person.
func (s *App) askedIn(l *lang.Language, rec *ask.Record, link string) asked {
	return s.drawing(s.Card(l, rec), rec, link)
}

// drawing returns the data of a card that is made.
func (s *App) drawing(c *card.Card, rec *ask.Record, link string) asked {
	return asked{Card: c, Record: *rec, Life: rec.Life, Link: link, Sends: s.Identity().can(scopeFiles)}
}

// replies reports whether the app receives replies in a thread of the channel.
func (s *App) replies(channel string) bool {
	id := s.Identity()
	if len(channel) > 0 && channel[0] == 'D' {
		return id.can("im:history")
	}
	return id.can("channels:history") || id.can("groups:history")
}

// channel returns the channel of a target. It opens a person's direct message.
func (s *App) channel(ctx context.Context, to chat.Target) (string, error) {
	if to.Person == "" {
		return to.Channel, nil
	}
	if m, ok := s.places.Get(to.Person); ok {
		return m.Channel, nil
	}
	id, err := s.api.dm(ctx, to.Person)
	if err != nil {
		return "", err
	}
	s.places.Add(to.Person, message{Channel: id})
	return id, nil
}

// earlier returns a link to the previous card of an ask's session in a channel, or "".
func (p presenter) earlier(ctx context.Context, channel string, a *ask.Ask) string {
	last := p.sessions.Last(ctx, a, channel)
	if last.ID == "" || p.Identity().URL == "" {
		return ""
	}
	return p.where(last)
}

// cardsOf returns the cards of an ended ask. A place without a message is a route that an earlier
// try may have posted to: its cards are searched.
func (p presenter) cardsOf(ctx context.Context, e responder.Ended) (cards []ask.Place, err error) {
	routed := func(at ask.Place) bool { _, ok := chat.ParseMessage(at.Ref); return !ok }
	cards = slices.DeleteFunc(slices.Clone(e.Places), routed)
	e.Tried = slices.DeleteFunc(slices.Clone(e.Places), func(at ask.Place) bool { return !routed(at) })
	if len(e.Tried) > 0 {
		var last time.Time
		for _, at := range cards {
			if m, _ := chat.ParseMessage(at.Ref); postedAt(m).After(last) {
				last = postedAt(m)
			}
		}
		var more []ask.Place
		more, err = p.find(ctx, e.Post, last.Add(clockSlack))
		cards = unique(append(cards, more...))
	}
	return cards, err
}

// Update edits every card of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	c := outcomeCard(e.Outcome.At, p.End(&e, literal))
	cards, searched := p.cardsOf(ctx, e)
	p.unremind(ctx, &e, cards)
	failed := errors.Join(searched, p.edit(ctx, &e.Ask, e.Outcome.At, cards, c))
	if retry, ok := errors.AsType[*responder.RetryError](failed); ok {
		return retry
	}
	return failed
}

// Refresh makes every card of an ask show its votes.
func (p presenter) Refresh(ctx context.Context, post responder.Post, rec ask.Record, places []ask.Place) error {
	a := p.asked(&rec, post.Link)
	var cards []ask.Place
	for _, at := range places {
		if m, ok := chat.ParseMessage(at.Ref); ok {
			cards, a.Replies = append(cards, at), p.replies(m.Channel)
		}
	}
	if to := p.Routes().Decide(&rec.Ask); to.Person == "" {
		a.Mentions = to.Mention // an edit notifies nobody again
	}
	return p.edit(ctx, &rec.Ask, rec.AskedAt, cards, pendingCard(a))
}

func (p presenter) edit(ctx context.Context, a *ask.Ask, order time.Time, cards []ask.Place, c content) error {
	return p.EditAll(ctx, a, order, cards, func(ref string, r responder.Rank) error {
		m, _ := chat.ParseMessage(ref)
		return p.api.update(ctx, r, m, c)
	})
}
