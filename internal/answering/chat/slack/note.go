package slack

import (
	"cmp"
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	slackapi "github.com/slack-go/slack"
)

// Private writes words and a link to a person in their direct message with the app.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	return s.Note(ctx, s.PrivateNote(person, words, link))
}

// Escalate tells people of the steps of a ladder in the threads of the cards, in the channel as well, and where the
// routes of these people are.
func (p presenter) Escalate(ctx context.Context, post responder.Post, rec ask.Record, steps []ask.Step, places []ask.Place) ([]ask.Place, error) {
	for _, at := range places {
		if m, ok := chat.ParseMessage(at.Ref); ok {
			post.Link = p.where(m)
		}
	}
	return p.Surface.Escalate(ctx, post, rec, steps, places)
}

// Note posts a note. That of a step is also shown in the channel of its thread.
func (s *App) Note(ctx context.Context, n *chat.Note) (err error) {
	c := textCard(strings.Join(n.Lines, "\n"))
	c.Text = literal(n.Lines[0], 300) // of the notification
	switch {
	case n.Step:
		text := clipBytes(escape(n.Lines[0]), 300)
		if n.Link != "" {
			text = "<" + n.Link + "|" + text + ">"
		}
		if c = (content{Text: ":rotating_light: " + text}); len(n.Mention) > 0 {
			c.Text += " · " + mentions(n.Mention)
		}
	case n.Link != "":
		c.Text = escape(n.Lines[0]) + "\n<" + escapeLink(n.Link) + ">"
		c.Blocks = []slackapi.Block{slackapi.NewSectionBlock(mrkdwn(c.Text, maxSection), nil, nil)}
	}
	m, ok := chat.ParseMessage(n.Ref)
	switch {
	case n.Ref != "" && !ok:
		return nil
	case n.Ref == "":
		if m.Channel, err = s.channel(ctx, n.To); err != nil {
			return err
		}
	}
	_, err = s.api.post(ctx, n.Rank, m.Channel, cmp.Or(m.Thread, m.ID), n.Step, c, nil)
	return err
}
