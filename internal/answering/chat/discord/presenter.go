package discord

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interfaces.
type presenter struct{ *App }

// maxFiles bounds the files that are posted with an ask, in bytes. Discord takes 10 MiB in a message, and each has its own.
const maxFiles = 20 << 20

// personPrefix begins a route to a person's direct messages.
const personPrefix = "@"

// Route returns where an ask is posted.
func (p presenter) Route(post responder.Post) []string {
	to := p.Routes().Decide(&post.Ask)
	if to.Person != "" {
		return []string{personPrefix + to.Person}
	}
	return []string{to.Channel}
}

// Present posts an ask's message. If the route's channel does not exist it posts to the default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	return p.Surface.Present(ctx, &post.Ask, func(to chat.Target) (ask.Place, error) {
		d := p.drawn(chat.Pending(&post), post.Link, to)
		r := chat.RankOf(&post)
		channel, err := p.channel(ctx, r, to)
		if err != nil {
			return ask.Place{}, err
		}
		server := p.server(ctx, r, channel)
		m := d.message()
		m.Nonce, m.Enforce = strings.TrimPrefix(post.Key, keyPrefix), true
		id, err := p.api.post(ctx, r, channel, m)
		at := chat.Message{Channel: channel, ID: id}
		if err == nil {
			p.Attach(ctx, &post.Ask, chat.Whole(d.Card, d.cut, d.link), maxFiles, func(ctx context.Context, f *chat.Attached) error {
				return p.api.attach(ctx, r, at, fmt.Sprintf("%.16s-f%.6s", m.Nonce, f.ID), f)
			})
		}
		return ask.Place{Ref: at.Ref(), Where: where(server, at)}, err
	})
}

func (s *App) drawn(rec *ask.Record, link string, to chat.Target) drawing {
	return s.drawing(s.Card(s.Language(&rec.Ask), rec), rec, link, to)
}

// drawing returns what is needed to draw a card.
func (s *App) drawing(c *card.Card, rec *ask.Record, link string, to chat.Target) drawing {
	d := drawing{Card: c, key: responder.PostKey(s.Type, rec.Ask.Key(), rec.Life), link: link}
	if to.Person == "" {
		d.mentions = to.Mention
	}
	return d
}

// channel returns the channel of a target. It opens a person's direct messages.
func (s *App) channel(ctx context.Context, r responder.Rank, to chat.Target) (string, error) {
	if to.Person == "" {
		return to.Channel, nil
	}
	if id, ok := s.direct.Get(to.Person); ok {
		return id, nil
	}
	var opened found
	err := s.api.call(ctx, call{Method: "POST", Class: "direct", Path: "/users/@me/channels", Rank: r, Body: map[string]string{"recipient_id": to.Person}, Into: &opened})
	if err != nil {
		return "", err
	}
	s.direct.Add(to.Person, opened.ID)
	s.rooms.Add(opened.ID, room{})
	return opened.ID, nil
}

// room is a channel.
type room struct {
	Name   string `json:"name"`
	Server string `json:"guild_id"` // empty: direct messages
}

// server returns the server of a channel, for links; "" if it is not known.
func (s *App) server(ctx context.Context, r responder.Rank, channel string) string {
	one, ok := s.rooms.Get(channel)
	if !ok {
		if err := s.look(ctx, r, channel, &one); err != nil {
			s.Log.InfoContext(ctx, "cannot look up a channel", slog.String("error", err.Error()))
			return ""
		}
		s.rooms.Add(channel, one)
	}
	if one.Server == "" {
		return "@me"
	}
	return one.Server
}

func (s *App) look(ctx context.Context, r responder.Rank, channel string, into *room) error {
	return s.api.call(ctx, call{Method: "GET", Class: "channel", Path: "/channels/" + channel, Place: channel, Rank: r, Into: into})
}

// where returns a link to a message.
func where(server string, at chat.Message) string {
	if server == "" {
		return "#" + at.Channel
	}
	return "https://discord.com/channels/" + server + "/" + at.Channel + "/" + at.ID
}

// Bounds of a search.
const (
	maxPages = 25 // of 100 messages
	// clockSlack is how much Discord's clock and the ledger's may differ.
	clockSlack = 10 * time.Minute
	// epoch is where Discord's ids begin to count, in milliseconds.
	epoch = 1_420_070_400_000
)

// Find searches for an ask's messages by the ids of their buttons, where it goes now and where earlier tries went. In
// a channel that the bot may not read it finds nothing; for some minutes the nonce prevents a second message there.
func (p presenter) Find(ctx context.Context, post responder.Post) (places []ask.Place, err error) {
	routes := append(p.Route(post), p.Routes().Default.Channel)
	for _, at := range post.Tried {
		routes = append(routes, at.Ref)
	}
	var searched []string
	for _, route := range routes {
		to := chat.Target{Channel: route}
		if user, ok := strings.CutPrefix(route, personPrefix); ok {
			to = chat.Target{Person: user}
		}
		channel, err := p.channel(ctx, chat.RankOf(&post), to)
		if err != nil && !hopeless(err) {
			return nil, fmt.Errorf("search for a message: %w", err)
		}
		if channel == "" || slices.Contains(searched, channel) {
			continue
		}
		searched = append(searched, channel)
		more, err := p.search(ctx, &post, channel)
		if err != nil && !hopeless(err) {
			return nil, fmt.Errorf("search for a message: %w", err)
		}
		places = append(places, more...)
	}
	return places, nil
}

// search searches a channel from the time of the ask on.
func (p presenter) search(ctx context.Context, post *responder.Post, channel string) (places []ask.Place, err error) {
	me := p.me.Load()
	id := strings.TrimPrefix(post.Key, keyPrefix)
	after := (post.AskedAt.Add(-clockSlack).UnixMilli() - epoch) << 22
	for range maxPages {
		var page []found
		err := p.api.call(ctx, call{
			Method: "GET", Class: "history", Path: "/channels/" + channel + "/messages?limit=100&after=" + strconv.FormatInt(max(after, 0), 10),
			Place: channel, Rank: chat.RankOf(post), Into: &page,
		})
		if err != nil {
			return nil, err
		}
		for i := range page {
			n, _ := strconv.ParseInt(page[i].ID, 10, 64) // 0: never the last
			after = max(after, n)
			if (me == nil || page[i].Author.ID == me.Bot.ID) && carries(page[i].Components, id+":") {
				at := chat.Message{Channel: channel, ID: page[i].ID}
				places = append(places, ask.Place{Ref: at.Ref(), Where: where(p.server(ctx, chat.RankOf(post), channel), at)})
			}
		}
		if len(page) < 100 {
			break
		}
	}
	return places, nil
}

// carries reports whether a component has an id that begins so.
func carries(all []component, prefix string) bool {
	return slices.ContainsFunc(all, func(c component) bool { return strings.HasPrefix(c.ID, prefix) || carries(c.Components, prefix) })
}

// Update edits every message of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	return p.edit(ctx, &e.Ask, e.Outcome.At, e.Places, ended(p.End(&e, literal)))
}

// Refresh makes every message of an ask show its votes.
func (p presenter) Refresh(ctx context.Context, post responder.Post, rec ask.Record, places []ask.Place) error {
	d := p.drawn(&rec, post.Link, p.Routes().Decide(&rec.Ask).Target)
	m := d.message()
	m.Flags &^= flagSilent // only a new message has it
	return p.edit(ctx, &rec.Ask, rec.AskedAt, places, m)
}

func (p presenter) edit(ctx context.Context, a *ask.Ask, order time.Time, places []ask.Place, m message) error {
	return p.EditAll(ctx, a, order, places, func(ref string, r responder.Rank) error { return p.api.edit(ctx, r, ref, m) })
}
