package chat

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Sessions knows where the cards of a session are in a channel, for chats whose messages are [Message]s with ids that
// sort by time. It is safe for concurrent use.
type Sessions struct {
	s       *Surface
	threads *lru.Cache[string, string]  // first messages of threads that a receipt names, by channel and session
	latest  *lru.Cache[string, Message] // last cards, by channel and session
}

// NewSessions makes an empty cache of a surface.
func NewSessions(s *Surface) *Sessions {
	return &Sessions{s: s, threads: NewCache[string, string](20_000), latest: NewCache[string, Message](20_000)}
}

func sessionKey(channel string, a *ask.Ask) string {
	return channel + "/" + a.Tenant + "/" + a.Session
}

// Posts returns where the asks of a session are posted, the oldest ask first. It reads up to the given number of asks.
func (c *Sessions) Posts(ctx context.Context, a *ask.Ask, most int) (posts []Message, err error) {
	for rec, err := range c.s.Bus.All(ctx, responder.Query{Tenant: a.Tenant, Session: a.Session, PageSize: 100}) {
		if err != nil {
			return nil, err
		}
		for _, at := range Posted(c.s.Type, &rec) {
			if m, ok := ParseMessage(at.Ref); ok {
				posts = append(posts, m)
			}
		}
		if most--; most == 0 {
			break
		}
	}
	return posts, nil
}

// Posted notes the card of an ask.
func (c *Sessions) Posted(a *ask.Ask, m Message) { c.latest.Add(sessionKey(m.Channel, a), m) }

// Deleted notes that the thread of a session does not exist any more.
func (c *Sessions) Deleted(a *ask.Ask, channel string) { c.threads.Remove(sessionKey(channel, a)) }

// Thread returns the thread of a session in a channel, or "" while no receipt names one. A card that was just posted
// begins none: a replica that takes over would not know of it.
func (c *Sessions) Thread(ctx context.Context, a *ask.Ask, channel string) (first string) {
	key := sessionKey(channel, a)
	if id, ok := c.threads.Get(key); ok {
		return id
	}
	for _, m := range c.lookUp(ctx, a) {
		if root := cmp.Or(m.Thread, m.ID); m.Channel == channel && (first == "" || root < first) {
			first = root
		}
	}
	if first != "" {
		c.threads.Add(key, first)
	}
	return first
}

// Last returns the previous card of an ask's session in a channel, without an id if there is none.
func (c *Sessions) Last(ctx context.Context, a *ask.Ask, channel string) (last Message) {
	last, ok := c.latest.Get(sessionKey(channel, a))
	if ok {
		return last
	}
	for _, m := range c.lookUp(ctx, a) {
		if m.Channel == channel && m.ID > last.ID {
			last = m
		}
	}
	return last
}

func (c *Sessions) lookUp(ctx context.Context, a *ask.Ask) []Message {
	posts, err := c.Posts(ctx, a, 100)
	if err != nil {
		c.s.Log.WarnContext(ctx, "cannot find the cards of a session; this ask is a message of its own, without a link to them", slog.String("error", err.Error()))
		return nil
	}
	return posts
}
