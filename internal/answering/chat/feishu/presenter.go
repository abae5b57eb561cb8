package feishu

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interfaces.
type presenter struct{ *App }

const keyPrefix = "askbus-"

// Present posts an ask's card without its buttons. If the route's chat does not exist it posts to the default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	d := p.drawn(chat.Pending(&post), post.Link)
	d.open = false
	return p.Surface.Present(ctx, &post.Ask, func(to chat.Target) (ask.Place, error) {
		d.mentions = to.Mention
		m, err := p.api.post(ctx, chat.RankOf(&post), cmp.Or(to.Channel, to.Person), "interactive", d.content(), post.Key)
		if err != nil {
			return ask.Place{}, err
		}
		ref := chat.Message{Channel: m.ChatID, ID: m.MessageID}.Ref()
		p.asks.Add(ref, post.Key)
		return ask.Place{Ref: ref, Where: p.where(m.ChatID)}, nil
	})
}

// where returns a link to a chat.
func (s *App) where(id string) string {
	if s.opts.Domain != DomainFeishu && s.opts.Domain != DomainLark {
		return ""
	}
	return "https://applink." + s.opts.Domain + "/client/chat/open?openChatId=" + url.QueryEscape(id)
}

// Open adds the buttons, and then sends the files.
func (p presenter) Open(ctx context.Context, post responder.Post, places []ask.Place) error {
	d := p.drawn(chat.Pending(&post), post.Link)
	err := p.EditAll(ctx, &post.Ask, post.AskedAt, places, func(ref string, r responder.Rank) error { return p.edit(ctx, ref, r, d.content()) })
	if err != nil {
		return err
	}
	if at, ok := chat.ParseMessage(places[0].Ref); ok {
		p.AttachOnce(ctx, &post, chat.Whole(d.Card, d.cut, d.link), maxFiles, func(ctx context.Context, f *chat.Attached) error {
			return p.api.attach(ctx, chat.RankOf(&post), at, fmt.Sprintf("%s-f%.6s", post.Key, f.ID), f)
		})
	}
	return nil
}

// Find finds nothing: an app cannot search for its messages. An earlier one has no buttons.
func (presenter) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// Update edits every card of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	content := made(outcome(p.End(&e, literal)))
	return p.EditAll(ctx, &e.Ask, e.Outcome.At, e.Places, func(ref string, r responder.Rank) error { return p.edit(ctx, ref, r, content) })
}

// Refresh makes every card of an ask show its votes.
func (p presenter) Refresh(ctx context.Context, post responder.Post, rec ask.Record, places []ask.Place) error {
	d := p.drawn(&rec, post.Link)
	return p.EditAll(ctx, &rec.Ask, rec.AskedAt, places, func(ref string, r responder.Rank) error { return p.edit(ctx, ref, r, d.content()) })
}

func (p presenter) edit(ctx context.Context, ref string, r responder.Rank, content string) error {
	m, ok := chat.ParseMessage(ref)
	if !ok {
		return nil
	}
	return p.api.edit(ctx, r, m.ID, content)
}

// drawn returns what is needed to draw a pending ask.
func (s *App) drawn(rec *ask.Record, link string) drawing {
	return s.drawing(s.Card(s.Language(&rec.Ask), rec), rec, link)
}

// drawing returns what is needed to draw a card.
func (s *App) drawing(c *card.Card, rec *ask.Record, link string) drawing {
	return drawing{
		Card: c, rec: rec, link: link, open: true, mentions: s.Routes().Decide(&rec.Ask).Mention,
		id: strings.TrimPrefix(responder.PostKey(s.Type, rec.Ask.Key(), rec.Life), keyPrefix),
	}
}
