package mattermost

import (
	"context"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Escalate tells people of the steps of a ladder: it replies to the posts, and posts where the routes of these people are.
func (p presenter) Escalate(ctx context.Context, asked responder.Post, rec ask.Record, steps []ask.Step, places []ask.Place) ([]ask.Place, error) {
	return nil, p.Surface.Escalate(ctx, &rec, steps, places, func(err error) bool { return gone(err) || hopeless(err) }, func(c chat.StepNotice) (err error) {
		made := &post{Channel: c.To.Channel, Message: p.mention(ctx, c.Mention) + "🚨 " + clean(c.Words, 400)}
		if m, ok := chat.ParseMessage(c.Ref); ok {
			made.Channel, made.Root = m.Channel, m.ID
		} else if asked.Link != "" {
			made.Message += "\n" + asked.Link
		}
		if made.Channel == "" {
			if made.Channel, err = p.api.direct(ctx, c.Rank, c.To.Person); err != nil {
				return err
			}
		}
		_, err = p.api.send(ctx, c.Rank, made)
		return err
	})
}
