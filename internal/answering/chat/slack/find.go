package slack

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of a search for the cards of an ask.
const (
	maxSearchPages = 25   // of 200 messages, of one channel or thread
	maxChannels    = 8    // in which it is searched
	maxThreads     = 20   // of one session in one channel
	maxSessionAsks = 1000 // that are read for where a session's cards are
	// clockSlack is how much Slack's clock, the ledger's and ours may differ, and how long after a try
	// its card may still appear.
	clockSlack = 10 * time.Minute
)

// Find searches for every card of an ask, of a try whose receipt may be missing: in the channels
// that it may have been posted to, and in the threads of its session there. Without the scope to
// read them it finds nothing: then the card is posted again, and the first one is updated when it is
// clicked.
func (p presenter) Find(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	return p.find(ctx, post, time.Time{})
}

// find is Find for cards that were posted until then; zero: until now.
func (p presenter) find(ctx context.Context, post responder.Post, until time.Time) (found []ask.Place, err error) {
	when := window{from: p.Clock.Now(), to: until} // Slack's clock, the ledger's and ours may differ
	if post.AskedAt.Before(when.from) {
		when.from = post.AskedAt
	}
	if !post.AskedAt.IsZero() {
		when.from = when.from.Add(-clockSlack)
	}
	posts, err := p.sessions.Posts(ctx, &post.Ask, maxSessionAsks)
	if err != nil {
		return nil, fmt.Errorf("search for a card: %w", err)
	}
	for _, channel := range p.searched(ctx, &post, posts) {
		top, err := p.search(ctx, channel, "", when)
		if err != nil {
			return nil, err
		}
		found = append(found, p.placesOf(top, channel, post.Key)...)
		for _, thread := range p.threadsOf(channel, &post.Ask, posts, top) {
			messages, err := p.search(ctx, channel, thread, when)
			if err != nil {
				return nil, err
			}
			found = append(found, p.placesOf(messages, channel, post.Key)...)
		}
	}
	return unique(found), nil
}

// searched returns the channels in which an ask's cards may be: where it goes now and where an
// earlier try went by the routes of that time, where it goes if its route's target does not exist,
// and where its session's cards are.
func (p presenter) searched(ctx context.Context, post *responder.Post, posts []message) (channels []string) {
	routes := p.Routes()
	targets := []chat.Target{routes.Decide(&post.Ask).Target, routes.Default}
	for _, at := range post.Tried {
		targets = append(targets, routed(at.Ref))
	}
	for _, m := range posts {
		targets = append(targets, chat.Target{Channel: m.Channel})
	}
	for _, to := range targets {
		if to.Nowhere {
			continue
		}
		channel, err := p.channel(ctx, to)
		if err != nil {
			p.Log.InfoContext(ctx, "cannot search a target", slog.String("person", to.Person), slog.String("error", err.Error()))
			continue
		}
		if len(channels) < maxChannels && !slices.Contains(channels, channel) {
			channels = append(channels, channel)
		}
	}
	return channels
}

// routed is the target of a route that presenter.Route has returned.
func routed(route string) chat.Target {
	if strings.HasPrefix(route, "U") || strings.HasPrefix(route, "W") {
		return chat.Target{Person: route}
	}
	return chat.Target{Channel: route}
}

// threadsOf returns the threads of a session in a channel: those that its receipts name, and those
// that cards without a receipt may have begun.
func (p presenter) threadsOf(channel string, a *ask.Ask, posts []message, top []found) (threads []string) {
	used := p.Routes().Threaded()
	add := func(ts string) {
		if ts != "" && len(threads) < maxThreads && !slices.Contains(threads, ts) {
			threads = append(threads, ts)
		}
	}
	for _, m := range posts {
		if m.Channel == channel {
			add(m.Thread)
		}
	}
	used = used || len(threads) > 0
	if !used {
		return nil
	}
	for _, m := range posts {
		if m.Channel == channel && m.Thread == "" {
			add(m.ID)
		}
	}
	for i := range slices.Backward(top) {
		if k, ok := ask.ParseKey(top[i].payload("ask")); ok && k.Tenant == a.Tenant && k.Session == a.Session && p.ours(&top[i]) {
			add(cmp.Or(top[i].Thread, top[i].TS))
		}
	}
	return threads
}

// search reads the messages of a channel or a thread. What the app may not read, or does not exist,
// is empty.
func (p presenter) search(ctx context.Context, channel, thread string, when window) ([]found, error) {
	messages, _, err := p.api.history(ctx, channel, thread, when, maxSearchPages)
	switch {
	case is(err, "missing_scope", "not_in_channel", "channel_not_found", "thread_not_found", "is_archived"):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("search for a card: %w", err)
	}
	return messages, nil
}

// ours reports whether a message is of this app, as far as that is known.
func (s *App) ours(f *found) bool {
	id := s.Identity().BotID
	return f.BotID == "" || id == "" || f.BotID == id
}

// placesOf returns the places of the cards with a key.
func (p presenter) placesOf(messages []found, channel, key string) (places []ask.Place) {
	for i := range messages {
		f := &messages[i]
		if f.payload("key") != key || key == "" || !p.ours(f) {
			continue
		}
		m := message{Channel: channel, ID: f.TS}
		if f.Thread != f.TS {
			m.Thread = f.Thread
		}
		places = append(places, ask.Place{Ref: m.Ref(), Where: p.where(m)})
	}
	return places
}

// unique drops repeated places: a broadcast reply is in its thread and in its channel.
func unique(places []ask.Place) []ask.Place {
	seen := map[string]bool{}
	return slices.DeleteFunc(places, func(at ask.Place) bool {
		m, _ := chat.ParseMessage(at.Ref)
		key := m.Channel + "/" + m.ID
		if seen[key] {
			return true
		}
		seen[key] = true
		return false
	})
}
