package teams

import (
	"cmp"
	"context"
	"net/url"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interfaces.
type presenter struct{ *App }

// Present posts an ask's card without its controls. If nobody has added the app at the route's target it posts to the
// default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	return p.Surface.Present(ctx, &post.Ask, func(to chat.Target) (ask.Place, error) {
		at, err := p.where(ctx, to)
		if err != nil {
			return ask.Place{}, err
		}
		d := p.drawn(ctx, chat.Pending(&post), post.Link, at)
		d.closed = true
		m := carrying(d.sheet())
		m.Summary = inert.Replace(card.Heading(&post.Ask))
		if post.Ask.Priority == ask.PriorityUrgent {
			m.Importance, m.ChannelData = "high", map[string]any{"notification": map[string]bool{"alert": true}}
		}
		at, err = p.api.send(ctx, at, isChannel(at.Conversation), chat.RankOf(&post), m)
		return ask.Place{Ref: at.ref(), Where: p.link(at)}, err
	})
}

// where returns the conversation of a target.
func (s *App) where(ctx context.Context, to chat.Target) (place, error) {
	ref, ok, err := s.refs.find(ctx, cmp.Or(to.Channel, to.Person))
	switch {
	case err != nil:
		return place{}, err
	case ok:
		return place{Service: ref.Service, Conversation: ref.Conversation}, nil
	case to.Channel == "":
		return place{}, errUnknownPerson
	}
	return place{Service: s.opts.ServiceURL, Conversation: to.Channel}, nil
}

// link returns a link to a message, where Teams documents one: in a channel.
func (p presenter) link(at place) string {
	if channel := base(at.Conversation); isChannel(channel) && at.Activity != "" {
		return "https://teams.microsoft.com/l/message/" + url.PathEscape(channel) + "/" + url.PathEscape(at.Activity) + "?tenantId=" + p.opts.Directory
	}
	return ""
}

// carrying returns a message with a card.
func carrying(s *sheet) *message {
	return &message{Type: "message", Attachments: []attachment{{cardType, s}}}
}

// Open adds the controls.
func (p presenter) Open(ctx context.Context, post responder.Post, places []ask.Place) error {
	return p.redraw(ctx, chat.Pending(&post), post.Link, places, chat.RankOf(&post))
}

// Find finds nothing: bots cannot search. An earlier card has no controls.
func (presenter) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// Update edits every card of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	shown := outcome(p.End(&e, clip), refOf(e.Ask.Key(), e.Life))
	return p.EditAll(ctx, &e.Ask, e.Outcome.At, e.Places, func(ref string, r responder.Rank) error { return p.edit(ctx, ref, r, shown) })
}

// Refresh makes every card of an ask show its votes.
func (p presenter) Refresh(ctx context.Context, post responder.Post, rec ask.Record, places []ask.Place) error {
	return p.redraw(ctx, &rec, post.Link, places, responder.Rank{At: rec.AskedAt})
}

// redraw makes every card of a pending ask show it.
func (p presenter) redraw(ctx context.Context, rec *ask.Record, link string, places []ask.Place, r responder.Rank) error {
	return p.EditAll(ctx, &rec.Ask, r.At, places, func(ref string, rank responder.Rank) error {
		at, _ := parsePlace(ref)
		d := p.drawn(ctx, rec, link, at)
		rank.Urgent = rank.Urgent || r.Urgent
		return p.edit(ctx, ref, rank, d.sheet())
	})
}

func (p presenter) edit(ctx context.Context, ref string, r responder.Rank, s *sheet) error {
	at, ok := parsePlace(ref)
	if !ok {
		return nil
	}
	return p.api.edit(ctx, at, r, carrying(s))
}
