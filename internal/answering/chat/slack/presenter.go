package slack

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
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

// Route returns the channel or person that an ask is posted to.
func (p presenter) Route(post responder.Post) []string {
	to := p.routes().Decide(&post.Ask)
	return []string{to.Channel + to.Person}
}

// Present posts an ask's card. If the route's target no longer exists (an archived channel, a
// deactivated person) it posts to the default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	place, err := chat.PostAt(ctx, p.routes(), &post.Ask, hopeless, p.log, func(to Target) (ask.Place, error) { return p.presentAt(ctx, post, to) })
	if err != nil {
		return nil, err
	}
	places := []ask.Place{place}
	for _, at := range post.Tried { // another card may still appear there
		places = append(places, ask.Place{Ref: at.Ref})
	}
	return places, nil
}

func (p presenter) presentAt(ctx context.Context, post responder.Post, to Target) (ask.Place, error) {
	channel, err := p.channel(ctx, to)
	if err != nil {
		return ask.Place{}, err
	}
	k, session, thread := post.Ask.Key(), sessionKey(channel, &post.Ask), ""
	if to.Threads != "" {
		thread = p.thread(ctx, channel, &post.Ask)
	}
	a := p.asked(&ask.Record{State: ask.StatePending, Ask: post.Ask, AskedAt: post.AskedAt, Life: post.Life}, post.Link)
	if to.Person == "" {
		a.Mentions = to.Mention
	}
	a.Replies = p.replies(channel)
	if thread == "" {
		a.Earlier = p.earlier(ctx, channel, &post.Ask)
	}
	payload := map[string]any{"key": post.Key, "ask": k.String(), "life": post.Life}
	urgent := post.Ask.Priority == ask.PriorityUrgent
	broadcast := urgent || to.Threads == chat.ThreadsBroadcast || len(a.Mentions) == 0
	ts, err := p.api.post(ctx, responder.Rank{Urgent: urgent, At: post.AskedAt}, channel, thread, broadcast, pendingCard(a), payload)
	if thread != "" && code(err) == "thread_not_found" { // the thread's first message was deleted
		p.threads.Remove(session)
		thread = ""
		ts, err = p.api.post(ctx, responder.Rank{Urgent: urgent, At: post.AskedAt}, channel, "", false, pendingCard(a), payload)
	}
	if err != nil {
		return ask.Place{}, err
	}
	m := message{Channel: channel, TS: ts, Thread: thread}
	p.latest.Add(session, m)
	return ask.Place{Ref: m.ref(), Where: p.where(m)}, nil
}

// where returns a link to a message, built without a call.
func (p presenter) where(m message) string {
	base := p.Identity().URL
	if base == "" {
		return "#" + m.Channel
	}
	link := base + "archives/" + m.Channel + "/p" + strings.ReplaceAll(m.TS, ".", "")
	if m.Thread != "" {
		link += "?thread_ts=" + m.Thread + "&cid=" + m.Channel
	}
	return link
}

// asked returns the data of a card. A card is shared: it says who may answer, and the click is
// checked.
func (s *App) asked(rec *ask.Record, link string) asked {
	return s.askedIn(s.language(&rec.Ask), rec, link)
}

// askedIn is asked in a language, for a message to one person.
func (s *App) askedIn(l *lang.Language, rec *ask.Record, link string) asked {
	now := s.opts.Clock.Now()
	if rec.AskedAt.IsZero() {
		rec.AskedAt = now
	}
	return asked{Record: *rec, Life: rec.Life, Card: card.New(rec, card.Viewer{Surface: Type, Lang: l.Tag}, now), Link: link}
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
func (s *App) channel(ctx context.Context, to Target) (string, error) {
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

func sessionKey(channel string, a *ask.Ask) string {
	return channel + "/" + a.Tenant + "/" + a.Session
}

// thread returns the thread of a session in a channel, or "" while no receipt names one. A card that
// was just posted begins none: a replica that takes over would not know of it.
func (s *App) thread(ctx context.Context, channel string, a *ask.Ask) string {
	key := sessionKey(channel, a)
	if ts, ok := s.threads.Get(key); ok {
		return ts
	}
	posts, err := s.sessionPosts(ctx, a, 1)
	if err != nil {
		s.log.WarnContext(ctx, "cannot find a session's thread; this ask is a message of its own", slog.String("error", err.Error()))
		return ""
	}
	first := ""
	for _, m := range posts {
		if root := cmp.Or(m.Thread, m.TS); m.Channel == channel && (first == "" || root < first) {
			first = root
		}
	}
	if first != "" {
		s.threads.Add(key, first)
	}
	return first
}

// earlier returns a link to the previous card of an ask's session in a channel, or "".
func (p presenter) earlier(ctx context.Context, channel string, a *ask.Ask) string {
	key := sessionKey(channel, a)
	last, ok := p.latest.Get(key)
	if !ok {
		posts, err := p.sessionPosts(ctx, a, 1)
		if err != nil {
			p.log.WarnContext(ctx, "cannot find a session's cards; this one has no link to them", slog.String("error", err.Error()))
			return ""
		}
		for _, m := range posts {
			if m.Channel == channel && m.TS > last.TS {
				last = m
			}
		}
	}
	if last.TS == "" || p.Identity().URL == "" {
		return ""
	}
	return p.where(last)
}

// cardsOf returns the cards of an ended ask. A place without a message is a route that an earlier
// try may have posted to: its cards are searched.
func (p presenter) cardsOf(ctx context.Context, e responder.Ended) (cards []message, err error) {
	places := e.Places
	e.Tried = slices.DeleteFunc(slices.Clone(places), func(at ask.Place) bool { _, ok := parseMessage(at.Ref); return ok })
	if len(e.Tried) > 0 {
		var last time.Time
		for _, at := range places {
			if m, ok := parseMessage(at.Ref); ok && m.at().After(last) {
				last = m.at()
			}
		}
		var more []ask.Place
		more, err = p.find(ctx, e.Post, last.Add(clockSlack))
		places = unique(append(slices.Clone(places), more...))
	}
	for _, at := range places {
		if m, ok := parseMessage(at.Ref); ok {
			cards = append(cards, m)
		}
	}
	return cards, err
}

// Update edits every card of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	rec := ask.Record{State: ask.StateResolved, Ask: e.Ask, AskedAt: e.AskedAt, Life: e.Life, Outcome: &e.Outcome}
	end := card.NewEnd(&rec, card.Viewer{Surface: Type, Lang: p.language(&e.Ask).Tag}, p.opts.Clock.Now())
	c := outcomeCard(&e.Ask, &e.Outcome, end)
	cards, searched := p.cardsOf(ctx, e)
	err := chat.EditAll(ctx, cards, e.Ask.ID, gone, p.log, func(m message) error {
		_, urgent := p.clicked.Get(m.Channel + "/" + m.TS)
		err := p.api.update(ctx, responder.Rank{Urgent: urgent, At: e.Outcome.At}, m, c)
		if err == nil {
			p.clicked.Remove(m.Channel + "/" + m.TS)
		}
		return err
	})
	failed := errors.Join(searched, err)
	if retry, ok := errors.AsType[*responder.RetryError](failed); ok {
		return retry
	}
	return failed
}
