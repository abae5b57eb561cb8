package telegram

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interfaces.
type presenter struct{ *App }

// shortID returns what the buttons of one life of an ask carry.
func shortID(k ask.Key, life string) string {
	return strings.TrimPrefix(responder.PostKey(Type, k, life), keyPrefix)
}

const keyPrefix = "askbus-"

// keyOf returns the key of a post ([responder.Post]) from what its buttons carry.
func keyOf(id string) string { return keyPrefix + id }

// Route returns the chat that an ask is posted to.
func (p presenter) Route(post responder.Post) []string {
	to := p.routes().Decide(&post.Ask)
	return []string{cmp.Or(to.Channel, to.Person)}
}

// Present posts an ask's message without its buttons. If the route's chat does not exist it posts to
// the default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	at, err := chat.PostAt(ctx, p.routes(), &post.Ask, hopeless, p.log, func(to chat.Target) (ask.Place, error) { return p.presentAt(ctx, post, to) })
	if err != nil {
		return nil, err
	}
	return []ask.Place{at}, nil
}

func (p presenter) presentAt(ctx context.Context, post responder.Post, to chat.Target) (ask.Place, error) {
	at, _ := parsePlace(cmp.Or(to.Channel, to.Person))
	c := p.drawn(&ask.Record{State: ask.StatePending, Ask: post.Ask, AskedAt: post.AskedAt, Life: post.Life}, post.Link)
	c.mentions = to.Mention
	id, err := p.api.send(ctx, at, rankOf(&post), c.text(chat.Draft{}), nil, 0)
	if err != nil {
		return ask.Place{}, err
	}
	at.ID = id
	return ask.Place{Ref: at.ref(), Where: where(at)}, nil
}

func rankOf(post *responder.Post) responder.Rank {
	return responder.Rank{Urgent: post.Ask.Priority == ask.PriorityUrgent, At: post.AskedAt}
}

// where returns a link to a message, where Telegram has one: in a supergroup.
func where(at place) string {
	if chat, ok := strings.CutPrefix(strconv.FormatInt(at.Chat, 10), "-100"); ok {
		return "https://t.me/c/" + chat + "/" + strconv.Itoa(at.ID)
	}
	return ""
}

// Open adds the buttons.
func (p presenter) Open(ctx context.Context, post responder.Post, places []ask.Place) error {
	c := p.drawn(&ask.Record{State: ask.StatePending, Ask: post.Ask, AskedAt: post.AskedAt, Life: post.Life}, post.Link)
	for _, one := range places {
		at, ok := parsePlace(one.Ref)
		if !ok {
			continue
		}
		if _, begun := p.drafts.Peek(c.id); begun {
			continue // somebody answers already: it has its buttons
		}
		if err := p.api.buttons(ctx, at, rankOf(&post), c.keyboard(card.Steps{})); err != nil {
			if gone(err) {
				continue
			}
			return err
		}
	}
	return nil
}

// Find finds nothing: bots cannot search. An earlier message has no buttons.
func (presenter) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// drawn returns what is needed to draw an ask.
func (s *App) drawn(rec *ask.Record, link string) drawing {
	l, now := s.language(&rec.Ask), s.opts.Clock.Now()
	if rec.AskedAt.IsZero() {
		rec.AskedAt = now
	}
	d := drawing{Card: card.New(rec, card.Viewer{Surface: Type, Lang: l.Tag}, now), id: shortID(rec.Ask.Key(), rec.Life), link: link}
	if me := s.me.Load(); me != nil {
		d.bot = me.Username
	}
	return d
}

// Update edits every message of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	rec := ask.Record{State: ask.StateResolved, Ask: e.Ask, AskedAt: e.AskedAt, Life: e.Life, Outcome: &e.Outcome}
	end := card.NewEnd(&rec, card.Viewer{Surface: Type, Lang: p.language(&e.Ask).Tag}, p.opts.Clock.Now())
	t := outcome(&e.Ask, &e.Outcome, end)
	var messages []place
	for _, one := range e.Places {
		if at, ok := parsePlace(one.Ref); ok {
			messages = append(messages, at)
		}
	}
	p.drafts.Remove(shortID(e.Ask.Key(), e.Life))
	return chat.EditAll(ctx, messages, e.Ask.ID, gone, p.log, func(at place) error {
		_, urgent := p.clicked.Get(at.ref())
		err := p.api.edit(ctx, at, responder.Rank{Urgent: urgent, At: e.Outcome.At}, t, nil)
		if err == nil {
			p.clicked.Remove(at.ref())
		}
		return err
	})
}
