package discord

import (
	"context"
	"fmt"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Escalate tells people of the steps of a ladder: it replies to the messages, and posts where the routes of these people
// are. For some minutes a nonce prevents that they are told twice.
func (p presenter) Escalate(ctx context.Context, post responder.Post, rec ask.Record, steps []ask.Step, places []ask.Place) ([]ask.Place, error) {
	n := 0
	return nil, p.Surface.Escalate(ctx, &rec, steps, places, func(err error) bool { return gone(err) || hopeless(err) }, func(c chat.StepNotice) error {
		words := "🚨 " + literal(c.Words, 400)
		if c.Ref == "" && post.Link != "" {
			words += "\n<" + post.Link + ">"
		}
		m := messageOf(c.Mention, component{Type: typeText, Content: words})
		m.Nonce, m.Enforce = fmt.Sprintf("%.16s-%d-%d", strings.TrimPrefix(post.Key, keyPrefix), steps[len(steps)-1].N, n), true
		n++
		if at, ok := chat.ParseMessage(c.Ref); ok {
			m.Reference = &reference{at.ID, false}
			_, err := p.api.post(ctx, c.Rank, at.Channel, m)
			return err
		}
		channel, err := p.channel(ctx, c.Rank, c.To)
		if err == nil {
			_, err = p.api.post(ctx, c.Rank, channel, m)
		}
		return err
	})
}
